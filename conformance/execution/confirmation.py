"""Confirmation of results of other packages: one that is not as expected counts only if its program ran alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from conformance.adapters.api import Backend
from conformance.execution.job import Job
from conformance.execution.lone_worker import LoneWorker
from conformance.execution.pool import WorkerPool
from conformance.execution.task import Task, TaskJudge
from conformance.judging.expected import Expected
from conformance.judging.repeats import SAME_IN_NEW_PROCESS, combine_retry, is_same_outcome, outcome_text
from conformance.judging.verdict import ProgramOutcome
from conformance.system.owned_resources import release_closed_sockets
from reports.results import Outcome, ResultRecord, Status


class Confirmer:
    """Repeats programs in processes in which no other program has run. One worker for each mode of the backend.

    new_worker: returns a worker for a backend in a mode; times: number of runs of each program; pool: returns the
    workers whose results are confirmed.
    """

    def __init__(
        self,
        backend: Backend,
        new_worker: Callable[[Backend], LoneWorker],
        times: int,
        pool: Callable[[], WorkerPool],
    ) -> None:
        self._backend = backend
        self._new_worker = new_worker
        self._times = times
        self._pool = pool
        self._workers: dict[str, LoneWorker] = {}

    def needs_confirmation(self, outcome: ProgramOutcome, result: ResultRecord) -> bool:
        """Whether a result of a process in which other programs may have run must not count.

        If an answer of a backend of the suite depends on earlier programs, this is a finding about its framework.
        """
        if self._backend.trusted or outcome.kind == Outcome.UNSUPPORTED:
            return False
        # A case that must be rejected agrees with every exception, also with one that an earlier program has caused.
        is_right = result.status == Status.PASS and outcome.kind == Outcome.RETURNED
        if outcome.alone:
            return not is_right and self._pool().has_owners
        return not is_right or bool(outcome.changed_state)

    def confirmed(
        self, task: Task, job: Job, first: ProgramOutcome, judge: TaskJudge, expected: Expected | None
    ) -> ProgramOutcome:
        """Return the outcome of a task alone in its process. It describes the first outcome if that was another one.

        Raises WorkerFailed.
        """
        return self.outcome_alone(
            job,
            first,
            lambda outcomes: judge.combine_outcomes(task.case, outcomes),
            lambda again: self._is_right(judge, task, again, expected),
        )

    def outcome_alone(
        self,
        job: Job,
        first: ProgramOutcome,
        combine: Callable[[Sequence[ProgramOutcome]], ProgramOutcome] = lambda outcomes: outcomes[0],
        is_right: Callable[[ProgramOutcome], bool] = lambda _outcome: False,
    ) -> ProgramOutcome:
        """Return the outcome of a job alone in its process. It describes the first outcome if that was another one.

        combine: makes one outcome of those of repeated runs. is_right: whether an outcome needs no other explanation.
        Raises WorkerFailed.
        """
        release_closed_sockets()
        again = self._run_alone(job, first, combine, is_right)
        # What another program has left in its process, such as a port, may be missing in this one.
        if not (is_right(again) and again.kind == Outcome.RETURNED) and self._pool().end_owners():
            again = self._run_alone(job, first, combine, is_right)
        if _is_confirmed(first, again):
            # Its message is that of the program alone. That of a crash also states how often it was run.
            return combine_retry(again, first) if first.message.endswith(SAME_IN_NEW_PROCESS) else again
        self._pool().end_process(first.process, "a program has another result alone in a process")
        return replace(again, after_others=outcome_text(first))

    def _run_alone(
        self,
        job: Job,
        first: ProgramOutcome,
        combine: Callable[[Sequence[ProgramOutcome]], ProgramOutcome],
        is_right: Callable[[ProgramOutcome], bool],
    ) -> ProgramOutcome:
        """Return the outcome of a job in a fork, or in a new process if that of the fork needs an explanation."""
        worker = self._worker(job.program.mode)
        again = combine(worker.run_alone(job, self._times))
        if worker.ran_in_fork and not (_is_confirmed(first, again) or is_right(again)):
            # A framework may not support a fork. A new process is slower, but always works.
            of_fork, again = again, combine(self._run_in_new_process(job))
            if worker.has_forks and not is_same_outcome(of_fork, again):
                worker.refuse_forks()
        return again

    @staticmethod
    def _is_right(judge: TaskJudge, task: Task, outcome: ProgramOutcome, expected: Expected | None) -> bool:
        return judge.judge_task(task, outcome, expected, is_final=False)[0].status == Status.PASS

    def _worker(self, mode: str) -> LoneWorker:
        if mode not in self._workers:
            backend = self._backend.in_mode(mode) if mode else self._backend
            self._workers[mode] = self._new_worker(backend)
        return self._workers[mode]

    def _run_in_new_process(self, job: Job) -> list[ProgramOutcome]:
        worker = self._new_worker(self._worker(job.program.mode).backend)
        worker.refuse_forks()
        try:
            return worker.run_alone(job, self._times)
        finally:
            worker.kill()

    def kill(self) -> None:
        """Kill all processes."""
        for worker in self._workers.values():
            worker.kill()


def _is_confirmed(first: ProgramOutcome, again: ProgramOutcome) -> bool:
    """Whether two outcomes are the same, and have exceptions of one type if they are rejections."""
    types = {one.message.partition(":")[0] for one in (first, again) if one.kind == Outcome.REJECTED}
    return is_same_outcome(first, again) and len(types) <= 1
