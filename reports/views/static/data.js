// The data of the report, and queries that the views share.
window.Report.withData(() => {
  "use strict";
  const { data } = window.Report;
  const numbers = (names) => new Map(names.map((name, number) => [name, number]));
  const caseNumbers = numbers(data.cases.map((one) => one.id));
  const textKeys = ["program", "message", "after_others", "reason", "issue"];

  const allResults = data.results.map(([caseNumber, surfaceNumber, statusNumber, details], position) => {
    const result = {
      position,
      case: data.cases[caseNumber],
      surface: data.surfaces[surfaceNumber],
      status: data.statuses[statusNumber],
      rank: statusNumber,
      outcome: "returned",
      verdict: "agree",
      budget: 0,
      ...details,
    };
    if (result.budget === "none") result.budget = null;
    for (const key of textKeys) if (key in details) result[key] = data.texts[details[key]];
    return result;
  });

  // Exploration findings are on a separate page. Lists, counts and filters exclude them.
  const explored = (surface) => data.backends[surface.backend].explored;
  const results = allResults.filter((result) => !explored(result.surface));
  const surfaces = data.surfaces.filter((surface) => !explored(surface));
  const cases = [...new Set(results.map((result) => result.case))];

  const byCase = new Map();
  for (const result of allResults) {
    if (!byCase.has(result.case.id)) byCase.set(result.case.id, []);
    byCase.get(result.case.id).push(result);
  }
  const answers = new Map(data.conventions.map((one) => [`${one.question}\n${one.surface}`, one]));

  // Worst status first, and in catalogue order within a status. Filters preserve this order.
  const ordered = [...results].sort((one, other) => one.rank - other.rank || one.position - other.position);

  const dtypesOf = (one) => (one.dtypes ??= [...new Set(Object.values(one.inputs).map((array) => array.dtype))]);
  const written = (value) => JSON.stringify(value);

  function searched(result) {
    const one = result.case;
    one.haystack ??= [one.id, one.about, one.source, one.question].join("\n").toLowerCase();
    result.haystack ??= [result.surface.name, result.kind, result.message, result.reason, result.how].join("\n").toLowerCase();
    return [one.haystack, result.haystack];
  }

  // The kind of a difference; null if the result agrees or is unsupported.
  function differenceKind(result) {
    if (result.status.name === "flaky") return "flaky";
    if (result.kind) return result.kind;
    return result.verdict === "agree" || result.outcome === "unsupported" ? null : result.outcome;
  }

  // Predicates of the filters in the URL. Filters without a value are ignored.
  const FILTERS = {
    operator: (result, value) => result.case.operator === value,
    surface: (result, value) => result.surface.name === value,
    status: (result, value) => result.status.name === value,
    kind: (result, value) => differenceKind(result) === value,
    dtype: (result, value) => dtypesOf(result.case).includes(value),
    parameter: (result, value) => Object.hasOwn(result.case.parameters, value),
  };

  // The results that match the filters, worst first. value: value of the selected parameter.
  function filtered({ text, value, ...filters }) {
    const active = Object.entries(filters).filter(([key, value]) => value && FILTERS[key]);
    const words = (text || "").toLowerCase().split(/\s+/).filter(Boolean);
    const matches = new Map(); // cached by case, because many results have the same case
    const fits = (one) => {
      if (!matches.has(one)) matches.set(one, written(one.parameters[filters.parameter]) === value);
      return matches.get(one);
    };
    return ordered.filter(
      (result) =>
        active.every(([key, value]) => FILTERS[key](result, value)) &&
        (!value || !filters.parameter || fits(result.case)) &&
        words.every((word) => searched(result).some((text) => text.includes(word))),
    );
  }

  // The sorted values of a parameter in the cases of an operator, as written in the URL.
  function valuesOf(parameter, operator) {
    const matching = cases.filter((one) => (!operator || one.operator === operator) && Object.hasOwn(one.parameters, parameter));
    return sorted(matching.map((one) => written(one.parameters[parameter])));
  }

  const collator = new Intl.Collator("en", { numeric: true });
  const sorted = (texts) => [...new Set(texts)].sort(collator.compare);

  Object.assign(window.Report, {
    results,
    surfaces,
    cases,
    ordered,
    filtered,
    resultsOf: (caseId) => byCase.get(caseId) || [],
    caseOf: (caseId) => data.cases[caseNumbers.get(caseId)],
    backendOf: (surface) => data.backends[surface.backend],
    answerOf: (question, surface) => answers.get(`${question}\n${surface}`),
    sorted,
    valuesOf,
    operators: sorted(cases.map((one) => one.operator)),
    dtypes: sorted(cases.flatMap(dtypesOf)),
    parameters: sorted(cases.flatMap((one) => Object.keys(one.parameters))),
    kinds: sorted(results.map(differenceKind).filter(Boolean)),
  });
});
