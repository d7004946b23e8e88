"""Compare a nightly run with the previous one: new failures and findings, fixed ones, changed values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from reports.analysis import summary
from reports.analysis.causes import CommonConditions
from reports.analysis.circumstances import DifferingFact
from reports.analysis.comparison import ChangeKind, ReportDifference, ResultChange, RunPair, compare_reports
from reports.analysis.differences import DifferenceGroup, difference_groups
from reports.analysis.nightly.history import History, ReportedFinding, WrongResult, group_same, short_digest
from reports.analysis.nightly.likely_cause import LikelyCause, likely_cause
from reports.analysis.summary import UNEXPECTED_STATUSES, count_text
from reports.results import BackendRun, FindingRecord, Report, ResultRecord, Status, without_label
from reports.results.vocabulary import AGREEING_STATUSES

MAX_TITLE_LENGTH = 230  # characters before the key; GitHub allows 256
UNCHANGED_VERDICT_KINDS = ("value", "answer")
"""Changes without a new status. They are counted and not listed, because an upgrade may change many values."""


@dataclass(frozen=True)
class Announcement:
    """The subject of one issue: a finding, or catalogue cases that fail with the same cause.

    key: identifies the issue. previous_run: the same backend in the previous night. statement: a one-sentence summary.
    detail: the conditions, if the statement does not contain them.
    similar_findings: further findings that count as the same.
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
        """Title of the issue with its key: one line of at most 250 characters."""
        text = f"{without_label(self.backend.name)}: {self.statement.rstrip('.')}"
        return f"{summary.single_line(text, MAX_TITLE_LENGTH)} [{self.key}]"


