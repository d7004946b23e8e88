// The list of results, filtered by operator, surface, status and text; the filter lives in the URL.
(() => {
  "use strict";
  const { data, operators, filtered, resultsLink, caseLink, breakable, format, Chip } = window.Report;
  const { useMemo, useState, useEffect } = preactHooks;
  const html = htm.bind(preact.h);
  const ROWS = 200;

  function Select({ label, name, value, options, change }) {
    return html`<label>${label}
      <select name=${name} value=${value} onChange=${(event) => change(name, event.target.value)}>
        <option value="">all</option>
        ${options.map((option) => html`<option value=${option.value} selected=${option.value === value}>${option.label}</option>`)}
        ${value && !options.some((option) => option.value === value) && html`<option value=${value} selected>${value} (none)</option>`}
      </select></label>`;
  }

  const plain = (values) => values.map((value) => ({ value, label: value }));
  const statuses = data.statuses.map(({ name, word, sign }) => ({ value: name, label: `${sign} ${word}` }));

  function Filters({ filters, change }) {
    return html`<form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Select} label="Operator" name="operator" value=${filters.operator || ""} options=${plain(operators)} change=${change} />
      <${Select} label="Surface" name="surface" value=${filters.surface || ""} options=${plain(data.surfaces.map(({ name }) => name))} change=${change} />
      <${Select} label="Status" name="status" value=${filters.status || ""} options=${statuses} change=${change} />
      <label class="wide">Text
        <input type="search" name="text" value=${filters.text || ""} placeholder="case, message, reason …" autocomplete="off"
          onInput=${(event) => change("text", event.target.value)} /></label>
      <a class="button" href="#/results">Reset</a>
    </form>`;
  }

  function share({ budget }) {
    if (budget === null) return "";
    return budget === "inf" ? "∞" : budget ? format(budget, 3) : "0";
  }

  function happened({ reason, message, worst }) {
    const off = worst && `at [${worst.index.join(", ")}] expected ${format(worst.expected, 9)}, got ${format(worst.got, 9)}`;
    return reason || message || off || "";
  }

  function Row({ result }) {
    return html`<tr>
      <td><${Chip} status=${result.status} /></td>
      <th scope="row"><a href=${caseLink(result.case.id, result.surface.name)}>${breakable(result.case.id)}</a></th>
      <td>${breakable(result.surface.name)}</td>
      <td class="optional">${result.how || ""}</td>
      <td class="optional number">${share(result)}</td>
      <td class="say"><div>${result.kind ? html`<em>${data.actions[result.kind]}</em> ` : ""}${happened(result)}</div></td>
    </tr>`;
  }

  function Results({ filters }) {
    const key = resultsLink(filters);
    const found = useMemo(() => filtered(filters), [key]);
    const [limit, setLimit] = useState(ROWS);
    useEffect(() => setLimit(ROWS), [key]);
    const change = (name, value) => {
      history.replaceState(null, "", resultsLink({ ...filters, [name]: value }));
      window.dispatchEvent(new HashChangeEvent("hashchange"));
    };
    return html`<section aria-labelledby="results-title">
      <h1 id="results-title" tabindex="-1">Results</h1>
      <${Filters} filters=${filters} change=${change} />
      <p class="found" role="status">${found.length.toLocaleString("en")} of ${data.results.length.toLocaleString("en")} results</p>
      <div class="scroll" role="region" aria-labelledby="results-title" tabindex="0"><table class="list">
        <thead><tr><th scope="col">status</th><th scope="col">case</th><th scope="col">surface</th><th scope="col" class="optional">how</th>
          <th scope="col" class="optional number" title="largest error, as a share of the error bound">error ÷ bound</th><th scope="col">what happened</th></tr></thead>
        <tbody>${found.slice(0, limit).map((result) => html`<${Row} key=${result.position} result=${result} />`)}</tbody>
      </table></div>
      ${found.length > limit && html`<p><button type="button" onClick=${() => setLimit(limit + ROWS)}>Show ${Math.min(ROWS, found.length - limit)} more</button></p>`}
    </section>`;
  }

  Object.assign(window.Report, { Results, share });
})();
