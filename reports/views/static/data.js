// The report's data, unpacked from the page, and what the views ask of it.
window.Report.withData(() => {
  "use strict";
  const { data } = window.Report;
  const numbers = (names) => new Map(names.map((name, number) => [name, number]));
  const caseNumbers = numbers(data.cases.map((one) => one.id));
  const textKeys = ["program", "message", "reason", "issue"];

  const every = data.results.map(([caseNumber, surfaceNumber, statusNumber, details], position) => {
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

  // What exploring found stands on a page of its own: no list, count or choice is made of it.
  const explored = (surface) => data.backends[surface.backend].explored;
  const results = every.filter((result) => !explored(result.surface));
  const surfaces = data.surfaces.filter((surface) => !explored(surface));
  const cases = [...new Set(results.map((result) => result.case))];

  const byCase = new Map();
  for (const result of every) {
    if (!byCase.has(result.case.id)) byCase.set(result.case.id, []);
    byCase.get(result.case.id).push(result);
  }
  const answers = new Map(data.conventions.map((one) => [`${one.question}\n${one.surface}`, one]));

  // Worst first, in the catalogue's order within a status: every filter keeps this order.
  const ordered = [...results].sort((one, other) => one.rank - other.rank || one.position - other.position);

  const dtypesOf = (one) => (one.dtypes ??= [...new Set(Object.values(one.inputs).map((array) => array.dtype))]);
  const written = (value) => JSON.stringify(value);

  function searched(result) {
    const one = result.case;
    one.haystack ??= [one.id, one.about, one.source, one.question].join("\n").toLowerCase();
    result.haystack ??= [result.surface.name, result.kind, result.message, result.reason, result.how].join("\n").toLowerCase();
    return [one.haystack, result.haystack];
  }

  // What a result does that is not as it should be; null where it agrees, and where it cannot be expressed.
  function deed(result) {
    if (result.status.name === "flaky") return "flaky";
    if (result.kind) return result.kind;
    return result.verdict === "agree" || result.outcome === "unsupported" ? null : result.outcome;
  }

  // What each filter of the URL asks of a result; an empty one asks nothing.
  const ASKS = {
    operator: (result, wanted) => result.case.operator === wanted,
    surface: (result, wanted) => result.surface.name === wanted,
    status: (result, wanted) => result.status.name === wanted,
    kind: (result, wanted) => deed(result) === wanted,
    dtype: (result, wanted) => dtypesOf(result.case).includes(wanted),
    parameter: (result, wanted) => Object.hasOwn(result.case.parameters, wanted),
  };

  // Results that a filter lets through, worst first.
  function filtered({ text, value, ...filters }) {
    const asked = Object.entries(filters).filter(([key, wanted]) => wanted && ASKS[key]);
    const words = (text || "").toLowerCase().split(/\s+/).filter(Boolean);
    const matches = new Map(); // by case, as many results share one
    const fits = (one) => {
      if (!matches.has(one)) matches.set(one, written(one.parameters[filters.parameter]) === value);
      return matches.get(one);
    };
    return ordered.filter(
      (result) =>
        asked.every(([key, wanted]) => ASKS[key](result, wanted)) &&
        (!value || !filters.parameter || fits(result.case)) &&
        words.every((word) => searched(result).some((text) => text.includes(word))),
    );
  }

  // The values that a parameter has in cases of an operator, as the URL writes them, in order.
  function valuesOf(parameter, operator) {
    const asked = cases.filter((one) => (!operator || one.operator === operator) && Object.hasOwn(one.parameters, parameter));
    return sorted(asked.map((one) => written(one.parameters[parameter])));
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
    deed,
    sorted,
    valuesOf,
    operators: sorted(cases.map((one) => one.operator)),
    dtypes: sorted(cases.flatMap(dtypesOf)),
    parameters: sorted(cases.flatMap((one) => Object.keys(one.parameters))),
    kinds: sorted(results.map(deed).filter(Boolean)),
  });
});
