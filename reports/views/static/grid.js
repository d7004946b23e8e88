// Arrays as grids of numbers, one per plane. Comparisons show expected, got and difference next to each other.
window.Report.withData(() => {
  "use strict";
  const { toNumber, format, difference, digitsFor } = window.Report;
  const html = htm.bind(preact.h);
  const MOST_PLANES = 6;
  const MOST_CELLS = 16; // maximum number of rows, and of columns, of a grid

  const product = (sizes) => sizes.reduce((one, other) => one * other, 1);

  // Split an array into planes: the last two axes are the plane, the leading axes its index.
  function layout(shape) {
    const [rows, columns] = shape.length === 0 ? [1, 1] : shape.length === 1 ? [1, shape[0]] : shape.slice(-2);
    return { rows, columns, leading: shape.slice(0, -2), rank: shape.length };
  }

  function unravel(position, sizes) {
    const index = [];
    for (const size of [...sizes].reverse()) {
      index.unshift(position % size);
      position = Math.floor(position / size);
    }
    return index;
  }

  function caption(leading, rank) {
    if (rank === 0) return "scalar";
    return `[${[...leading, ...Array(Math.min(rank, 2)).fill(":")].join(", ")}]`;
  }

  // The shown positions of an axis: at most MOST_CELLS, around `center`.
  function cut(size, center) {
    const start = Math.min(Math.max(0, center - Math.floor(MOST_CELLS / 2)), Math.max(0, size - MOST_CELLS));
    return Array.from({ length: Math.min(size, MOST_CELLS) }, (_, step) => start + step);
  }

  function range(arrays) {
    const finite = arrays.flat().map(toNumber).filter(Number.isFinite);
    return finite.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  }

  function shade(value, [low, high]) {
    const number = toNumber(value);
    return Number.isFinite(number) && high > low ? (number - low) / (high - low) : 0;
  }

  // cell(row, column) returns {text, full, classes, shade, note}.
  function Grid({ title, name, rows, columns, cell }) {
    return html`<table class="grid">
      <caption><strong>${title}</strong> <span class="muted">${name}</span></caption>
      <thead><tr><td></td>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
      <tbody>${rows.map(
        (row) => html`<tr><th scope="row">${row}</th>${columns.map((column) => {
          const { text, full, classes = "", shade: heat = 0, note } = cell(row, column);
          return html`<td class=${classes} style=${{ "--heat": heat.toFixed(3) }} title=${full}>${text}${
            note && html`<span class="hidden"> (${note})</span>`
          }</td>`;
        })}</tr>`,
      )}</tbody>
    </table>`;
  }

  function shownPlanes(count, first) {
    const planes = Array.from({ length: Math.min(count, MOST_PLANES) }, (_, plane) => plane);
    if (first >= planes.length) planes[planes.length - 1] = first;
    return planes;
  }

  function Cap({ array, planes }) {
    const { rows, columns, leading } = layout(array.shape);
    const parts = [];
    if (product(leading) > planes) parts.push(`${planes} of ${product(leading)} planes`);
    if (rows > MOST_CELLS || columns > MOST_CELLS)
      parts.push(`${Math.min(rows, MOST_CELLS)} × ${Math.min(columns, MOST_CELLS)} of ${rows} × ${columns} cells`);
    return parts.length > 0 && html`<p class="small muted">Shown: ${parts.join(", ")}.</p>`;
  }

  const signature = (array) => `${array.dtype} [${array.shape.join(", ")}]`;

  // A single array.
  function ArrayView({ title, array }) {
    const { rows, columns, leading, rank } = layout(array.shape);
    if (array.data === null) return html`<p><strong>${title}</strong> ${signature(array)}: <em>too large, not recorded in the results.</em></p>`;
    if (array.data.length === 0) return html`<p><strong>${title}</strong> ${signature(array)}: <em>no elements.</em></p>`;
    const digits = digitsFor([]);
    const limits = range([array.data]);
    const planes = shownPlanes(product(leading), 0);
    return html`<div class="array">
      <p class="signature"><strong>${title}</strong> <span class="muted">${signature(array)}</span></p>
      <div class="planes">${planes.map((plane) => {
        const at = (row, column) => array.data[(plane * rows + row) * columns + column];
        return html`<div class="scroll"><${Grid} name=${caption(unravel(plane, leading), rank)} rows=${cut(rows, 0)} columns=${cut(columns, 0)}
          cell=${(row, column) => ({ text: format(at(row, column), digits), full: String(at(row, column)), shade: shade(at(row, column), limits) })} /></div>`;
      })}</div>
      <${Cap} array=${array} planes=${planes.length} />
    </div>`;
  }

  // The position of the worst element: the recorded one, or else the largest difference.
  function worstPosition(expected, differences, worst) {
    if (worst) return worst.index.reduce((position, index, axis) => position * expected.shape[axis] + index, 0);
    let found = -1;
    differences.forEach(({ size }, position) => {
      if (size > 0 && (found < 0 || size > differences[found].size)) found = position;
    });
    return found;
  }

  // Expected, got and difference for each plane, with the worst cell marked.
  function Comparison({ expected, got, worst }) {
    const comparable =
      expected.data !== null && got.data !== null && expected.data.length > 0 && String(expected.shape) === String(got.shape);
    if (!comparable)
      return html`<div class="side"><${ArrayView} title="expected" array=${expected} /><${ArrayView} title="got" array=${got} /></div>`;
    const { rows, columns, leading, rank } = layout(expected.shape);
    const differences = expected.data.map((value, position) => difference(got.data[position], value));
    const position = worstPosition(expected, differences, worst);
    const marked = { plane: Math.floor(Math.max(position, 0) / (rows * columns)), row: Math.floor(Math.max(position, 0) / columns) % rows, column: Math.max(position, 0) % columns };
    const largest = Math.max(0, ...differences.filter((one) => !one.special).map((one) => one.size));
    const limits = range([expected.data, got.data]);
    const digits = digitsFor(expected.data.map((value, number) => [value, got.data[number]]));
    const planes = shownPlanes(product(leading), marked.plane);
    return html`<div class="comparison">
      <div class="triples" tabindex="0" role="group" aria-label="expected, got and difference">${planes.map((plane) => {
        const number = (row, column) => (plane * rows + row) * columns + column;
        const classes = (row, column, wrong) =>
          [differences[number(row, column)].size > 0 && wrong, number(row, column) === position && "worst"].filter(Boolean).join(" ");
        const note = (row, column) => (number(row, column) === position ? "worst" : "");
        const values = (data, wrong) => (row, column) => {
          const value = data[number(row, column)];
          return { text: format(value, digits), full: String(value), shade: shade(value, limits), classes: classes(row, column, wrong), note: note(row, column) };
        };
        const deltas = (row, column) => {
          const { size, text, special } = differences[number(row, column)];
          const heat = special ? 1 : largest > 0 ? size / largest : 0;
          return { text: size === 0 ? "·" : text, shade: heat, classes: `delta ${classes(row, column, "off")}`, note: note(row, column) };
        };
        const shared = { name: caption(unravel(plane, leading), rank), rows: cut(rows, marked.row), columns: cut(columns, marked.column) };
        return html`<div class="triple" key=${plane}>
          <div class="scroll"><${Grid} title="expected" ...${shared} cell=${values(expected.data, "")} /></div>
          <div class="scroll"><${Grid} title="got" ...${shared} cell=${values(got.data, "off")} /></div>
          <div class="scroll"><${Grid} title="difference" ...${shared} cell=${deltas} /></div>
        </div>`;
      })}</div>
      <p class="small muted">${signature(expected)}${String(expected.dtype) === String(got.dtype) ? "" : `, got ${signature(got)}`}.
        ${position >= 0 && " ▲ marks the worst cell; differing cells are underlined."}</p>
      <${Cap} array=${expected} planes=${planes.length} />
    </div>`;
  }

  Object.assign(window.Report, { ArrayView, Comparison, signature, unravel });
});
