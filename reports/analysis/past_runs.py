"""The past runs of each surface: the number of results by status, and what changed from one run to the next."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reports.analysis.circumstances import DifferingFact, differing_facts
from reports.analysis.comparison import ChangeKind, ResultChange, compare_reports
from reports.analysis.summary import StatusCounts, count_by_status, unexpected_count
from reports.results import BackendRun, Report, Status, without_label


@dataclass(frozen=True)
class StatusMove:
    """The cases whose status changed. old: None if they were added; new: None if they were removed."""

    old: Status | None
    new: Status | None
    cases: tuple[str, ...]


@dataclass(frozen=True)
class SurfaceRun:
    """One run of a surface, and what changed since the run before it.

    facts: versions and other circumstances that differ. moves: statuses that changed, the most frequent first.
    new_values: number of results with the same status and other bits, or with another answer to a convention.
    """

    started: str
    version: str | None
    counts: StatusCounts
    is_current: bool
    facts: tuple[DifferingFact, ...] = ()
    moves: tuple[StatusMove, ...] = ()
    new_values: int = 0

    @property
    def unexpected(self) -> int:
        """Number of unexpected results."""
        return unexpected_count(self.counts)

    @property
    def known(self) -> int:
        """Number of known deviations."""
        return self.counts.get(Status.KNOWN, 0)

    @property
    def changed(self) -> bool:
        """Whether a result changed."""
        return bool(self.moves or self.new_values)


@dataclass(frozen=True)
class SurfaceHistory:
    """All runs of one surface of a report, the first one first. The run of the report is one of them."""

    surface: str
    runs: tuple[SurfaceRun, ...]

    @property
    def last_change(self) -> SurfaceRun | None:
        """The last run in which a result changed, if any."""
        return next((run for run in reversed(self.runs) if run.changed), None)


def surface_histories(current: Report, past: Iterable[BackendRun]) -> list[SurfaceHistory]:
    """Return the history of every surface of a report that has past runs: those with changes first.

    past: complete runs in the order of their start. Only two of them are used at a time.
    """
    runs: dict[str, list[SurfaceRun]] = {surface: [] for surface in current.surfaces}
    previous: dict[str, BackendRun] = {}
    own = sorted(current.backends, key=_start)
    for run in heapq.merge(past, own, key=_start):
        for backend in _matching_backends(current, run):
            if run is backend or _identity(run) != _identity(backend):
                for surface, entry in _surface_runs(backend, previous.get(backend.name), run):
                    runs[surface].append(entry)
                previous[backend.name] = run
    histories = [SurfaceHistory(surface, tuple(entries)) for surface, entries in runs.items() if len(entries) > 1]
    return sorted(histories, key=lambda one: one.last_change is None)


def _start(run: BackendRun) -> str:
    return run.header.started


def _identity(run: BackendRun) -> tuple[str, str]:
    return without_label(run.name), run.header.started


def _matching_backends(current: Report, run: BackendRun) -> list[BackendRun]:
    """Return the backends of a report with the name of a run. The label may differ if only one backend has the name."""
    exact = [one for one in current.backends if one.name == run.name]
    others = [one for one in current.backends if without_label(one.name) == without_label(run.name)]
    return exact or (others if len(others) == 1 else [])


def _surface_runs(backend: BackendRun, before: BackendRun | None, run: BackendRun) -> Iterator[tuple[str, SurfaceRun]]:
    """Yield an entry for each surface of a backend that a run has."""
    changes = compare_reports(Report((before,)), Report((run,))).changes if before else ()
    facts = tuple(differing_facts(before, run)) if before else ()
    names = {without_label(surface): surface for surface in backend.header.surfaces}
    for surface in run.header.surfaces:
        name = without_label(surface)
        if name in names:
            own = [change for change in changes if without_label(change.surface) == name]
            counts = count_by_status(result for result in run.results if result.surface == surface)
            yield (
                names[name],
                SurfaceRun(
                    run.header.started, run.version, counts, run is backend, facts, _moves(own), _new_values(own)
                ),
            )


def _moves(changes: Iterable[ResultChange]) -> tuple[StatusMove, ...]:
    cases: dict[tuple[Status | None, Status | None], list[str]] = {}
    for change in changes:
        if change.kind in {ChangeKind.STATUS, ChangeKind.ADDED, ChangeKind.REMOVED}:
            old = change.before.status if change.before else None
            new = change.after.status if change.after else None
            cases.setdefault((old, new), []).append(change.case.case)
    moves = [StatusMove(*statuses, tuple(names)) for statuses, names in cases.items()]
    return tuple(sorted(moves, key=lambda move: -len(move.cases)))


def _new_values(changes: Iterable[ResultChange]) -> int:
    kinds = Counter(change.kind for change in changes)
    return kinds[ChangeKind.VALUE] + kinds[ChangeKind.ANSWER] + kinds[ChangeKind.REDEFINED]
