// The report's data, unpacked from the page, and what the views ask of it.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const numbers = (names) => new Map(names.map((name, number) => [name, number]));
  const caseNumbers = numbers(data.cases.map((one) => one.id));
  const textKeys = ["program", "message", "reason", "issue"];

  const results = data.results.map(([caseNumber, surfaceNumber, statusNumber, details], position) => {
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

  const byCase = new Map();
  for (const result of results) {
    if (!byCase.has(result.case.id)) byCase.set(result.case.id, []);
    byCase.get(result.case.id).push(result);
  }
  const answers = new Map(data.conventions.map((one) => [`${one.question}\n${one.surface}`, one]));

  function searched(result) {
    result.haystack ??= [result.case.id, result.case.about, result.surface.name, result.kind, result.message, result.reason]
      .join("\n")
      .toLowerCase();
    return result.haystack;
  }

  // Results that a filter lets through, worst first, in the catalogue's order within a status.
  function filtered({ operator, surface, status, text }) {
    const words = (text || "").toLowerCase().split(/\s+/).filter(Boolean);
    return results
      .filter(
        (result) =>
          (!operator || result.case.operator === operator) &&
          (!surface || result.surface.name === surface) &&
          (!status || result.status.name === status) &&
          words.every((word) => searched(result).includes(word)),
      )
      .sort((one, other) => one.rank - other.rank || one.position - other.position);
  }

  window.Report = {
    data,
    results,
    filtered,
    resultsOf: (caseId) => byCase.get(caseId) || [],
    caseOf: (caseId) => data.cases[caseNumbers.get(caseId)],
    backendOf: (surface) => data.backends[surface.backend],
    answerOf: (question, surface) => answers.get(`${question}\n${surface}`),
    operators: [...new Set(data.cases.map((one) => one.operator))].sort(),
  };
})();
