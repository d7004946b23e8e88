"""One worker process and the threads that talk to it: frames in and out, what it says, how much memory it holds."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import math
import os
import queue
import select
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from conformance.cases.arrays import DTYPES, Array
from conformance.execution.worker import LARGEST_REPLY, LENGTHS
from conformance.judging.verdict import Outcome
from conformance.system import processes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

WORKER = Path(__file__).with_name("worker.py")
GENTLY = 5.0
"""Seconds in which a process may end by itself."""
LOOK = 0.1
"""Seconds between two looks at the memory of a process."""
TAIL = 4000
CHUNK = 1 << 16
ROOM = 1 << 20
"""Bytes that a pipe may hold: neither end waits for the other as long as there is room."""
MAX_FRAME = LARGEST_REPLY + (1 << 24)
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

Frame = tuple[dict[str, Any], list[Array]]


class Link:
    """A process that runs the worker file. Raises OSError if there is no such interpreter.

    memory: bytes that it may hold, 0 for any number; size: bytes that it held when it was last looked at;
    variables: what its environment has besides; arrived: set whenever something comes from it; lull: seconds in which
    nobody waits for what comes next, where there will be something by then.
    """

    def __init__(
        self,
        python: str,
        memory: int,
        variables: Mapping[str, str] | None = None,
        arrived: threading.Event | None = None,
    ) -> None:
        self.memory = memory
        self._arrived = arrived or threading.Event()
        self.size = self.excess = 0
        self.lull = 0.0
        self._worker = 0
        self._mark = uuid.uuid4().hex
        self.process = subprocess.Popen(  # noqa: S603 - the interpreter that the user named
            [python, "-u", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=CHUNK,
            env={**os.environ, **ONE_THREAD, **(variables or {}), processes.MARK: self._mark},
            start_new_session=True,
        )
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # more than this user may have; any size will do
                fcntl.fcntl(_pipe(stream), fcntl.F_SETPIPE_SZ, ROOM)
        self._inbox: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr = bytearray()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        for task in (self._read, self._write, self._watch):
            threading.Thread(target=task, daemon=True).start()

    def send(self, header: dict[str, Any], arrays: Sequence[Array] = ()) -> None:
        """Send a frame, sooner or later."""
        header["arrays"] = [{"dtype": array.dtype.name, "shape": array.shape} for array in arrays]
        text = json.dumps(header).encode()
        body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
        self._outbox.put(LENGTHS.pack(len(text), len(body)) + text + body)

    def receive(self, limit: float) -> Frame | None:
        """Return the next frame, None if the process is gone. Raises queue.Empty if neither comes within the limit."""
        return self._inbox.get(timeout=limit)

    @property
    def heard(self) -> bool:
        """Whether `receive` need not wait."""
        return not self._inbox.empty()

    def look(self) -> int:
        """Return the bytes of memory that the process holds."""
        self._worker = self._worker or processes.worker(self.process.pid)
        self.size = processes.memory(self._worker or self.process.pid)
        return self.size

    def stop(self) -> None:
        """End the process, gently at first; nothing of it is left."""
        self._outbox.put(None)
        try:
            self.process.wait(GENTLY)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the process and all that it started."""
        self._end()
        self._outbox.put(None)
        self.process.wait()

    def _end(self) -> None:
        """Have the guard end, and be surer of it than that."""
        if self.process.poll() is None and processes.end_below(self.process.pid):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GENTLY)
        processes.end(self.process.pid, self._mark)

    def cause(self) -> str:
        """Return how the process ended: the signal or the exit status, and the last line it said."""
        try:
            status = self.process.wait(GENTLY)
        except subprocess.TimeoutExpired:
            status = 0
        self.kill()
        if self.excess:
            return f"ended, as it held {_gigabytes(self.excess)} of memory; the limit is {_gigabytes(self.memory)}"
        if status < 0:
            return f"signal {-status} ({signal.strsignal(-status)}){self.last_words()}"
        return f"the process left with exit status {status}{self.last_words()}"

    def last_words(self) -> str:
        """Return the last line that the process said, to be added to a sentence."""
        self._listener.join(1)  # what a process said last may still be on its way
        lines = bytes(self._stderr).decode("utf-8", "replace").split("\n")
        spoken = [line.strip() for line in lines if line.strip()]
        return f"; it said: {spoken[-1][:300]}" if spoken else ""

    def _watch(self) -> None:
        """Look at the process until it ends; end it if it takes too much memory, and whatever it leaves behind."""
        while self.process.poll() is None:
            if self.look() > self.memory > 0:
                self.excess = self.size
                break
            time.sleep(LOOK)
        self._end()

    def _write(self) -> None:
        pipe, outbox = _pipe(self.process.stdin), self._outbox
        with contextlib.suppress(OSError):  # the reader learns that the worker is gone
            while (frame := outbox.get()) is not None:
                pipe.write(frame)
                if outbox.empty():
                    pipe.flush()
        with contextlib.suppress(OSError):
            pipe.close()

    def _read(self) -> None:
        pipe, inbox = _pipe(self.process.stdout), self._inbox
        frames = io.BufferedReader(Lulled(pipe.fileno(), lambda: self.lull), CHUNK)
        while (frame := read_frame(frames)) is not None:
            inbox.put(frame)
            self._arrived.set()
        inbox.put(None)
        self._arrived.set()
        pipe.close()

    def _listen(self) -> None:
        pipe, kept = _pipe(self.process.stderr), self._stderr
        for said in iter(lambda: os.read(pipe.fileno(), CHUNK), b""):
            kept += said
            del kept[:-TAIL]
        pipe.close()


