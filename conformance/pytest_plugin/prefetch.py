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
from conformance.judging.verdict import ProgramOutcome

MAX_EXPECTED_BYTES = 128 << 20
"""Bytes of expectations that are kept in memory: more than all of level standard have."""
EXTRA_BYTES_PER_ELEMENT = 48
"""Bytes for each element of a result beside the result itself: what is known of its rounding, and its bound."""
TaskKey = tuple[str, str]
"""A case and a surface."""


class Prefetcher:
    """The one worker of a run, for tasks that come one by one, in whatever order.

    What is planned is sent ahead, so that the worker need not wait for the judgement of what it did before. A task that
    was not planned, or that is asked for again, goes first.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        (self._worker,) = run.pool.workers
        self._queue = _Queue(run)
        self._outcomes: Iterator[ProgramOutcome] = iter(())
        self._results: dict[TaskKey, list[ProgramOutcome]] = {}
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
            (self._worker.kill if self._queue.in_flight else self._worker.stop)()

    def plan(self, tasks: Iterable[Task]) -> None:
        """Say what will be asked for next, after what was planned before."""
        for task in tasks:
            if isinstance(task.program, Program) and not self._is_pending(task_key(task)):
                self._queue.unsent.append(task)
                self._queue.planned_keys.add(task_key(task))

    def run_task(self, task: Task) -> ProgramOutcome:
        """Carry a task out, by a worker that is there from now on: the ledger asks it for versions.

        Raises IncompleteRun if the backend cannot be started, or a worker that was lost not replaced.
        """
        self.start()
        if not isinstance(task.program, Program):
            return ProgramOutcome("unsupported", message=task.program.reason)
        if not self._is_pending(task_key(task)):
            self._queue.unsent.appendleft(task)
        try:
            while len(self._results.get(task_key(task), ())) < self.run.repeat:
                self._take_outcome()
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.run.backend.name}: lost its worker for good: {error}") from None
        return self.run.combine_outcomes(task.case, self._results.pop(task_key(task)))

    def _is_pending(self, wanted: TaskKey) -> bool:
        under_way = (*self._queue.in_flight, *self._queue.repeats)
        return wanted in self._results or wanted in self._queue.planned_keys or wanted in map(task_key, under_way)

    def _take_outcome(self) -> None:
        """Take the next outcome, whosever it is."""
        outcome = next(self._outcomes, None)
        if outcome is None:  # the row was empty for a while
            self._outcomes = self._worker.outcomes(self._queue)
            outcome = next(self._outcomes)
        self._results.setdefault(task_key(self._queue.in_flight.popleft()), []).append(outcome)


class _Queue:
    """Jobs for a worker. Unlike a generator it goes on when there are tasks again.

    coming: tasks that have not been sent; planned: their keys; again: one that has, as often as it is still to be;
    sent: tasks whose outcomes are on their way, in order.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.unsent: deque[Task] = deque()
        self.planned_keys: set[TaskKey] = set()
        self.repeats: deque[Task] = deque()
        self.in_flight: deque[Task] = deque()

    def __iter__(self) -> _Queue:
        return self

    def __next__(self) -> Job:
        if not self.unsent and not self.repeats:
            raise StopIteration
        if not self.repeats:
            self.repeats.extend([self.unsent.popleft()] * self.run.repeat)
            self.planned_keys.discard(task_key(self.repeats[0]))
        task = self.repeats.popleft()
        job = self.run.make_job(task)
        self.in_flight.append(task)
        return job


def task_key(task: Task) -> TaskKey:
    """Return what a task is known by."""
    return task.case.id, task.surface.name


@dataclass
class ExpectedCache:
    """Expectations that were asked for before, while there is room: surfaces and backends ask for the same ones.

    ask: what to ask for those that are not known; left: bytes that may still be taken.
    """

    compute: Callable[[Case], Expected]
    free_bytes: int = MAX_EXPECTED_BYTES
    cached: dict[Case, Expected] = field(default_factory=dict)

    def expected(self, case: Case) -> Expected:
        """Return what must happen in a case. Raises CatalogueError."""
        if case in self.cached:
            return self.cached[case]
        wanted = self.compute(case)
        taken = _size_in_bytes(wanted)
        if taken <= self.free_bytes:
            self.free_bytes -= taken
            self.cached[case] = wanted
        return wanted


def _size_in_bytes(expected: Expected) -> int:
    """Return how much memory an expectation takes at most; parts of it come into being when they are asked for."""
    values = [target.exact.value for target in expected.targets if target.exact is not None]
    arrays = sum(array.nbytes for array in expected.inputs.values())
    return (
        len(expected.record_line)
        + arrays
        + sum(value.nbytes + EXTRA_BYTES_PER_ELEMENT * value.size for value in values)
    )
