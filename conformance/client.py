"""The suite's end of a worker: start it, keep it busy, notice when it dies or hangs, replace it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from conformance.adapter import Backend, Program
from conformance.judge import Outcome
from conformance.values import DTYPES, Array
from conformance.worker import LENGTHS

WORKER = Path(__file__).with_name("worker.py")
START_LIMIT = 300.0
CASE_LIMIT = 60.0
AHEAD = 16
TAIL = 4000
CHUNK = 1 << 16
MAX_FRAME = 1 << 33
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class WorkerFailed(Exception):
    """A worker that could not be started, or whose setup failed."""


@dataclass(frozen=True)
class Job:
    """A program to run on inputs."""

    program: Program
    inputs: Sequence[Array]


@dataclass(frozen=True)
class Lost:
    """What is left of a worker that died or hung: the outcome of the case it was at."""

    outcome: Outcome


class Worker:
    """One process of a backend's interpreter. `outcomes` runs jobs; whatever they do, each yields one outcome.

    python: path of the interpreter; limit: seconds that one case may take.
    After `start`, `environment` tells the versions of Python and the packages.
    """

    def __init__(self, backend: Backend, python: str = sys.executable, limit: float = CASE_LIMIT) -> None:
        self.backend = backend
        self.python = python
        self.limit = limit
        self.environment: dict[str, Any] = {}

    def start(self) -> None:
        """Start the process and run the setup. Raises WorkerFailed."""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the interpreter that the user named
                [self.python, "-u", str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **ONE_THREAD},
                start_new_session=True,
            )
        except OSError as error:
            raise WorkerFailed(f"{self.python}: {error.strerror}") from None
        self._known: set[str] = set()
        self._inbox: queue.SimpleQueue[tuple[dict[str, Any], list[Array]] | None] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr = bytearray()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        for task in (self._read, self._write):
            threading.Thread(target=task, daemon=True).start()
        self._send(
            {
                "threads": self.backend.threads,
                "setup": self.backend.setup,
                "reset": self.backend.reset,
                "packages": self.backend.packages,
            }
        )
        reply = self._receive(START_LIMIT)
        if isinstance(reply, Lost):
            raise WorkerFailed(f"setup: {reply.outcome.message}")
        header, _ = reply
        if not header["ready"]:
            self._kill()
            raise WorkerFailed(f"setup: {header['message']}")
        self.environment = {"python": header["python"], "packages": header["packages"]}

    def stop(self) -> None:
        """End the process, gently at first; nothing of it is left."""
        self._outbox.put(None)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._kill()

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Yield the outcome of each job, in order. Raises WorkerFailed if a lost worker cannot be replaced."""
        coming = iter(jobs)
        sent: deque[Job] = deque()
        lost: deque[Job] = deque()
        while True:
            for job in chain(_drain(lost), islice(coming, AHEAD - len(sent) - len(lost))):
                sent.append(job)
                self._submit(job)
            if not sent:
                return
            reply = self._receive(self.limit)
            sent.popleft()
            if isinstance(reply, Lost):
                yield reply.outcome
                lost, sent = sent, deque()
            else:
                header, arrays = reply
                yield Outcome(header["outcome"], tuple(arrays), header["message"], header["seconds"])

    def _submit(self, job: Job) -> None:
        if self._process.returncode is not None:
            self.start()
        header: dict[str, Any] = {"program": job.program.digest}
        if job.program.digest not in self._known:
            self._known.add(job.program.digest)
            header["text"] = job.program.text
        self._send(header, job.inputs)

    def _send(self, header: dict[str, Any], arrays: Sequence[Array] = ()) -> None:
        header["arrays"] = [{"dtype": array.dtype.name, "shape": array.shape} for array in arrays]
        text = json.dumps(header).encode()
        body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
        self._outbox.put(LENGTHS.pack(len(text), len(body)) + text + body)

    def _receive(self, limit: float) -> tuple[dict[str, Any], list[Array]] | Lost:
        try:
            frame = self._inbox.get(timeout=limit)
        except queue.Empty:
            self._kill()
            return Lost(Outcome("timed_out", message=f"no answer within {limit:g} s", seconds=limit))
        return frame if frame is not None else Lost(Outcome("crashed", message=self._cause()))

    def _cause(self) -> str:
        """Return how the process ended: the signal or the exit status, and the last line it said."""
        try:
            status = self._process.wait(5)
        except subprocess.TimeoutExpired:
            status = 0
        self._kill()
        if status < 0:
            return f"signal {-status} ({signal.strsignal(-status)}){self._last_words()}"
        return f"the process left with exit status {status}{self._last_words()}"

    def _last_words(self) -> str:
        self._listener.join(1)  # what a process said last may still be on its way
        lines = bytes(self._stderr).decode("utf-8", "replace").split("\n")
        spoken = [line.strip() for line in lines if line.strip()]
        return f"; it said: {spoken[-1][:300]}" if spoken else ""

    def _kill(self) -> None:
        """Kill the process and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._outbox.put(None)
        self._process.wait()

    def _write(self) -> None:
        pipe, outbox = _pipe(self._process.stdin), self._outbox
        with contextlib.suppress(OSError):  # the reader learns that the worker is gone
            while (frame := outbox.get()) is not None:
                pipe.write(frame)
                pipe.flush()
        with contextlib.suppress(OSError):
            pipe.close()

    def _read(self) -> None:
        pipe, inbox = _pipe(self._process.stdout), self._inbox
        try:
            while (frame := _frame(pipe)) is not None:
                inbox.put(frame)
        except (ValueError, KeyError, TypeError):
            pass  # Not a frame: what is left of a worker that died while it wrote.
        inbox.put(None)
        pipe.close()

    def _listen(self) -> None:
        pipe, kept = _pipe(self._process.stderr), self._stderr
        for said in iter(lambda: os.read(pipe.fileno(), CHUNK), b""):
            kept += said
            del kept[:-TAIL]
        pipe.close()


def _drain(jobs: deque[Job]) -> Iterator[Job]:
    while jobs:
        yield jobs.popleft()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - all three were asked for
    return stream


def _frame(pipe: IO[bytes]) -> tuple[dict[str, Any], list[Array]] | None:
    lengths = pipe.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    header_length, body_length = LENGTHS.unpack(lengths)
    if header_length + body_length > MAX_FRAME:
        raise ValueError("not a frame")
    text, body = pipe.read(header_length), pipe.read(body_length)
    if len(body) < body_length:
        return None
    header = json.loads(text)
    arrays, start = [], 0
    for item in header["arrays"]:
        dtype = DTYPES[item["dtype"]] if item["dtype"] in DTYPES else np.dtype(item["dtype"])
        array = np.frombuffer(body, dtype, int(np.prod(item["shape"], dtype=np.int64)), start).reshape(item["shape"])
        arrays.append(array)
        start += array.nbytes
    return header, arrays
