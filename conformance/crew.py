"""Several workers of one backend, side by side: jobs go in as one row, and outcomes come out in the same order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from conformance.client import Job, Worker
from conformance.judge import Outcome

ENOUGH = 2000
"""Programs for which one worker more is worth its start."""


def size(programs: int, cores: int) -> int:
    """Return how many workers so many programs are worth on so many cores."""
    return max(1, min(cores, 1 + programs // ENOUGH))


class Crew:
    """Workers that share the jobs. A program always goes to the same one, which then knows it.

    `start`, `stop`, `environment` and `outcomes` are those of a worker; all have the same environment.
    """

    def __init__(self, workers: Iterable[Worker]) -> None:
        self.workers = tuple(workers)

    @property
    def environment(self) -> dict[str, Any]:
        """The versions of Python and the packages."""
        return self.workers[0].environment

    def start(self) -> None:
        """Start all workers at once. Raises WorkerFailed, and leaves none running then."""
        try:
            with ThreadPoolExecutor(len(self.workers)) as pool, _killing(self.workers):
                for start in [pool.submit(worker.start) for worker in self.workers]:
                    start.result()
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End all processes, gently at first."""
        with _killing(self.workers):
            for worker in self.workers:
                worker.stop()

    def kill(self) -> None:
        """End all processes at once."""
        for worker in self.workers:
            worker.kill()

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Yield the outcome of each job, in order. Raises WorkerFailed if a lost worker cannot be replaced."""
        shares = _Shares(jobs, len(self.workers))
        running = [worker.outcomes(shares.of(number)) for number, worker in enumerate(self.workers)]
        while shares.order or shares.deal():
            yield next(running[shares.order.popleft()])


@contextmanager
def _killing(workers: Iterable[Worker]) -> Iterator[None]:
    """End all processes at once if anything goes wrong, as when somebody will not wait any longer."""
    try:
        yield
    except BaseException:
        for worker in workers:
            worker.kill()
        raise


class _Shares:
    """A row of jobs dealt out; order: whose the jobs are that have been dealt and not been waited for."""

    def __init__(self, jobs: Iterable[Job], count: int) -> None:
        self.coming = iter(jobs)
        self.waiting: list[deque[Job]] = [deque() for _ in range(count)]
        self.order: deque[int] = deque()

    def deal(self) -> bool:
        """Deal one job; return whether there was one."""
        job = next(self.coming, None)
        if job is None:
            return False
        number = int(job.program.digest, 16) % len(self.waiting)
        self.waiting[number].append(job)
        self.order.append(number)
        return True

    def of(self, number: int) -> Iterator[Job]:
        """Yield the jobs of one worker, dealing on until there is one for it."""
        while self.waiting[number] or self.deal():
            if self.waiting[number]:
                yield self.waiting[number].popleft()
