"""Compare two sets of results by backend, surface and case. All views of a comparison show this data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from reports.analysis.circumstances import DifferingFact, differing_facts
from reports.analysis.summary import count_text, nothing_ran
from reports.results import BackendRun, CaseRecord, DifferenceKind, Outcome, Report, ResultRecord, Status, without_label
from reports.results.vocabulary import AGREEING_STATUSES, Word


class ChangeKind(Word):
    """What changed in a case on a surface, in the order of all views."""

    STATUS = "status"
    VALUE = "value"  # the status is the same, the bits differ
    ANSWER = "answer"  # to a convention
    REDEFINED = "redefined"  # another call has the same id
    REMOVED = "removed"
    ADDED = "added"


class FailOn(Word):
    """Which changes make a comparison fail. Each member includes the one before it."""

    REGRESSION = "regression"  # a worse status, or a missing result
    VALUE = "value"  # also another value or answer
    ANY = "any"  # also improvements and redefined cases


SIGNIFICANT_KINDS = frozenset(ChangeKind) - {ChangeKind.ADDED}
"""Kinds of changes of results that existed before. New results never make a comparison fail."""
STATUS_SEVERITIES = {
    Status.PASS: 0,
    Status.SLOW: 0,  # the result agrees; only the machine was busy
    Status.STALE: 0,  # the result agrees; only the ledger is out of date
    Status.KNOWN: 1,
    Status.UNDECLARED: 2,
    Status.UNSUPPORTED: 3,
    Status.REFUSED: 4,
    Status.FLAKY: 5,
    Status.FAIL: 6,
    Status.TIMED_OUT: 7,
    Status.CRASHED: 8,
}
"""Order of the statuses of one result from good to bad. A change to a higher number is a regression."""
SurfaceCaseKey = tuple[str, str]
"""Surface without its label, and id of the case."""


class Incomparable(ValueError):  # named after the cause, like the exceptions of the suite
    """Two sets of results without a common backend. The message is one line."""


@dataclass(frozen=True)
class ResultChange:
    """A change of one case on one surface.

    kind: what changed. backend, surface: names as shown. case: from the new results if they contain it.
    old_text, new_text: two statuses, or two answers to a convention. before, after: the results, None if missing.
    """

    kind: ChangeKind
    backend: str
    surface: str
    case: CaseRecord
    old_text: str | None
    new_text: str | None
    before: ResultRecord | None
    after: ResultRecord | None

    @property
    def is_significant(self) -> bool:
        """Whether a result changed or was removed."""
        return self.kind in SIGNIFICANT_KINDS

    @property
    def is_regression(self) -> bool:
        """Whether the status became worse, or the result was removed."""
        if self.kind == ChangeKind.STATUS and self.before and self.after:
            return STATUS_SEVERITIES[self.after.status] > STATUS_SEVERITIES[self.before.status]
        return self.kind == ChangeKind.REMOVED

    def fails(self, fail_on: FailOn) -> bool:
        """Whether this change makes a comparison fail. fail_on: the changes that do."""
        if fail_on == FailOn.ANY:
            return self.is_significant
        moved = fail_on == FailOn.VALUE and self.kind in {ChangeKind.VALUE, ChangeKind.ANSWER}
        return moved or self.is_regression


@dataclass(frozen=True)
class RunPair:
    """The old and the new run of one backend; None if a side has no run of it."""

    before: BackendRun | None
    after: BackendRun | None

    @property
    def name(self) -> str:
        """Name of the backend, or both names if the labels differ."""
        return " → ".join(dict.fromkeys(one.name for one in self.runs))

    @property
    def runs(self) -> tuple[BackendRun, ...]:
        """The existing runs, the old one first."""
        return tuple(one for one in (self.before, self.after) if one is not None)

    @cached_property
    def old(self) -> Mapping[SurfaceCaseKey, ResultRecord]:
        """The old results."""
        return _results_by_key(self.before)

    @cached_property
    def new(self) -> Mapping[SurfaceCaseKey, ResultRecord]:
        """The new results."""
        return _results_by_key(self.after)

    @property
    def common_keys(self) -> list[SurfaceCaseKey]:
        """The keys with a result on both sides, in the order of the new run."""
        return [key for key in self.new if key in self.old]

    def may_be_missing(self, key: SurfaceCaseKey) -> bool:
        """Whether a result may be missing on one side because the run of that side did not finish."""
        other = self.after if key in self.old else self.before
        return other is not None and not other.complete

    def surface(self, key: SurfaceCaseKey) -> str:
        """Return the name of a surface as shown: with its label, unless the labels of the two sides differ."""
        return key[0] if len({one.name for one in self.runs}) > 1 else (self.new.get(key) or self.old[key]).surface


@dataclass(frozen=True)
class ReportDifference:
    """The difference between two sets of results.

    facts: differing circumstances, each with the backends that it applies to.
    compared_count: number of results on both sides. missing_count: results that a partial run may still add.
    program_changed_count: compared results whose program differs.
    """

    pairs: tuple[RunPair, ...]
    facts: Mapping[DifferingFact, tuple[str, ...]]
    changes: tuple[ResultChange, ...]
    compared_count: int
    missing_count: int
    program_changed_count: int

    @property
    def is_significant(self) -> bool:
        """Whether any change is significant."""
        return any(change.is_significant for change in self.changes)

    def failing_changes(self, fail_on: FailOn) -> list[ResultChange]:
        """Return the changes because of which the comparison fails."""
        return [change for change in self.changes if change.fails(fail_on)]

    @property
    def problems(self) -> list[str]:
        """Reasons why the comparison is incomplete, one sentence each."""
        return [
            f"{one.name}, {age} results: {problem}"
            for pair in self.pairs
            for age, one in (("old", pair.before), ("new", pair.after))
            if one is not None
            for problem in _run_problems(one)
        ]


def compare_reports(old: Report, new: Report) -> ReportDifference:
    """Compare results by backend, surface and case. Raises Incomparable if no backend is on both sides."""
    pairs = _pair_runs(old, new)
    facts: dict[DifferingFact, list[str]] = {}
    for pair in pairs:
        for fact in differing_facts(pair.before, pair.after) if pair.before and pair.after else ():
            facts.setdefault(fact, []).append(pair.name)
    return ReportDifference(
        pairs,
        {fact: tuple(names) for fact, names in facts.items()},
        tuple(change for pair in pairs for change in _pair_changes(pair)),
        sum(len(pair.common_keys) for pair in pairs),
        sum(pair.may_be_missing(key) for pair in pairs for key in pair.old.keys() ^ pair.new.keys()),
        sum(pair.old[key].program != pair.new[key].program for pair in pairs for key in pair.common_keys),
    )


def _pair_runs(old: Report, new: Report) -> tuple[RunPair, ...]:
    """Pair backends by name. If each side has only one backend, the labels may differ."""
    old_runs, new_runs = ({run.name: run for run in report.backends} for report in (old, new))
    if len(old_runs) == len(new_runs) == 1 and {*map(without_label, old_runs)} == {*map(without_label, new_runs)}:
        return (RunPair(*old_runs.values(), *new_runs.values()),)
    if not old_runs.keys() & new_runs.keys():
        raise Incomparable(
            f"no backend is in both: OLD contains {', '.join(old_runs)}, NEW contains {', '.join(new_runs)}"
        )
    return tuple(RunPair(old_runs.get(name), new_runs.get(name)) for name in sorted({*old_runs, *new_runs}))


def _results_by_key(backend: BackendRun | None) -> dict[SurfaceCaseKey, ResultRecord]:
    return {(without_label(one.surface), one.case): one for one in backend.results} if backend else {}


def _run_problems(backend: BackendRun) -> Iterator[str]:
    if not backend.complete:
        yield f"partial run, stopped after {count_text(len(backend.results), 'result')} (conformance run --resume)"
    if nothing_ran(backend):
        yield "nothing ran"


def _pair_changes(pair: RunPair) -> Iterator[ResultChange]:
    answers = _answers_by_key(pair.before), _answers_by_key(pair.after)
    for key, after in pair.new.items():
        before, case = pair.old.get(key), _case_of_result(pair.after, after)
        if before is None:
            if not pair.may_be_missing(key):
                yield ResultChange(
                    ChangeKind.ADDED, pair.name, pair.surface(key), case, None, after.status, None, after
                )
            continue
        cases, answered = (_case_of_result(pair.before, before), case), (answers[0].get(key), answers[1].get(key))
        for kind, was, now in _result_changes(before, after, cases, answered):
            yield ResultChange(kind, pair.name, pair.surface(key), case, was, now, before, after)
    for key, before in pair.old.items():
        if key not in pair.new and not pair.may_be_missing(key):
            case = _case_of_result(pair.before, before)
            yield ResultChange(
                ChangeKind.REMOVED, pair.name, pair.surface(key), case, before.status, None, before, None
            )


def _result_changes(
    before: ResultRecord,
    after: ResultRecord,
    cases: tuple[CaseRecord, CaseRecord],
    answers: tuple[str | None, str | None],
) -> Iterator[tuple[ChangeKind, str | None, str | None]]:
    """Yield the changes of a result that both sides have: kind, old text and new text."""
    statuses = before.status, after.status
    if _call_identity(cases[0]) != _call_identity(cases[1]):
        yield ChangeKind.REDEFINED, *statuses
        return
    is_same = _judgement(before.status) == _judgement(after.status)
    if not is_same:
        yield ChangeKind.STATUS, *statuses
    if answers[0] != answers[1]:
        yield ChangeKind.ANSWER, *answers
    elif is_same and _behaviour(before) != _behaviour(after) and _has_stable_output(before, after):
        yield ChangeKind.VALUE, *statuses


def _judgement(status: Status) -> Status:
    """Return the status without the time of the run: a slow result agrees like any other."""
    return Status.PASS if status in AGREEING_STATUSES else status


def _call_identity(case: CaseRecord) -> tuple[object, ...]:
    """Return the properties that must be equal for two results to be comparable."""
    return case.operator, case.via, case.parameters, case.inputs, case.digest


def _behaviour(result: ResultRecord) -> tuple[Outcome, str | None]:
    return result.outcome, result.digest


def _has_stable_output(before: ResultRecord, after: ResultRecord) -> bool:
    """Whether the bits are comparable. They are not for flaky results, nor for calls that should have been rejected."""
    return not (before.flaky or after.flaky or before.kind == after.kind == DifferenceKind.ACCEPTED)


def _answers_by_key(backend: BackendRun | None) -> dict[SurfaceCaseKey, str | None]:
    return {(without_label(one.surface), one.case): one.observed for one in backend.conventions} if backend else {}


def _case_of_result(backend: BackendRun | None, result: ResultRecord) -> CaseRecord:
    assert backend is not None  # noqa: S101 - the result belongs to this run
    return backend.cases[result.case]
