// Before anything is painted: the colors this person chose, else those of their system.
(() => {
  try {
    const chosen = localStorage.getItem("codemem-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage may be closed to us; then the system decides.
  }
})();
