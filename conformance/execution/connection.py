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

from conformance.cases.arrays import NUMPY_DTYPES, Array
from conformance.execution.worker import FRAME_LENGTHS, MAX_REPLY_BYTES
from conformance.judging.verdict import ProgramOutcome
from conformance.system import processes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

WORKER_FILE = Path(__file__).with_name("worker.py")
EXIT_TIMEOUT_SECONDS = 5.0
"""Seconds in which a process may end by itself."""
MEMORY_CHECK_INTERVAL_SECONDS = 0.1
"""Seconds between two looks at the memory of a process."""
MAX_STDERR_BYTES = 4000
READ_CHUNK_BYTES = 1 << 16
PIPE_BYTES = 1 << 20
"""Bytes that a pipe may hold: neither end waits for the other as long as there is room."""
MAX_FRAME_BYTES = MAX_REPLY_BYTES + (1 << 24)
ONE_THREAD_VARIABLES = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

Frame = tuple[dict[str, Any], list[Array]]


class Connection:
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
        self.memory_limit = memory
        self._reply_arrived = arrived or threading.Event()
        self.memory_bytes = self.excess_bytes = 0
        self.read_delay = 0.0
        self._worker_pid = 0
        self._process_mark = uuid.uuid4().hex
        self.process = subprocess.Popen(  # noqa: S603 - the interpreter that the user named
            [python, "-u", str(WORKER_FILE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=READ_CHUNK_BYTES,
            env={
                **os.environ,
                **ONE_THREAD_VARIABLES,
                **(variables or {}),
                processes.WORKER_VARIABLE: self._process_mark,
            },
            start_new_session=True,
        )
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # more than this user may have; any size will do
                fcntl.fcntl(_require_pipe(stream), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._inbox: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr = bytearray()
        self._stderr_thread = threading.Thread(target=self._read_stderr, daemon=True)
        self._stderr_thread.start()
        for task in (self._read_frames, self._write_frames, self._monitor_memory):
            threading.Thread(target=task, daemon=True).start()

    def send(self, header: dict[str, Any], arrays: Sequence[Array] = ()) -> None:
        """Send a frame, sooner or later."""
        header["arrays"] = [{"dtype": array.dtype.name, "shape": array.shape} for array in arrays]
        text = json.dumps(header).encode()
        body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
        self._outbox.put(FRAME_LENGTHS.pack(len(text), len(body)) + text + body)

    def receive(self, limit: float) -> Frame | None:
        """Return the next frame, None if the process is gone. Raises queue.Empty if neither comes within the limit."""
        return self._inbox.get(timeout=limit)

    @property
    def has_frame(self) -> bool:
        """Whether `receive` need not wait."""
        return not self._inbox.empty()

    def measure_memory(self) -> int:
        """Return the bytes of memory that the process holds."""
        self._worker_pid = self._worker_pid or processes.worker_pid(self.process.pid)
        self.memory_bytes = processes.resident_bytes(self._worker_pid or self.process.pid)
        return self.memory_bytes

    def stop(self) -> None:
        """End the process, gently at first; nothing of it is left."""
        self._outbox.put(None)
        try:
            self.process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the process and all that it started."""
        self._kill_processes()
        self._outbox.put(None)
        self.process.wait()

    def _kill_processes(self) -> None:
        """Have the guard end, and be surer of it than that."""
        if self.process.poll() is None and processes.kill_below(self.process.pid):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(EXIT_TIMEOUT_SECONDS)
        processes.kill_group(self.process.pid, self._process_mark)

    def exit_cause(self) -> str:
        """Return how the process ended: the signal or the exit status, and the last line it said."""
        try:
            status = self.process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            status = 0
        self.kill()
        if self.excess_bytes:
            return f"ended, as it held {_gigabytes_text(self.excess_bytes)} of memory; the limit is {_gigabytes_text(self.memory_limit)}"
        if status < 0:
            return f"signal {-status} ({signal.strsignal(-status)}){self.last_output()}"
        return f"the process left with exit status {status}{self.last_output()}"

    def last_output(self) -> str:
        """Return the last line that the process said, to be added to a sentence."""
        self._stderr_thread.join(1)  # what a process said last may still be on its way
        lines = bytes(self._stderr).decode("utf-8", "replace").split("\n")
        spoken = [line.strip() for line in lines if line.strip()]
        return f"; it said: {spoken[-1][:300]}" if spoken else ""

    def _monitor_memory(self) -> None:
        """Look at the process until it ends; end it if it takes too much memory, and whatever it leaves behind."""
        while self.process.poll() is None:
            if self.measure_memory() > self.memory_limit > 0:
                self.excess_bytes = self.memory_bytes
                break
            time.sleep(MEMORY_CHECK_INTERVAL_SECONDS)
        self._kill_processes()

    def _write_frames(self) -> None:
        pipe, outbox = _require_pipe(self.process.stdin), self._outbox
        with contextlib.suppress(OSError):  # the reader learns that the worker is gone
            while (frame := outbox.get()) is not None:
                pipe.write(frame)
                if outbox.empty():
                    pipe.flush()
        with contextlib.suppress(OSError):
            pipe.close()

    def _read_frames(self) -> None:
        pipe, inbox = _require_pipe(self.process.stdout), self._inbox
        frames = io.BufferedReader(BatchedReader(pipe.fileno(), lambda: self.read_delay), READ_CHUNK_BYTES)
        while (frame := read_frame(frames)) is not None:
            inbox.put(frame)
            self._reply_arrived.set()
        inbox.put(None)
        self._reply_arrived.set()
        pipe.close()

    def _read_stderr(self) -> None:
        pipe, kept = _require_pipe(self.process.stderr), self._stderr
        for said in iter(lambda: os.read(pipe.fileno(), READ_CHUNK_BYTES), b""):
            kept += said
            del kept[:-MAX_STDERR_BYTES]
        pipe.close()


class BatchedReader(io.RawIOBase):
    """The near end of a pipe of which nobody waits for what comes next before a lull of so many seconds is over.

    Who writes to a pipe wakes who waits for it. That takes a worker longer than all else it does for a short program,
    and may take it off its processor; where nobody waits it is free.
    """

    def __init__(self, descriptor: int, read_delay: Callable[[], float]) -> None:
        self._descriptor, self._read_delay = descriptor, read_delay
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what is there, or wait for it."""
        if (lull := self._read_delay()) and not self._poll.poll(0):
            time.sleep(lull)
        return os.readv(self._descriptor, [buffer])


def _gigabytes_text(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


def _require_pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - all three were asked for
    return stream


def read_frame(pipe: IO[bytes] | io.BufferedReader) -> Frame | None:
    """Return the next frame, None at the end and for what is none: a worker that died while it wrote leaves such."""
    lengths = pipe.read(FRAME_LENGTHS.size)
    if len(lengths) < FRAME_LENGTHS.size:
        return None
    header_length, body_length = FRAME_LENGTHS.unpack(lengths)
    if header_length + body_length > MAX_FRAME_BYTES:
        return None
    text, body = pipe.read(header_length), pipe.read(body_length)
    try:
        header = json.loads(text)
        return (header, list(_decode_arrays(header["arrays"], body))) if len(body) == body_length else None
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
        return None


def _decode_arrays(items: Sequence[Mapping[str, Any]], body: bytes) -> Iterator[Array]:
    """Yield the arrays of a frame. Raises ValueError, LookupError or TypeError for what is none."""
    start = 0
    for item in items:
        dtype, shape = NUMPY_DTYPES[item["dtype"]], item["shape"]
        if not isinstance(shape, list) or any(type(extent) is not int or extent < 0 for extent in shape):
            raise ValueError("not a shape")
        array = np.frombuffer(body, dtype, math.prod(shape), start).reshape(shape)
        yield array
        start += array.nbytes


WORKER_OUTCOMES = frozenset({"returned", "rejected", "crashed"})
IMMEDIATE_EXIT_TEXT = "exit status 1; it said:"
WORKER_REQUIREMENTS_HINT = " (a worker needs Python 3.8 or newer, and NumPy)"


def is_start_reply(header: Mapping[str, Any]) -> bool:
    """Whether this is how a worker answers its first frame: a program may have written into the pipe."""
    ready, packages, cpu = (header.get(key) for key in ("ready", "packages", "cpu"))
    if ready is not True:
        return ready is False and isinstance(header.get("message"), str)
    told = [header.get("python"), header.get("hardware", "")]
    texts = [*told, *(packages.values() if isinstance(packages, dict) else [None])]
    return isinstance(cpu, list) and all(isinstance(text, str) for text in (*texts, *cpu))


def is_program_reply(header: Mapping[str, Any]) -> bool:
    """Whether this is how a worker answers a program."""
    kind, message, seconds, certain = (header.get(key) for key in ("outcome", "message", "seconds", "certain"))
    known = isinstance(kind, str) and kind in WORKER_OUTCOMES and isinstance(message, str) and isinstance(certain, bool)
    return known and type(seconds) is float and 0 <= seconds < math.inf


def start_message(connection: Connection, environment: Mapping[str, Any], seconds: float) -> str:
    """Say of a worker that it has started, and with what."""
    versions = {"Python": environment["python"], **environment["packages"]}
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"worker {connection.process.pid} started in {seconds:.1f} s: {said}"


def start_failure_message(outcome: ProgramOutcome, connection: Connection) -> str:
    """Return how a start failed, with what may help."""
    if outcome.kind == "timed_out":
        return f"{outcome.message}; --start-timeout sets this limit{connection.last_output()}"
    return outcome.message + (WORKER_REQUIREMENTS_HINT if IMMEDIATE_EXIT_TEXT in outcome.message else "")
