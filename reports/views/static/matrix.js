// The matrix: choice and order of the columns, which the URL contains, and movement with the arrow keys.
window.Report.withData(() => {
  "use strict";
  const { data, results, idIn, queryIn, goTo } = window.Report;
  const { useState, useEffect } = preactHooks;
  const html = htm.bind(preact.h);
  const BOOK = ".book"; // end of the names of textbook surfaces, which are not shown at first
  const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const table = document.querySelector(".matrix");
  if (!table) return;

  const all = [...table.querySelectorAll("thead th[data-surface]")].map((one) => one.dataset.surface);
  const isBook = (name) => name.split("@")[0].endsWith(BOOK);
  const initial = all.some((name) => !isBook(name)) ? all.filter((name) => !isBook(name)) : all;
  // The surfaces with the most unexpected results, then those with the most known deviations.
  function worstFirst(names) {
    const counts = new Map(all.map((name) => [name, { unexpected: 0, known: 0 }]));
    for (const { status, surface } of results) {
      counts.get(surface.name).unexpected += status.unexpected;
      counts.get(surface.name).known += status.name === "known";
    }
    const order = (one, other) => counts.get(other).unexpected - counts.get(one).unexpected || counts.get(other).known - counts.get(one).known;
    return [...names].sort(order);
  }

  const ORDERS = {
    "as run": (names) => all.filter((name) => names.includes(name)),
    "worst first": worstFirst,
    "by name": (names) => [...names].sort(),
  };

  // The cells of each row by surface, in the order of the file.
  const rows = [...table.rows].map((row) => ({ row, cells: new Map([...row.querySelectorAll("[data-surface]")].map((cell) => [cell.dataset.surface, cell])) }));

  function arrange(names) {
    let last = null;
    const starts = names.map((name) => {
      const backend = data.surfaces.find((one) => one.name === name)?.backend;
      const first = backend !== last;
      last = backend;
      return first;
    });
    for (const { row, cells } of rows) {
      for (const cell of cells.values()) cell.remove();
      names.forEach((name, position) => {
        const cell = cells.get(name);
        cell.classList.toggle("first", starts[position]);
        row.append(cell);
      });
    }
  }

  function chosen() {
    const text = idIn(location.hash) === "matrix" && queryIn(location.hash).columns;
    const names = text ? text.split(",").filter((name) => all.includes(name)) : [];
    return names.length > 0 ? [...new Set(names)] : null;
  }

  // One link of the table is in the tab order. The arrow keys move to the others.
  let current = null;
  const linkOf = (cell) => cell?.querySelector("a") || null;
  function focusable(link) {
    if (current) current.tabIndex = -1;
    current = link;
    if (current) current.tabIndex = 0;
  }

  function move(event) {
    const step = MOVES[event.key];
    const cell = event.target.closest("th, td");
    if (!step || !cell || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const grid = [...table.rows].map((row) => [...row.cells]);
    let row = grid.findIndex((one) => one.includes(cell));
    let column = grid[row].indexOf(cell);
    do [row, column] = [row + step[0], column + step[1]];
    while (grid[row]?.[column] && !linkOf(grid[row][column]));
    const link = linkOf(grid[row]?.[column]);
    if (!link) return;
    focusable(link);
    link.focus();
  }

  function Columns() {
    const [names, setNames] = useState(chosen() || initial);
    useEffect(() => {
      const follow = () => idIn(location.hash) === "matrix" && setNames(chosen() || initial);
      window.addEventListener("hashchange", follow);
      follow();
      return () => window.removeEventListener("hashchange", follow);
    }, []);
    useEffect(() => {
      arrange(names);
      const links = [...table.querySelectorAll("a")];
      for (const link of links) link.tabIndex = -1;
      focusable(links.includes(current) ? current : links[0]);
    }, [names]);
    const set = (next) => next.length > 0 && goTo(`#matrix?columns=${next.map(encodeURIComponent).join(",")}`);
    const shift = (name, by) => {
      const position = names.indexOf(name);
      const next = names.filter((one) => one !== name);
      next.splice(position + by, 0, name);
      set(next);
    };
    return html`<details class="chooser"><summary>Columns: ${names.length} of ${all.length}</summary>
      <div class="panel">
        <p>${Object.entries(ORDERS).map(([label, order]) => html`<button type="button" onClick=${() => set(order(names))}>${label}</button> `)}
          <button type="button" onClick=${() => set(all)}>all</button> <button type="button" onClick=${() => goTo("#matrix")}>reset</button></p>
        <ul>${[...names, ...all.filter((name) => !names.includes(name))].map((name) => html`<li key=${name}>
          <label class="check"><input type="checkbox" checked=${names.includes(name)} onChange=${(event) => set(event.target.checked ? [...names, name] : names.filter((one) => one !== name))} /> ${name}</label>
          ${names.includes(name) && html`<span><button type="button" aria-label="Move ${name} to the left" disabled=${names[0] === name} onClick=${() => shift(name, -1)}>←</button>
            <button type="button" aria-label="Move ${name} to the right" disabled=${names.at(-1) === name} onClick=${() => shift(name, 1)}>→</button></span>`}
        </li>`)}</ul>
      </div></details>`;
  }

  table.addEventListener("keydown", move);
  table.addEventListener("focusin", (event) => event.target.matches("a") && focusable(event.target));
  preact.render(html`<${Columns} />`, document.getElementById("columns"));

  const button = document.getElementById("all-surfaces");
  button?.addEventListener("click", () => {
    document.querySelector(".ranking").classList.add("all");
    button.remove();
  });
});
