"""Group the differences of a report: one group for each cause on one backend, the most severe first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

from reports.analysis.deviation import is_program_error
from reports.analysis.severity import SEVERITY_RANKS, Severity, severity_of
from reports.analysis.summary import (
    DIFFERING_STATUSES,
    KIND_ACTIONS,
    STATUS_RANKS,
    GroupKind,
    difference_kind,
    list_text,
    normalise_explanation,
)
from reports.results import BackendRun, CaseRecord, ConventionRecord, Report, ResultRecord, Status, Verdict

MAX_NAMED_OPERATORS = 3  # in a title; more are counted
ID_BYTES = 4  # of a group; collisions matter only within one report
DTYPE_NAMES = re.compile(r"\b(?:bfloat16|float\d+|u?int\d+|complex\d+|bool)\b")
DTYPE_SUFFIX = re.compile(r"-in-(?:bfloat16|float\d+|u?int\d+|complex\d+|bool)$")
LAST_OUTPUT = "; last output"  # the output of a crashed process, which differs between runs
DifferenceCause = tuple[str, str, str, str]
"""Operator, status, kind and explanation. All but the explanation are empty if the ledger explains the difference."""


@dataclass(frozen=True)
class DifferenceGroup:
    """Differences of one backend with one cause, the smallest case first.

    operators: the operators affected; several only if one entry of the ledger covers them. reason: the explanation of
    the ledger, or else the message of the surface. records: the cases of the backend, by name.
    """

    backend: str
    operators: tuple[str, ...]
    status: Status
    kind: GroupKind
    reason: str
    issue: str | None
    results: tuple[ResultRecord, ...]
    records: Mapping[str, CaseRecord] = field(repr=False, compare=False)

    @cached_property
    def operator(self) -> str:
        """The operators as text, as the singular subject of a sentence; many are counted."""
        first, *others = self.operators
        return f"{first} (also {list_text(others, MAX_NAMED_OPERATORS - 1)})" if others else first

    @cached_property
    def severity(self) -> Severity:
        """The severity of the most severe difference."""
        return min(map(self._severity_of, self.results), key=SEVERITY_RANKS.__getitem__)

    @cached_property
    def example(self) -> ResultRecord:
        """The difference with the smallest inputs among the most severe ones."""
        return next(result for result in self.results if self._severity_of(result) == self.severity)

    @cached_property
    def surfaces(self) -> tuple[str, ...]:
        """The surfaces affected, by name."""
        return tuple(sorted({result.surface for result in self.results}))

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """The cases affected, smallest first."""
        return tuple(dict.fromkeys(result.case for result in self.results))

    @property
    def action(self) -> str:
        """The behaviour of the surfaces, as a verb phrase."""
        if is_program_error(self.example):
            return "has an error in its program"
        return (
            "agrees, contrary to the ledger" if self.status == Status.STALE else KIND_ACTIONS.get(self.kind, "differs")
        )

    def _severity_of(self, result: ResultRecord) -> Severity:
        return severity_of(result, self.records[result.case])

    @cached_property
    def id(self) -> str:
        """Identifier in links. It depends on the cause and on the smallest case, not on the other results."""
        text = "\n".join([self.backend, *self.operators, self.kind, self.reason, self.example.case])
        digest = blake2b(text.encode("utf-8", "backslashreplace"), digest_size=ID_BYTES).hexdigest()
        return f"cause-{digest}"


def difference_groups(report: Report) -> list[DifferenceGroup]:
    """Group the differences of each backend by cause.

    Unexpected groups come first, then severe ones, then those with many cases. Explanations that differ only in numbers
    or dtypes count as one cause, and so do conventions that differ only in the dtype.
    """
    groups = [group for backend in report.backends for group in _backend_groups(backend)]
    return sorted(groups, key=group_rank)


def _backend_groups(backend: BackendRun) -> list[DifferenceGroup]:
    cases = backend.cases
    answers = {(one.case, one.surface): one for one in backend.conventions}
    by_cause: defaultdict[DifferenceCause, list[ResultRecord]] = defaultdict(list)
    for result in backend.results:
        if result.status in DIFFERING_STATUSES:
            by_cause[_difference_cause(result, cases[result.case], answers)].append(result)
    return [_make_group(backend.name, results, cases) for results in by_cause.values()]


def group_rank(group: DifferenceGroup) -> tuple[bool, int, int, int, str, str, str]:
    """Return the sort key of a group."""
    known = group.status == Status.KNOWN
    count = len(group.cases)
    return (
        known,
        SEVERITY_RANKS[group.severity],
        -count,
        -len(group.results),
        group.backend,
        group.operator,
        group.reason,
    )


def _difference_cause(
    result: ResultRecord, case: CaseRecord, answers: Mapping[tuple[str, str], ConventionRecord]
) -> DifferenceCause:
    if result.reason:
        return "", result.status, "", result.reason
    kind = difference_kind(result)
    answer = answers.get((result.case, result.surface))
    if case.question is not None and answer is not None and severity_of(result, case) == Severity.CONVENTION:
        return case.operator, result.status, kind, f"{DTYPE_SUFFIX.sub('', case.question)} {answer.observed}"
    explanation = _explanation(result).partition(LAST_OUTPUT)[0]
    return case.operator, result.status, kind, normalise_explanation(DTYPE_NAMES.sub("dtype", explanation))


def _explanation(result: ResultRecord) -> str:
    # The message of a result that agrees, such as an expected rejection, does not explain a difference.
    explains = result.verdict != Verdict.AGREE or result.status == Status.FLAKY
    return result.reason or (result.message if explains else None) or ""


def _make_group(backend: str, results: list[ResultRecord], cases: Mapping[str, CaseRecord]) -> DifferenceGroup:
    issue = next((result.issue for result in results if result.issue), None)
    ordered = sorted(results, key=lambda result: (cases[result.case].size, result.case, result.surface))
    worst = min(ordered, key=lambda result: SEVERITY_RANKS[severity_of(result, cases[result.case])])
    status = min((result.status for result in results), key=STATUS_RANKS.__getitem__)
    operators = tuple(sorted({cases[result.case].operator for result in results}))
    kind = difference_kind(worst)
    return DifferenceGroup(backend, operators, status, kind, _explanation(worst), issue, tuple(ordered), cases)
