"""Connection to one worker process: threads that write and read frames, read its errors and monitor its memory."""

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
from reports.results.vocabulary import Outcome

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

WORKER_FILE = Path(__file__).with_name("worker.py")
EXIT_TIMEOUT_SECONDS = 5.0
"""Seconds that a process gets to exit before it is killed."""
MEMORY_CHECK_INTERVAL_SECONDS = 0.1
"""Seconds between two measurements of the memory of a process."""
MAX_STDERR_BYTES = 4000
"""Number of last bytes of standard error that are stored for error messages."""
READ_CHUNK_BYTES = 1 << 16
PIPE_BYTES = 1 << 20
"""Buffer size of a pipe in bytes. Neither end blocks while the buffer has room."""
MAX_FRAME_BYTES = MAX_REPLY_BYTES + (1 << 24)
"""Maximum size of a frame in bytes: the arrays, and 16 MiB for the header."""
ONE_THREAD_VARIABLES = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

Frame = tuple[dict[str, Any], list[Array]]


class Connection:
    """A process that runs worker.py. Raises OSError if the interpreter does not exist.

    memory: limit in bytes, 0 for no limit. variables: additional environment variables. arrived: event that is set
    when a frame arrives or the process exits.
    memory_bytes: last measured memory; excess_bytes: memory when the limit was exceeded, otherwise 0; read_delay:
    seconds before the next read, see BatchedReader.
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
            # A process group of its own: Ctrl-C reaches the suite only, and the group can be killed as a whole.
            start_new_session=True,
        )
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # above the limit of this user; the default size works too
                fcntl.fcntl(_require_pipe(stream), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        # None is the end of either queue. SimpleQueue has no limit, so that no thread blocks while it puts a frame.
        self._inbox: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr = bytearray()
        # Standard error must be read all the time: a framework that fills the pipe would block.
        self._stderr_thread = threading.Thread(target=self._read_stderr, daemon=True)
        self._stderr_thread.start()
        for task in (self._read_frames, self._write_frames, self._monitor_memory):
            threading.Thread(target=task, daemon=True).start()

    def send(self, header: dict[str, Any], arrays: Sequence[Array] = ()) -> None:
        """Queue a frame. A thread writes it to the process."""
        header["arrays"] = [{"dtype": array.dtype.name, "shape": array.shape} for array in arrays]
        text = json.dumps(header).encode()
        body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
        self._outbox.put(FRAME_LENGTHS.pack(len(text), len(body)) + text + body)

    def receive(self, limit: float) -> Frame | None:
        """Return the next frame, None if the process has exited. Raises queue.Empty after `limit` seconds."""
        return self._inbox.get(timeout=limit)

    @property
    def has_frame(self) -> bool:
        """Whether `receive` would return at once."""
        return not self._inbox.empty()

    def measure_memory(self) -> int:
        """Return the resident memory of the process in bytes."""
        # The started process is the supervisor. Measure its child, which runs the programs.
        self._worker_pid = self._worker_pid or processes.worker_pid(self.process.pid)
        self.memory_bytes = processes.resident_bytes(self._worker_pid or self.process.pid)
        return self.memory_bytes

    def stop(self) -> None:
        """Close the input of the process, wait for its exit, and kill what remains."""
        self._outbox.put(None)
        try:
            self.process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the process and all processes that it started."""
        self._kill_processes()
        self._outbox.put(None)  # ends the writing thread
        self.process.wait()  # without it, the process would remain as a zombie

    def _kill_processes(self) -> None:
        """Kill the worker below its supervisor, wait for the supervisor's exit, then kill the whole process group."""
        if self.process.poll() is None and processes.kill_below(self.process.pid):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(EXIT_TIMEOUT_SECONDS)
        processes.kill_group(self.process.pid, self._process_mark)

    def exit_cause(self) -> str:
        """Return how the process ended: the signal or exit status, and the last line of its output."""
        try:
            status = self.process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            status = 0
        self.kill()
        if self.excess_bytes:
            used, limit = _gigabytes_text(self.excess_bytes), _gigabytes_text(self.memory_limit)
            return f"killed: it used {used} of memory, the limit is {limit}"
        if status < 0:
            return f"signal {-status} ({signal.strsignal(-status)}){self.last_output()}"
        return f"the process exited with status {status}{self.last_output()}"

    def last_output(self) -> str:
        """Return the last line of standard error as the end of a sentence, "" if there was no output."""
        self._stderr_thread.join(1)  # the last output may not have been read yet
        lines = bytes(self._stderr).decode("utf-8", "replace").split("\n")
        printed = [line.strip() for line in lines if line.strip()]
        return f"; last output: {printed[-1][:300]}" if printed else ""

    def _monitor_memory(self) -> None:
        """Measure the memory of the process until it exits; kill it above the limit, and its remaining children."""
        while self.process.poll() is None:
            if self.measure_memory() > self.memory_limit > 0:
                # Set before the kill, so that `exit_cause` reports the memory and not signal 9.
                self.excess_bytes = self.memory_bytes
                break
            time.sleep(MEMORY_CHECK_INTERVAL_SECONDS)
        self._kill_processes()

    def _write_frames(self) -> None:
        pipe, outbox = _require_pipe(self.process.stdin), self._outbox
        with contextlib.suppress(OSError):  # a broken pipe; the reading thread reports the exit of the worker
            while (frame := outbox.get()) is not None:
                pipe.write(frame)
                if outbox.empty():  # several queued frames are written with one system call
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
        pipe, tail = _require_pipe(self.process.stderr), self._stderr
        for chunk in iter(lambda: os.read(pipe.fileno(), READ_CHUNK_BYTES), b""):
            tail += chunk
            del tail[:-MAX_STDERR_BYTES]
        pipe.close()


