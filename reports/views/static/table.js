// The table of the results: TanStack Table keeps its columns, their order and the rows in view; list.js draws them.
// Rows come to it sorted and cut, as from a server: a row of its own for each of 50,000 results would take a second.
window.Report.withData(() => {
  "use strict";
  const { data, ordered, sorted, format } = window.Report;
  const { useMemo } = preactHooks;
  const BEFORE = "-"; // in the URL, before the column of a descending order

  // What a result does that is wrong, and why or by how much.
  function happened({ reason, message, worst, kind }) {
    const off = worst && `at [${worst.index.join(", ")}] expected ${format(worst.expected, 9)}, got ${format(worst.got, 9)}`;
    return [kind ? data.actions[kind] : "", reason || message || off || ""];
  }

  const saidOf = (result) => (result.said ??= happened(result));
  const shareOf = ({ budget }) => (budget === "inf" ? Number.MAX_VALUE : budget);

  // The place of each text in their order, found when it is first asked for: numbers are compared in a tenth of the time.
  function places(textOf) {
    let found = null;
    return (result) => (found ??= new Map(sorted(ordered.map(textOf)).map((text, place) => [text, place]))).get(textOf(result));
  }

  const COLUMNS = [
    { id: "status", header: "status", accessorFn: (result) => result.rank },
    { id: "case", header: "case", accessorFn: places((result) => result.case.id) },
    { id: "surface", header: "surface", accessorFn: places((result) => result.surface.name) },
    { id: "how", header: "how", accessorFn: places((result) => result.how || ""), meta: { classes: "optional" } },
    { id: "share", header: "error ÷ bound", accessorFn: shareOf, sortDescFirst: true, meta: { classes: "optional number", title: "largest error, as a share of the error bound" } },
    { id: "said", header: "what happened", accessorFn: places((result) => saidOf(result).join(" ")) },
  ];
  const accessors = new Map(COLUMNS.map(({ id, accessorFn }) => [id, accessorFn]));

  // The order that the URL asks for: none means worst first.
  const sortingOf = (text = "") => [{ id: text.replace(BEFORE, ""), desc: text.startsWith(BEFORE) }].filter(({ id }) => accessors.has(id));
  const written = ([one]) => (one ? (one.desc ? BEFORE : "") + one.id : "");

  // Results in an order; those without a value come last, either way.
  function inOrder(found, [order]) {
    if (!order) return found;
    const turn = order.desc ? -1 : 1;
    const keyed = found.map((result) => [(accessors.get(order.id)(result) ?? Infinity * turn) * turn, result]);
    return keyed.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)).map(([, result]) => result);
  }

  // The table of so many rows of the results found, in the order that the URL asks for; sort(text) takes a new one.
  function useTable(found, order, rows, sort) {
    const sorting = sortingOf(order);
    const all = useMemo(() => inOrder(found, sorting), [found, order]);
    const shown = useMemo(() => all.slice(0, rows), [all, rows]);
    const table = useMemo(() => TableCore.createTable({
      data: [], columns: COLUMNS, defaultColumn: { sortDescFirst: false }, state: {}, onStateChange: () => {}, renderFallbackValue: null,
      manualSorting: true, getCoreRowModel: TableCore.getCoreRowModel(),
    }), []);
    table.setOptions((before) => ({
      ...before, data: shown, state: { ...table.initialState, sorting }, onSortingChange: (change) => sort(written(change(sorting))),
    }));
    return table;
  }

  Object.assign(window.Report, { useTable, saidOf });
});
