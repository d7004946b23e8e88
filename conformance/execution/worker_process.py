"""The suite's end of a worker: start it, keep it busy, notice when it dies, hangs or grows, replace it."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from conformance import DeviceUnavailable
from conformance.adapters.api.devices import used_features
from conformance.adapters.api.surface import Backend, Program
from conformance.cases.arrays import Array
from conformance.execution.connection import (
    Connection,
    Frame,
    is_program_reply,
    is_start_reply,
    start_failure_message,
    start_message,
)
from conformance.execution.worker import SETUP_PARTS
from conformance.judging.repeats import combine_retry
from conformance.judging.verdict import ProgramOutcome
from conformance.system import processes

MIN_QUEUED_JOBS, MAX_QUEUED_JOBS = 16, 512
"""Jobs that lie with a worker, so that it has work while the suite is busy with something else."""
MIN_QUEUED_JOBS_IN_POOL = 2
"""The fewest of one among several: those that nobody has yet are for whoever has time."""
MAX_QUEUED_SECONDS, MAX_QUEUED_BYTES = 0.25, 8 << 20
"""More than the fewest lie there only as long as they take so long, and their inputs so much."""
READ_DELAY_SECONDS, MIN_QUEUED_DELAYS = 0.003, 4
"""Seconds for which nobody waits for short replies, where so many times as much lies with the worker."""
PACE_SMOOTHING = 0.1
"""Of the last job in what is thought of the next ones."""
MIN_JOB_SECONDS = MAX_QUEUED_SECONDS / MAX_QUEUED_JOBS
INVALID_REPLY_MESSAGE = "the worker sent what is no reply"


class WorkerFailed(Exception):
    """A worker that could not be started, or whose setup failed."""


@dataclass(frozen=True)
class Limits:
    """What a worker may take: seconds for one case, seconds to start, bytes of memory (0 for any number)."""

    case_seconds: float = 60.0
    start_seconds: float = 300.0
    memory_bytes: int = field(default_factory=lambda: processes.machine_memory_bytes() // 2)


@dataclass(frozen=True)
class Job:
    """A program to run on inputs.

    fatal: whether it is known to take its process down, which then is no reason to try it again.
    """

    program: Program
    inputs: Sequence[Array]
    expect_failure: bool = False


@dataclass(frozen=True)
class WorkerLost:
    """What is left of a worker that died, hung or cannot be trusted any more: the outcome of the case it was at."""

    outcome: ProgramOutcome


class Worker:
    """One process of a backend's interpreter. `outcomes` runs jobs; whatever they do, each yields one outcome.

    python: path of the interpreter; retry: whether a job that takes its process down is run once more, alone;
    tell: told in a sentence of each process that has started.
    While jobs wait behind one that is known to be fatal, a second process gets ready to take over.
    After `start`, `environment` tells the versions of Python and the packages, and what is used of the processor.
    arrived: set whenever something comes from a process.
    """

    def __init__(
        self,
        backend: Backend,
        python: str = sys.executable,
        limits: Limits | None = None,
        *,
        retry: bool = True,
        log: Callable[[str], None] = lambda _said: None,
    ) -> None:
        self.backend = backend
        self.python = python
        self.limits = limits or Limits()
        self.retry = retry
        self.log = log
        self.environment: dict[str, Any] = {}
        self.reply_arrived = threading.Event()
        self.connection: Connection | None = None
        self._sent_programs: set[str] = set()
        self._memory_at_start = 0
        self._seconds_per_job = MAX_QUEUED_SECONDS
        self._launched_at: float | None = None
        self._waiting_since = 0.0
        self._standby: Connection | None = None
        self._failure_expected = False

    def start(self) -> None:
        """Start the process and wait until its setup has run. Raises WorkerFailed, and DeviceMissing."""
        self._wait_for_setup(self.launch())

    def launch(self) -> Connection:
        """Start the process if there is none, and let it run its setup while others work: jobs may be sent at once.

        Raises WorkerFailed if there is no such interpreter.
        """
        if self.connection is not None:
            return self.connection
        self._launched_at = time.monotonic()
        link = self.connection = self._standby or self._start_process()
        self._standby, self._failure_expected = None, False
        self._sent_programs.clear()
        return link

    def _start_process(self) -> Connection:
        """Start a process that runs its setup. Raises WorkerFailed."""
        try:
            link = Connection(
                self.python, self.limits.memory_bytes, self.backend.device.environment_variables, self.reply_arrived
            )
        except OSError as error:
            raise WorkerFailed(f"{self.python}: {error.strerror}") from None
        link.send({name: getattr(self.backend, name) for name in (*SETUP_PARTS, "packages")})
        return link

    def _wait_for_setup(self, connection: Connection, *, wait: bool = True) -> None:
        begun, self._launched_at = self._launched_at, None
        reply = self._receive(connection, self.limits.start_seconds, wait=wait)
        if isinstance(reply, WorkerLost):
            raise WorkerFailed(f"setup: {start_failure_message(reply.outcome, connection)}")
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
        self.environment = {key: header[key] for key in ("python", "packages")}
        self.environment["cpu"] = used_features(header["cpu"], self.backend.instructions)
        self.environment["device"] = self.backend.device.environment_record(header.get("hardware", ""))
        self._memory_at_start = connection.measure_memory()
        self._waiting_since = time.monotonic()
        self.log(start_message(connection, self.environment, time.monotonic() - (begun or 0)))

    def stop(self) -> None:
        """End the process, gently at first; nothing of it is left."""
        link, self.connection = self.connection, None
        if link is not None:
            link.stop()
        self.kill()

    def kill(self) -> None:
        """End the process at once, and all that it started."""
        self._kill_current()
        spare, self._standby = self._standby, None
        if spare is not None:
            spare.kill()

    def _kill_current(self) -> None:
        """End the process that has been at work; one that is ready to take its place may do so."""
        link, self.connection = self.connection, None
        if link is not None:
            link.kill()

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[ProgramOutcome]:
        """Yield the outcome of each job, in order. Raises WorkerFailed if a lost worker cannot be replaced."""
        return filter(None, self.poll_outcomes(jobs))

    def poll_outcomes(self, jobs: Iterable[Job], *, wait: bool = True) -> Iterator[ProgramOutcome | None]:
        """Yield the same; not to wait means None as long as the next one is not there."""
        coming = iter(jobs)
        sent: deque[Job] = deque()
        lost: deque[Job] = deque()
        fewest = MIN_QUEUED_JOBS if wait else MIN_QUEUED_JOBS_IN_POOL
        while True:
            self._fill_queue(sent, chain(_drain(lost), coming), fewest)
            if not sent:
                return
            self._set_read_delay(len(sent))
            while not (wait or self._is_reply_due()):
                yield None
            job, reply = sent[0], self._receive_outcome(self.limits.case_seconds, wait=wait)
            sent.popleft()
            self._waiting_since = time.monotonic()
            if isinstance(reply, WorkerLost):
                lost.extendleft(reversed(sent))
                sent.clear()
                once_more = self.retry and not job.expect_failure
                outcome = combine_retry(reply.outcome, self._run_in_new_process(job)) if once_more else reply.outcome
                self._fill_queue(sent, _drain(lost), fewest)  # the next process starts while others are waited for
                yield outcome
            else:
                yield reply

    def _is_reply_due(self) -> bool:
        """Whether the next reply is there, or will not come; goes on with a start that is under way."""
        assert self.connection is not None  # noqa: S101 - something was sent
        waited = time.monotonic() - self._waiting_since
        if self._launched_at is None:
            return self.connection.has_frame or waited > self.limits.case_seconds
        if self.connection.has_frame or waited > self.limits.start_seconds:
            self._wait_for_setup(self.connection, wait=False)
        return False

    def _fill_queue(self, sent: deque[Job], jobs: Iterator[Job], min_queued: int) -> None:
        """Send jobs until enough lie with the worker; one that has grown gets none, and is replaced when it is idle."""
        if self._uses_too_much_memory() and not sent:
            self.stop()
        room = max(min_queued, int(MAX_QUEUED_SECONDS / max(self._seconds_per_job, MIN_JOB_SECONDS)))
        if self._uses_too_much_memory() or 2 * len(sent) > room:  # many at once take less time than one by one
            return
        weight = sum(map(_input_bytes, sent))
        while len(sent) < (room if weight < MAX_QUEUED_BYTES else min_queued) and (job := next(jobs, None)) is not None:
            self._waiting_since = self._waiting_since if sent else time.monotonic()
            sent.append(job)
            weight += _input_bytes(job)
            self._send_job(job)

    def _set_read_delay(self, queued: int) -> None:
        """Have short replies come some at a time as long as there is more ahead than the worker does meanwhile."""
        assert self.connection is not None  # noqa: S101 - something was sent
        self.connection.read_delay = (
            READ_DELAY_SECONDS
            if self._seconds_per_job < READ_DELAY_SECONDS < queued * self._seconds_per_job / MIN_QUEUED_DELAYS
            else 0
        )

    def _run_in_new_process(self, job: Job) -> ProgramOutcome:
        """Run a job in a new process, which is given nothing else to do."""
        self._send_job(job)
        reply = self._receive_outcome(self.limits.case_seconds)
        self._kill_current()
        return reply.outcome if isinstance(reply, WorkerLost) else reply

    def _uses_too_much_memory(self) -> bool:
        """Whether the worker has taken half of what lies between its size at the start and the limit."""
        link, room = self.connection, self.limits.memory_bytes - self._memory_at_start
        if (
            link is None
            or self._launched_at is not None
            or room <= 0
            or 2 * (link.memory_bytes - self._memory_at_start) <= room
        ):
            return False
        return 2 * (link.measure_memory() - self._memory_at_start) > room  # it may have shrunk since it was looked at

    def _send_job(self, job: Job) -> None:
        link = self.launch()
        if job.expect_failure:
            if self._failure_expected and self._standby is None:
                self._standby = self._start_process()
            self._failure_expected = True
        header: dict[str, Any] = {"program": job.program.digest}
        if job.program.digest not in self._sent_programs:
            self._sent_programs.add(job.program.digest)
            header["text"] = job.program.text
        link.send(header, job.inputs)

    def _receive_outcome(self, limit: float, *, wait: bool = True) -> ProgramOutcome | WorkerLost:
        """Return the outcome of the job that was sent first; not to wait means that it is there by now or overdue."""
        assert self.connection is not None  # noqa: S101 - something was sent
        if self._launched_at is not None:
            self._wait_for_setup(self.connection)
        reply = self._receive(self.connection, limit, wait=wait)
        if isinstance(reply, WorkerLost):
            return reply
        header, arrays = reply
        if not is_program_reply(header):
            self._kill_current()
            return WorkerLost(ProgramOutcome("crashed", message=INVALID_REPLY_MESSAGE))
        outcome = ProgramOutcome(header["outcome"], tuple(arrays), header["message"], header["seconds"])
        self._seconds_per_job += PACE_SMOOTHING * (outcome.seconds - self._seconds_per_job)
        if self.retry and outcome.kind == "crashed" and not header["certain"]:
            self._kill_current()
            return WorkerLost(outcome)
        return outcome

    def _receive(self, connection: Connection, limit: float, *, wait: bool) -> Frame | WorkerLost:
        try:
            frame = connection.receive(limit if wait else 0)
        except queue.Empty:
            self._kill_current()
            return WorkerLost(ProgramOutcome("timed_out", message=f"no answer within {limit:g} s", seconds=limit))
        if frame is None:
            cause = connection.exit_cause()
            self._kill_current()
            return WorkerLost(ProgramOutcome("crashed", message=cause))
        return frame


def _input_bytes(job: Job) -> int:
    return sum(array.nbytes for array in job.inputs)


def _drain(jobs: deque[Job]) -> Iterator[Job]:
    while jobs:
        yield jobs.popleft()
