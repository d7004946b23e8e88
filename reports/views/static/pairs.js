// The page of two or three surfaces: the conventions to which they give different answers. The URL contains the surfaces.
window.Report.withData(() => {
  "use strict";
  const { data, surfaces, operators, backendOf, caseOf, caseLink, surfaceLink, goTo, breakable, inWords, format, Chip, Select } = window.Report;
  const { useMemo } = preactHooks;
  const html = htm.bind(preact.h);
  const PLACES = ["First surface", "Second surface", "Third surface"];
  const MOST_NUMBERS = 8; // of an answer; larger arrays are described by their shape
  const GRADIENT = "_grad"; // end of the names of gradients, which come last
  const BOOK = ".book"; // end of the names of textbook surfaces, which do not represent a framework

  // The answers to each convention by surface.
  const conventions = new Map();
  for (const one of data.conventions) {
    if (!conventions.has(one.question)) conventions.set(one.question, new Map());
    conventions.get(one.question).set(one.surface, one);
  }
  const operatorOf = (question) => caseOf(conventions.get(question).values().next().value.case).operator;
  const ordered = [...conventions.keys()].sort((one, other) => operatorOf(one).endsWith(GRADIENT) - operatorOf(other).endsWith(GRADIENT) || (one < other ? -1 : 1));

  // A framework is the first part of the names of its surfaces, or a backend. It means its first surface, which is no route.
  const labelOf = (name) => name.slice(name.split("@")[0].length);
  const frameworkOf = (name) => name.split("@")[0].split(/[.-]/)[0] + labelOf(name);
  const frameworks = new Map();
  for (const { name, backend } of surfaces.filter(({ name }) => !name.split("@")[0].endsWith(BOOK) && !name.includes("→"))) {
    for (const framework of new Set([frameworkOf(name), data.backends[backend].name])) {
      if (!frameworks.has(framework)) frameworks.set(framework, { name, backend });
      else if (frameworks.get(framework).backend !== backend) frameworks.get(framework).name = null; // several backends
    }
  }
  for (const [framework, { name }] of frameworks) if (name === null) frameworks.delete(framework);

  const surfaceOf = (text) => (surfaces.some(({ name }) => name === text) ? text : frameworks.get(text)?.name || null);
  const textsIn = (text) => (text || "").split(",").filter(Boolean).slice(0, PLACES.length);
  const pairLink = (texts, operator) => `#/pairs?surfaces=${texts.map(encodeURIComponent).join(",")}${operator ? `&operator=${encodeURIComponent(operator)}` : ""}`;
  const namesText = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0]);
  const pointsText = (count) => `${count} ${count === 1 ? "point" : "points"}`;

  // Whether surfaces give different answers: "differing", "same" or, if only one answers, "single"; "none" without
  // answers. The definition is that of `conformance compare`: answers on other processors count too.
  function agreement(answers) {
    const given = answers.filter((one) => one?.answer);
    if (given.length < 2) return given.length === 1 ? "single" : "none";
    const differ = (key) => new Set(given.map(key)).size > 1;
    return differ((one) => one.answer) || differ((one) => JSON.stringify(one.cpu)) ? "differing" : "same";
  }

  // The conventions of an operator, or of all, by agreement.
  function pointsOf(names, operator) {
    const points = { differing: [], same: [], single: [], none: [] };
    for (const question of ordered.filter((one) => !operator || operatorOf(one) === operator)) {
      const answers = names.map((name) => conventions.get(question).get(name));
      points[agreement(answers)].push({ question, answers, about: [...conventions.get(question).values()][0].about });
    }
    return points;
  }

  // The result that an answer means, if it is short.
  function Meaning({ answer }) {
    const expected = caseOf(answer.case)?.expected.answers?.[answer.answer];
    if (!expected) return null;
    if (expected.rejected) return html`<span class="meaning">rejects the call: ${inWords(expected.rejected)}</span>`;
    const short = expected.data && expected.data.length <= MOST_NUMBERS;
    return html`<span class="meaning">${short ? `[${expected.data.map((value) => format(value)).join(", ")}]` : `shape ${expected.shape.join(" × ")}`}</span>`;
  }

  // Where an answer comes from. A document has the form of results files: address (version): "sentence".
  function Document({ name, answer }) {
    const { name: backend, version } = backendOf(surfaces.find((one) => one.name === name));
    const observed = `observed with ${backend} ${version || ""}`.trim();
    if (answer.contradicted) return `${observed}; ${answer.documented ? "the document states" : "it declares"} ${answer.declared}`;
    const [, address, edition, sentence] = answer.source.match(/^(https?:\/\/\S+) \((.*?)\): "(.*)"$/s) || [];
    const suffix = answer.observed === null ? "; not observed in this run" : "";
    if (address) return html`“${sentence}” <a href=${address} rel="noreferrer">${edition}</a>${suffix}`;
    if (answer.documented) return answer.source + suffix;
    return answer.observed === null ? `undocumented${suffix}` : `undocumented; ${observed}`;
  }

  function Answer({ name, answer }) {
    if (!answer?.answer) return html`<td data-surface=${name}><span class="muted">no answer</span></td>`;
    return html`<td data-surface=${name}><div>
      <p class=${`answer answer-${answer.colour}`}><a href=${caseLink(answer.case, name)} aria-label="${answer.answer}: the case on ${name}"><b>${answer.answer}</b></a> <${Meaning} answer=${answer} /></p>
      ${Object.entries(answer.cpu).map(([feature, other]) => html`<p class="small">${other} on a processor with ${feature}</p>`)}
      <p class="small muted"><${Document} name=${name} answer=${answer} /></p></div></td>`;
  }

  function Differing({ names, points }) {
    const groups = [...new Set(points.map(({ question }) => operatorOf(question)))];
    return html`<table class="pairs"><thead><tr><th scope="col">point</th>${names.map((name) => html`<th scope="col"><a href=${surfaceLink(name)}>${breakable(name)}</a></th>`)}</tr></thead>
      ${groups.map((group) => html`<tbody key=${group}><tr class="group"><th scope="rowgroup" colspan=${names.length + 1}><code>${group}</code></th></tr>
        ${points.filter(({ question }) => operatorOf(question) === group).map(({ question, about, answers }) => html`<tr key=${question}>
          <th scope="row">${about}<a class="small" href="#convention-${question}">${breakable(question.replace(`${group}/`, ""))}</a></th>
          ${names.map((name, place) => html`<${Answer} name=${name} answer=${answers[place]} />`)}</tr>`)}</tbody>`)}</table>`;
  }

  function Folded({ title, points, text }) {
    if (points.length === 0) return null;
    return html`<details><summary>${title}</summary><ul class="plain">${points.map((point) => html`<li key=${point.question}>
      <a href="#convention-${point.question}">${breakable(point.question)}</a>: ${point.about} <b>${text(point)}</b></li>`)}</ul></details>`;
  }

  // The differences from the expected results that only some of the surfaces have.
  function Deviations({ names, operator }) {
    const own = data.causes.filter(({ results, operators: affected }) => names.some((name) => name in results) && !names.every((name) => name in results) && (!operator || affected.includes(operator)));
    if (own.length === 0) return null;
    return html`<details><summary>${own.length} ${own.length === 1 ? "deviation" : "deviations"} from the expected result on some of them only</summary>
      <ul class="plain">${own.map((cause) => html`<li key=${cause.id}><${Chip} status=${data.statuses.find((one) => one.name === cause.status)} /> <a href="#${cause.id}">${cause.title}</a></li>`)}</ul></details>`;
  }

  // The number of points on which each other surface differs from one.
  function Others({ name, operator }) {
    const rows = surfaces.filter((one) => one.name !== name).map((one) => ({ other: one.name, points: pointsOf([name, one.name], operator) }));
    return html`<table><thead><tr><th scope="col">${breakable(name)} and</th><th scope="col" class="number">differ on</th><th scope="col" class="number">agree on</th></tr></thead>
      <tbody>${rows.map(({ other, points }) => html`<tr key=${other}><th scope="row"><a href=${pairLink([name, other], operator)}>${breakable(other)}</a></th>
        <td class="number">${pointsText(points.differing.length)}</td><td class="number">${points.same.length}</td></tr>`)}</tbody></table>`;
  }

  function Chooser({ texts, operator }) {
    const set = (next, only) => goTo(pairLink(next.filter(Boolean), only));
    const groups = data.backends.map((backend, number) => [backend, surfaces.filter((one) => one.backend === number)]).filter(([, own]) => own.length > 0);
    return html`<form class="filters" aria-label="Choose surfaces" onSubmit=${(event) => event.preventDefault()}>
      ${PLACES.slice(0, Math.max(2, texts.length + 1)).map((label, place) => html`<label key=${label}>${label}
        <select value=${texts[place] || ""} onChange=${(event) => set(Object.assign([...texts], { [place]: event.target.value }), operator)}>
          <option value="">none</option>
          <optgroup label="frameworks">${[...frameworks].map(([framework, { name }]) => html`<option value=${framework} selected=${texts[place] === framework}>${framework} (${name})</option>`)}</optgroup>
          ${groups.map(([backend, own]) => html`<optgroup label="${backend.name} ${backend.version || ""}">${own.map(({ name }) => html`<option value=${name} selected=${texts[place] === name}>${name}</option>`)}</optgroup>`)}
        </select></label>`)}
      <${Select} label="Operator" name="operator" value=${operator || ""} options=${operators.filter((one) => ordered.some((question) => operatorOf(question) === one)).map((value) => ({ value, label: value }))}
        change=${(_, value) => set(texts, value)} />
    </form>`;
  }

  function Comparison({ names, operator }) {
    const points = useMemo(() => pointsOf(names, operator), [names.join(), operator]);
    const answer = ({ answers }) => answers.find((one) => one?.answer);
    return html`${points.differing.length > 0 && html`<${Differing} names=${names} points=${points.differing} />`}
      <div class="folded">
        <${Deviations} names=${names} operator=${operator} />
        <${Folded} title=${`They agree on ${pointsText(points.same.length)}`} points=${points.same} text=${(point) => answer(point).answer} />
        <${Folded} title=${`Only one of them answers ${pointsText(points.single.length)}`} points=${points.single} text=${(point) => `${answer(point).surface}: ${answer(point).answer}`} />
      </div>`;
  }

  function headline(names, operator) {
    if (names.length < 2) return "Compare surfaces";
    const count = pointsOf(names, operator).differing.length;
    return `${namesText(names)} ${count === 0 ? "differ on no point" : `differ on ${pointsText(count)}`}${operator ? ` of ${operator}` : ""}`;
  }

  function Pairs({ filters }) {
    const { operator } = filters;
    const texts = textsIn(filters.surfaces);
    const names = [...new Set(texts.map(surfaceOf).filter(Boolean))];
    const unknown = texts.filter((text) => !surfaceOf(text));
    return html`<section class="pairs-page" aria-labelledby="pairs-title">
      <h1 id="pairs-title" tabindex="-1">${headline(names, operator)}</h1>
      <${Chooser} texts=${texts} operator=${operator} />
      <p role="status" class=${names.length > 1 ? "hidden" : "muted"}>${names.length > 1 ? headline(names, operator) : names.length === 1 ? "Choose a second surface." : "Choose two or three surfaces, to see the conventions to which they give different answers."}</p>
      ${unknown.map((text) => html`<p class="note">The results do not contain the surface or framework <code>${text}</code>.</p>`)}
      ${names.length > 1 && html`<${Comparison} names=${names} operator=${operator} />`}
      ${names.length === 1 && html`<${Others} name=${names[0]} operator=${operator} />`}
    </section>`;
  }

  Object.assign(window.Report, { Pairs, pairLink, pointsOf, frameworks });
});
