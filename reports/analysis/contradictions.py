"""Where a backend contradicts itself: two of its surfaces do different things with one case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reports.analysis.deviation import deviation
from reports.analysis.summary import ACTIONS, deed
from reports.results.reader import Backend, Report
from reports.results.records import Case, Result

AGREES = "agrees with the reference"
Deed = tuple[str, str]
"""What a surface did, in words, and what else tells it apart: the digest of what it returned."""


@dataclass(frozen=True)
class Contradiction:
    """Cases of one operator on which the surfaces of a backend part in the same way; the smallest case first.

    camps: what was done, and by which surfaces; results: those of the smallest case, one for each camp.
    """

    backend: str
    operator: str
    camps: tuple[tuple[str, tuple[str, ...]], ...]
    cases: tuple[str, ...]
    results: tuple[Result, ...]


def contradictions(report: Report) -> list[Contradiction]:
    """List where surfaces of one backend part, those of most cases first.

    Two results that agree with the reference within its error bound do not part, whatever their digits; nor does one
    that is unsupported from any other.
    """
    found = [one for backend in report.backends for one in _of(backend)]
    return sorted(found, key=lambda one: (one.backend, -len(one.cases), one.operator, one.camps))


def _of(backend: Backend) -> Iterable[Contradiction]:
    answers = {(one.case, one.surface): one.observed for one in backend.conventions if one.observed is not None}
    by_case: defaultdict[str, dict[Deed, list[Result]]] = defaultdict(dict)
    for result in backend.results:
        if result.outcome != "unsupported":
            deed = _deed(result, answers, backend.cases[result.case])
            by_case[result.case].setdefault(deed, []).append(result)
    alike: defaultdict[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], list[str]] = defaultdict(list)
    for case, camps in by_case.items():
        if len(camps) > 1:
            alike[backend.cases[case].operator, _camps(camps)].append(case)
    for (operator, sides), cases in alike.items():
        ordered = sorted(cases, key=lambda case: (backend.cases[case].size, case))
        shown = tuple(results[0] for _, results in sorted(by_case[ordered[0]].items()))
        yield Contradiction(backend.name, operator, sides, tuple(ordered), shown)


def _camps(camps: Mapping[Deed, list[Result]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((words, tuple(result.surface for result in results)) for (words, _), results in sorted(camps.items()))


def _deed(result: Result, answers: Mapping[tuple[str, str], str], case: Case) -> Deed:
    """Say what a surface did; a question is answered, everything else agrees, differs, or has no result."""
    if case.question is not None and (result.case, result.surface) in answers:
        return f"answers {answers[result.case, result.surface]!r}", ""
    if result.verdict == "agree" and result.status != "flaky":
        return AGREES, ""
    kind = deed(result)
    nonsense = kind == "accepted"  # what it returns for a call without a meaning is nothing to compare
    return ACTIONS.get(kind, "differs"), "" if nonsense else result.digest or ""


def said(one: Contradiction, cases: Mapping[str, Case]) -> list[str]:
    """Say what each camp does with the smallest case, with the number that is off where there is one."""
    texts = []
    for (words, surfaces), result in zip(one.camps, one.results, strict=True):
        off = deviation(result, cases[result.case]) if result.verdict == "differ" else ""
        texts.append(f"{', '.join(surfaces)}: {words}" + (f" ({off})" if off else ""))
    return texts
