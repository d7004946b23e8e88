// The list of results, with filters and sorting. The URL contains both.
window.Report.withData(() => {
  "use strict";
  const { data, results, surfaces, operators, dtypes, parameters, kinds, valuesOf, filtered, resultsLink, caseLink, breakable, format, queryLink, useTable, descriptionOf, Chip, Select } = window.Report;
  const { useMemo, useState, useEffect } = preactHooks;
  const html = htm.bind(preact.h);
  const ROWS = 50; // few, so that a changed filter shows without delay
  const MORE = 250;

  const asOptions = (values) => values.map((value) => ({ value, label: value }));
  const statuses = data.statuses.map(({ name, word, sign }) => ({ value: name, label: `${sign} ${word}` }));

  const readable = (text) => ({ value: text, label: text.replace(/,/g, ", ") });
  const actions = kinds.map((kind) => ({ value: kind, label: data.actions[kind] || kind.replace(/_/g, " ") }));

  function Filters({ filters, change }) {
    const select = (name, label, options) =>
      html`<${Select} label=${label} name=${name} value=${filters[name] || ""} options=${options} change=${change} />`;
    return html`<form class="filters" role="search" aria-label="Filter the results" onSubmit=${(event) => event.preventDefault()}>
      ${select("operator", "Operator", asOptions(operators))}
      ${select("surface", "Surface", asOptions(surfaces.map(({ name }) => name)))}
      ${select("status", "Status", statuses)}
      ${actions.length > 0 && select("kind", "Difference", actions)}
      ${select("dtype", "Dtype", asOptions(dtypes))}
      ${select("parameter", "Parameter", asOptions(parameters))}
      ${filters.parameter && select("value", `Value of ${filters.parameter}`, valuesOf(filters.parameter, filters.operator).map(readable))}
      <label class="wide">Text
        <input type="search" name="text" value=${filters.text || ""} placeholder="case, message, reason …" autocomplete="off" aria-keyshortcuts="/"
          onInput=${(event) => change("text", event.target.value)} /></label>
      <a class="button" href="#/results">Reset</a>
    </form>`;
  }

  function share({ budget }) {
    if (budget === null) return "";
    return budget === "inf" ? "∞" : budget ? format(budget, 3) : "0";
  }

  function Row({ result }) {
    const [action, reason] = descriptionOf(result);
    return html`<tr>
      <td><${Chip} status=${result.status} /></td>
      <th scope="row"><a href=${caseLink(result.case.id, result.surface.name)}>${breakable(result.case.id)}</a></th>
      <td>${breakable(result.surface.name)}</td>
      <td class="optional">${result.how || ""}</td>
      <td class="optional number">${share(result)}</td>
      <td class="say"><div>${action && html`<em>${action}</em> `}${reason}</div></td>
    </tr>`;
  }

  const ORDER = { asc: "ascending", desc: "descending" };
  const ARROW = { asc: "↑", desc: "↓" };

  function Head({ column }) {
    const { header, meta = {} } = column.columnDef;
    const order = column.getIsSorted();
    return html`<th scope="col" class=${meta.classes} aria-sort=${ORDER[order]}>
      <button type="button" class="sort" title=${meta.title} onClick=${() => column.toggleSorting()}>${header}<span class="arrow" aria-hidden="true">${ARROW[order] || "↕"}</span></button></th>`;
  }

  function Results({ filters }) {
    const { sort, ...conditions } = filters;
    const key = resultsLink(conditions);
    const found = useMemo(() => filtered(conditions), [key]);
    const [limit, setLimit] = useState(ROWS);
    useEffect(() => setLimit(ROWS), [key, sort]);
    const change = (name, value) => {
      const reset = name === "parameter" ? { value: "" } : {}; // the value belonged to another parameter
      queryLink("results", { ...filters, ...reset, [name]: value });
    };
    const table = useTable(found, sort, limit, (order) => queryLink("results", { ...conditions, sort: order }));
    return html`<section aria-labelledby="results-title">
      <h1 id="results-title" tabindex="-1">Results</h1>
      <${Filters} filters=${filters} change=${change} />
      <p class="found" role="status">${found.length.toLocaleString("en")} of ${results.length.toLocaleString("en")} results</p>
      <div class="scroll" role="group" aria-labelledby="results-title" tabindex="0"><table class="list">
        <thead><tr>${table.getAllLeafColumns().map((column) => html`<${Head} column=${column} />`)}</tr></thead>
        <tbody>${table.getRowModel().rows.map((row) => html`<${Row} key=${row.id} result=${row.original} />`)}</tbody>
      </table></div>
      ${found.length > limit && html`<p><button type="button" onClick=${() => setLimit(limit + MORE)}>Show ${Math.min(MORE, found.length - limit)} more</button></p>`}
    </section>`;
  }

  Object.assign(window.Report, { Results, share });
});