class BatchedReader(io.RawIOBase):
    """Read end of a pipe that sleeps before it waits for data, so that short replies are read in batches.

    read_delay: returns the seconds to sleep.

    A write to a pipe wakes the waiting reader. For a short program this takes the worker longer than all its other
    work and may move it to another core. Without a waiting reader the write is cheap.
    """

    def __init__(self, descriptor: int, read_delay: Callable[[], float]) -> None:
        self._descriptor, self._read_delay = descriptor, read_delay
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def readable(self) -> bool:
        """Whether the stream can be read: always."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read available bytes. Without any, sleep for the read delay, then wait for data."""
        if (delay := self._read_delay()) and not self._poll.poll(0):
            time.sleep(delay)
        return os.readv(self._descriptor, [buffer])


def _gigabytes_text(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


def _require_pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - Popen was called with three pipes
    return stream


def read_frame(pipe: IO[bytes] | io.BufferedReader) -> Frame | None:
    """Return the next frame, None at the end and for an invalid frame, as from a worker that died while writing."""
    lengths = pipe.read(FRAME_LENGTHS.size)
    if len(lengths) < FRAME_LENGTHS.size:
        return None
    header_length, body_length = FRAME_LENGTHS.unpack(lengths)
    # A framework that writes into the pipe could announce any length. Do not allocate it.
    if header_length + body_length > MAX_FRAME_BYTES:
        return None
    text, body = pipe.read(header_length), pipe.read(body_length)
    try:
        header = json.loads(text)
        return (header, list(_decode_arrays(header["arrays"], body))) if len(body) == body_length else None
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
        return None


def _decode_arrays(items: Sequence[Mapping[str, Any]], body: bytes) -> Iterator[Array]:
    """Yield the arrays of a frame. Raises ValueError, LookupError or TypeError for an invalid array."""
    start = 0
    for item in items:
        dtype, shape = NUMPY_DTYPES[item["dtype"]], item["shape"]
        # `type`, not isinstance: True is an int, but not an extent.
        if not isinstance(shape, list) or any(type(extent) is not int or extent < 0 for extent in shape):
            raise ValueError("not a shape")
        array = np.frombuffer(body, dtype, math.prod(shape), start).reshape(shape)
        yield array
        start += array.nbytes


WORKER_OUTCOMES = frozenset({Outcome.RETURNED, Outcome.REJECTED, Outcome.CRASHED})
"""Outcomes that a reply may contain. The other outcomes are set on this side."""
IMMEDIATE_EXIT_TEXT = "exited with status 1; last output:"
"""Part of the message when Python ends before the first reply, as without NumPy."""
WORKER_REQUIREMENTS_HINT = " (a worker needs Python 3.8 or newer, and NumPy)"


def is_start_reply(header: Mapping[str, Any]) -> bool:
    """Whether the header is a valid reply to `setup`. Code of a framework may have written into the pipe."""
    ready, packages, cpu = (header.get(key) for key in ("ready", "packages", "cpu"))
    if ready is not True:
        return ready is False and isinstance(header.get("message"), str)
    texts = [header.get("python"), header.get("hardware", "")]
    texts += packages.values() if isinstance(packages, dict) else [None]
    return isinstance(cpu, list) and all(isinstance(text, str) for text in (*texts, *cpu))


def is_program_reply(header: Mapping[str, Any]) -> bool:
    """Whether the header is a valid reply to `run`."""
    kind, message, seconds, certain = (header.get(key) for key in ("outcome", "message", "seconds", "certain"))
    if not (isinstance(kind, str) and isinstance(message, str) and isinstance(certain, bool)):
        return False
    return kind in WORKER_OUTCOMES and type(seconds) is float and 0 <= seconds < math.inf


def start_message(connection: Connection, environment: Mapping[str, Any], seconds: float) -> str:
    """Return the log message of a started worker, with its start time and versions."""
    versions = {"Python": environment["python"], **environment["packages"]}
    text = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"worker {connection.process.pid} started in {seconds:.1f} s: {text}"


def start_failure_message(outcome: ProgramOutcome, connection: Connection) -> str:
    """Return the error message of a failed start, with a hint."""
    if outcome.kind == Outcome.TIMED_OUT:
        return f"{outcome.message}; --start-timeout sets this limit{connection.last_output()}"
    return outcome.message + (WORKER_REQUIREMENTS_HINT if IMMEDIATE_EXIT_TEXT in outcome.message else "")
