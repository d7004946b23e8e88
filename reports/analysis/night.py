"""What a night has brought since the one before: new differences and findings, what is gone, values that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from reports.analysis import summary
from reports.analysis.causes import CommonConditions
from reports.analysis.circumstances import DifferingFact
from reports.analysis.comparison import ReportDifference, ResultChange, RunPair, compare_reports
from reports.analysis.history import History, ReportedFinding, WrongResult, group_same, short_digest
from reports.analysis.likely_cause import LikelyCause, likely_cause
from reports.analysis.summary import UNEXPECTED_STATUSES, DifferenceGroup, count_text
from reports.results.exploration import FindingRecord
from reports.results.reader import BackendRun, Report
from reports.results.records import ResultRecord, without_label

MAX_TITLE_LENGTH = 230  # letters, with a key behind them; GitHub takes 256
UNCHANGED_VERDICT_KINDS = ("value", "answer")
"""Changes of results that are judged as before: told by number, for an upgrade moves many."""


@dataclass(frozen=True)
class Announcement:
    """What an issue is written for: a finding, or differences of one cause in cases of the catalogue.

    key: what its issue is known by; statement: it in a sentence; before: the same backend the night before.
    detail: under which conditions, where the statement does not say so; like: further findings that cannot be told
    from this one.
    """

    key: str
    backend: BackendRun
    previous_run: BackendRun | None
    statement: str
    cause: LikelyCause
    finding: FindingRecord | None = None
    group: DifferenceGroup | None = None
    detail: str = ""
    similar_findings: tuple[FindingRecord, ...] = ()

    @property
    def title(self) -> str:
        """The title of its issue, with the key to find it by: a line of at most 250 letters."""
        said = f"{without_label(self.backend.name)}: {self.statement.rstrip('.')}"
        return f"{summary.single_line(said, MAX_TITLE_LENGTH)} [{self.key}]"


@dataclass(frozen=True)
class NightComparison:
    """All there is to say of a night. gone: results that differed and no longer do; lost: findings not drawn again.

    known: how many findings were told before; memory: what the next night must know; nothing stands in for a backend
    that the night before had: missing.
    """

    current: Report
    previous: Report | None
    announcements: tuple[Announcement, ...]
    changed: tuple[tuple[ResultChange, LikelyCause], ...]
    fixed: tuple[ResultChange, ...]
    missing_findings: tuple[tuple[str, FindingRecord], ...]
    known_count: int
    history: History

    @property
    def has_news(self) -> bool:
        """Whether anything is new: a difference, a finding, a value or an answer that is another one."""
        return bool(self.announcements or self.changed)

    @property
    def problems(self) -> list[str]:
        """Say why the night is not whole, a sentence each."""
        faults = [fault for run in self.current.runs for fault in summary.run_problems(run)]
        return [*self.current.mixture_notes, *faults, *_missing_runs(self.previous, self.current)]


def compare_nights(current: Report, previous: Report | None, history: History) -> NightComparison:
    """Compare a night with the one before, None where there is none; memory: what was told up to that one."""
    history = _history_with_results(history, previous)
    difference = _compare_runs(previous, current)
    changes = difference.changes if difference else ()
    shown = [
        change
        for change in changes
        if change.kind in UNCHANGED_VERDICT_KINDS and not _is_known_flakiness(change, history)
    ]
    findings, known, history = _announce_findings(current, previous, history)
    worse = [change for change in _new_failures(current, difference) if not _was_reported(change, history)]
    return NightComparison(
        current,
        previous,
        tuple(_with_unique_keys([*findings, *_announce_differences(current, previous, worse)])),
        tuple(
            (change, _cause_of_change(change, *_runs_of_both(change.backend, current, previous))) for change in shown
        ),
        tuple(
            change
            for change in changes
            if change.kind == "status" and change.old_text in UNEXPECTED_STATUSES and change.new_text == "pass"
        ),
        tuple(_findings_not_redrawn(current, previous)),
        known,
        _history_with_results(history, current),
    )


def _history_with_results(history: History, report: Report | None) -> History:
    for run in report.backends if report else ():
        history = history.with_results(run)
    return history


def _compare_runs(previous: Report | None, current: Report) -> ReportDifference | None:
    names = {run.name for run in previous.backends} if previous else set()
    return compare_reports(previous, current) if previous and names & {run.name for run in current.backends} else None


def _missing_runs(previous: Report | None, current: Report) -> Iterator[str]:
    for what, had, have in (
        ("results", previous.backends if previous else (), current.backends),
        ("exploration", previous.explorations if previous else (), current.explorations),
    ):
        for name in sorted({run.name for run in had} - {run.name for run in have}):
            yield f"{name}: the night before has its {what}, this one has not."


def _runs_of_both(name: str, current: Report, previous: Report | None) -> tuple[BackendRun | None, BackendRun]:
    """Return the runs of a backend in both nights."""
    return _run_by_name(previous.backends if previous else (), name), next(
        run for run in current.backends if run.name == name
    )


def _run_by_name(runs: Iterable[BackendRun], name: str) -> BackendRun | None:
    return next((run for run in runs if run.name == name), None)


def _new_failures(current: Report, difference: ReportDifference | None) -> Iterator[ResultChange]:
    """Yield what is wrong, but was not, or in another way, or was not there; all that is wrong, if nothing is compared.

    What the night before did not come to, as it was cut, is among it: whether it is new, only what was told can say.
    Of a case that is another one, under the id of one that was wrong, nobody can say that it has changed.
    """
    for change in difference.changes if difference else ():
        turned = change.kind in {"status", "added"} or (
            change.kind == "redefined" and change.old_text not in UNEXPECTED_STATUSES
        )
        if turned and change.new_text in UNEXPECTED_STATUSES:
            yield change
    for pair in difference.pairs if difference else ():
        if pair.after:
            yield from _added_changes(pair.after, _results_beyond_cut(pair))
    for run in () if difference else current.backends:
        yield from _added_changes(run, run.results)


def _results_beyond_cut(pair: RunPair) -> list[ResultRecord]:
    """Return tonight's results that the run of the night before did not come to, as it was cut."""
    return [one for key, one in pair.new.items() if key not in pair.old and pair.may_be_missing(key)]


