"""Client of one worker: starts the process, queues jobs, replaces it when it dies, hangs or uses too much memory."""

from __future__ import annotations

import queue
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from conformance import DeviceUnavailable
from conformance.adapters.api import Backend
from conformance.execution.connection import Connection, UnexpectedFrame
from conformance.execution.job import DEFAULT_LIMITS, Job, Limits, WorkerFailed, WorkerLost
from conformance.execution.job_pace import (
    MAX_QUEUED_BYTES,
    MIN_QUEUED_JOBS,
    MIN_QUEUED_JOBS_IN_POOL,
    JobPace,
)
from conformance.execution.protocol import (
    Frame,
    is_program_reply,
    is_start_reply,
    program_outcome,
    start_environment,
    start_failure_message,
    start_message,
)
from conformance.execution.worker import MAX_COMPILED_PROGRAMS, SETUP_PARTS
from conformance.judging.repeats import combine_retry, is_same_outcome, outcome_text
from conformance.judging.verdict import JUDGED_OUTCOMES, ProgramOutcome
from conformance.system import processes
from conformance.system.cache import warn_once
from reports.results.vocabulary import Outcome

INVALID_REPLY_MESSAGE = "the worker sent an invalid reply"
UNEXPECTED_FRAME_MESSAGE = "another process or thread than the worker wrote to the reply pipe"


