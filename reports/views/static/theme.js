// The colours: as the system, light or dark. Runs before the page is drawn. The choice is stored if storage is allowed.
(() => {
  "use strict";
  const KEY = "conformance-report-theme";
  const THEMES = ["", "light", "dark"];
  const LABELS = { "": "Colours: as the system", light: "Colours: light", dark: "Colours: dark" };
  const SIGNS = { "": "◐", light: "○", dark: "●" };
  const root = document.documentElement;
  root.classList.add("scripted");

  function stored() {
    try {
      return localStorage.getItem(KEY) || "";
    } catch {
      return "";
    }
  }

  function store(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // Storage may be disabled; the choice then lasts until the page is closed.
    }
  }

  function show(theme) {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    const button = document.getElementById("theme");
    if (!button) return;
    button.firstElementChild.textContent = SIGNS[theme];
    button.title = LABELS[theme];
    button.setAttribute("aria-label", LABELS[theme]);
  }

  let theme = THEMES.includes(stored()) ? stored() : "";
  show(theme);
  document.addEventListener("DOMContentLoaded", () => {
    show(theme);
    document.getElementById("theme").addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      store(theme);
      show(theme);
    });
  });
})();
