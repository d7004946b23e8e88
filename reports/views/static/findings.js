// Add the drawing of the smallest case to each finding, while the page is visible.
window.Report.withData(() => {
  "use strict";
  const { resultsOf, backendOf, pageOf, ArrayView, Outcome, Evidence, WindowView } = window.Report;
  const { useState } = preactHooks;
  const html = htm.bind(preact.h);

  function Smallest({ result }) {
    const [step, go] = useState();
    const one = result.case;
    return html`
      <div class="inputs">${Object.entries(one.inputs).map(([name, array]) => html`<${ArrayView} title=${name} array=${array} />`)}</div>
      <${Outcome} result=${result} /><${Evidence} result=${result} />
      <${WindowView} one=${one} got=${result.got} step=${step} go=${go} worst=${result.worst} heading="h4" />`;
  }

  const page = document.getElementById("findings")?.closest(".page");
  const places = [...document.querySelectorAll("#findings .drawn")];

  // Render the drawings only while the page is visible.
  function draw() {
    for (const place of places) {
      const { case: id, surface } = place.dataset;
      const result = resultsOf(id).find((one) => one.surface.name === surface && backendOf(one.surface).explored);
      preact.render(result && page === pageOf(location.hash) ? html`<${Smallest} result=${result} />` : null, place);
    }
  }

  if (page) {
    draw();
    window.addEventListener("hashchange", draw);
  }
});
