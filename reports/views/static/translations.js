// How a call is written on each surface: programs of this run, selected by operator and parameters.
window.Report.withData(() => {
  "use strict";
  const { data, cases: allCases, operators, resultsOf, backendOf, caseLink, queryLink, breakable, sorted, Select, Chip, Code, runnable } = window.Report;
  const { useMemo } = preactHooks;
  const html = htm.bind(preact.h);
  const IMAGE_AXES = 2; // (n, c) come before the spatial axes
  const FIRST = "max_pool";

  const written = (value) => JSON.stringify(value);
  const isSimple = (one) => !one.question && !one.expected.rejected && one.via.length === 0 && !one.parameters.then;
  const size = (one) => Object.values(one.inputs).reduce((sum, { shape }) => sum + shape.reduce((all, extent) => all * extent, 1), 0);
  const featuresOf = (one) => ({ axes: one.inputs.x ? `${Math.max(one.inputs.x.shape.length - IMAGE_AXES, 0)}` : "", dtype: one.inputs.x?.dtype || "",
    ...Object.fromEntries(Object.entries(one.parameters).map(([name, value]) => [name, written(value)])) });

  const fits = (features, selected) => Object.entries(selected).every(([name, value]) => !value || features[name] === value);

  // Sort key of a case: cases with frequent parameter values come first.
  function rarity(candidates) {
    const counts = new Map();
    const key = ([name, value]) => `${name}\n${value}`;
    for (const candidate of candidates) for (const entry of Object.entries(candidate.features)) counts.set(key(entry), (counts.get(key(entry)) || 0) + 1);
    return (candidate) => Object.entries(candidate.features).reduce((sum, entry) => sum - counts.get(key(entry)), 0);
  }

  // The number of matching cases by status on a surface.
  function counted(cases, surface) {
    const found = cases.flatMap((one) => resultsOf(one.id)).filter((result) => result.surface === surface);
    return data.statuses.map((status) => [status, found.filter((result) => result.status === status).length]).filter(([, count]) => count > 0);
  }

  function Translation({ result, cases }) {
    const setup = backendOf(result.surface).setup[result.surface.name];
    return html`<section class="translation"><h2 class="as-h3"><a href=${caseLink(result.case.id, result.surface.name)}>${breakable(result.surface.name)}</a>
        ${" "}<span class="muted">${result.how || ""}</span></h2>
      <p class="small">Of the matching cases: ${counted(cases, result.surface).map(([status, count]) => html`<span>${count}${" "}<${Chip} status=${status} /></span> `)}</p>
      ${result.program === undefined ? html`<p class="muted">${result.reason || "No program."}</p>` : html`<${Code} text=${result.program} copied=${runnable(setup, result.program)} label=${`the program for ${result.surface.name}`} />`}
      ${setup && html`<details><summary>Setup code</summary><${Code} text=${setup} label=${`the setup code of ${result.surface.name}`} /></details>`}
    </section>`;
  }

  function Translations({ filters: { operator: selected, ...given } }) {
    const candidates = useMemo(() => allCases.filter(isSimple).map((one) => ({ one, features: featuresOf(one) })), []);
    const offered = operators.filter((name) => candidates.some(({ one }) => one.operator === name));
    const operator = selected || (offered.includes(FIRST) ? FIRST : offered[0]);
    const own = candidates.filter(({ one }) => one.operator === operator);
    const rank = rarity(own);
    const cases = own.filter((candidate) => fits(candidate.features, given))
      .sort((one, other) => rank(one) - rank(other) || size(one.one) - size(other.one)).map(({ one }) => one);
    const change = (name, value) => queryLink("translations", name === "operator" ? { operator: value } : { operator, ...given, [name]: value });
    // Offer the values of a parameter that match all other selections.
    const values = (name) => sorted(own.filter((candidate) => fits(candidate.features, { ...given, [name]: "" })).map((candidate) => candidate.features[name]).filter(Boolean));
    const names = [...new Set(own.flatMap((candidate) => Object.keys(candidate.features)))];
    const select = (name, label, options) => html`<${Select} label=${label} name=${name} value=${name === "operator" ? operator : given[name] || ""}
      options=${options.map((value) => ({ value, label: value.replace(/,/g, ", ") }))} change=${change} any=${name !== "operator"} />`;
    return html`<section aria-labelledby="translations-title">
      <h1 id="translations-title" tabindex="-1">Translations</h1>
      <p class="muted">How a call is written on each surface. All programs were executed and checked in this run.${" "}
        <code>conformance translate</code> writes other calls.</p>
      <form class="filters" aria-label="Choose a call" onSubmit=${(event) => event.preventDefault()}>
        ${select("operator", "Operator", offered)}${names.map((name) => select(name, name.replace(/_/g, " "), values(name)))}
        <a class="button" href="#/translations">Reset</a>
      </form>
      <p role="status">${cases.length.toLocaleString("en")} ${cases.length === 1 ? "case matches" : "cases match"}${cases.length > 0 && html`. Programs of the most typical case, <a href=${caseLink(cases[0].id)}>${breakable(cases[0].id)}</a>:`}</p>
      ${cases.length > 0 && html`<p class="small">${Object.entries(cases[0].parameters).map(([name, value]) => `${name} ${written(value).replace(/,/g, ", ")}`).join("; ")}</p>`}
      ${cases.length > 0 && resultsOf(cases[0].id).map((result) => html`<${Translation} key=${result.surface.name} result=${result} cases=${cases} />`)}
    </section>`;
  }

  Object.assign(window.Report, { Translations });
});
