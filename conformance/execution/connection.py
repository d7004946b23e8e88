"""Connection to one worker process: threads that write and read frames, read its errors and monitor its memory."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import queue
import secrets
import select
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from conformance.cases.arrays import Array
from conformance.execution.other_languages import json_lines
from conformance.execution.protocol import Frame, encode_frame, read_frame
from conformance.execution.worker import TEMPORARY_FOLDER_VARIABLE, remove_temporary_files
from conformance.system import processes
from conformance.system.owned_resources import owned_resource, resources_of_worker, unchanged_semaphores

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

WORKER_FILE = Path(__file__).with_name("worker.py")
EXIT_TIMEOUT_SECONDS = 5.0
"""Seconds that a process gets to exit before it is killed."""
REQUEST_ID_BYTES = 8
"""Number of random bytes of a request id."""
MEMORY_CHECK_INTERVAL_SECONDS = 0.1
"""Seconds between two measurements of the memory of a process."""
MAX_STDERR_BYTES = 4000
"""Number of last bytes of standard error that are stored for error messages."""
CHUNK_BYTES = 1 << 16
"""Number of bytes that are read from a pipe, or buffered before they are written to it, at a time."""
PIPE_BUFFER_BYTES = 1 << 20
"""Buffer size of a pipe in bytes. Neither end blocks while the buffer has room."""
ONE_THREAD_VARIABLES = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Variables that limit OpenMP, OpenBLAS and MKL to one thread."""


class UnexpectedFrame(Exception):
    """A frame that is not the reply to the oldest request."""