class Worker:
    """One worker process of a backend. `outcomes` runs jobs and yields exactly one outcome for each.

    python: path of the interpreter; retry: whether a job that crashes or hangs is run again in a new process;
    log: called with a message for each started process.
    After `start`, `environment` contains the versions of Python and the packages, the processor features and the
    device. reply_arrived: event that is set when a process replies or exits.

    When a job is known to crash or hang, the next such job starts a standby process while it waits. The standby
    takes over without the start time of a framework.
    """

    needs_forks = False
    """Whether its process runs programs in forks if it can."""

    def __init__(
        self,
        backend: Backend,
        python: str = sys.executable,
        limits: Limits = DEFAULT_LIMITS,
        *,
        retry: bool = True,
        log: Callable[[str], None] = lambda _message: None,
    ) -> None:
        self.backend = backend
        self.python = python
        self.limits = limits
        memory = limits.memory_bytes
        self._memory_limit = processes.machine_memory_bytes() // 2 if memory is None else memory
        self.retry = retry
        self.log = log
        self.environment: dict[str, Any] = {}
        self.reply_arrived = threading.Event()
        self.connection: Connection | None = None
        self._sent_programs: set[str] = set()
        self._memory_at_start = 0
        self._pace = JobPace()
        self._launched_at: float | None = None
        self._waiting_since = 0.0
        self._standby: Connection | None = None
        self._failure_expected = False
        self._has_run_programs = False

    @property
    def mode(self) -> str:
        """The mode of its process. It runs only programs with this mode."""
        return self.backend.mode

    def in_mode(self, mode: str) -> Worker:
        """Return a new worker of the same backend in a mode. Its process starts with its first job."""
        return Worker(self.backend.in_mode(mode), self.python, self.limits, retry=self.retry, log=self.log)

    def start(self) -> None:
        """Start the process and wait for its setup. Raises WorkerFailed and DeviceUnavailable."""
        self._wait_for_setup(self.launch())

    def launch(self) -> Connection:
        """Start the process unless it is running, without waiting for its setup. Jobs may be sent at once.

        Raises WorkerFailed if the interpreter does not exist.
        """
        if self.connection is not None:
            return self.connection
        # None again after the setup: until then the next frame is the reply to the setup, not an outcome.
        self._launched_at = time.monotonic()
        connection = self.connection = self._standby or self._start_process()
        self._standby, self._failure_expected = None, False
        self._sent_programs.clear()  # the new process has none of the texts
        self._has_run_programs = False
        return connection

    def _start_process(self) -> Connection:
        """Start a process and send it the setup. Raises WorkerFailed."""
        try:
            connection = Connection(
                self.python if self.backend.worker is None else sys.executable,
                self._memory_limit,
                self.backend.device.environment_variables,
                self.reply_arrived,
                self._command(),
            )
        except OSError as error:
            raise WorkerFailed(f"{error.filename or self.python}: {error.strerror}") from None
        header = {name: getattr(self.backend, name) for name in (*SETUP_PARTS, "packages", "trusted")}
        connection.send({**header, "alone": self.needs_forks})
        return connection

    def _command(self) -> list[str]:
        """Return the command of a worker in another language, [] for Python. Raises WorkerFailed if it cannot start."""
        worker = self.backend.worker
        if worker is None:
            return []
        command = worker.command(self.python if self.python != sys.executable else None)
        if missing := worker.missing(command[0]):
            raise WorkerFailed(missing)
        return command

    def _wait_for_setup(self, connection: Connection, *, wait: bool = True) -> None:
        launched_at, self._launched_at = self._launched_at, None
        reply = self._receive(connection, self.limits.start_seconds, wait=wait)
        if isinstance(reply, WorkerLost):
            raise WorkerFailed(f"setup: {start_failure_message(reply.outcome, connection.last_output())}")
        header = reply[0]
        if not is_start_reply(header):
            self.kill()
            raise WorkerFailed(f"setup: {INVALID_REPLY_MESSAGE}")
        if not header["ready"]:
            self.kill()
            if header.get("part") == "probe":
                raise DeviceUnavailable(
                    f"backend {self.backend.name}: no {self.backend.device.name}: {header['message']}"
                )
            raise WorkerFailed(f"setup: {header['message']}")
        self.environment = start_environment(header, self.backend)
        connection.note_setup(header)
        if reason := header["unfiltered"]:
            warn_once(f"backend {self.backend.name}: programs may make all system calls: {reason}")
        # The framework itself may use most of the memory; only what its programs add counts as a leak.
        self._memory_at_start = connection.measure_memory()
        self._waiting_since = time.monotonic()
        seconds = time.monotonic() - (launched_at or 0)
        self.log(start_message(connection.process.pid, self.environment, seconds))

    def stop(self) -> None:
        """Let the process exit, then kill what remains of it and of its standby."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.stop()
        self.kill()

    def kill(self) -> None:
        """Kill the process, its standby, and all processes that they started."""
        self._kill_current()
        standby, self._standby = self._standby, None
        if standby is not None:
            standby.kill()

    def end_process(self, reason: str) -> None:
        """Kill the current process. A new one runs the jobs that were sent to it."""
        if self.connection is not None:
            self.log(f"worker {self.connection.process.pid} is replaced: {reason}")
            self._kill_current()

    def _kill_current(self) -> None:
        """Kill the current process. A standby process remains and replaces it."""
        # Without a connection, the next job that is sent launches a process. None is launched if no job is left.
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.kill()

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[ProgramOutcome]:
        """Yield the outcome of each job, in order. Raises WorkerFailed if a lost worker cannot be replaced."""
        return filter(None, self.poll_outcomes(jobs))

    def poll_outcomes(self, jobs: Iterable[Job], *, wait: bool = True) -> Iterator[ProgramOutcome | None]:
        """Yield the outcome of each job, in order. With wait=False, yield None while the next one is not available."""
        remaining = iter(jobs)
        sent: deque[Job] = deque()
        lost: deque[Job] = deque()  # jobs that were queued at a worker that died; they are sent again
        min_queued = MIN_QUEUED_JOBS if wait else MIN_QUEUED_JOBS_IN_POOL
        while True:
            if self.connection is None:  # ended while this generator was suspended
                lost.extendleft(reversed(sent))
                sent.clear()
            self._fill_queue(sent, chain(_drain(lost), remaining), min_queued)
            if not sent:
                return
            assert self.connection is not None  # noqa: S101 - something was sent
            self.connection.read_delay = self._pace.read_delay(len(sent))
            if not (wait or self._is_reply_due(sent[0])):
                yield None
                continue
            job, reply = sent[0], self._receive_outcome(sent[0].seconds(self.limits), wait=wait)
            sent.popleft()
            self._waiting_since = time.monotonic()
            if isinstance(reply, WorkerLost):
                # The job that failed is not sent again with the others; the order of the others remains.
                lost.extendleft(reversed(sent))
                sent.clear()
                retry = self.retry and reply.needs_retry and not (job.expect_failure or job.is_batch)
                outcome = replace(self._retried_outcome(job, reply), alone=True) if retry else reply.outcome
                # Before the yield, so that the next process starts while the pool waits for other workers.
                self._fill_queue(sent, _drain(lost), min_queued)
                yield outcome
            else:
                yield reply

    def _is_reply_due(self, job: Job) -> bool:
        """Whether the reply to the next job has arrived or is overdue. Completes a start whose reply has arrived."""
        assert self.connection is not None  # noqa: S101 - something was sent
        waited = time.monotonic() - self._waiting_since
        if self._launched_at is None:
            return self.connection.has_frame or waited > job.seconds(self.limits)
        if self.connection.has_frame or waited > self.limits.start_seconds:
            self._wait_for_setup(self.connection, wait=False)
        # Also after a completed setup: the first outcome is due later, and other workers are polled meanwhile.
        return False

    def _fill_queue(self, sent: deque[Job], jobs: Iterator[Job], min_queued: int) -> None:
        """Send jobs until enough are queued. A worker that uses too much memory gets no jobs, and stops when idle."""
        # Stopped when idle, so that a leak costs a restart and not the result of a case.
        if self._uses_too_much_memory() and not sent:
            self.stop()
        room = self._pace.queue_length(min_queued)
        # The queue is refilled when it is half empty: sending many jobs at once is cheaper than one by one.
        if self._uses_too_much_memory() or 2 * len(sent) > room:
            return
        queued_bytes = sum(job.input_bytes for job in sent)
        while len(sent) < (room if queued_bytes < MAX_QUEUED_BYTES else min_queued):
            job = next(jobs, None)
            if job is None:
                return
            self._waiting_since = self._waiting_since if sent else time.monotonic()
            sent.append(job)
            queued_bytes += job.input_bytes
            self._send_job(job)

    def _retried_outcome(self, job: Job, lost: WorkerLost) -> ProgramOutcome:
        """Return the outcome of a job that ended its process, after further runs in new processes."""
        first, again = lost.outcome, self._run_in_new_process(job)
        if self.backend.trusted:
            if again.kind == first.kind and (_cause(again) == _cause(first) or not lost.may_have_earlier_cause):
                return combine_retry(again, first)  # the last output of the first run may be that of another program
            if not lost.may_have_earlier_cause:
                return combine_retry(first, again)
            # An earlier job may have been the cause. The next run then counts as the first one of this job.
            return again if again.kind in JUDGED_OUTCOMES else combine_retry(again, self._run_in_new_process(job))
        is_same = again.kind == first.kind and (_cause(again) == _cause(first) or first.alone)
        if is_same or (first.alone and not lost.may_have_earlier_cause):
            return combine_retry(first, again)
        # An earlier job may have been the cause. The next run then counts as the first one of this job.
        third = self._run_in_new_process(job)
        if not is_same_outcome(again, third):
            return combine_retry(first if again.kind in JUDGED_OUTCOMES else again, third)
        confirmed = again if again.kind in JUDGED_OUTCOMES else combine_retry(again, third)
        return replace(confirmed, after_others=outcome_text(first))

    def _run_in_new_process(self, job: Job) -> ProgramOutcome:
        """Run a job alone in a new process."""
        # Killed afterwards, because a program that failed once may have damaged this process, too.
        self._send_job(job)
        reply = self._receive_outcome(job.seconds(self.limits))
        self._kill_current()
        return replace(reply.outcome if isinstance(reply, WorkerLost) else reply, alone=True)

    def _uses_too_much_memory(self) -> bool:
        """Whether the worker has used more than half of the memory between its size at the start and the limit."""
        connection, room = self.connection, self._memory_limit - self._memory_at_start
        if (
            connection is None
            or self._launched_at is not None  # the memory at the start is measured after the setup
            or room <= 0
            or 2 * (connection.memory_bytes - self._memory_at_start) <= room
        ):
            return False
        # Measured again, as the memory may have been released since the last measurement of the monitor.
        return 2 * (connection.measure_memory() - self._memory_at_start) > room

    def _send_job(self, job: Job) -> None:
        connection = self.launch()
        if job.expect_failure:
            # From the second such job on. They are the last jobs of a run: a single one needs no further process.
            if self._failure_expected and self._standby is None:
                self._standby = self._start_process()
            self._failure_expected = True
        header: dict[str, Any] = {"program": job.program.digest}
        # The Python worker caches compiled programs by digest. A worker in another language need not store programs.
        if self.backend.worker or job.program.digest not in self._sent_programs:
            if len(self._sent_programs) >= MAX_COMPILED_PROGRAMS:  # as in the worker
                self._sent_programs.clear()
            self._sent_programs.add(job.program.digest)
            header["text"] = job.program.text
        connection.send(header, job.inputs)

    def _receive_outcome(self, limit: float, *, wait: bool = True) -> ProgramOutcome | WorkerLost:
        """Return the outcome of the oldest sent job. wait=False: its reply has arrived or is overdue."""
        assert self.connection is not None  # noqa: S101 - something was sent
        if self._launched_at is not None:
            self._wait_for_setup(self.connection)
        reply = self._receive_reply(self.connection, limit, wait=wait)
        alone, self._has_run_programs = not self._has_run_programs, True
        if isinstance(reply, WorkerLost):
            return replace(reply, outcome=replace(reply.outcome, alone=alone))
        outcome = program_outcome(reply, alone=alone, process=self.connection.process.pid if self.connection else 0)
        self._pace.add_job(outcome.seconds)
        # The worker has survived, for example a MemoryError, but its state may be damaged.
        if self.retry and outcome.kind == Outcome.CRASHED and not reply[0]["certain"]:
            self._kill_current()
            return WorkerLost(outcome)
        if reason := reply[0]["exit"]:
            self.end_process(reason)
            return WorkerLost(outcome, needs_retry=False)
        return outcome

    def _receive_reply(self, connection: Connection, limit: float, *, wait: bool = True) -> Frame | WorkerLost:
        """Return the next reply, which must be one to `run`."""
        reply = self._receive(connection, limit, wait=wait)
        if isinstance(reply, WorkerLost):
            return reply
        if not is_program_reply(reply[0]):
            self._kill_current()
            return WorkerLost(ProgramOutcome(Outcome.CRASHED, message=INVALID_REPLY_MESSAGE))
        return reply

    def _receive(self, connection: Connection, limit: float, *, wait: bool) -> Frame | WorkerLost:
        try:
            # wait=False: a frame has arrived, or none has within the limit, which is a timeout.
            frame = connection.receive(limit if wait else 0)
        except queue.Empty:
            self._kill_current()
            return WorkerLost(ProgramOutcome(Outcome.TIMED_OUT, message=f"no answer within {limit:g} s", seconds=limit))
        except UnexpectedFrame:
            self._kill_current()
            outcome = ProgramOutcome(Outcome.CRASHED, message=UNEXPECTED_FRAME_MESSAGE)
            return WorkerLost(outcome, may_have_earlier_cause=True)
        if frame is None:
            cause = connection.exit_cause()
            self._kill_current()
            return WorkerLost(ProgramOutcome(Outcome.CRASHED, message=cause))
        return frame


def _drain(jobs: deque[Job]) -> Iterator[Job]:
    while jobs:
        yield jobs.popleft()


def _cause(outcome: ProgramOutcome) -> str:
    """Return the message without the amounts of memory, which are never the same twice."""
    return re.sub(r"[\d.]+ GB", "", outcome.message)
