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

from conformance import DeviceMissing
from conformance.adapters.api.devices import used
from conformance.adapters.api.surface import Backend, Program
from conformance.cases.arrays import Array
from conformance.execution.connection import Frame, Link, hinted, is_reply, is_start, started
from conformance.execution.worker import SETUPS
from conformance.judging.repeats import again
from conformance.judging.verdict import Outcome
from conformance.system import processes

AHEAD, MOST_AHEAD = 16, 512
"""Jobs that lie with a worker, so that it has work while the suite is busy with something else."""
IN_A_CREW = 2
"""The fewest of one among several: those that nobody has yet are for whoever has time."""
SECONDS_AHEAD, BYTES_AHEAD = 0.25, 8 << 20
"""More than the fewest lie there only as long as they take so long, and their inputs so much."""
LULL, MEANWHILE = 0.003, 4
"""Seconds for which nobody waits for short replies, where so many times as much lies with the worker."""
SHARE = 0.1
"""Of the last job in what is thought of the next ones."""
SHORTEST = SECONDS_AHEAD / MOST_AHEAD
STRANGE = "the worker sent what is no reply"


class WorkerFailed(Exception):
    """A worker that could not be started, or whose setup failed."""


@dataclass(frozen=True)
class Limits:
    """What a worker may take: seconds for one case, seconds to start, bytes of memory (0 for any number)."""

    case: float = 60.0
    start: float = 300.0
    memory: int = field(default_factory=lambda: processes.machine() // 2)


@dataclass(frozen=True)
class Job:
    """A program to run on inputs.

    fatal: whether it is known to take its process down, which then is no reason to try it again.
    """

    program: Program
    inputs: Sequence[Array]
    fatal: bool = False


@dataclass(frozen=True)
class Lost:
    """What is left of a worker that died, hung or cannot be trusted any more: the outcome of the case it was at."""

    outcome: Outcome


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
        tell: Callable[[str], None] = lambda _said: None,
    ) -> None:
        self.backend = backend
        self.python = python
        self.limits = limits or Limits()
        self.retry = retry
        self.tell = tell
        self.environment: dict[str, Any] = {}
        self.arrived = threading.Event()
        self.link: Link | None = None
        self._known: set[str] = set()
        self._size_at_start = 0
        self._pace = SECONDS_AHEAD
        self._begun: float | None = None
        self._since = 0.0
        self._spare: Link | None = None
        self._ending = False

    def start(self) -> None:
        """Start the process and wait until its setup has run. Raises WorkerFailed, and DeviceMissing."""
        self._wait_for_setup(self.launch())

    def launch(self) -> Link:
        """Start the process if there is none, and let it run its setup while others work: jobs may be sent at once.

        Raises WorkerFailed if there is no such interpreter.
        """
        if self.link is not None:
            return self.link
        self._begun = time.monotonic()
        link = self.link = self._spare or self._process()
        self._spare, self._ending = None, False
        self._known.clear()
        return link

    def _process(self) -> Link:
        """Start a process that runs its setup. Raises WorkerFailed."""
        try:
            link = Link(self.python, self.limits.memory, self.backend.device.variables, self.arrived)
        except OSError as error:
            raise WorkerFailed(f"{self.python}: {error.strerror}") from None
        link.send({name: getattr(self.backend, name) for name in (*SETUPS, "packages")})
        return link

    def _wait_for_setup(self, link: Link, *, wait: bool = True) -> None:
        begun, self._begun = self._begun, None
        reply = self._receive(link, self.limits.start, wait=wait)
        if isinstance(reply, Lost):
            raise WorkerFailed(f"setup: {hinted(reply.outcome, link)}")
        header = reply[0]
        if not is_start(header):
            self.kill()
            raise WorkerFailed(f"setup: {STRANGE}")
        if not header["ready"]:
            self.kill()
            if header.get("part") == "probe":
                raise DeviceMissing(f"backend {self.backend.name}: no {self.backend.device.name}: {header['message']}")
            raise WorkerFailed(f"setup: {header['message']}")
        self.environment = {key: header[key] for key in ("python", "packages")}
        self.environment["cpu"] = used(header["cpu"], self.backend.instructions)
        self.environment["device"] = self.backend.device.facts(header.get("hardware", ""))
        self._size_at_start = link.look()
        self._since = time.monotonic()
        self.tell(started(link, self.environment, time.monotonic() - (begun or 0)))

    def stop(self) -> None:
        """End the process, gently at first; nothing of it is left."""
        link, self.link = self.link, None
        if link is not None:
            link.stop()
        self.kill()

    def kill(self) -> None:
        """End the process at once, and all that it started."""
        self._drop()
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.kill()

    def _drop(self) -> None:
        """End the process that has been at work; one that is ready to take its place may do so."""
        link, self.link = self.link, None
        if link is not None:
            link.kill()

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Yield the outcome of each job, in order. Raises WorkerFailed if a lost worker cannot be replaced."""
        return filter(None, self.steps(jobs))

    def steps(self, jobs: Iterable[Job], *, wait: bool = True) -> Iterator[Outcome | None]:
        """Yield the same; not to wait means None as long as the next one is not there."""
        coming = iter(jobs)
        sent: deque[Job] = deque()
        lost: deque[Job] = deque()
        fewest = AHEAD if wait else IN_A_CREW
        while True:
            self._keep_busy(sent, chain(_drain(lost), coming), fewest)
            if not sent:
                return
            self._let_be(len(sent))
            while not (wait or self._settled()):
                yield None
            job, reply = sent[0], self._reply(self.limits.case, wait=wait)
            sent.popleft()
            self._since = time.monotonic()
            if isinstance(reply, Lost):
                lost.extendleft(reversed(sent))
                sent.clear()
                once_more = self.retry and not job.fatal
                outcome = again(reply.outcome, self._alone(job)) if once_more else reply.outcome
                self._keep_busy(sent, _drain(lost), fewest)  # the next process starts while others are waited for
                yield outcome
            else:
                yield reply

    def _settled(self) -> bool:
        """Whether the next reply is there, or will not come; goes on with a start that is under way."""
        assert self.link is not None  # noqa: S101 - something was sent
        waited = time.monotonic() - self._since
        if self._begun is None:
            return self.link.heard or waited > self.limits.case
        if self.link.heard or waited > self.limits.start:
            self._wait_for_setup(self.link, wait=False)
        return False

    def _keep_busy(self, sent: deque[Job], jobs: Iterator[Job], fewest: int) -> None:
        """Send jobs until enough lie with the worker; one that has grown gets none, and is replaced when it is idle."""
        if self._grown() and not sent:
            self.stop()
        room = max(fewest, int(SECONDS_AHEAD / max(self._pace, SHORTEST)))
        if self._grown() or 2 * len(sent) > room:  # many at once take less time than one by one
            return
        weight = sum(map(_weight, sent))
        while len(sent) < (room if weight < BYTES_AHEAD else fewest) and (job := next(jobs, None)) is not None:
            self._since = self._since if sent else time.monotonic()
            sent.append(job)
            weight += _weight(job)
            self._submit(job)

    def _let_be(self, ahead: int) -> None:
        """Have short replies come some at a time as long as there is more ahead than the worker does meanwhile."""
        assert self.link is not None  # noqa: S101 - something was sent
        self.link.lull = LULL if self._pace < LULL < ahead * self._pace / MEANWHILE else 0

    def _alone(self, job: Job) -> Outcome:
        """Run a job in a new process, which is given nothing else to do."""
        self._submit(job)
        reply = self._reply(self.limits.case)
        self._drop()
        return reply.outcome if isinstance(reply, Lost) else reply

    def _grown(self) -> bool:
        """Whether the worker has taken half of what lies between its size at the start and the limit."""
        link, room = self.link, self.limits.memory - self._size_at_start
        if link is None or self._begun is not None or room <= 0 or 2 * (link.size - self._size_at_start) <= room:
            return False
        return 2 * (link.look() - self._size_at_start) > room  # it may have shrunk since it was looked at

    def _submit(self, job: Job) -> None:
        link = self.launch()
        if job.fatal:
            if self._ending and self._spare is None:
                self._spare = self._process()
            self._ending = True
        header: dict[str, Any] = {"program": job.program.digest}
        if job.program.digest not in self._known:
            self._known.add(job.program.digest)
            header["text"] = job.program.text
        link.send(header, job.inputs)

    def _reply(self, limit: float, *, wait: bool = True) -> Outcome | Lost:
        """Return the outcome of the job that was sent first; not to wait means that it is there by now or overdue."""
        assert self.link is not None  # noqa: S101 - something was sent
        if self._begun is not None:
            self._wait_for_setup(self.link)
        reply = self._receive(self.link, limit, wait=wait)
        if isinstance(reply, Lost):
            return reply
        header, arrays = reply
        if not is_reply(header):
            self._drop()
            return Lost(Outcome("crashed", message=STRANGE))
        outcome = Outcome(header["outcome"], tuple(arrays), header["message"], header["seconds"])
        self._pace += SHARE * (outcome.seconds - self._pace)
        if self.retry and outcome.kind == "crashed" and not header["certain"]:
            self._drop()
            return Lost(outcome)
        return outcome

    def _receive(self, link: Link, limit: float, *, wait: bool) -> Frame | Lost:
        try:
            frame = link.receive(limit if wait else 0)
        except queue.Empty:
            self._drop()
            return Lost(Outcome("timed_out", message=f"no answer within {limit:g} s", seconds=limit))
        if frame is None:
            cause = link.cause()
            self._drop()
            return Lost(Outcome("crashed", message=cause))
        return frame


def _weight(job: Job) -> int:
    return sum(array.nbytes for array in job.inputs)


def _drain(jobs: deque[Job]) -> Iterator[Job]:
    while jobs:
        yield jobs.popleft()
