"""Where a backend contradicts itself: two of its surfaces do different things with one case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reports.analysis.deviation import deviation_text
from reports.analysis.summary import KIND_ACTIONS, difference_kind
from reports.results.reader import BackendRun, Report
from reports.results.records import CaseRecord, ResultRecord

AGREES_TEXT = "agrees with the reference"
Behaviour = tuple[str, str]
"""What a surface did, in words, and what else tells it apart: the digest of what it returned."""


@dataclass(frozen=True)
class SurfaceContradiction:
    """Cases of one operator on which the surfaces of a backend part in the same way; the smallest case first.

    camps: what was done, and by which surfaces; results: those of the smallest case, one for each camp.
    """

    backend: str
    operator: str
    behaviours: tuple[tuple[str, tuple[str, ...]], ...]
    cases: tuple[str, ...]
    results: tuple[ResultRecord, ...]


def find_contradictions(report: Report) -> list[SurfaceContradiction]:
    """List where surfaces of one backend part, those of most cases first.

    Two results that agree with the reference within its error bound do not part, whatever their digits; nor does one
    that is unsupported from any other.
    """
    found = [one for backend in report.backends for one in _contradictions_of(backend)]
    return sorted(found, key=lambda one: (one.backend, -len(one.cases), one.operator, one.behaviours))


def _contradictions_of(backend: BackendRun) -> Iterable[SurfaceContradiction]:
    answers = {(one.case, one.surface): one.observed for one in backend.conventions if one.observed is not None}
    by_case: defaultdict[str, dict[Behaviour, list[ResultRecord]]] = defaultdict(dict)
    for result in backend.results:
        if result.outcome != "unsupported":
            deed = _behaviour(result, answers, backend.cases[result.case])
            by_case[result.case].setdefault(deed, []).append(result)
    alike: defaultdict[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], list[str]] = defaultdict(list)
    for case, camps in by_case.items():
        if len(camps) > 1:
            alike[backend.cases[case].operator, _behaviour_groups(camps)].append(case)
    for (operator, sides), cases in alike.items():
        ordered = sorted(cases, key=lambda case: (backend.cases[case].size, case))
        shown = tuple(results[0] for _, results in sorted(by_case[ordered[0]].items()))
        yield SurfaceContradiction(backend.name, operator, sides, tuple(ordered), shown)


def _behaviour_groups(behaviours: Mapping[Behaviour, list[ResultRecord]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(
        (words, tuple(result.surface for result in results)) for (words, _), results in sorted(behaviours.items())
    )


def _behaviour(result: ResultRecord, answers: Mapping[tuple[str, str], str], case: CaseRecord) -> Behaviour:
    """Say what a surface did; a question is answered, everything else agrees, differs, or has no result."""
    if case.question is not None and (result.case, result.surface) in answers:
        return f"answers {answers[result.case, result.surface]!r}", ""
    if result.verdict == "agree" and result.status != "flaky":
        return AGREES_TEXT, ""
    kind = difference_kind(result)
    nonsense = kind == "accepted"  # what it returns for a call without a meaning is nothing to compare
    return KIND_ACTIONS.get(kind, "differs"), "" if nonsense else result.digest or ""


def contradiction_lines(one: SurfaceContradiction, cases: Mapping[str, CaseRecord]) -> list[str]:
    """Say what each camp does with the smallest case, with the number that is off where there is one."""
    texts = []
    for (words, surfaces), result in zip(one.behaviours, one.results, strict=True):
        off = deviation_text(result, cases[result.case]) if result.verdict == "differ" else ""
        texts.append(f"{', '.join(surfaces)}: {words}" + (f" ({off})" if off else ""))
    return texts