class Lulled(io.RawIOBase):
    """The near end of a pipe of which nobody waits for what comes next before a lull of so many seconds is over.

    Who writes to a pipe wakes who waits for it. That takes a worker longer than all else it does for a short program,
    and may take it off its processor; where nobody waits it is free.
    """

    def __init__(self, descriptor: int, lull: Callable[[], float]) -> None:
        self._descriptor, self._lull = descriptor, lull
        self._look = select.poll()
        self._look.register(descriptor, select.POLLIN)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what is there, or wait for it."""
        if (lull := self._lull()) and not self._look.poll(0):
            time.sleep(lull)
        return os.readv(self._descriptor, [buffer])


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - all three were asked for
    return stream


def read_frame(pipe: IO[bytes] | io.BufferedReader) -> Frame | None:
    """Return the next frame, None at the end and for what is none: a worker that died while it wrote leaves such."""
    lengths = pipe.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    header_length, body_length = LENGTHS.unpack(lengths)
    if header_length + body_length > MAX_FRAME:
        return None
    text, body = pipe.read(header_length), pipe.read(body_length)
    try:
        header = json.loads(text)
        return (header, list(_arrays(header["arrays"], body))) if len(body) == body_length else None
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
        return None


def _arrays(items: Sequence[Mapping[str, Any]], body: bytes) -> Iterator[Array]:
    """Yield the arrays of a frame. Raises ValueError, LookupError or TypeError for what is none."""
    start = 0
    for item in items:
        dtype, shape = DTYPES[item["dtype"]], item["shape"]
        if not isinstance(shape, list) or any(type(extent) is not int or extent < 0 for extent in shape):
            raise ValueError("not a shape")
        array = np.frombuffer(body, dtype, math.prod(shape), start).reshape(shape)
        yield array
        start += array.nbytes


OUTCOMES = frozenset({"returned", "rejected", "crashed"})
FAILED_AT_ONCE = "exit status 1; it said:"
NEEDS = " (a worker needs Python 3.8 or newer, and NumPy)"


def is_start(header: Mapping[str, Any]) -> bool:
    """Whether this is how a worker answers its first frame: a program may have written into the pipe."""
    ready, packages, cpu = (header.get(key) for key in ("ready", "packages", "cpu"))
    if ready is not True:
        return ready is False and isinstance(header.get("message"), str)
    told = [header.get("python"), header.get("hardware", "")]
    texts = [*told, *(packages.values() if isinstance(packages, dict) else [None])]
    return isinstance(cpu, list) and all(isinstance(text, str) for text in (*texts, *cpu))


def is_reply(header: Mapping[str, Any]) -> bool:
    """Whether this is how a worker answers a program."""
    kind, message, seconds, certain = (header.get(key) for key in ("outcome", "message", "seconds", "certain"))
    known = isinstance(kind, str) and kind in OUTCOMES and isinstance(message, str) and isinstance(certain, bool)
    return known and type(seconds) is float and 0 <= seconds < math.inf


def started(link: Link, environment: Mapping[str, Any], seconds: float) -> str:
    """Say of a worker that it has started, and with what."""
    versions = {"Python": environment["python"], **environment["packages"]}
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"worker {link.process.pid} started in {seconds:.1f} s: {said}"


def hinted(outcome: Outcome, link: Link) -> str:
    """Return how a start failed, with what may help."""
    if outcome.kind == "timed_out":
        return f"{outcome.message}; --start-timeout sets this limit{link.last_words()}"
    return outcome.message + (NEEDS if FAILED_AT_ONCE in outcome.message else "")
