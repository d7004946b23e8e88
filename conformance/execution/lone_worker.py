"""Worker that runs each job in a process in which no other program has run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.execution.connection import Connection
from conformance.execution.job import Job, WorkerLost
from conformance.execution.protocol import program_outcome
from conformance.execution.worker_process import UNEXPECTED_FRAME_MESSAGE, Worker
from conformance.judging.verdict import ProgramOutcome


class LoneWorker(Worker):
    """A worker whose process imports the framework, and runs each job in a fork of itself.

    A fork has one thread. If the process has several threads after the setup, or if the system has no safe fork, each
    job runs in a new process.
    """

    needs_forks = True
    _allows_forks = True
    _has_replaced_process = False
    ran_in_fork = False
    """Whether the last job ran in a fork, or was lost together with the process that forks."""

    def run_alone(self, job: Job, times: int = 1) -> list[ProgramOutcome]:
        """Return the outcomes of runs of one job, in a new process after each crash. Raises WorkerFailed."""
        outcomes: list[ProgramOutcome] = []
        while len(outcomes) < times:
            connection = self.launch()
            if self._launched_at is not None:
                self._wait_for_setup(connection)
            self.ran_in_fork = self.has_forks
            run = self._run_in_forks if self.ran_in_fork else self._run_in_this_process
            outcomes += run(connection, job, times - len(outcomes))
        return [replace(outcome, alone=True) for outcome in outcomes]

    @property
    def has_forks(self) -> bool:
        """Whether a running process runs the jobs in forks."""
        return self.connection is not None and self.connection.forks and self._allows_forks

    def refuse_forks(self) -> None:
        """Run each later job in a new process."""
        self._allows_forks = False
        self.kill()

    def _run_in_forks(self, connection: Connection, job: Job, times: int) -> list[ProgramOutcome]:
        """Return the outcomes, of which there are fewer if the process itself is lost."""
        connection.forget_output()
        header: dict[str, Any] = {"program": job.program.digest, "text": job.program.text, "alone": times}
        connection.send(header, job.inputs, times)
        outcomes: list[ProgramOutcome] = []
        has_run_others, self._has_run_programs = self._has_run_programs, True
        for _ in range(times):
            reply = self._receive_reply(connection, self.limits.case_seconds)
            if isinstance(reply, WorkerLost):
                # A program that kills its parent may reply, and its parent is reported as dead, too.
                is_of_another = has_run_others and reply.outcome.message.startswith(UNEXPECTED_FRAME_MESSAGE)
                return outcomes if is_of_another else [*outcomes, reply.outcome]
            outcome = program_outcome(reply)
            if reply[0].get("died") is True:
                outcome = replace(outcome, message=outcome.message + connection.last_output(wait=False))
            outcomes.append(outcome)
        return outcomes

    def _run_in_this_process(self, connection: Connection, job: Job, times: int) -> list[ProgramOutcome]:
        """Return the outcomes, of which there are fewer if the process is lost. It runs no other job."""
        outcomes: list[ProgramOutcome] = []
        for _ in range(times):
            connection.send({"program": job.program.digest, "text": job.program.text}, job.inputs)
            reply = self._receive_reply(connection, self.limits.case_seconds)
            outcomes.append(reply.outcome if isinstance(reply, WorkerLost) else program_outcome(reply))
            if isinstance(reply, WorkerLost) or reply[0]["exit"]:
                break
        self._kill_current()
        # Its framework is imported while results of other workers are judged. A single job needs no second process.
        if self._has_replaced_process:
            self._standby = self._start_process()
        self._has_replaced_process = True
        return outcomes
