"""Pool of workers of one backend. It takes one sequence of jobs and yields the outcomes in the same order."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
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
MAX_WAITING_JOBS = 64
"""Maximum number of jobs that are assigned to other workers while a worker searches for a job in its mode."""
OVERDUE_CHECK_SECONDS = 0.1
"""Seconds between two checks for overdue replies."""
NO_MORE_OUTCOMES = object()
"""Sentinel: a worker has returned all its outcomes. None means that its next outcome is not available yet."""


def worker_count(programs: int, slow_programs: int, cores: int) -> int:
    """Return the number of workers, at most one per core. programs: without those of slow surfaces."""
    return max(1, min(cores, 1 + (programs + SLOW_PROGRAM_WEIGHT * slow_programs) // PROGRAMS_PER_WORKER))


def mode_workers(first: Worker, programs_by_mode: Counter[str], jobs: int) -> list[Worker]:
    """Return the workers of a run: `first`, and as many in each mode as suits its share of the programs.

    jobs: the number of workers if all programs have one mode. Each mode has at least one worker.
    """
    total = programs_by_mode.total()
    counts = {"": 0, **programs_by_mode}  # the first worker has no mode, and it is running already
    shares = {mode: max(1, round(jobs * count / total)) for mode, count in counts.items()} if total else {"": jobs}
    others = [first.in_mode(mode) for mode, count in shares.items() for _ in range(count - (not mode))]
    return [first, *others]


class WorkerPool:
    """Workers that share the jobs. A program is always run by the same worker, which caches its compiled form.

    `start`, `stop`, `environment` and `outcomes` mean the same as in Worker. All workers have the same
    environment. A program with a mode is run by a worker in this mode. The pool adds a worker for a new mode.
    """

    def __init__(self, workers: Iterable[Worker]) -> None:
        self.workers: list[Worker] = []
        first, *others = workers
        self.reply_arrived = first.reply_arrived
        for worker in (first, *others):
            self._add_worker(worker)

    def _add_worker(self, worker: Worker) -> None:
        # One event for all workers, so that the pool can wait for the first reply of any of them.
        worker.reply_arrived = self.reply_arrived
        self.workers.append(worker)

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

    def _owners(self) -> dict[Worker, str]:
        owned = {worker: worker.connection.owned_resource() for worker in self.workers if worker.connection}
        return {worker: resource for worker, resource in owned.items() if resource}

    @property
    def has_owners(self) -> bool:
        """Whether a process owns resources of the system, which a program alone in another process may miss."""
        return bool(self._owners())

    def end_owners(self) -> bool:
        """End the processes that own resources of the system. Return whether there were any."""
        owners = self._owners()
        for worker, resource in owners.items():
            worker.end_process(f"it owns {resource}")
        return bool(owners)

    def end_process(self, process: int, reason: str) -> None:
        """End a process of a worker, unless it has been replaced already."""
        for worker in self.workers:
            if worker.connection and worker.connection.process.pid == process:
                worker.end_process(reason)

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[ProgramOutcome]:
        """Yield the outcome of each job, in order. Raises WorkerFailed if a lost worker cannot be replaced."""
        # A single worker may block while it waits for a reply. In a pool, each worker is polled.
        if len(self.workers) == 1 and not self.workers[0].backend.has_modes:
            return self.workers[0].outcomes(jobs)
        return self._outcomes(_JobDistributor(jobs, [worker.mode for worker in self.workers]))

    def _outcomes(self, distributor: _JobDistributor) -> Iterator[ProgramOutcome]:
        running: dict[int, Iterator[ProgramOutcome | None]] = {}
        buffers: defaultdict[int, deque[ProgramOutcome]] = defaultdict(deque)
        order = distributor.assigned_workers
        while order or distributor.has_jobs:
            # Cleared before the workers are polled, so that a reply that arrives meanwhile ends the wait below.
            self.reply_arrived.clear()
            for mode in distributor.modes[len(self.workers) :]:
                self._add_worker(self.workers[0].in_mode(mode))
            for n in distributor.workers_with_jobs():
                # A worker ends when it has no job for a moment. It continues here, in the same process.
                running.setdefault(n, self.workers[n].poll_outcomes(distributor.jobs_for(n), wait=False))
            # A worker whose buffer is full is not polled: it gets no jobs until earlier outcomes have been yielded.
            ready = [n for n in running if not _is_buffer_full(buffers[n])]
            progress = [self._take_outcome(running, n, buffers[n]) for n in ready]
            # Workers without a job at the moment must not keep this loop busy.
            progress += [not running and not distributor.has_jobs]
            while order and buffers[order[0]]:
                yield buffers[order.popleft()].popleft()
            # With a timeout, because a program that hangs sets no event.
            if not any(progress):
                self.reply_arrived.wait(OVERDUE_CHECK_SECONDS)

    @staticmethod
    def _take_outcome(
        running: dict[int, Iterator[ProgramOutcome | None]], number: int, buffer: deque[ProgramOutcome]
    ) -> bool:
        """Send a worker its next jobs and take one outcome. Return False if none was available."""
        # One outcome per round: a worker with many replies does not delay the next jobs of the others.
        outcome = next(running[number], NO_MORE_OUTCOMES)
        if outcome is NO_MORE_OUTCOMES:
            del running[number]
        elif isinstance(outcome, ProgramOutcome):
            buffer.append(outcome)
            return True
        return False


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

    modes: the mode of each worker. A job with another mode appends its mode: a worker must be added for it.
    has_jobs: whether the sequence may have more jobs.
    assigned_workers: the workers of the assigned jobs whose outcomes have not been yielded, in the order of the jobs.
    A program that has no worker yet is assigned to the worker that requests a job, if this worker has its mode.
    """

    def __init__(self, jobs: Iterable[Job], modes: Iterable[str]) -> None:
        self.remaining_jobs = iter(jobs)
        self.modes = [*modes]
        self.has_jobs = True
        self.jobs_by_worker: defaultdict[int, deque[Job]] = defaultdict(deque)
        self.assigned_workers: deque[int] = deque()
        self.worker_by_program: dict[str, int] = {}

    def workers_with_jobs(self) -> list[int]:
        """Return the numbers of the workers that may get a job now."""
        return [n for n in range(len(self.modes)) if self.has_jobs or self.jobs_by_worker[n]]

    def assign_next(self, requesting: int) -> bool:
        """Assign one job to its program's worker, or to the requesting one. Return False if no job is left."""
        job = next(self.remaining_jobs, None)
        if job is None:
            self.has_jobs = False
            return False
        program = job.program
        # Compiling takes longer than running, so a program never moves to an idle worker.
        if program.digest not in self.worker_by_program:
            self.worker_by_program[program.digest] = self._worker_for(program.mode, requesting)
        number = self.worker_by_program[program.digest]
        self.jobs_by_worker[number].append(job)
        self.assigned_workers.append(number)
        return True

    def _worker_for(self, mode: str, requesting: int) -> int:
        """Return the requesting worker if it has the mode, otherwise the one with the fewest waiting jobs."""
        if self.modes[requesting] == mode:
            return requesting
        if mode not in self.modes:
            self.modes.append(mode)
        suitable = (n for n, other in enumerate(self.modes) if other == mode)
        return min(suitable, key=lambda n: len(self.jobs_by_worker[n]))

    def jobs_for(self, number: int) -> _WorkerJobs:
        """Return the jobs of one worker. Assigns further jobs until one is for this worker."""
        return _WorkerJobs(self, number)

    def next_job(self, number: int) -> Job | None:
        """Return the next job of a worker, or None if no job is available."""
        jobs = self.jobs_by_worker[number]
        # The jobs for workers in other modes have inputs in memory, so a worker does not search far for its own.
        while not jobs and sum(map(len, self.jobs_by_worker.values())) < MAX_WAITING_JOBS:
            if not self.assign_next(number):
                break
        return jobs.popleft() if jobs else None


class _WorkerJobs:
    """Iterator of the jobs of one worker. Unlike a generator it continues after StopIteration."""

    def __init__(self, distributor: _JobDistributor, number: int) -> None:
        self.distributor = distributor
        self.number = number

    def __iter__(self) -> _WorkerJobs:
        return self

    def __next__(self) -> Job:
        job = self.distributor.next_job(self.number)
        if job is None:
            raise StopIteration
        return job
