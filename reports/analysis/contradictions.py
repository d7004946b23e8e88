"""Find cases in which two surfaces of one backend behave differently."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reports.analysis.deviation import deviation_text
from reports.analysis.summary import KIND_ACTIONS, difference_kind
from reports.results import BackendRun, CaseRecord, DifferenceKind, Outcome, Report, ResultRecord, Status, Verdict

AGREES_TEXT = "agrees with the reference"
Behaviour = tuple[str, str]
"""Description of the behaviour of a surface, and the digest of its output if outputs are to be distinguished."""


@dataclass(frozen=True)
class SurfaceContradiction:
    """Cases of one operator in which the surfaces of a backend differ in the same way; the smallest case first.

    behaviours: each behaviour with the surfaces that show it. results: for the smallest case, one per behaviour.
    """

    backend: str
    operator: str
    behaviours: tuple[tuple[str, tuple[str, ...]], ...]
    cases: tuple[str, ...]
    results: tuple[ResultRecord, ...]


def find_contradictions(report: Report) -> list[SurfaceContradiction]:
    """List the contradictions of each backend, the most frequent first.

    Results within the error bound of the reference do not contradict each other, even if their bits differ. Unsupported
    results contradict nothing.
    """
    found = [one for backend in report.backends for one in _contradictions_of(backend)]
    return sorted(found, key=lambda one: (one.backend, -len(one.cases), one.operator, one.behaviours))


def _contradictions_of(backend: BackendRun) -> Iterable[SurfaceContradiction]:
    answers = {(one.case, one.surface): one.observed for one in backend.conventions if one.observed is not None}
    by_case: defaultdict[str, dict[Behaviour, list[ResultRecord]]] = defaultdict(dict)
    for result in backend.results:
        if result.outcome != Outcome.UNSUPPORTED:
            behaviour = _behaviour(result, answers, backend.cases[result.case])
            by_case[result.case].setdefault(behaviour, []).append(result)
    by_pattern: defaultdict[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], list[str]] = defaultdict(list)
    for case, behaviours in by_case.items():
        if len(behaviours) > 1:
            by_pattern[backend.cases[case].operator, _behaviour_groups(behaviours)].append(case)
    for (operator, groups), cases in by_pattern.items():
        ordered = sorted(cases, key=lambda case: (backend.cases[case].size, case))
        shown = tuple(results[0] for _, results in sorted(by_case[ordered[0]].items()))
        yield SurfaceContradiction(backend.name, operator, groups, tuple(ordered), shown)


def _behaviour_groups(behaviours: Mapping[Behaviour, list[ResultRecord]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(
        (words, tuple(result.surface for result in results)) for (words, _), results in sorted(behaviours.items())
    )


def _behaviour(result: ResultRecord, answers: Mapping[tuple[str, str], str], case: CaseRecord) -> Behaviour:
    """Return the behaviour of a surface: its answer to a convention, agreement, or the kind of difference."""
    if case.question is not None and (result.case, result.surface) in answers:
        return f"answers {answers[result.case, result.surface]!r}", ""
    if result.verdict == Verdict.AGREE and result.status != Status.FLAKY:
        return AGREES_TEXT, ""
    kind = difference_kind(result)
    # The output of a call that should have been rejected has no meaning and is not compared.
    return KIND_ACTIONS.get(kind, "differs"), "" if kind == DifferenceKind.ACCEPTED else result.digest or ""


def contradiction_lines(one: SurfaceContradiction, cases: Mapping[str, CaseRecord]) -> list[str]:
    """Return one line per behaviour in the smallest case, with a differing element, if any."""
    lines = []
    for (description, surfaces), result in zip(one.behaviours, one.results, strict=True):
        deviation = deviation_text(result, cases[result.case]) if result.verdict == Verdict.DIFFER else ""
        lines.append(f"{', '.join(surfaces)}: {description}" + (f" ({deviation})" if deviation else ""))
    return lines