def _added_changes(run: BackendRun, results: Iterable[ResultRecord]) -> Iterator[ResultChange]:
    for one in results:
        if one.status in UNEXPECTED_STATUSES:
            yield ResultChange("added", run.name, one.surface, run.cases[one.case], None, one.status, None, one)


def _was_reported(change: ResultChange, history: History) -> bool:
    """Whether a result was as wrong when it last ran, or only flickers again."""
    known = change.after is not None and WrongResult.of(change.backend, change.after) in history.wrong_results
    return known or _is_known_flakiness(change, history)


def _is_known_flakiness(change: ResultChange, history: History) -> bool:
    """Whether a change is only the flicker that was told: a side is flaky, and tonight it is not steadily wrong."""
    statuses = [one.status for one in (change.before, change.after) if one]
    steady = statuses[-1] in UNEXPECTED_STATUSES and statuses[-1] != "flaky"
    return "flaky" in statuses and not steady and (change.surface, change.case.case) in history.flickering


def _cause_of_change(change: ResultChange, before: BackendRun | None, after: BackendRun) -> LikelyCause:
    """Say why a result is otherwise."""
    flickers = any(one is not None and one.flaky for one in (change.before, change.after)) or change.new_text == "flaky"
    return likely_cause(before, after, flickers=flickers, further=list(_suite_changes(change, before)))


def _suite_changes(change: ResultChange, run: BackendRun | None) -> Iterator[DifferingFact]:
    """Yield what the suite has otherwise for one result; run: that of the night before."""
    if change.before is None and run and not run.complete:
        yield DifferingFact("the result", "none, for the run was cut", "there")
    elif change.before is None:
        yield DifferingFact("the case on this surface", "none", "new")
    elif change.kind == "redefined":
        yield DifferingFact("the case", "another one", "of the same id")
    elif change.after is not None and change.before.program != change.after.program:
        yield DifferingFact("the program", change.before.program or "none", change.after.program or "none")


