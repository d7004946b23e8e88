// The table of results. TanStack Table manages columns, sorting and visible rows; list.js renders them.
// Rows are sorted and cut before they are passed to it, because creating table rows for 50,000 results takes a second.
window.Report.withData(() => {
  "use strict";
  const { data, ordered, sorted, format } = window.Report;
  const { useMemo } = preactHooks;
  const DESCENDING = "-"; // prefix of the column in the URL

  // What is wrong with a result, and the reason, the message or the worst element.
  function describe({ reason, message, worst, kind }) {
    const deviation = worst && `at [${worst.index.join(", ")}] expected ${format(worst.expected, 9)}, got ${format(worst.got, 9)}`;
    return [kind ? data.actions[kind] : "", reason || message || deviation || ""];
  }

  const descriptionOf = (result) => (result.description ??= describe(result));
  const shareOf = ({ budget }) => (budget === "inf" ? Number.MAX_VALUE : budget);

  // The position of each text in sorted order, computed when it is first needed. Comparing numbers takes a tenth of the
  // time of comparing texts.
  function positions(textOf) {
    let byText = null;
    return (result) => (byText ??= new Map(sorted(ordered.map(textOf)).map((text, position) => [text, position]))).get(textOf(result));
  }

  const COLUMNS = [
    { id: "status", header: "status", accessorFn: (result) => result.rank },
    { id: "case", header: "case", accessorFn: positions((result) => result.case.id) },
    { id: "surface", header: "surface", accessorFn: positions((result) => result.surface.name) },
    { id: "how", header: "how", accessorFn: positions((result) => result.how || ""), meta: { classes: "optional" } },
    { id: "share", header: "error ÷ bound", accessorFn: shareOf, sortDescFirst: true, meta: { classes: "optional number", title: "largest error, as a share of the error bound" } },
    { id: "said", header: "what happened", accessorFn: positions((result) => descriptionOf(result).join(" ")) },
  ];
  const accessors = new Map(COLUMNS.map(({ id, accessorFn }) => [id, accessorFn]));

  // The sort order in the URL. Without one, the worst results are first.
  const sortingOf = (text = "") => [{ id: text.replace(DESCENDING, ""), desc: text.startsWith(DESCENDING) }].filter(({ id }) => accessors.has(id));
  const written = ([one]) => (one ? (one.desc ? DESCENDING : "") + one.id : "");

  // Sort results. Results without a value are last in both directions.
  function inOrder(found, [order]) {
    if (!order) return found;
    const sign = order.desc ? -1 : 1;
    const keyed = found.map((result) => [(accessors.get(order.id)(result) ?? Infinity * sign) * sign, result]);
    return keyed.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)).map(([, result]) => result);
  }

  // A table of the first `rows` results in the given order. sort(text) is called with a new order.
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

  Object.assign(window.Report, { useTable, descriptionOf });
});
