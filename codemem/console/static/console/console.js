// What every page of the console does by itself: theme, menus, the palette, confirmations.
"use strict";

(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // --- Light and dark ---------------------------------------------------------------------------
  function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function switchTheme() {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("codemem-theme", theme);
    } catch {
      // Kept for this page only.
    }
    document.dispatchEvent(new CustomEvent("codemem:theme", { detail: theme }));
  }

  // --- Menus ------------------------------------------------------------------------------------
  function closeMenus(but) {
    for (const menu of all("details.menu[open]")) if (!menu.contains(but)) menu.open = false;
  }

  function toggleSidebar(button) {
    const isOpen = document.body.classList.toggle("shows-sidebar");
    button.setAttribute("aria-expanded", String(isOpen));
  }

  // --- The palette ------------------------------------------------------------------------------
  function openPalette() {
    const palette = one("#palette");
    if (!palette || palette.open) return;
    closeMenus(null);
    palette.showModal();
    const input = one("#palette-input");
    input.select();
    input.dispatchEvent(new Event("palette-open"));
  }

  function movePalette(step) {
    const results = all("#palette-results a");
    if (!results.length) return;
    const now = results.findIndex((link) => link.classList.contains("chosen"));
    const next = (now + step + results.length) % results.length;
    results.forEach((link, place) => link.classList.toggle("chosen", place === next));
    results[next].scrollIntoView({ block: "nearest" });
  }

  function paletteKey(event) {
    if (event.key === "ArrowDown") movePalette(1);
    else if (event.key === "ArrowUp") movePalette(-1);
    else if (event.key === "Enter") {
      const chosen = one("#palette-results a.chosen");
      if (!chosen) return;
      location.assign(chosen.href);
    } else return;
    event.preventDefault();
  }

  function isTyping(target) {
    return target.closest("input, textarea, select, [contenteditable]") !== null;
  }

  // --- Confirmations: <form data-confirm="Sentence" data-confirm-label="Delete"> --------------------
  function askFirst(event) {
    const form = event.target;
    const dialog = one("#confirm");
    if (!form.dataset.confirm || form.dataset.confirmed || !dialog) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    one("#confirm-sentence").textContent = form.dataset.confirm;
    one("#confirm-yes").textContent = form.dataset.confirmLabel || "Go on";
    dialog.returnValue = "no";
    dialog.addEventListener(
      "close",
      () => {
        if (dialog.returnValue !== "yes") return;
        form.dataset.confirmed = "yes";
        form.requestSubmit(event.submitter);
        delete form.dataset.confirmed;
      },
      { once: true },
    );
    dialog.showModal();
  }

  // --- A form is sent once, however often its button is pressed --------------------------------------
  function sendOnce(event) {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "yes";
  }

  // --- What is shown once: copy it ----------------------------------------------------------------
  async function copy(button) {
    const text = one(button.dataset.copies).textContent.trim();
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(one(button.dataset.copies));
      button.textContent = "Press Ctrl+C";
    }
  }

  document.addEventListener("click", (event) => {
    const within = (selector) => event.target.closest(selector);
    closeMenus(event.target);
    if (within("[data-opens-palette]")) openPalette();
    else if (within("[data-switches-theme]")) switchTheme();
    else if (within("[data-opens-menu]")) toggleSidebar(within("[data-opens-menu]"));
    else if (within("[data-copies]")) copy(within("[data-copies]"));
    else if (document.body.classList.contains("shows-sidebar") && !within(".sidebar"))
      document.body.classList.remove("shows-sidebar");
    if (event.target.matches?.("dialog[open]")) event.target.close();
  });

  document.addEventListener("keydown", (event) => {
    if (event.target.id === "palette-input") return paletteKey(event);
    if (event.key === "k" && (event.ctrlKey || event.metaKey)) openPalette();
    else if (event.key === "/" && !isTyping(event.target)) openPalette();
    else if (event.key === "Escape") {
      closeMenus(null);
      document.body.classList.remove("shows-sidebar");
      return;
    } else return;
    event.preventDefault();
  });

  document.addEventListener("submit", askFirst, true);
  document.addEventListener("submit", sendOnce);
  // A page that comes back by the back button may send its forms again.
  addEventListener("pageshow", () => {
    for (const form of all("form[data-sent]")) delete form.dataset.sent;
  });

  // Filters that apply as soon as they are chosen: <select data-submits>.
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id === "palette-results") movePalette(1);
  });
})();
