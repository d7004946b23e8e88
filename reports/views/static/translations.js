// How a call is written on each surface: programs that this run holds, chosen by operator and parameters.
window.Report.withData(() => {
  "use strict";
  const { data, cases: every, operators, resultsOf, backendOf, caseLink, queryLink, breakable, sorted, Select, Chip, Code } = window.Report;
  const { useMemo } = preactHooks;
  const html = htm.bind(preact.h);
  const IMAGE_AXES = 2; // (n, c) stand before the spatial axes
  const FIRST = "max_pool";

  const written = (value) => JSON.stringify(value);
  const plain = (one) => !one.question && !one.expected.rejected && one.via.length === 0 && !one.parameters.then;
  const size = (one) => Object.values(one.inputs).reduce((sum, { shape }) => sum + shape.reduce((all, extent) => all * extent, 1), 0);
  const traits = (one) => ({ axes: one.inputs.x ? `${Math.max(one.inputs.x.shape.length - IMAGE_AXES, 0)}` : "", dtype: one.inputs.x?.dtype || "",
    ...Object.fromEntries(Object.entries(one.parameters).map(([name, value]) => [name, written(value)])) });

  const fits = (given, wanted) => Object.entries(wanted).every(([name, value]) => !value || given[name] === value);

  // How many traits of a case are not the usual ones, those that most cases have: an ordinary call comes first.
  function unusual(candidates) {
    const counts = new Map();
    const key = ([name, value]) => `${name}\n${value}`;
    for (const candidate of candidates) for (const entry of Object.entries(candidate.traits)) counts.set(key(entry), (counts.get(key(entry)) || 0) + 1);
    return (candidate) => Object.entries(candidate.traits).reduce((sum, entry) => sum - counts.get(key(entry)), 0);
  }

  // How many of the matching cases came out how on a surface.
  function counted(cases, surface) {
    const found = cases.flatMap((one) => resultsOf(one.id)).filter((result) => result.surface === surface);
    return data.statuses.map((status) => [status, found.filter((result) => result.status === status).length]).filter(([, count]) => count > 0);
  }

  function Translation({ result, cases }) {
    const setup = backendOf(result.surface).setup[result.surface.name];
    return html`<section class="translation"><h2 class="as-h3"><a href=${caseLink(result.case.id, result.surface.name)}>${breakable(result.surface.name)}</a>
        ${" "}<span class="muted">${result.how || ""}</span></h2>
      <p class="small">Of the matching cases: ${counted(cases, result.surface).map(([status, count]) => html`<span>${count}${" "}<${Chip} status=${status} /></span> `)}</p>
      ${result.program === undefined ? html`<p class="muted">${result.reason || "No program."}</p>` : html`<${Code} text=${result.program} label=${`the program for ${result.surface.name}`} />`}
      ${setup && html`<details><summary>Set-up</summary><${Code} text=${setup} label=${`the set-up of ${result.surface.name}`} /></details>`}
    </section>`;
  }

  function Translations({ filters: { operator: asked, ...given } }) {
    const candidates = useMemo(() => every.filter(plain).map((one) => ({ one, traits: traits(one) })), []);
    const offered = operators.filter((name) => candidates.some(({ one }) => one.operator === name));
    const operator = asked || (offered.includes(FIRST) ? FIRST : offered[0]);
    const own = candidates.filter(({ one }) => one.operator === operator);
    const rank = unusual(own);
    const cases = own.filter((candidate) => fits(candidate.traits, given))
      .sort((one, other) => rank(one) - rank(other) || size(one.one) - size(other.one)).map(({ one }) => one);
    const change = (name, value) => queryLink("translations", name === "operator" ? { operator: value } : { operator, ...given, [name]: value });
    // A parameter offers the values that go with all that is chosen besides it.
    const values = (name) => sorted(own.filter((candidate) => fits(candidate.traits, { ...given, [name]: "" })).map((candidate) => candidate.traits[name]).filter(Boolean));
    const names = [...new Set(own.flatMap((candidate) => Object.keys(candidate.traits)))];
    const select = (name, label, options) => html`<${Select} label=${label} name=${name} value=${name === "operator" ? operator : given[name] || ""}
      options=${options.map((value) => ({ value, label: value.replace(/,/g, ", ") }))} change=${change} any=${name !== "operator"} />`;
    return html`<section aria-labelledby="translations-title">
      <h1 id="translations-title" tabindex="-1">Translations</h1>
      <p class="muted">How a call is written on each surface, in programs that this run has executed and judged.${" "}
        <code>conformance translate</code> writes others.</p>
      <form class="filters" aria-label="Choose a call" onSubmit=${(event) => event.preventDefault()}>
        ${select("operator", "Operator", offered)}${names.map((name) => select(name, name.replace(/_/g, " "), values(name)))}
        <a class="button" href="#/translations">Reset</a>
      </form>
      <p role="status">${cases.length.toLocaleString("en")} ${cases.length === 1 ? "case matches" : "cases match"}${cases.length > 0 && html`; the programs of the most ordinary, <a href=${caseLink(cases[0].id)}>${breakable(cases[0].id)}</a>:`}</p>
      ${cases.length > 0 && html`<p class="small">${Object.entries(cases[0].parameters).map(([name, value]) => `${name} ${written(value).replace(/,/g, ", ")}`).join("; ")}</p>`}
      ${cases.length > 0 && resultsOf(cases[0].id).map((result) => html`<${Translation} key=${result.surface.name} result=${result} cases=${cases} />`)}
    </section>`;
  }

  Object.assign(window.Report, { Translations });
});
