// The drawing of a case: the input with its padding, and the window of one output cell, with buttons to step through.
window.Report.withData(() => {
  "use strict";
  const { geometry, kindAt, whyNot, isGradient, format, unravel } = window.Report;
  const html = htm.bind(preact.h);
  const CELL = 34; // size of a cell in SVG units
  const MOST = 24; // maximum number of cells drawn along an axis
  const MOST_SLICES = 4;
  const SMALL_CELL = 9; // size of a cell in a small picture, in pixels
  const MOST_SMALL = 12; // maximum number of cells of a small picture along an axis
  const MOST_NAMED = 12; // maximum number of values in the sentence
  const SIGN = { padding: "·", beyond: "_", cropped: "×" };
  const WORD = { input: "input cell", padding: "cell of padding", beyond: "cell past the padding", cropped: "cropped cell" };
  const ROW = { size: 1, before: 0, after: 0, overhang: 0, outputs: 1, reads: () => [0] };

  const product = (sizes) => sizes.reduce((one, other) => one * other, 1);
  const span = (cells) => [Math.min(...cells), Math.max(...cells)];

  // The drawn positions of an axis: all of them, or as many as fit around the window.
  function drawn(axis, reads, most = MOST) {
    const [start, end] = [Math.min(0, -axis.before), axis.size + Math.max(0, axis.after) + axis.overhang];
    const from = end - start <= most || reads.length === 0 ? start : Math.min(Math.max(start, reads[0] - Math.floor((most - (reads.at(-1) - reads[0])) / 2)), end - most);
    return Array.from({ length: Math.min(most, end - start) }, (_, step) => from + step);
  }

  // The value of x at a position of a plane as text, or the sign of padding and cells beyond it.
  function valueAt(x, plane, axes, index, kind) {
    if (kind !== "input" && kind !== "cropped") return SIGN[kind];
    if (x.data === null) return "";
    const offset = index.reduce((position, at, axis) => position * axes[axis].size + at, 0);
    return format(x.data[plane * product(axes.map((axis) => axis.size)) + offset], 3);
  }

  // A drawing of one slice of the input, with the cells that are read and the gaps of the dilation.
  function Slice({ title, axes, reads, rows, columns, lead, value, label, next = null, cell = CELL }) {
    const [down, across] = reads;
    const reading = down.length > 0 && across.length > 0;
    const [top, bottom] = span(down);
    const [left, right] = span(across);
    const inside = (row, column) => reading && row >= top && row <= bottom && column >= left && column <= right;
    return html`<figure class="slice"><figcaption class="small muted">${title}</figcaption>
      <svg viewBox=${`-1 -1 ${columns.length * CELL + 2} ${rows.length * CELL + 2}`} style=${{ width: `${columns.length * cell + 2}px` }} role="img" aria-label=${label}>
        ${rows.map((row, y) => columns.map((column, x) => {
          const kind = kindAt(axes, [...lead, row, column]);
          const read = down.includes(row) && across.includes(column);
          const part = read ? "read" : inside(row, column) ? "hole" : "";
          return html`<g class=${`cell ${kind} ${part}`} transform=${`translate(${x * CELL} ${y * CELL})`}>
            <rect width=${CELL} height=${CELL} /><text x=${CELL / 2} y=${CELL / 2 + 4}>${value([...lead, row, column], kind)}</text>
            ${part === "hole" && html`<path d=${`M4 ${CELL - 4}L${CELL - 4} 4`} />`}</g>`;
        }))}
        ${reading && html`<rect class="window" x=${(left - columns[0]) * CELL} y=${(top - rows[0]) * CELL}
          width=${(right - left + 1) * CELL} height=${(bottom - top + 1) * CELL} />`}
        ${reading && next && html`<rect class="window next" x=${(next[0] - columns[0]) * CELL} y=${(top - rows[0]) * CELL}
          width=${(next[1] - next[0] + 1) * CELL} height=${(bottom - top + 1) * CELL} />`}
      </svg></figure>`;
  }

  // The content of a window as text, for readers who cannot see the drawing.
  function sentence(axes, reads, values) {
    const places = reads.reduce((found, cells) => found.flatMap((place) => cells.map((cell) => [...place, cell])), [[]]);
    const kinds = places.map((place) => kindAt(axes, place));
    const counted = Object.keys(WORD).map((kind) => [kinds.filter((one) => one === kind).length, WORD[kind]]).filter(([count]) => count > 0);
    const real = places.filter((_, number) => kinds[number] === "input").map((place) => values(place, "input"));
    const named = real.length > 0 && real.length <= MOST_NAMED && real.every((text) => text !== "") ? ` (${real.join(", ")})` : "";
    const cells = ([count, word]) => `${count} ${count === 1 ? word : word.replace("cell", "cells")}`;
    return counted.length === 0 ? "no cell" : counted.map((one) => cells(one) + (one[1] === WORD.input ? named : "")).join(", ");
  }

  // The expected and the actual value of an output cell, if both arrays are recorded.
  function outcome(one, got, plane, output) {
    const at = [plane[0], one.inputs.kernel ? 0 : plane[1], ...output];
    const element = (array) => {
      const fits = array?.data && array.shape.length === at.length && at.every((index, axis) => index < array.shape[axis]);
      return fits ? format(array.data[at.reduce((position, index, axis) => position * array.shape[axis] + index, 0)], 9) : null;
    };
    if (isGradient(one.operator)) return "";
    const [expected, actual] = [element(one.expected), element(got)];
    return expected === null ? "" : ` Expected ${expected}${actual === null || actual === expected ? "" : `, got ${actual}`}.`;
  }

  function Steps({ count, step, go }) {
    const to = (target) => () => go(Math.min(Math.max(target, 0), count - 1));
    return html`<div class="steps">
      <button type="button" onClick=${to(step - 1)} disabled=${step === 0}>← Previous</button>
      <label>Output cell <input type="range" name="step" min="0" max=${count - 1} value=${step} onInput=${(event) => to(Number(event.target.value))()} /></label>
      <button type="button" onClick=${to(step + 1)} disabled=${step === count - 1}>Next →</button>
    </div>`;
  }

  // The first step: the worst element, or else the first output cell that reads an input cell, because most output cells
  // of unpooling read none. Plane of x: that of the worst element, except for convolutions, which mix channels.
  function beginning(one, worst, { outputs, reads }) {
    const firstReading = Array.from({ length: product(outputs) }, (_, step) => step).find((step) => reads(unravel(step, outputs)).every((cells) => cells.length > 0));
    const at = worst?.index.slice(2) || [];
    const known = at.length === outputs.length && !isGradient(one.operator) && at.every((index, axis) => index < outputs[axis]);
    if (!known) return { plane: [0, 0], step: firstReading || 0 };
    const plane = one.inputs.kernel ? [worst.index[0], 0] : worst.index.slice(0, 2);
    const fits = plane.every((index, axis) => index < one.inputs.x.shape[axis]);
    return { plane: fits ? plane : [0, 0], step: at.reduce((position, index, axis) => position * outputs[axis] + index, 0) };
  }

  // The drawing with its controls. step: number of an output cell in row-major order; heading: tag of the title.
  function WindowView({ one, got, worst, step: requested, go, heading = "h2" }) {
    const anyPlane = geometry(one);
    const x = one.inputs.x;
    if (!anyPlane) return html`<section class="geometry"><${heading}>Window by window<//><p class="muted">There is no drawing. ${whyNot(one)}</p></section>`;
    const count = product(anyPlane.outputs);
    const { plane, step: first } = beginning(one, worst, anyPlane);
    const found = geometry(one, plane);
    const number = Number.parseInt(requested, 10);
    const step = Math.min(Math.max(Number.isNaN(number) ? first : number, 0), count - 1);
    const output = unravel(step, found.outputs);
    const reads = found.reads(output);
    const pair = (list, missing) => (list.length === 1 ? [missing, list[0]] : list.slice(-2));
    const [vertical, horizontal] = pair(found.axes, ROW);
    const [down, across] = pair(reads, [0]);
    const [rows, columns] = [drawn(vertical, down), drawn(horizontal, across)];
    const axes = found.axes.length === 1 ? [ROW, ...found.axes] : found.axes;
    const deep = reads[0].length > 0 ? reads[0].slice(0, MOST_SLICES) : [0];
    const leads = found.axes.length === 3 ? deep.map((cell) => [cell]) : [[]];
    const channels = x.shape.slice(0, 2);
    const value = (at, kind) => valueAt(x, plane[0] * channels[1] + plane[1], axes, at, kind);
    const content = sentence(axes, found.axes.length === 1 ? [[0], ...reads] : reads, value);
    const channel = one.inputs.kernel ? [plane[0], 0] : plane;
    const name = `${isGradient(one.operator) ? "grad" : "output"}[${[...channel, ...output].join(", ")}]`;
    const description = `${name}, ${step + 1} of ${count}, is computed from ${content}.${outcome(one, got, plane, output)}`;
    const isPartial = rows.length < vertical.size || columns.length < horizontal.size || (found.axes.length === 3 && leads.length < reads[0].length);
    return html`<section class="geometry"><${heading}>Window by window<//>
      <${Steps} count=${count} step=${step} go=${go} />
      <p role="status" class="held">${description}</p>
      <div class="slices" tabindex="0" role="group" aria-label="The input and the window">${leads.map((lead) => html`<${Slice}
        title=${`x[${[...plane, ...lead, ...(found.axes.length === 1 ? [":"] : [":", ":"])].join(", ")}]`} label=${description}
        axes=${axes} reads=${[down, across]} rows=${rows} columns=${columns} lead=${lead} value=${value} />`)}</div>
      <p class="small muted legend-text">Framed: the window; filled: cells that it reads; / gap of the dilation; · padding; _ past the padding; × cropped.
        ${product(channels) > 1 && " One of several planes is drawn; a convolution reads all planes of its group."}${isPartial && " Only cells around the window are drawn."}</p>
    </section>`;
  }

  // A small picture without numbers: the first window and the next one to its right, in the corner of the input.
  function WindowPicture({ one }) {
    const found = geometry(one);
    if (!found) return null;
    const pair = (list, missing) => (list.length === 1 ? [missing, list[0]] : list.slice(-2));
    const first = found.outputs.map(() => 0);
    const reads = found.reads(first);
    const [vertical, horizontal] = pair(found.axes, ROW);
    const [down, across] = pair(reads, [0]);
    const [rows, columns] = [drawn(vertical, down, MOST_SMALL), drawn(horizontal, across, MOST_SMALL)];
    const following = horizontal.outputs > 1 ? horizontal.reads(1) : [];
    const next = following.length > 0 && columns.includes(following.at(-1)) && columns.includes(following[0]) ? span(following) : null;
    const axes = found.axes.length === 1 ? [ROW, ...found.axes] : found.axes;
    const lead = found.axes.length === 3 ? [reads[0][0] ?? 0] : [];
    const label = `The first window reads ${sentence(axes, found.axes.length === 1 ? [[0], ...reads] : reads, () => "")}.`;
    const isPartial = rows.length < vertical.size || columns.length < horizontal.size;
    return html`<${Slice} title=${isPartial ? "corner of the input, first windows" : "the input, first windows"} label=${label} axes=${axes} reads=${[down, across]} rows=${rows} columns=${columns}
      lead=${lead} value=${(_, kind) => SIGN[kind] || ""} next=${next} cell=${SMALL_CELL} />`;
  }

  Object.assign(window.Report, { WindowView, WindowPicture });
});
