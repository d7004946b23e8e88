// The filter of the page of conventions: those on which surfaces disagree, or contradict their declarations. The URL contains it.
// A link to one convention shows all.
window.Report.withData(() => {
  "use strict";
  const { idIn, queryIn, goTo } = window.Report;
  const form = document.getElementById("convention-filters");
  const rows = [...document.querySelectorAll(".conventions tbody tr")];

  function show() {
    if (!/^convention(s$|-)/.test(idIn(location.hash))) return;
    const { only = "" } = queryIn(location.hash);
    for (const row of rows) row.hidden = only !== "" && !row.dataset.shown.split(" ").includes(only);
    form.elements.only.value = only;
    const shown = rows.filter((row) => !row.hidden).length;
    document.getElementById("convention-count").textContent = `${shown} of ${rows.length} ${rows.length === 1 ? "convention" : "conventions"}`;
  }

  if (!form) return;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => goTo(`#conventions${form.elements.only.value ? `?only=${form.elements.only.value}` : ""}`));
  window.addEventListener("hashchange", show);
  show();
});
