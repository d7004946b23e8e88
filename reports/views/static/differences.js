// The page of differences: filters, which the URL contains, and copy buttons. The cards are static.
window.Report.withData(() => {
  "use strict";
  const { idIn, queryIn, goTo, Code } = window.Report;
  const html = htm.bind(preact.h);
  const KEYS = ["backend", "kind", "status"];
  const form = document.getElementById("cause-filters");
  const cards = [...document.querySelectorAll("#differences .difference")];
  const entries = new Map([...document.querySelectorAll("#differences [data-cause]")].map((one) => [one.dataset.cause, one]));

  function show() {
    const id = idIn(location.hash);
    const filters = id === "differences" ? queryIn(location.hash) : {};
    const fits = (card) => KEYS.every((key) => !filters[key] || card.dataset[key] === filters[key]);
    for (const card of cards) {
      card.hidden = !fits(card);
      entries.get(card.id).hidden = card.hidden;
    }
    for (const key of KEYS) form.elements[key].value = filters[key] || "";
    const count = cards.filter((card) => !card.hidden).length;
    document.getElementById("cause-count").textContent = `${count} of ${cards.length} ${cards.length === 1 ? "cause" : "causes"}`;
  }

  if (form) {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", () => {
      const chosen = KEYS.map((key) => [key, form.elements[key].value]).filter(([, value]) => value);
      goTo(`#differences${chosen.length > 0 ? "?" : ""}${new URLSearchParams(chosen)}`);
    });
    window.addEventListener("hashchange", show);
    show();
  }

  for (const place of document.querySelectorAll(".source")) {
    if (place.closest(".audit")) continue; // done by the script of audits, whose page has no other one
    const text = place.textContent.trimEnd();
    place.replaceChildren();
    preact.render(html`<${Code} text=${`${text}\n`} label=${place.dataset.label} />`, place);
  }
});
