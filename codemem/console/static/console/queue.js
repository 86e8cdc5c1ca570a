// The queue by keyboard: j and k move, a approves, r turns down, x ticks.
"use strict";

(() => {
  const proposals = () => [...document.querySelectorAll(".proposal")];
  const current = () => document.activeElement?.closest(".proposal");

  function move(step) {
    const all = proposals();
    const now = all.indexOf(current());
    const next = all[Math.min(Math.max(now + step, 0), all.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  function press(key) {
    current()?.querySelector(`[data-key="${key}"]`)?.click();
  }

  function tick() {
    const box = current()?.querySelector('input[name="id"]');
    if (box) box.checked = !box.checked;
  }

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    const acts = {
      j: () => move(1),
      k: () => move(-1),
      a: () => press("a"),
      r: () => press("r"),
      x: tick,
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-ticks-all]")) return;
    for (const box of document.querySelectorAll('.proposal input[name="id"]'))
      box.checked = event.target.checked;
  });
})();
