"""A worker that is asked for one outcome at a time, and kept busy ahead of what it is asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from conformance import IncompleteRun
from conformance.adapters.api.surface import Program
from conformance.cases.case import Case
from conformance.execution.run import Run, Task
from conformance.execution.worker_process import Job, WorkerFailed
from conformance.judging.expected import Expected
from conformance.judging.verdict import Outcome

ROOM = 128 << 20
"""Bytes of expectations that are kept in memory: more than all of level standard have."""
PARTS = 48
"""Bytes for each element of a result beside the result itself: what is known of its rounding, and its bound."""
Key = tuple[str, str]
"""A case and a surface."""


class Feed:
    """The one worker of a run, for tasks that come one by one, in whatever order.

    What is planned is sent ahead, so that the worker need not wait for the judgement of what it did before. A task that
    was not planned, or that is asked for again, goes first.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        (self._worker,) = run.worker.workers
        self._row = _Row(run)
        self._outcomes: Iterator[Outcome] = iter(())
        self._found: dict[Key, list[Outcome]] = {}
        self._running = False

    def start(self) -> None:
        """Start the worker, unless it is there. Raises IncompleteRun if the backend cannot be started."""
        if not self._running:
            try:
                self._worker.start()
            except WorkerFailed as error:
                raise IncompleteRun(f"backend {self.run.backend.name}: {error}") from None
            self._running = True

    def stop(self) -> None:
        """End the worker, if it was ever started: gently, or at once if nobody waits for what it is at."""
        if self._running:
            self._running = False
            (self._worker.kill if self._row.sent else self._worker.stop)()

    def plan(self, tasks: Iterable[Task]) -> None:
        """Say what will be asked for next, after what was planned before."""
        for task in tasks:
            if isinstance(task.program, Program) and not self._awaits(key(task)):
                self._row.coming.append(task)
                self._row.planned.add(key(task))

    def outcome(self, task: Task) -> Outcome:
        """Carry a task out, by a worker that is there from now on: the ledger asks it for versions.

        Raises IncompleteRun if the backend cannot be started, or a worker that was lost not replaced.
        """
        self.start()
        if not isinstance(task.program, Program):
            return Outcome("unsupported", message=task.program.reason)
        if not self._awaits(key(task)):
            self._row.coming.appendleft(task)
        try:
            while len(self._found.get(key(task), ())) < self.run.repeat:
                self._advance()
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.run.backend.name}: lost its worker for good: {error}") from None
        return self.run.settle(task.case, self._found.pop(key(task)))

    def _awaits(self, wanted: Key) -> bool:
        under_way = (*self._row.sent, *self._row.again)
        return wanted in self._found or wanted in self._row.planned or wanted in map(key, under_way)

    def _advance(self) -> None:
        """Take the next outcome, whosever it is."""
        outcome = next(self._outcomes, None)
        if outcome is None:  # the row was empty for a while
            self._outcomes = self._worker.outcomes(self._row)
            outcome = next(self._outcomes)
        self._found.setdefault(key(self._row.sent.popleft()), []).append(outcome)


class _Row:
    """Jobs for a worker. Unlike a generator it goes on when there are tasks again.

    coming: tasks that have not been sent; planned: their keys; again: one that has, as often as it is still to be;
    sent: tasks whose outcomes are on their way, in order.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.coming: deque[Task] = deque()
        self.planned: set[Key] = set()
        self.again: deque[Task] = deque()
        self.sent: deque[Task] = deque()

    def __iter__(self) -> _Row:
        return self

    def __next__(self) -> Job:
        if not self.coming and not self.again:
            raise StopIteration
        if not self.again:
            self.again.extend([self.coming.popleft()] * self.run.repeat)
            self.planned.discard(key(self.again[0]))
        task = self.again.popleft()
        job = self.run.job(task)
        self.sent.append(task)
        return job


def key(task: Task) -> Key:
    """Return what a task is known by."""
    return task.case.id, task.surface.name


@dataclass
class Remembered:
    """Expectations that were asked for before, while there is room: surfaces and backends ask for the same ones.

    ask: what to ask for those that are not known; left: bytes that may still be taken.
    """

    ask: Callable[[Case], Expected]
    left: int = ROOM
    known: dict[Case, Expected] = field(default_factory=dict)

    def expected(self, case: Case) -> Expected:
        """Return what must happen in a case. Raises CatalogueError."""
        if case in self.known:
            return self.known[case]
        wanted = self.ask(case)
        taken = _bytes(wanted)
        if taken <= self.left:
            self.left -= taken
            self.known[case] = wanted
        return wanted


def _bytes(wanted: Expected) -> int:
    """Return how much memory an expectation takes at most; parts of it come into being when they are asked for."""
    values = [target.exact.value for target in wanted.targets if target.exact is not None]
    arrays = sum(array.nbytes for array in wanted.inputs.values())
    return len(wanted.line) + arrays + sum(value.nbytes + PARTS * value.size for value in values)
