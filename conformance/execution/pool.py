"""Several workers of one backend, side by side: jobs go in as one row, and outcomes come out in the same order."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from conformance.execution.worker_process import Job, Worker
from conformance.judging.verdict import Outcome

ENOUGH = 2000
"""Programs for which one worker more is worth its start."""
MOST, MOST_BYTES = 512, 64 << 20
"""Outcomes of a worker that wait for another one's, and what their arrays hold."""
LOOK = 0.1
"""Seconds after which it is looked for one that is overdue."""
END = object()


def size(programs: int, cores: int) -> int:
    """Return how many workers so many programs are worth on so many cores."""
    return max(1, min(cores, 1 + programs // ENOUGH))


class Crew:
    """Workers that share the jobs. A program always goes to the same one, which then knows it.

    `start`, `stop`, `environment` and `outcomes` are those of a worker; all have the same environment.
    """

    def __init__(self, workers: Iterable[Worker]) -> None:
        self.workers = tuple(workers)
        self.arrived = self.workers[0].arrived
        for worker in self.workers:
            worker.arrived = self.arrived

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
        if len(self.workers) == 1:
            return self.workers[0].outcomes(jobs)
        return self._outcomes(_Shares(jobs, len(self.workers)))

    def _outcomes(self, shares: _Shares) -> Iterator[Outcome]:
        running = {n: worker.steps(shares.of(n), wait=False) for n, worker in enumerate(self.workers)}
        found: list[deque[Outcome]] = [deque() for _ in self.workers]
        while running or shares.order:
            self.arrived.clear()
            taken = [self._take(running, n, found[n]) for n in list(running) if not _full(found[n])]
            while shares.order and found[shares.order[0]]:
                yield found[shares.order.popleft()].popleft()
            if not any(taken):
                self.arrived.wait(LOOK)

    @staticmethod
    def _take(running: dict[int, Iterator[Outcome | None]], number: int, found: deque[Outcome]) -> bool:
        """Give a worker something to do, and take one outcome if there is any; whether there was, or will be none."""
        outcome = next(running[number], END)
        if outcome is END:
            del running[number]
        elif isinstance(outcome, Outcome):
            found.append(outcome)
        return outcome is not None


@contextmanager
def _killing(workers: Iterable[Worker]) -> Iterator[None]:
    """End all processes at once if anything goes wrong, as when somebody will not wait any longer."""
    try:
        yield
    except BaseException:
        for worker in workers:
            worker.kill()
        raise


def _full(found: Collection[Outcome]) -> bool:
    """Whether so much waits for the outcome of another worker that this one had better wait, too."""
    return len(found) >= MOST or sum(array.nbytes for one in found for array in one.arrays) > MOST_BYTES


class _Shares:
    """A row of jobs dealt out; order: whose the jobs are that have been dealt and not been waited for.

    A program that nobody has yet goes to the one who asks.
    """

    def __init__(self, jobs: Iterable[Job], count: int) -> None:
        self.coming = iter(jobs)
        self.waiting: list[deque[Job]] = [deque() for _ in range(count)]
        self.order: deque[int] = deque()
        self.owners: dict[str, int] = {}

    def deal(self, asking: int) -> bool:
        """Deal one job, to the one who asks unless another one knows its program; return whether there was one."""
        job = next(self.coming, None)
        if job is None:
            return False
        number = self.owners.setdefault(job.program.digest, asking)
        self.waiting[number].append(job)
        self.order.append(number)
        return True

    def of(self, number: int) -> Iterator[Job]:
        """Yield the jobs of one worker, dealing on until there is one for it."""
        while self.waiting[number] or self.deal(number):
            if self.waiting[number]:
                yield self.waiting[number].popleft()
