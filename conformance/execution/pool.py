"""Several workers of one backend, side by side: jobs go in as one row, and outcomes come out in the same order."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from conformance.execution.worker_process import Job, Worker
from conformance.judging.verdict import ProgramOutcome

PROGRAMS_PER_WORKER = 2000
"""Programs for which one worker more is worth its start."""
MAX_BUFFERED_OUTCOMES, MAX_BUFFERED_BYTES = 512, 64 << 20
"""Outcomes of a worker that wait for another one's, and what their arrays hold."""
OVERDUE_CHECK_SECONDS = 0.1
"""Seconds after which it is looked for one that is overdue."""
NO_MORE_OUTCOMES = object()


def worker_count(programs: int, cores: int) -> int:
    """Return how many workers so many programs are worth on so many cores."""
    return max(1, min(cores, 1 + programs // PROGRAMS_PER_WORKER))


class WorkerPool:
    """Workers that share the jobs. A program always goes to the same one, which then knows it.

    `start`, `stop`, `environment` and `outcomes` are those of a worker; all have the same environment.
    """

    def __init__(self, workers: Iterable[Worker]) -> None:
        self.workers = tuple(workers)
        self.reply_arrived = self.workers[0].reply_arrived
        for worker in self.workers:
            worker.reply_arrived = self.reply_arrived

    @property
    def environment(self) -> dict[str, Any]:
        """The versions of Python and the packages."""
        return self.workers[0].environment

    def start(self) -> None:
        """Start all workers at once. Raises WorkerFailed, and leaves none running then."""
        try:
            with ThreadPoolExecutor(len(self.workers)) as pool, _kill_on_error(self.workers):
                for start in [pool.submit(worker.start) for worker in self.workers]:
                    start.result()
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End all processes, gently at first."""
        with _kill_on_error(self.workers):
            for worker in self.workers:
                worker.stop()

    def kill(self) -> None:
        """End all processes at once."""
        for worker in self.workers:
            worker.kill()

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[ProgramOutcome]:
        """Yield the outcome of each job, in order. Raises WorkerFailed if a lost worker cannot be replaced."""
        if len(self.workers) == 1:
            return self.workers[0].outcomes(jobs)
        return self._outcomes(_JobDistributor(jobs, len(self.workers)))

    def _outcomes(self, shares: _JobDistributor) -> Iterator[ProgramOutcome]:
        running = {n: worker.poll_outcomes(shares.jobs_for(n), wait=False) for n, worker in enumerate(self.workers)}
        found: list[deque[ProgramOutcome]] = [deque() for _ in self.workers]
        while running or shares.assigned_workers:
            self.reply_arrived.clear()
            taken = [self._take_outcome(running, n, found[n]) for n in list(running) if not _is_buffer_full(found[n])]
            while shares.assigned_workers and found[shares.assigned_workers[0]]:
                yield found[shares.assigned_workers.popleft()].popleft()
            if not any(taken):
                self.reply_arrived.wait(OVERDUE_CHECK_SECONDS)

    @staticmethod
    def _take_outcome(
        running: dict[int, Iterator[ProgramOutcome | None]], number: int, found: deque[ProgramOutcome]
    ) -> bool:
        """Give a worker something to do, and take one outcome if there is any; whether there was, or will be none."""
        outcome = next(running[number], NO_MORE_OUTCOMES)
        if outcome is NO_MORE_OUTCOMES:
            del running[number]
        elif isinstance(outcome, ProgramOutcome):
            found.append(outcome)
        return outcome is not None


@contextmanager
def _kill_on_error(workers: Iterable[Worker]) -> Iterator[None]:
    """End all processes at once if anything goes wrong, as when somebody will not wait any longer."""
    try:
        yield
    except BaseException:
        for worker in workers:
            worker.kill()
        raise


def _is_buffer_full(found: Collection[ProgramOutcome]) -> bool:
    """Whether so much waits for the outcome of another worker that this one had better wait, too."""
    return (
        len(found) >= MAX_BUFFERED_OUTCOMES
        or sum(array.nbytes for one in found for array in one.arrays) > MAX_BUFFERED_BYTES
    )


class _JobDistributor:
    """A row of jobs dealt out; order: whose the jobs are that have been dealt and not been waited for.

    A program that nobody has yet goes to the one who asks.
    """

    def __init__(self, jobs: Iterable[Job], count: int) -> None:
        self.remaining_jobs = iter(jobs)
        self.jobs_by_worker: list[deque[Job]] = [deque() for _ in range(count)]
        self.assigned_workers: deque[int] = deque()
        self.worker_by_program: dict[str, int] = {}

    def assign_next(self, requesting: int) -> bool:
        """Deal one job, to the one who asks unless another one knows its program; return whether there was one."""
        job = next(self.remaining_jobs, None)
        if job is None:
            return False
        number = self.worker_by_program.setdefault(job.program.digest, requesting)
        self.jobs_by_worker[number].append(job)
        self.assigned_workers.append(number)
        return True

    def jobs_for(self, number: int) -> Iterator[Job]:
        """Yield the jobs of one worker, dealing on until there is one for it."""
        while self.jobs_by_worker[number] or self.assign_next(number):
            if self.jobs_by_worker[number]:
                yield self.jobs_by_worker[number].popleft()