@dataclass(frozen=True)
class NightComparison:
    """The comparison of a night with the previous one.

    announcements: the issues to write. changed: results with a new value or answer. fixed: results that pass again.
    missing_findings: findings of the previous night that were not found again. known_count: number of findings reported
    earlier. history: to be stored for the next night.
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
    def has_changes(self) -> bool:
        """Whether there is a new failure or finding, or a changed value or answer."""
        return bool(self.announcements or self.changed)

    @property
    def problems(self) -> list[str]:
        """Reasons why the night is incomplete, one sentence each."""
        problems = [problem for run in self.current.runs for problem in summary.run_problems(run)]
        return [*self.current.mixture_notes, *problems, *_missing_runs(self.previous, self.current)]


def compare_nights(current: Report, previous: Report | None, history: History) -> NightComparison:
    """Compare a night with the previous one.

    previous: None for the first night. history: the history up to the previous night.
    """
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
            if change.kind == ChangeKind.STATUS
            and change.old_text in UNEXPECTED_STATUSES
            and change.new_text in AGREEING_STATUSES
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
    for content, old_runs, new_runs in (
        ("results", previous.backends if previous else (), current.backends),
        ("exploration", previous.explorations if previous else (), current.explorations),
    ):
        for name in sorted({run.name for run in old_runs} - {run.name for run in new_runs}):
            yield f"{name}: no {content} in this night, but in the previous one."


def _runs_of_both(name: str, current: Report, previous: Report | None) -> tuple[BackendRun | None, BackendRun]:
    """Return the runs of a backend in the previous and in the current night."""
    return _run_by_name(previous.backends if previous else (), name), next(
        run for run in current.backends if run.name == name
    )


def _run_by_name(runs: Iterable[BackendRun], name: str) -> BackendRun | None:
    return next((run for run in runs if run.name == name), None)


def _new_failures(current: Report, difference: ReportDifference | None) -> Iterator[ResultChange]:
    """Yield results that are wrong and were not wrong with the same status; all wrong results if nothing is compared.

    Includes wrong results that the interrupted previous run does not contain; the history decides whether they are new.
    Excludes redefined cases that were already wrong: it is unknown whether the behaviour changed.
    """
    for change in difference.changes if difference else ():
        status_is_new = change.kind in {ChangeKind.STATUS, ChangeKind.ADDED} or (
            change.kind == ChangeKind.REDEFINED and change.old_text not in UNEXPECTED_STATUSES
        )
        if status_is_new and change.new_text in UNEXPECTED_STATUSES:
            yield change
    for pair in difference.pairs if difference else ():
        if pair.after:
            yield from _added_changes(pair.after, _results_missing_before(pair))
    for run in () if difference else current.backends:
        yield from _added_changes(run, run.results)


def _results_missing_before(pair: RunPair) -> list[ResultRecord]:
    """Return the results that are missing in the previous run because it was interrupted."""
    return [one for key, one in pair.new.items() if key not in pair.old and pair.may_be_missing(key)]


def _added_changes(run: BackendRun, results: Iterable[ResultRecord]) -> Iterator[ResultChange]:
    for one in results:
        if one.status in UNEXPECTED_STATUSES:
            yield ResultChange(
                ChangeKind.ADDED, run.name, one.surface, run.cases[one.case], None, one.status, None, one
            )


def _was_reported(change: ResultChange, history: History) -> bool:
    """Whether a result had the same wrong status in its last run, or is known to be flaky."""
    known = change.after is not None and WrongResult.of(change.backend, change.after) in history.wrong_results
    return known or _is_known_flakiness(change, history)


def _is_known_flakiness(change: ResultChange, history: History) -> bool:
    """Whether a change is only a known flakiness: one side is flaky, and the new result is not consistently wrong."""
    statuses = [one.status for one in (change.before, change.after) if one]
    always_wrong = statuses[-1] in UNEXPECTED_STATUSES and statuses[-1] != Status.FLAKY
    return Status.FLAKY in statuses and not always_wrong and (change.surface, change.case.case) in history.flaky


def _cause_of_change(change: ResultChange, before: BackendRun | None, after: BackendRun) -> LikelyCause:
    """Return the likely cause of a changed result."""
    results = [one for one in (change.before, change.after) if one is not None]
    is_flaky = any(one.flaky for one in results) or change.new_text == Status.FLAKY
    return likely_cause(before, after, is_flaky=is_flaky, further=list(_suite_changes(change, before)))


def _suite_changes(change: ResultChange, run: BackendRun | None) -> Iterator[DifferingFact]:
    """Yield the differences of the suite for one result. run: the run of the previous night."""
    if change.before is None and run and not run.complete:
        yield DifferingFact("the result", "missing, the run was interrupted", "exists")
    elif change.before is None:
        yield DifferingFact("the case on this surface", "none", "new")
    elif change.kind == ChangeKind.REDEFINED:
        yield DifferingFact("the case", "old definition", "new definition")
    elif change.after is not None and change.before.program != change.after.program:
        yield DifferingFact("the program", change.before.program or "none", change.after.program or "none")


def _announce_differences(
    current: Report, previous: Report | None, worse: Iterable[ResultChange]
) -> Iterator[Announcement]:
    """Group new failures of catalogue cases by the kind of difference and by likely cause."""
    by_cause: dict[tuple[str, str], list[tuple[ResultRecord, LikelyCause]]] = {}
    for change in worse:
        cause = _cause_of_change(change, *_runs_of_both(change.backend, current, previous))
        if change.after is not None:
            by_cause.setdefault((change.backend, cause.kind), []).append((change.after, cause))
    conditions = CommonConditions(current) if by_cause else None
    for (name, _), pairs in by_cause.items():
        before, after = _runs_of_both(name, current, previous)
        groups = difference_groups(Report((replace(after, results=tuple(result for result, _ in pairs)),)))
        for group in conditions.split(groups) if conditions else ():
            sentence = conditions.sentence(group) if conditions else ""
            cause = next(cause for result, cause in pairs if result == group.example)
            yield Announcement(
                _issue_key(name, group), after, before, _group_statement(group), cause, group=group, detail=sentence
            )


def _issue_key(name: str, group: DifferenceGroup) -> str:
    reason, surfaces = summary.normalise_explanation(group.reason), sorted({*map(without_label, group.surfaces)})
    return short_digest(
        without_label(name), group.operator, group.status, group.kind, group.example.case, reason, *surfaces
    )


def _with_unique_keys(announcements: Iterable[Announcement]) -> Iterator[Announcement]:
    """Make keys unique: the second announcement with a key gets a digest of the key and its number."""
    counted: Counter[str] = Counter()
    for one in announcements:
        counted[one.key] += 1
        number = counted[one.key]
        yield one if number == 1 else replace(one, key=short_digest(one.key, str(number)))


def _group_statement(group: DifferenceGroup) -> str:
    counted = f"{count_text(len(group.results), 'result')}, first {group.example.case}"
    return f"{group.operator} {group.action} on {', '.join(group.surfaces)}: {counted}."


def _announce_findings(
    current: Report, previous: Report | None, history: History
) -> tuple[list[Announcement], int, History]:
    """Return announcements of new findings, the number of known findings, and the updated history."""
    for run in previous.explorations if previous else ():
        history = history.with_findings(one for one, _ in _reported_findings(run))
    announcements, known = [], 0
    for run in current.explorations:
        before = _run_by_name(previous.explorations if previous else (), run.name)
        findings = dict(_reported_findings(run))
        known += sum(history.find_same(one) is not None for one in findings)
        for first, *others in group_same(one for one in findings if not history.find_same(one)):
            finding = findings[first]
            cause = likely_cause(before, run, is_flaky=is_unstable(run, finding))
            similar = tuple(findings[one] for one in others)
            announcements.append(
                Announcement(first.issue_key, run, before, finding.sentence, cause, finding, similar_findings=similar)
            )
        history = history.with_findings(findings)
    return announcements, known, history


def _reported_findings(run: BackendRun) -> list[tuple[ReportedFinding, FindingRecord]]:
    findings = run.header.explored.findings if run.header.explored else ()
    return [(ReportedFinding.of(run.name, one, run.header.started), one) for one in findings]


def is_unstable(run: BackendRun, finding: FindingRecord) -> bool:
    """Whether the smallest case of a finding is flaky, or passed when it was run again."""
    statuses = {one.status for one in run.results if one.case == finding.case and one.surface in finding.surfaces}
    return (
        finding.symptom == Status.FLAKY
        or Status.FLAKY in statuses
        or (not finding.is_found_without_reference and not AGREEING_STATUSES.isdisjoint(statuses))
    )


def _findings_not_redrawn(current: Report, previous: Report | None) -> Iterator[tuple[str, FindingRecord]]:
    """Yield backend and finding for the findings of the previous night that were not found again."""
    for run in previous.explorations if previous else ():
        current_run = _run_by_name(current.explorations, run.name)
        if current_run is None:
            continue
        found = [one for one, _ in _reported_findings(current_run)]
        for reported, finding in _reported_findings(run):
            if not any(one.is_same(reported) for one in found):
                yield run.name, finding