class Connection:
    """A process that runs worker.py, or a worker in another language. Raises OSError if the interpreter does not exist.

    command: that of a worker in another language, which python runs under the supervisor of worker.py.
    memory: limit in bytes, 0 for no limit. variables: additional environment variables. arrived: event that is set
    when a frame arrives or the process exits.
    memory_bytes: last measured memory; excess_bytes: memory when the limit was exceeded, otherwise 0; read_delay:
    seconds before the next read, see BatchedReader; forks: whether the process runs programs in forks;
    resources_at_start: its open files and shared memory after the setup.
    """

    def __init__(
        self,
        python: str,
        memory: int,
        variables: Mapping[str, str] | None = None,
        arrived: threading.Event | None = None,
        command: Sequence[str] = (),
    ) -> None:
        self._is_python = not command
        self._encode_frame, self._read_frame = (
            (json_lines.encode_frame, json_lines.read_frame) if command else (encode_frame, read_frame)
        )
        self.memory_limit = memory
        self._reply_arrived = arrived or threading.Event()
        self.memory_bytes = self.excess_bytes = 0
        self.read_delay = 0.0
        self.forks = False
        self.resources_at_start: list[str] = []
        # A worker in another language does not report its resources. They are read before its first program runs.
        self._resources_known = threading.Event()
        if self._is_python:
            self._resources_known.set()
        self._semaphores_at_start = unchanged_semaphores()
        self._worker_pid = 0
        self._process_mark = uuid.uuid4().hex
        # An earlier program may have removed the folder of temporary files.
        os.makedirs(tempfile.gettempdir(), exist_ok=True)
        self._temporary_folder = tempfile.mkdtemp(prefix="conformance-worker-")
        self.process = self._start_process([python, "-u", str(WORKER_FILE), *command], variables or {})
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # above the limit of this user; the default size works too
                fcntl.fcntl(_require_pipe(stream), fcntl.F_SETPIPE_SZ, PIPE_BUFFER_BYTES)
        # None is the end of either queue. SimpleQueue has no limit, so that no thread blocks while it puts a frame.
        self._inbox: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # The ids of the requests without a reply. A program cannot guess them.
        self._requests: deque[str] = deque()
        self._stderr = bytearray()
        self._killed = threading.Event()
        self._start_threads()

    def _start_process(self, command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - the interpreter that the user named
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=CHUNK_BYTES,
            env={
                **os.environ,
                **ONE_THREAD_VARIABLES,
                **variables,
                "TMPDIR": self._temporary_folder,
                TEMPORARY_FOLDER_VARIABLE: self._temporary_folder,
                processes.WORKER_VARIABLE: self._process_mark,
            },
            # A process group of its own: Ctrl-C reaches the suite only, and the group can be killed as a whole.
            start_new_session=True,
        )

    def _start_threads(self) -> None:
        # Standard error must be read all the time: a framework that fills the pipe would block.
        self._stderr_thread = threading.Thread(target=self._read_stderr, daemon=True)
        self._stderr_thread.start()
        # Daemon threads: an interpreter that exits on an error does not wait for a worker that hangs.
        self._monitor_thread = threading.Thread(target=self._monitor_memory, daemon=True)
        self._monitor_thread.start()
        for task in (self._read_frames, self._write_frames):
            threading.Thread(target=task, daemon=True).start()

    def send(self, header: dict[str, Any], arrays: Sequence[Array] = (), replies: int = 1) -> None:
        """Queue a frame with a new request id. A thread writes it to the process. replies: their number."""
        self._requests.extend([secrets.token_hex(REQUEST_ID_BYTES)] * replies)
        self._outbox.put(self._encode_frame({"request": self._requests[-1], **header}, arrays))

    def receive(self, limit: float) -> Frame | None:
        """Return the reply to the oldest request, None if the process has exited.

        Raises queue.Empty after `limit` seconds, and UnexpectedFrame for any other frame.
        """
        frame = self._inbox.get(timeout=limit)
        if frame is not None and (not self._requests or frame[0].get("request") != self._requests.popleft()):
            raise UnexpectedFrame
        return frame

    @property
    def has_frame(self) -> bool:
        """Whether `receive` would return at once."""
        return not self._inbox.empty()

    def measure_memory(self) -> int:
        """Return the resident memory of the process in bytes."""
        # The started process is the supervisor. Measure its child, which runs the programs. It does not exist at first.
        self._worker_pid = self._worker_pid or processes.worker_pid(self.process.pid)
        measured = [self._worker_pid or self.process.pid]
        if self.forks:
            # Each program runs in a child of a fork.
            forks = processes.child_pids(self._worker_pid)
            measured += [*forks, *chain.from_iterable(map(processes.child_pids, forks))]
        self.memory_bytes = max(map(processes.resident_bytes, measured))
        return self.memory_bytes

    def owned_resource(self) -> str:
        """Return what the worker owns that a program in another process may miss, "" if nothing."""
        folder = Path(self._temporary_folder)
        return owned_resource(self.process.pid, self.resources_at_start, folder, self._semaphores_at_start)

    def note_setup(self, header: Mapping[str, Any]) -> None:
        """Store what a Python worker reports of its setup."""
        self.forks = header["forks"]
        if self._is_python:
            self.resources_at_start = header["resources"]

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
        self._killed.set()
        self._kill_processes()
        self._monitor_thread.join(EXIT_TIMEOUT_SECONDS)  # it may be killing the processes, too
        self._outbox.put(None)  # ends the writing thread
        self.process.wait()  # without it, the process would remain as a zombie

    def _kill_processes(self) -> None:
        """Kill the worker below its supervisor, wait for the supervisor's exit, then kill the whole process group.

        Remove the temporary files of the worker. The supervisor removes them if this process is killed.
        """
        # A supervisor that is killed first leaves descendants that have another process group and no worker variable:
        # nothing identifies them. One whose worker dies kills them all, and needs some time for it.
        if self.process.poll() is None and processes.kill_below(self.process.pid):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(EXIT_TIMEOUT_SECONDS)
        processes.kill_group(self.process.pid, self._process_mark)
        remove_temporary_files(self._temporary_folder)

    def exit_cause(self) -> str:
        """Return how the process ended: the signal or exit status, and the last line of its output."""
        status: int | None
        try:
            status = self.process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            status = None  # the process runs on, but has closed the pipe or sent an invalid frame
        self.kill()
        if self.excess_bytes:
            used, limit = _gigabytes_text(self.excess_bytes), _gigabytes_text(self.memory_limit)
            return f"killed: it used {used} of memory, the limit is {limit}"
        if status is None:
            return f"no valid reply, and no exit within {EXIT_TIMEOUT_SECONDS:g} s{self.last_output()}"
        if status < 0:
            return f"signal {-status} ({signal.strsignal(-status)}){self.last_output()}"
        return f"the process exited with status {status}{self.last_output()}"

    def forget_output(self) -> None:
        """Forget what was read from standard error until now."""
        self._stderr.clear()

    def last_output(self, *, wait: bool = True) -> str:
        """Return the last line of standard error as the end of a sentence, "" if there was no output.

        wait: for the end of the output, because the process ends.
        """
        self._stderr_thread.join(int(wait))  # the last output may not have been read yet
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
            if self._killed.wait(MEMORY_CHECK_INTERVAL_SECONDS):
                return
        # Also after an exit: a supervisor that was killed from outside has not killed the children of its worker.
        self._kill_processes()

    def _write_frames(self) -> None:
        pipe, outbox = _require_pipe(self.process.stdin), self._outbox
        with contextlib.suppress(OSError):  # a broken pipe; the reading thread reports the exit of the worker
            while (frame := outbox.get()) is not None:
                pipe.write(frame)
                # Several queued frames are written with one system call, except for the setup.
                if outbox.empty() or not self._resources_known.is_set():
                    pipe.flush()
                    self._resources_known.wait()
        with contextlib.suppress(OSError):
            pipe.close()

    def _read_frames(self) -> None:
        pipe, inbox = _require_pipe(self.process.stdout), self._inbox
        frames = io.BufferedReader(BatchedReader(pipe.fileno(), lambda: self.read_delay), CHUNK_BYTES)
        while (frame := self._read_frame(frames)) is not None:
            if not self._resources_known.is_set():
                self.resources_at_start = resources_of_worker(self.process.pid)
                self._resources_known.set()
            # The event is set after the put: a pool that wakes up must find the frame, or it waits for the next event.
            inbox.put(frame)
            self._reply_arrived.set()
        self._resources_known.set()  # the writing thread waits no longer
        inbox.put(None)
        self._reply_arrived.set()
        pipe.close()

    def _read_stderr(self) -> None:
        pipe, tail = _require_pipe(self.process.stderr), self._stderr
        for chunk in iter(lambda: os.read(pipe.fileno(), CHUNK_BYTES), b""):
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
