// Add the pictures of layers and the drawings of smallest inputs to the pages of audits.
window.Report.withData(() => {
  "use strict";
  const { data, ArrayView, Code, WindowView, WindowPicture } = window.Report;
  const { useState } = preactHooks;
  const html = htm.bind(preact.h);
  const MARGIN = "600px"; // distance from the screen at which a picture is drawn

  function Smallest({ one, got }) {
    const [step, go] = useState();
    return html`
      <div class="inputs">${Object.entries(one.inputs).map(([name, array]) => html`<${ArrayView} title=${name} array=${array} />`)}
        ${one.expected.shape && html`<${ArrayView} title="expected" array=${one.expected} />`}
        ${got && html`<${ArrayView} title="got" array=${got} />`}</div>
      <${WindowView} one=${one} got=${got} step=${step} go=${go} heading="h4" />`;
  }

  function Layer({ one }) {
    const [open, setOpen] = useState(false);
    const [step, go] = useState();
    return html`<${WindowPicture} one=${one} />
      <details onToggle=${(event) => setOpen(event.target.open)}><summary class="small">Window by window</summary>
        ${open && html`<${WindowView} one=${one} step=${step} go=${go} heading="h4" />`}</details>`;
  }

  // Draw each picture once, when it comes near the screen. A model has many layers.
  function drawNear(places, draw) {
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((one) => one.isIntersecting)) {
        watch.unobserve(entry.target);
        draw(entry.target, entry.target.dataset);
      }
    }, { rootMargin: MARGIN });
    for (const place of places) watch.observe(place);
  }

  for (const place of document.querySelectorAll(".audit .source")) {
    const text = place.textContent.trimEnd();
    place.replaceChildren();
    preact.render(html`<${Code} text=${`${text}\n`} label=${place.dataset.label} />`, place);
  }

  drawNear(document.querySelectorAll(".layer-picture"), (place, { audit, layer }) => {
    const one = data.audits[audit].layers[layer];
    if (one) preact.render(html`<${Layer} one=${one} />`, place);
  });
  drawNear(document.querySelectorAll(".audit .smallest"), (place, { audit, remark }) => {
    const found = data.audits[audit].remarks[remark];
    if (found) preact.render(html`<${Smallest} one=${found.case} got=${found.got} />`, place);
  });
});
