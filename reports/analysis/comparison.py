"""What two sets of results have otherwise: the pure comparison that every view of a difference shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from reports.analysis.circumstances import DifferingFact, differing_facts
from reports.analysis.summary import nothing_ran
from reports.results.reader import BackendRun, Report
from reports.results.records import CaseRecord, ResultRecord, without_label

CHANGE_KINDS = ("status", "value", "answer", "redefined", "removed", "added")
"""What may have happened to a case on a surface; all but the last mean that something is not what it was."""
SIGNIFICANT_KINDS = frozenset(CHANGE_KINDS) - {"added"}
SurfaceCaseKey = tuple[str, str]
"""A surface without its label, and a case."""


class Incomparable(ValueError):  # a refusal, named for what the caller did wrong
    """Two sets of results that have nothing in common; the message is one line."""


@dataclass(frozen=True)
class ResultChange:
    """What happened to one case on one surface.

    kind: one of KINDS; backend, surface: as they are shown; case: as the new results have it, where they do.
    was, now: two statuses, or two answers to a question; before, after: the results, None on a side that has none.
    """

    kind: str
    backend: str
    surface: str
    case: CaseRecord
    old_text: str | None
    new_text: str | None
    before: ResultRecord | None
    after: ResultRecord | None

    @property
    def is_significant(self) -> bool:
        """Whether something is not what it was, or is gone."""
        return self.kind in SIGNIFICANT_KINDS


@dataclass(frozen=True)
class RunPair:
    """The runs of one backend on both sides, None on a side that has none."""

    before: BackendRun | None
    after: BackendRun | None

    @property
    def name(self) -> str:
        """What the pair is called: the backend, or both where the labels differ."""
        return " → ".join(dict.fromkeys(one.name for one in self.runs))

    @property
    def runs(self) -> tuple[BackendRun, ...]:
        """The runs there are, the old one first."""
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
        """What has a result on both sides, in the order of the new one."""
        return [key for key in self.new if key in self.old]

    def may_be_missing(self, key: SurfaceCaseKey) -> bool:
        """Whether a result may be missing on one side only because that run did not come to its end."""
        other = self.after if key in self.old else self.before
        return other is not None and not other.complete

    def surface(self, key: SurfaceCaseKey) -> str:
        """Return the surface as it is shown: with its label, unless the sides have different ones."""
        return key[0] if len({one.name for one in self.runs}) > 1 else (self.new.get(key) or self.old[key]).surface


@dataclass(frozen=True)
class ReportDifference:
    """All that is otherwise. waiting: results that a partial run may still bring; retold: results of other programs."""

    pairs: tuple[RunPair, ...]
    facts: Mapping[DifferingFact, tuple[str, ...]]
    changes: tuple[ResultChange, ...]
    compared_count: int
    missing_count: int
    program_changed_count: int

    @property
    def is_significant(self) -> bool:
        """Whether anything is not what it was."""
        return any(change.is_significant for change in self.changes)

    @property
    def problems(self) -> list[str]:
        """Say why the comparison is not complete, a sentence each; empty where it is."""
        return [
            f"{one.name}, {age} results: {problem}"
            for pair in self.pairs
            for age, one in (("old", pair.before), ("new", pair.after))
            if one is not None
            for problem in _run_problems(one)
        ]


def compare_reports(old: Report, new: Report) -> ReportDifference:
    """Compare results by backend, surface and case. Raises Incomparable if no backend stands on both sides."""
    pairs = _pair_runs(old, new)
    found: dict[DifferingFact, list[str]] = {}
    for pair in pairs:
        for fact in differing_facts(pair.before, pair.after) if pair.before and pair.after else ():
            found.setdefault(fact, []).append(pair.name)
    return ReportDifference(
        pairs,
        {fact: tuple(names) for fact, names in found.items()},
        tuple(change for pair in pairs for change in _pair_changes(pair)),
        sum(len(pair.common_keys) for pair in pairs),
        sum(pair.may_be_missing(key) for pair in pairs for key in pair.old.keys() ^ pair.new.keys()),
        sum(pair.old[key].program != pair.new[key].program for pair in pairs for key in pair.common_keys),
    )


def _pair_runs(old: Report, new: Report) -> tuple[RunPair, ...]:
    """Pair backends by name; where each side has one alone, labels may differ."""
    olds, news = ({one.name: one for one in report.backends} for report in (old, new))
    if len(olds) == len(news) == 1 and {*map(without_label, olds)} == {*map(without_label, news)}:
        return (RunPair(*olds.values(), *news.values()),)
    if not olds.keys() & news.keys():
        raise Incomparable(f"no backend stands in both: OLD holds {', '.join(olds)}, NEW holds {', '.join(news)}")
    return tuple(RunPair(olds.get(name), news.get(name)) for name in sorted({*olds, *news}))


def _results_by_key(backend: BackendRun | None) -> dict[SurfaceCaseKey, ResultRecord]:
    return {(without_label(one.surface), one.case): one for one in backend.results} if backend else {}


def _run_problems(backend: BackendRun) -> Iterator[str]:
    if not backend.complete:
        yield f"a partial run, which stopped after {len(backend.results):,} (conformance run --resume)"
    if nothing_ran(backend):
        yield "nothing ran"


def _pair_changes(pair: RunPair) -> Iterator[ResultChange]:
    answers = _answers_by_key(pair.before), _answers_by_key(pair.after)
    for key, after in pair.new.items():
        before, case = pair.old.get(key), _case_of_result(pair.after, after)
        if before is None:
            if not pair.may_be_missing(key):
                yield ResultChange("added", pair.name, pair.surface(key), case, None, after.status, None, after)
            continue
        cases, answered = (_case_of_result(pair.before, before), case), (answers[0].get(key), answers[1].get(key))
        for kind, was, now in _result_changes(before, after, cases, answered):
            yield ResultChange(kind, pair.name, pair.surface(key), case, was, now, before, after)
    for key, before in pair.old.items():
        if key not in pair.new and not pair.may_be_missing(key):
            case = _case_of_result(pair.before, before)
            yield ResultChange("removed", pair.name, pair.surface(key), case, before.status, None, before, None)


def _result_changes(
    before: ResultRecord,
    after: ResultRecord,
    cases: tuple[CaseRecord, CaseRecord],
    answers: tuple[str | None, str | None],
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield what happened to a result that both sides have, with what was and what is now."""
    statuses = before.status, after.status
    if _call_identity(cases[0]) != _call_identity(cases[1]):
        yield "redefined", *statuses
        return
    if before.status != after.status:
        yield "status", *statuses
    if answers[0] != answers[1]:
        yield "answer", *answers
    elif (
        before.status == after.status and _behaviour(before) != _behaviour(after) and _has_stable_output(before, after)
    ):
        yield "value", *statuses


def _call_identity(case: CaseRecord) -> tuple[object, ...]:
    """Return what must be the same if two results are to be compared: what was called, with what, for what."""
    return case.operator, case.via, case.parameters, case.inputs, case.digest


def _behaviour(result: ResultRecord) -> tuple[str, str | None]:
    return result.outcome, result.digest


def _has_stable_output(before: ResultRecord, after: ResultRecord) -> bool:
    """Whether bits mean anything: not what flickers, nor what is returned for a call without a meaning."""
    return not (before.flaky or after.flaky or before.kind == after.kind == "accepted")


def _answers_by_key(backend: BackendRun | None) -> dict[SurfaceCaseKey, str | None]:
    return {(without_label(one.surface), one.case): one.observed for one in backend.conventions} if backend else {}


def _case_of_result(backend: BackendRun | None, result: ResultRecord) -> CaseRecord:
    assert backend is not None  # noqa: S101 - the result is one of its own
    return backend.cases[result.case]
