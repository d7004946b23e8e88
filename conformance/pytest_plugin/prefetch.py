"""Prefetching of outcomes: the worker runs planned tasks ahead while pytest requests outcomes one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from conformance import IncompleteRun
from conformance.adapters.api import Program
from conformance.cases.case import Case
from conformance.execution.job import Job, WorkerFailed
from conformance.execution.run import Run
from conformance.execution.task import Task
from conformance.judging.expected import Expected
from conformance.judging.verdict import ProgramOutcome
from reports.results import ResultRecord
from reports.results.vocabulary import Outcome

MAX_EXPECTED_BYTES = 128 << 20
"""Size of the expected results cached in memory, in bytes. All cases of level standard take less."""
EXTRA_BYTES_PER_ELEMENT = 48
"""Bytes for each element of a result in addition to the result: data for its rounding, and its error bound."""
TaskKey = tuple[str, str]
"""Id of the case, name of the surface."""


class Prefetcher:
    """Runs tasks on the workers of a run, one by one and in any order.

    Planned tasks are sent ahead, so that the worker does not wait while an outcome is judged. A task that was not
    planned, or that is requested again, is sent before them.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._queue = _Queue(run)
        self._outcomes: Iterator[ProgramOutcome] = iter(())
        self._results: dict[TaskKey, list[ProgramOutcome]] = {}
        self._running = False

    def start(self) -> None:
        """Start the workers unless they are running. Raises IncompleteRun if the backend cannot be started."""
        if not self._running:
            try:
                self.run.pool.start()
            except WorkerFailed as error:
                raise IncompleteRun(f"backend {self.run.backend.name}: {error}") from None
            self._running = True

    def stop(self) -> None:
        """Stop running workers. Kill them if they are running a task, because its outcome is not needed."""
        if self._running:
            self._running = False
            self.run.confirmer.kill()
            (self.run.pool.kill if self._queue.in_flight else self.run.pool.stop)()

    def plan(self, tasks: Iterable[Task]) -> None:
        """Append tasks to the planned ones, in the order in which they will be requested."""
        for task in tasks:
            if isinstance(task.program, Program) and not self._is_pending(task_key(task)):
                self._queue.unsent.append(task)
                self._queue.planned_keys.add(task_key(task))

    def run_task(self, task: Task) -> ProgramOutcome:
        """Return the outcome of a task.

        Raises IncompleteRun if the backend cannot be started or a lost worker cannot be replaced.
        """
        self.start()  # also for unsupported tasks: the ledger needs the versions that the worker reports
        if not isinstance(task.program, Program):
            return ProgramOutcome(Outcome.UNSUPPORTED, message=task.program.reason)
        if not self._is_pending(task_key(task)):
            self._queue.unsent.appendleft(task)
        with self._as_incomplete_run():
            while len(self._results.get(task_key(task), ())) < self.run.repeat:
                self._take_outcome()
        return self.run.judge.combine_outcomes(task.case, self._results.pop(task_key(task)))

    def judge_task(self, task: Task) -> tuple[ProgramOutcome, ResultRecord]:
        """Return the outcome of a task that counts, and its result. Raises IncompleteRun like `run_task`."""
        outcome = self.run_task(task)
        with self._as_incomplete_run():
            return self.run.judge_confirmed(task, outcome)[:2]

    @contextmanager
    def _as_incomplete_run(self) -> Iterator[None]:
        try:
            yield
        except WorkerFailed as error:
            raise IncompleteRun(f"backend {self.run.backend.name}: cannot restart its worker: {error}") from None

    def _is_pending(self, key: TaskKey) -> bool:
        sent = (*self._queue.in_flight, *self._queue.repeats)
        return key in self._results or key in self._queue.planned_keys or key in map(task_key, sent)

    def _take_outcome(self) -> None:
        """Store the next outcome. It may belong to another task than the requested one."""
        outcome = next(self._outcomes, None)
        if outcome is None:  # the queue was empty, which has ended the previous iterator
            self._outcomes = self.run.pool.outcomes(self._queue)
            outcome = next(self._outcomes)
        self._results.setdefault(task_key(self._queue.in_flight.popleft()), []).append(outcome)


class _Queue:
    """Iterator of jobs for a worker. Unlike a generator it continues after StopIteration, when tasks were added.

    unsent: tasks that have not been sent; planned_keys: their keys; repeats: the task that is being sent, once for
    each remaining repetition; in_flight: sent tasks without an outcome, in order.
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
    """Return the key of a task in the results."""
    return task.case.id, task.surface.name


@dataclass
class ExpectedCache:
    """In-memory cache of expected results, which surfaces and backends share.

    compute: returns the expected result of a case that is not cached; free_bytes: remaining size of the cache.
    """

    compute: Callable[[Case], Expected]
    free_bytes: int = MAX_EXPECTED_BYTES
    cached: dict[Case, Expected] = field(default_factory=dict)

    def expected(self, case: Case) -> Expected:
        """Return the expected result of a case. Raises CatalogueError."""
        if case in self.cached:
            return self.cached[case]
        expected = self.compute(case)
        size = _size_in_bytes(expected)
        if size <= self.free_bytes:
            self.free_bytes -= size
            self.cached[case] = expected
        return expected


def _size_in_bytes(expected: Expected) -> int:
    """Return the maximum size of an expected result in memory, with the parts that are computed on first access."""
    values = [target.exact.value for target in expected.targets if target.exact is not None]
    arrays = sum(array.nbytes for array in expected.inputs.values())
    return (
        len(expected.record_line)
        + arrays
        + sum(value.nbytes + EXTRA_BYTES_PER_ELEMENT * value.size for value in values)
    )
