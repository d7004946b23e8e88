// Tooltips: the title of an element, on hover and on focus. Without JavaScript the browser shows titles on hover.
window.Report.withData(() => {
  "use strict";
  const GAP = 6; // pixels between an element and its tooltip
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // the title is read by assistive software
  document.body.append(tip);
  let owner = null;

  function hide() {
    if (!owner) return;
    owner.title = tip.textContent;
    owner = null;
    tip.hidden = true;
  }

  function show(element) {
    if (element === owner) return;
    hide();
    if (!element?.title || element.tagName === "INPUT") return;
    owner = element;
    tip.textContent = element.title;
    element.removeAttribute("title"); // the browser would show it too
    tip.hidden = false;
    const place = element.getBoundingClientRect();
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(Math.max(GAP, place.left + place.width / 2 - width / 2), window.innerWidth - width - GAP);
    const above = place.top - height - GAP;
    tip.style.left = `${Math.max(GAP, left)}px`;
    tip.style.top = `${above > GAP ? above : place.bottom + GAP}px`;
  }

  document.addEventListener("pointerover", (event) => show(event.target.closest?.("[title]") || (owner?.contains(event.target) ? owner : null)));
  document.addEventListener("focusin", (event) => show(event.target.closest("[title]")));
  document.addEventListener("focusout", hide);
  window.addEventListener("hashchange", hide);
  window.addEventListener("scroll", hide, { passive: true, capture: true });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
});