def _announce_differences(
    current: Report, previous: Report | None, worse: Iterable[ResultChange]
) -> Iterator[Announcement]:
    """Group new differences of the catalogue's cases by cause, and by why they may be new."""
    found: dict[tuple[str, str], list[tuple[ResultRecord, LikelyCause]]] = {}
    for change in worse:
        told = _cause_of_change(change, *_runs_of_both(change.backend, current, previous))
        if change.after is not None:
            found.setdefault((change.backend, told.kind), []).append((change.after, told))
    causes = CommonConditions(current) if found else None
    for (name, _), pairs in found.items():
        before, after = _runs_of_both(name, current, previous)
        groups = summary.difference_groups(Report((replace(after, results=tuple(result for result, _ in pairs)),)))
        for group in causes.split(groups) if causes else ():
            said = causes.sentence(group) if causes else ""
            told = next(told for result, told in pairs if result == group.example)
            yield Announcement(
                _issue_key(name, group), after, before, _group_statement(group), told, group=group, detail=said
            )


def _issue_key(name: str, group: DifferenceGroup) -> str:
    reason, surfaces = summary.normalise_explanation(group.reason), sorted({*map(without_label, group.surfaces)})
    return short_digest(
        without_label(name), group.operator, group.status, group.kind, group.example.case, reason, *surfaces
    )


def _with_unique_keys(news: Iterable[Announcement]) -> Iterator[Announcement]:
    """Give news whose key another of the night has a key of its own, by its number among those of the key."""
    counted: Counter[str] = Counter()
    for one in news:
        counted[one.key] += 1
        number = counted[one.key]
        yield one if number == 1 else replace(one, key=short_digest(one.key, str(number)))


def _group_statement(group: DifferenceGroup) -> str:
    counted = f"{count_text(len(group.results), 'result')}, first {group.example.case}"
    return f"{group.operator} {group.action} on {', '.join(group.surfaces)}: {counted}."


def _announce_findings(
    current: Report, previous: Report | None, history: History
) -> tuple[list[Announcement], int, History]:
    """Return what exploring found that was not told before, how much was, and all that has now been told."""
    for run in previous.explorations if previous else ():
        history = history.with_findings(one for one, _ in _reported_findings(run))
    news, known = [], 0
    for run in current.explorations:
        before = _run_by_name(previous.explorations if previous else (), run.name)
        found = dict(_reported_findings(run))
        known += sum(history.find_same(one) is not None for one in found)
        for first, *others in group_same(one for one in found if not history.find_same(one)):
            reason = likely_cause(before, run, flickers=is_unstable(run, found[first]))
            like = tuple(found[one] for one in others)
            statement = found[first].sentence
            news.append(
                Announcement(first.issue_key, run, before, statement, reason, found[first], similar_findings=like)
            )
        history = history.with_findings(found)
    return news, known, history


def _reported_findings(run: BackendRun) -> list[tuple[ReportedFinding, FindingRecord]]:
    findings = run.header.explored.findings if run.header.explored else ()
    return [(ReportedFinding.of(run.name, one, run.header.started), one) for one in findings]


def is_unstable(run: BackendRun, finding: FindingRecord) -> bool:
    """Whether the smallest case of a finding is not the same every time, or did not differ when it was run again."""
    statuses = {one.status for one in run.results if one.case == finding.case and one.surface in finding.surfaces}
    return (
        finding.symptom == "flaky"
        or "flaky" in statuses
        or (not finding.is_found_without_reference and "pass" in statuses)
    )


def _findings_not_redrawn(current: Report, previous: Report | None) -> Iterator[tuple[str, FindingRecord]]:
    """Yield the findings of the night before that this one has not drawn again, by backend."""
    for run in previous.explorations if previous else ():
        now = _run_by_name(current.explorations, run.name)
        here = [one for one, _ in _reported_findings(now)] if now else None
        for seen, finding in _reported_findings(run) if here is not None else ():
            if not any(one.is_same(seen) for one in here or ()):
                yield run.name, finding
