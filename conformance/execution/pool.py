"""Pool of workers of one backend. It takes one sequence of jobs and yields the outcomes in the same order."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from conformance.execution.job import Job
from conformance.execution.worker_process import Worker
from conformance.judging.verdict import ProgramOutcome

PROGRAMS_PER_WORKER = 500
"""Number of programs that justify the start of one more worker."""
SLOW_PROGRAM_WEIGHT = 20
"""Number of programs as which a program of a slow surface counts, because it takes a second to compile."""
MAX_BUFFERED_OUTCOMES, MAX_BUFFERED_BYTES = 512, 64 << 20
"""Limits of the outcomes of a worker that are buffered until an earlier outcome of another worker: count and bytes."""
OVERDUE_CHECK_SECONDS = 0.1
"""Seconds between two checks for overdue replies."""
NO_MORE_OUTCOMES = object()
"""Sentinel: a worker has returned all its outcomes. None means that its next outcome is not available yet."""


def worker_count(programs: int, slow_programs: int, cores: int) -> int:
    """Return the number of workers, at most one per core. programs: without those of slow surfaces."""
    return max(1, min(cores, 1 + (programs + SLOW_PROGRAM_WEIGHT * slow_programs) // PROGRAMS_PER_WORKER))


class WorkerPool:
    """Workers that share the jobs. A program is always run by the same worker, which has it compiled.

    `start`, `stop`, `environment` and `outcomes` mean the same as in Worker. All workers have the same
    environment.
    """

    def __init__(self, workers: Iterable[Worker]) -> None:
        self.workers = tuple(workers)
        self.reply_arrived = self.workers[0].reply_arrived
        # One event for all workers, so that the pool can wait for the first reply of any of them.
        for worker in self.workers:
            worker.reply_arrived = self.reply_arrived

    @property
    def environment(self) -> dict[str, Any]:
        """The versions of Python and the packages."""
        return self.workers[0].environment

    def start(self) -> None:
        """Start all workers at the same time. Raises WorkerFailed after killing all of them."""
        try:
            # The executor waits for all its threads. The first failure kills all workers, so that the threads end at
            # once, and not after the imports of the other workers.
            with ThreadPoolExecutor(len(self.workers)) as pool, _kill_on_error(self.workers):
                for start in as_completed([pool.submit(worker.start) for worker in self.workers]):
                    start.result()
        except BaseException:
            self.kill()  # again, because a thread may have launched its process after the first kill
            raise

    def stop(self) -> None:
        """Let all processes exit, and kill those that do not."""
        with _kill_on_error(self.workers):
            for worker in self.workers:
                worker.stop()

    def kill(self) -> None:
        """Kill all processes."""
        for worker in self.workers:
            worker.kill()

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[ProgramOutcome]:
        """Yield the outcome of each job, in order. Raises WorkerFailed if a lost worker cannot be replaced."""
        # A single worker may block while it waits for a reply. In a pool, each worker is polled.
        if len(self.workers) == 1:
            return self.workers[0].outcomes(jobs)
        return self._outcomes(_JobDistributor(jobs, len(self.workers)))

    def _outcomes(self, distributor: _JobDistributor) -> Iterator[ProgramOutcome]:
        running = {
            n: worker.poll_outcomes(distributor.jobs_for(n), wait=False) for n, worker in enumerate(self.workers)
        }
        buffers: list[deque[ProgramOutcome]] = [deque() for _ in self.workers]
        order = distributor.assigned_workers
        while running or order:
            # Cleared before the workers are polled, so that a reply that arrives meanwhile ends the wait below.
            self.reply_arrived.clear()
            # A worker whose buffer is full is not polled: it gets no jobs until earlier outcomes have been yielded.
            ready = [n for n in running if not _is_buffer_full(buffers[n])]
            progress = [self._take_outcome(running, n, buffers[n]) for n in ready]
            while order and buffers[order[0]]:
                yield buffers[order.popleft()].popleft()
            # With a timeout, because a program that hangs sets no event.
            if not any(progress):
                self.reply_arrived.wait(OVERDUE_CHECK_SECONDS)

    @staticmethod
    def _take_outcome(
        running: dict[int, Iterator[ProgramOutcome | None]], number: int, buffer: deque[ProgramOutcome]
    ) -> bool:
        """Send a worker its next jobs and take one outcome. Return False if none was available yet."""
        # One outcome per round: a worker with many replies does not delay the next jobs of the others.
        outcome = next(running[number], NO_MORE_OUTCOMES)
        if outcome is NO_MORE_OUTCOMES:
            del running[number]
        elif isinstance(outcome, ProgramOutcome):
            buffer.append(outcome)
        return outcome is not None


@contextmanager
def _kill_on_error(workers: Iterable[Worker]) -> Iterator[None]:
    """Kill all processes on any exception, including KeyboardInterrupt."""
    try:
        yield
    except BaseException:
        for worker in workers:
            worker.kill()
        raise


def _is_buffer_full(buffer: Collection[ProgramOutcome]) -> bool:
    """Whether a worker must wait, because too many of its outcomes wait for an earlier one of another worker."""
    return (
        len(buffer) >= MAX_BUFFERED_OUTCOMES
        or sum(array.nbytes for outcome in buffer for array in outcome.arrays) > MAX_BUFFERED_BYTES
    )


class _JobDistributor:
    """Assigns a sequence of jobs to workers.

    assigned_workers: the workers of the assigned jobs whose outcomes have not been yielded, in the order of the jobs.
    A program that has no worker yet is assigned to the worker that requests a job.
    """

    def __init__(self, jobs: Iterable[Job], count: int) -> None:
        self.remaining_jobs = iter(jobs)
        self.jobs_by_worker: list[deque[Job]] = [deque() for _ in range(count)]
        self.assigned_workers: deque[int] = deque()
        self.worker_by_program: dict[str, int] = {}

    def assign_next(self, requesting: int) -> bool:
        """Assign one job to its program's worker, or to the requesting one. Return False if no job is left."""
        job = next(self.remaining_jobs, None)
        if job is None:
            return False
        # Compiling takes longer than running, so a program never moves to an idle worker.
        number = self.worker_by_program.setdefault(job.program.digest, requesting)
        self.jobs_by_worker[number].append(job)
        self.assigned_workers.append(number)
        return True

    def jobs_for(self, number: int) -> Iterator[Job]:
        """Yield the jobs of one worker. Assigns further jobs until one is for this worker."""
        while self.jobs_by_worker[number] or self.assign_next(number):
            # An assigned job may belong to another worker, which has run its program before.
            if self.jobs_by_worker[number]:
                yield self.jobs_by_worker[number].popleft()
