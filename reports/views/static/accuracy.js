// The accuracy of the surfaces: distributions of errors in ulp and of the share of the error bound used.
window.Report.withData(() => {
  "use strict";
  const { surfaces: ran, results, operators, toNumber, format, caseLink, breakable, queryLink, Select } = window.Report;
  const { useMemo, useRef, useEffect } = preactHooks;
  const html = htm.bind(preact.h);
  // Precision in bits, and exponent of the smallest subnormal.
  const TYPES = { float64: [53, -1074], float32: [24, -149], float16: [11, -24], bfloat16: [8, -133] };
  const EXTRA = 3; // rounding errors that the bound allows in addition to those of the sum, such as the division

  const bits = new DataView(new ArrayBuffer(8));

  // The rank of a float64 among all float64 numbers. Ranks of shorter floats fit into a JavaScript number, see rank().
  function rank64(value) {
    bits.setFloat64(0, Math.abs(value));
    return bits.getBigInt64(0) * (value < 0 ? -1n : 1n);
  }

  function rank(value, dtype) {
    const [digits, least] = TYPES[dtype];
    const size = Math.abs(value);
    const exponent = Math.max(size === 0 ? least : Math.floor(Math.log2(size)) - digits + 1, least);
    return Math.sign(value) * (size / 2 ** exponent + (exponent - least) * 2 ** (digits - 1));
  }

  // The distance of two floats in units in the last place: the difference of their ranks, as in results files.
  function ulps(one, other, dtype) {
    if (one === other) return 0;
    if (dtype === "float64") return Math.abs(Number(rank64(one) - rank64(other)));
    return Math.abs(rank(one, dtype) - rank(other, dtype));
  }

  // The largest error of a result in ulp; null if it is not recorded.
  function ulpOf({ worst, got, case: one }) {
    if (worst && typeof worst.ulp === "number") return worst.ulp;
    const { dtype, data: expected } = one.expected;
    if (!got) return 0; // bitwise equal outputs are not recorded
    if (!got.data || !expected || !TYPES[dtype] || got.data.length !== expected.length) return null;
    const errors = expected.map((value, position) => ulps(toNumber(got.data[position]), toNumber(value), dtype)).filter(Number.isFinite);
    return errors.reduce((most, error) => Math.max(most, error), 0);
  }

  // The share of the bound that pairwise summation of the same number of terms may use; Higham, section 4.2.
  const pairwise = (terms) => (Math.ceil(Math.log2(Math.max(terms, 1))) + EXTRA) / (terms + EXTRA);

  const rounds = ({ outcome, verdict, budget, case: one }) =>
    outcome === "returned" && verdict !== "none" && typeof budget === "number" && one.bound > 0 && Array.isArray(one.expected.shape);

  const points = () =>
    results.filter(rounds).map((result) => ({
      result,
      operator: result.case.operator,
      dtype: result.case.expected.dtype,
      surface: result.surface.name,
      budget: result.budget,
      pairwise: pairwise(result.case.terms),
    }));

  const middle = (sorted) => (sorted.length === 0 ? null : sorted[Math.floor((sorted.length - 1) / 2)]);

  function summed(group) {
    const ulps = group.map(({ result }) => (result.ulps ??= ulpOf(result) ?? NaN)).filter((value) => !Number.isNaN(value)).sort((one, other) => one - other);
    const budgets = group.map(({ budget }) => budget).sort((one, other) => one - other);
    const worst = group.reduce((most, point) => (point.budget > most.budget ? point : most));
    return { ...worst, count: group.length, exact: ulps.filter((value) => value === 0).length, ulps, budgets, beyond: group.filter((point) => point.budget > point.pairwise).length };
  }

  function grouped(chosen) {
    const groups = new Map();
    for (const point of chosen) {
      const key = [point.operator, point.dtype, point.surface].join("\n");
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(point);
    }
    return [...groups.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, group]) => summed(group));
  }

  const DECADES = 6; // maximum number of ticks of an axis

  // Ticks for a symlog axis: zero and powers of ten.
  function decades(chosen, x) {
    const most = Math.max(1, ...chosen.map((point) => point[x] || 0));
    const count = Math.ceil(Math.log10(most));
    const step = Math.max(1, Math.ceil(count / DECADES));
    const powers = Array.from({ length: Math.floor(count / step) + 1 }, (_, number) => 10 ** (number * step));
    return [0, ...powers.filter((power) => power > 1 || count <= 2)]; // on a long axis 1 is next to 0
  }

  const NARROW = 640; // pixels; narrower charts have the labels above the boxes
  const MARGIN = 12; // pixels beside the labels
  const [BAND, TALL_BAND] = [26, 44]; // height of a surface in pixels, without and with a label above it
  const FONT = "12px system-ui, sans-serif";

  // The width of the longest label in pixels.
  function labelWidth(names) {
    const context = document.createElement("canvas").getContext("2d");
    context.font = FONT;
    return Math.ceil(Math.max(0, ...names.map((name) => context.measureText(name).width)));
  }

  function drawing({ chosen, x, type, marks, width }) {
    const surfaces = ran.map(({ name }) => name).filter((name) => chosen.some((point) => point.surface === name));
    const narrow = width < NARROW;
    const above = narrow ? [Plot.text(surfaces, { y: (name) => name, text: (name) => name, frameAnchor: "left", textAnchor: "start", dy: -TALL_BAND / 2 + 9, fill: "currentColor" })] : [];
    return Plot.plot({
      width, height: surfaces.length * (narrow ? TALL_BAND : BAND) + 50,
      marginLeft: narrow ? MARGIN : labelWidth(surfaces) + 2 * MARGIN, marginRight: 2 * MARGIN,
      style: { background: "none", fontSize: "12px", fontFamily: "system-ui, sans-serif" },
      x: { type, grid: true, label: null, ...(type === "symlog" && { ticks: decades(chosen, x), tickFormat: (value) => format(value, 2) }) },
      y: { domain: surfaces, label: null, axis: narrow ? null : "left", ...(narrow && { paddingInner: 0.5, paddingOuter: 0.3 }) },
      marks: [Plot.boxX(chosen, { x, y: "surface", fill: "var(--link)", stroke: "var(--link)", fillOpacity: 0.3, insetTop: narrow ? 6 : 0 }), ...marks, ...above],
    });
  }

  function Chart({ label, chosen, x, type, marks = [] }) {
    const frame = useRef(null);
    useEffect(() => {
      let width = 0;
      const draw = () => {
        if (frame.current.clientWidth === width) return;
        width = frame.current.clientWidth;
        const chart = drawing({ chosen, x, type, marks, width: Math.max(width, 280) });
        for (const part of chart.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label"); // the drawing has one label
        chart.setAttribute("role", "img");
        chart.setAttribute("aria-label", `${label}, by surface; see the table below for the numbers`);
        frame.current.replaceChildren(chart);
      };
      draw();
      const observer = new ResizeObserver(draw);
      observer.observe(frame.current);
      return () => observer.disconnect();
    }, [chosen, label]);
    return html`<figure class="chart"><figcaption>${label}</figcaption><div ref=${frame}></div></figure>`;
  }

  function Row({ row }) {
    return html`<tr><th scope="row"><a href=${caseLink(row.result.case.id, row.surface)}>${breakable(row.surface)}</a></th><td>${row.operator}</td><td>${row.dtype}</td>
      <td class="number">${row.count}</td><td class="number">${row.exact}</td>
      <td class="number">${format(middle(row.ulps), 3)}</td><td class="number">${format(row.ulps.at(-1), 3)}</td>
      <td class="number">${format(middle(row.budgets), 3)}</td><td class="number">${format(row.budgets.at(-1), 3)}</td>
      <td class="number">${row.beyond}</td></tr>`;
  }

  function Accuracy({ filters }) {
    const all = useMemo(points, []);
    const { operator, dtype, surface } = filters;
    const chosen = useMemo(
      () => all.filter((point) => (!operator || point.operator === operator) && (!dtype || point.dtype === dtype) && (!surface || point.surface === surface)),
      [operator, dtype, surface],
    );
    const rows = useMemo(() => grouped(chosen), [chosen]);
    const select = (name, label, values) =>
      html`<${Select} label=${label} name=${name} value=${filters[name] || ""} options=${values.map((value) => ({ value, label: value }))}
        change=${(key, value) => queryLink("accuracy", { ...filters, [key]: value })} />`;
    const occurring = (key) => [...new Set(all.map((point) => point[key]))];
    const agreeing = chosen.filter((point) => point.result.verdict === "agree"); // large errors would compress the scale
    const withUlps = agreeing.map((point) => ({ ...point, ulp: (point.result.ulps ??= ulpOf(point.result) ?? NaN) }));
    const marks = [Plot.ruleX([1], { strokeDasharray: "4 3" })];
    return html`<section aria-labelledby="accuracy-title">
      <h1 id="accuracy-title" tabindex="-1">Accuracy</h1>
      <p class="muted">The largest error of each result for which rounding is allowed, in units in the last place and as a share of the error bound. The charts show results that agree; the table contains all results.</p>
      <form class="filters" aria-label="Choose results" onSubmit=${(event) => event.preventDefault()}>
        ${select("operator", "Operator", operators.filter((name) => occurring("operator").includes(name)))}
        ${select("dtype", "Dtype", occurring("dtype").sort())}
        ${select("surface", "Surface", ran.map(({ name }) => name).filter((name) => occurring("surface").includes(name)))}
      </form>
      <p role="status">${chosen.length.toLocaleString("en")} results</p>
      ${agreeing.length > 0 && html`<div class="charts">
        <${Chart} label="Share of the error bound used (dashed: the bound)" chosen=${agreeing} x="budget" type="linear" marks=${marks} />
        <${Chart} label="Largest error in ulp" chosen=${withUlps} x="ulp" type="symlog" /></div>`}
      ${chosen.length > 0 && html`
        <div class="scroll" tabindex="0" role="group" aria-labelledby="accuracy-title"><table class="accuracy">
          <thead><tr><th scope="col">surface (link: worst case)</th><th scope="col">operator</th><th scope="col">dtype</th><th scope="col" class="number">results</th><th scope="col" class="number">exact</th>
            <th scope="col" class="number">median ulp</th><th scope="col" class="number">largest</th><th scope="col" class="number">median share of bound</th><th scope="col" class="number">largest</th>
            <th scope="col" class="number">above pairwise</th></tr></thead>
          <tbody>${rows.map((row) => html`<${Row} key=${`${row.surface} ${row.operator} ${row.dtype}`} row=${row} />`)}</tbody></table></div>`}
    </section>`;
  }

  Object.assign(window.Report, { Accuracy, ulps });
});
