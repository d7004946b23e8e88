"""Worker process: runs programs in the interpreter that has the framework installed.

The file needs Python 3.8, the standard library and NumPy, and of the project only the package worker_state in its
folder. It contains no framework names.

Requests and replies are frames on two pipes, the original standard input and output of the process. The worker opens a
pipe only while it reads or writes a frame, so that a program finds no descriptor of the protocol. Standard output is
redirected to standard error before any other code runs, so prints of a framework cannot enter the protocol. A frame is
the length of its header and of its body (8 bytes each, big-endian), the header in JSON, and the raw bytes of its
arrays, which the header lists as [{"dtype", "shape"}]. bfloat16 is sent as 16-bit words: a program receives uint16,
and returns an array with dtype name bfloat16, or a structured array with one uint16 field named bfloat16.

setup    {"request", "threads", "setup", "probe"?, "reset", "packages"}
                          -> {"request", "ready": true, "python", "packages", "cpu", "hardware", "forks", "resources",
                              "unfiltered"}
                          or {"request", "ready": false, "message", "part"}: part names the text that failed
           forks: whether it runs programs in forks; resources: its open files and shared memory after the setup;
           unfiltered: why no system calls are refused, "" if they are, or if the backend belongs to the suite
run      {"request", "program", "text"?, "alone"?, "arrays"}
                          -> {"request", "outcome", "message", "seconds", "certain", "changed", "exit", "arrays"}
           certain: whether the program text caused the crash, so that a retry would crash too
           changed: floating-point state that the program has changed; it has been restored
           exit: why the worker exits after this reply, "" if it does not
           alone: the number of runs, each with a reply. They run in a fork of a worker that itself runs no program

request is a random id that the reply repeats. Only the process that received a request replies to it: a process that a
program forks exits when the program returns in it. After each program, the process state is restored. The started
process is a supervisor and the worker is its child. The supervisor kills all remaining descendants when the worker
exits, and the worker when the suite exits. With arguments, the worker is the command that they name: a worker in
another language, which reads and writes the JSON lines of docs/worker-protocol.md.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # Python puts the folder of a script first on sys.path, where modules of the suite would shadow installed ones.
    sys.path.pop(0)

import contextlib
import ctypes
import gc
import glob
import importlib.util
import io
import json
import mmap
import os
import platform
import resource
import select
import signal
import struct
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, BinaryIO

    FrameHeader = dict[str, Any]
    Arrays = Sequence[Any]
    EncodedArrays = tuple[list[FrameHeader], bytes]
    Names = dict[str, Any]
    CompiledPrograms = dict[str, Any]

FRAME_LENGTHS = struct.Struct(">QQ")
"""Lengths of the header and of the body, in bytes."""
BUFFER_BYTES = 1 << 16
"""Number of bytes that are read from the requests, or buffered before they are written to the replies, at a time."""
MAX_ERROR_MESSAGE_LENGTH = 2000
"""Characters of an error message."""
TEMPORARY_FOLDER_VARIABLE = "CONFORMANCE_WORKER_TMPDIR"
"""Environment variable with the folder for temporary files of a worker."""
MAX_RUNS_OF_FORK = 255
"""Maximum number of runs in one fork. The number is a byte."""
MAX_REPLY_BYTES = 1 << 30
"""Maximum bytes of the arrays that a program returns. A broadcast view can be larger than the memory."""
SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36
"""Linux constants PR_SET_PDEATHSIG: a process gets a signal when its parent ends. PR_SET_CHILD_SUBREAPER: orphaned
descendants become children of the process that set it."""
IGNORED_BY_SUPERVISOR = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that end a process by default. The supervisor ends with its worker, or when the suite exits."""
FORK_CHECK_SECONDS = 0.1
"""Seconds that a fork gets to exit after its last reply."""
LAST_OUTPUT_SECONDS = 0.02
"""Seconds in which the suite reads the last output of a fork that has died, before it gets the reply."""
ORPHAN_EXIT_TIMEOUT_SECONDS = 3
"""Seconds that a worker gets to exit after the suite has closed its input."""
KILLS_BETWEEN_WAITS = 50
"""Number of times that children are killed before those that have ended are reaped."""
TRANSFERABLE_DTYPES = {"bool", "bfloat16", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
MAX_COMPILED_PROGRAMS = 4096
"""Number of programs after which a new text replaces all others. A program takes a kilobyte or more.

The suite counts the texts that it sends to a process in the same way, so that it knows which of them the process has.
"""
NO_ARRAYS: EncodedArrays = ([], b"")
DTYPES = {name: np.dtype(name) for name in TRANSFERABLE_DTYPES - {"bfloat16"}}
"""A program may change the names that NumPy knows."""
decode_json, encode_json = json.JSONDecoder().decode, json.JSONEncoder().encode
VECTOR_FEATURE_PREFIXES = ("sse4", "avx", "amx", "f16c", "fma", "asimd", "sve", "sme", "bf16", "fphp")
"""CPU flags that select vector kernels."""
BFLOAT16_FIELD = np.dtype([("bfloat16", np.uint16)])
"""NumPy has no bfloat16. A program without ml_dtypes returns its bits in a field with this name."""
SETUP_PARTS = ("threads", "setup", "probe", "reset")
PROGRAM_FILE = "<program>"
"""File name of programs in tracebacks."""
PROGRAM_ERRORS = (NameError, SyntaxError, ImportError, AttributeError)
"""Exceptions that show an error in the program text if the program itself raises them. If code of the framework raises
them, they are rejections, like all other exceptions."""
PROGRAM_ERROR_PREFIX = "error in the program: "
"""Start of the message of a program error; `reports.results.vocabulary` has the same text."""
ATTRIBUTE_FUNCTIONS = frozenset({"__getattr__", "__getattribute__", "getattr"})
"""Names of functions with which modules and classes of frameworks look up attributes."""
MACHINE_ERRORS = (MemoryError, RecursionError)
"""Exceptions that depend on the state of the process, so that a retry may succeed."""


def load_worker_state() -> Any:
    """Return the package worker_state, loaded from the folder of this file. Its modules import each other."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker_state", "__init__.py")
    spec = importlib.util.spec_from_file_location("conformance_worker_state", path)
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - the path ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    for name in ("forks", "generators", "process_state", "streams", "system_calls"):
        importlib.import_module(f"{spec.name}.{name}")
    return module


class ProtocolPipe(io.RawIOBase):
    """One end of a pipe of the supervisor that is open only during a read or a write.

    A program that closes, reads or writes all of its descriptors does not reach it.
    """

    def __init__(self, supervisor: int, descriptor: int, flags: int) -> None:
        self._path, self._flags = f"/proc/{supervisor}/fd/{descriptor}", flags | os.O_CLOEXEC
        os.close(self._open())  # raises OSError on systems without /proc

    def _open(self) -> int:
        return os.open(self._path, self._flags)

    def readable(self) -> bool:
        """Whether this is the end of the requests."""
        return not self._flags & os.O_WRONLY

    def writable(self) -> bool:
        """Whether this is the end of the replies."""
        return not self.readable()

    def readinto(self, buffer: Any) -> int:
        """Wait for data and read it. Return the number of bytes, 0 at the end of the pipe."""
        descriptor = self._open()
        try:
            return os.readv(descriptor, [buffer])
        finally:
            os.close(descriptor)

    def write(self, data: Any) -> int:
        """Write data. Return the number of bytes that were written."""
        descriptor = self._open()
        try:
            return os.write(descriptor, data)
        finally:
            os.close(descriptor)


def run_under_supervisor() -> int:
    """Fork, and continue in the child. The parent supervises it and exits with its status.

    Orphaned descendants of the child become children of the supervisor, even after setsid, and are killed when the
    child exits. The supervisor also kills the child when the suite exits or is killed. A thread of the child cannot
    do this, because a program that hangs in native code may never release the interpreter lock.
    Return the process id of the supervisor, 0 if there is none.
    """
    supervisor = os.getpid()
    if os.getpgrp() != supervisor:
        return 0  # started by hand: the process group contains other processes
    receives_orphans = call_prctl(SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child:
        # Programs write to standard error. Its end must not wait for this process.
        os.close(2)
        status = wait_for_child(child)
        # Otherwise the reply pipe would remain open until this process has killed the orphans.
        os.close(1)
        kill_orphans()
        if folder := os.environ.get(TEMPORARY_FOLDER_VARIABLE):
            remove_temporary_files(folder)
        exit_like(status)
    if receives_orphans:  # on other systems, only the process group shows which processes remain
        call_prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        run_below_parent()
        call_prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    return supervisor


def run_below_parent() -> None:
    """Fork, and continue in the child. The parent is in a new session and exits with the status of the child.

    A program that damages its parent, its process group or its session does not reach the process above them, which
    kills all that remains.
    """
    os.setsid()
    if child := os.fork():
        # A program that ends its parent must not end its own process during a later program.
        for number in IGNORED_BY_SUPERVISOR:
            signal.signal(number, signal.SIG_IGN)
        os.closerange(0, 3)  # the end of the pipes must not wait for this process
        exit_like(os.waitpid(child, 0)[1])


def call_prctl(option: int, value: int) -> bool:
    """Set an option of this process. Return whether the system has it, which Linux has."""
    try:
        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def wait_for_child(child: int) -> int:
    """Return the exit status of a child. Kill the child if it does not exit soon after standard input is closed."""
    # A self-pipe: each SIGCHLD writes a byte to it, so that one poll waits for child exits and for standard input.
    wakeup_read, wakeup_write = os.pipe()
    os.set_blocking(wakeup_write, False)  # set_wakeup_fd requires it
    # A full pipe is no error: one byte is enough to end the poll, and each wake-up reaps all exited children.
    signal.set_wakeup_fd(wakeup_write, warn_on_full_buffer=False)
    # By default SIGCHLD is ignored, and an ignored signal writes no byte. The handler itself need not do anything.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # SIGKILL, because a program that hangs in native code handles no other signal.
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    for number in IGNORED_BY_SUPERVISOR:
        signal.signal(number, signal.SIG_IGN)
    poll = select.poll()
    poll.register(wakeup_read, select.POLLIN)
    poll.register(0, 0)  # no events: poll reports only the hang-up of the other end
    # The child may have exited before SIGCHLD had a handler.
    status = reap_children(child)
    while status is None:
        for descriptor, _ in poll.poll():
            if descriptor == wakeup_read:
                os.read(wakeup_read, 512)
            else:
                # The hang-up would be reported again at once, and each report would restart the alarm.
                poll.unregister(0)
                signal.alarm(ORPHAN_EXIT_TIMEOUT_SECONDS)
        status = reap_children(child)
    signal.alarm(0)
    return status


def reap_children(child: int) -> int | None:
    """Reap all children that have exited. Return the status of `child`, None if it is still running."""
    child_status = None
    # Orphans are reaped too, because they would remain as zombies. Several exits may cause a single signal.
    with contextlib.suppress(ChildProcessError):
        process, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        while process:
            if os.WIFSTOPPED(status):
                # A program has stopped its parent, which must report when the program ends.
                os.kill(process, signal.SIGCONT)
            elif process == child:
                child_status = status
            process, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
    return child_status


def kill_orphans() -> None:
    """Kill children until no child is left. The children of a killed process become children of this one.

    A process may fork and exit faster than its id is read. Its child is then killed, or the child of its child.
    """
    with contextlib.suppress(ChildProcessError):  # there are no children
        os.waitpid(-1, os.WNOHANG)
        while True:
            first = children = child_pids()
            for _ in range(KILLS_BETWEEN_WAITS):
                # The newest first: only it can have no child yet.
                for child in reversed(children):
                    with contextlib.suppress(PermissionError, ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                children = child_pids()
                if children == first:
                    break
            # All have been killed, or some processes fork faster than they are killed.
            has_ended = os.waitpid(-1, 0 if children and children == first else os.WNOHANG)[0]
            while has_ended:
                has_ended = os.waitpid(-1, os.WNOHANG)[0]


def remove_temporary_files(folder: str) -> None:
    """Remove the folder that the suite created for the temporary files of a worker, or what has replaced it."""
    import shutil  # noqa: PLC0415 - the process that runs programs needs neither
    import subprocess  # noqa: PLC0415

    try:
        if os.path.islink(folder) or not os.path.isdir(folder):
            os.unlink(folder)
        else:
            shutil.rmtree(folder)
    except (OSError, RecursionError):
        # Folders without permissions, more of them in each other than Python can remove, or a part that another process
        # has just removed.
        commands = (["chmod", "-R", "u+rwX"], ["rm", "-rf"]) if os.path.lexists(folder) else ()
        for command in commands:
            subprocess.run([*command, "--", folder], check=False, stderr=subprocess.DEVNULL)  # noqa: S603


def child_pids() -> list[int]:
    """Return the process ids of the children of this process, in order of age if the kernel lists them.

    The process has one thread. An empty list on systems without /proc.
    """
    try:
        # A tenth of a millisecond faster than the search below, in which a process may fork and exit.
        with open(f"/proc/self/task/{os.getpid()}/children", "rb", buffering=0) as stream:
            return [*map(int, stream.read().split())]
    except OSError:  # the kernel may be built without this file
        pass
    pids = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path, "rb") as stream:
            # The name of the process is in parentheses and may contain some itself. The parent is the second field
            # after the last closing parenthesis.
            pid_and_name, _, fields = stream.read().rpartition(b")")
            if int(fields.split()[1]) == os.getpid():
                pids.append(int(pid_and_name.split()[0]))
    return pids


def exit_like(status: int) -> None:
    """Exit with the status of another process, by the same signal if it was killed."""
    if os.WIFSIGNALED(status):
        # The worker may have dumped its core. A dump of this process would be of no use.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # This process handles SIGALRM, and Python ignores SIGPIPE: neither would end it.
        with contextlib.suppress(OSError):  # SIGKILL and SIGSTOP have no handler to reset
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def open_protocol(supervisor: int, worker_state: Any) -> tuple[BinaryIO, BinaryIO]:
    """Return the streams of requests and replies. Programs get an empty input, and standard error as output.

    supervisor: its process id, 0 if there is none.
    """
    os.dup2(2, worker_state.streams.ERRORS_DESCRIPTOR, inheritable=False)
    try:
        if not supervisor:
            raise OSError("there is no supervisor")
        requests: BinaryIO = io.BufferedReader(ProtocolPipe(supervisor, 0, os.O_RDONLY), BUFFER_BYTES)
        replies: BinaryIO = io.BufferedWriter(ProtocolPipe(supervisor, 1, os.O_WRONLY), BUFFER_BYTES)
    except OSError:
        # os.dup returns descriptors that executed programs do not inherit. A command that a test program starts can
        # neither write into the protocol nor delay the end of the pipe.
        requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    worker_state.streams.set_streams(None)
    return requests, replies


def read_frame(stream: BinaryIO) -> tuple[FrameHeader, list[Any]] | None:
    """Return the next header and its arrays, None at the end of the stream."""
    lengths = stream.read(FRAME_LENGTHS.size)
    if len(lengths) < FRAME_LENGTHS.size:
        return None
    header_length, body_length = FRAME_LENGTHS.unpack(lengths)
    header, body = decode_json(stream.read(header_length).decode()), stream.read(body_length)
    arrays, start = [], 0
    for item in header.get("arrays", ()):
        words = DTYPES["uint16" if item["dtype"] == "bfloat16" else item["dtype"]]
        count = int(np.prod(item["shape"], dtype=np.int64))
        # A copy, because frombuffer returns read-only arrays and some programs write into their inputs.
        array = np.frombuffer(body, words, count, start).reshape(item["shape"]).copy()
        arrays.append(array)
        start += array.nbytes
    return header, arrays


def encode_arrays(arrays: Arrays) -> EncodedArrays:
    """Return the header items of arrays, and a copy of their bytes."""
    items = [{"dtype": dtype_name(array), "shape": array.shape} for array in arrays]
    return items, b"".join(array.astype(array.dtype.newbyteorder("="), copy=False).tobytes() for array in arrays)


def write_frame(stream: BinaryIO, header: FrameHeader, encoded: EncodedArrays = NO_ARRAYS) -> None:
    """Send one frame: a header and encoded arrays."""
    header["arrays"], body = encoded
    text = encode_json(header).encode()
    stream.write(FRAME_LENGTHS.pack(len(text), len(body)) + text + body)
    stream.flush()


def dtype_name(array: Any) -> str:
    """Return the name of an array's dtype, "bfloat16" for the structured dtype BFLOAT16_FIELD."""
    return "bfloat16" if array.dtype == BFLOAT16_FIELD else str(array.dtype.name)


def invalid_result(item: Any) -> str | None:
    """Return a description of an invalid result, None if it is an array of a transferable dtype."""
    if not isinstance(item, np.ndarray):
        return type(item).__name__
    return None if dtype_name(item) in TRANSFERABLE_DTYPES else f"an array of {dtype_name(item)}"


def result_problem(results: Arrays) -> str | None:
    """Return why the results of a program cannot be sent, None if they can."""
    for kind in filter(None, map(invalid_result, results)):
        return f"{kind}, not an array of numbers"
    size = sum(array.nbytes for array in results)
    return f"{size:,} bytes, more than the limit of {MAX_REPLY_BYTES:,}" if size > MAX_REPLY_BYTES else None


def exception_text(error: BaseException) -> str:
    """Return the type and message of an exception, truncated to MAX_ERROR_MESSAGE_LENGTH."""
    return f"{type(error).__name__}: {error}"[:MAX_ERROR_MESSAGE_LENGTH]


def program_error_text(error: BaseException) -> str | None:
    """Return the message of an exception that the program text raised; None if code of the framework raised it.

    The frame that raised it decides. An attribute that a module looks up with a function of its own belongs to the
    program that names the attribute.
    """
    if isinstance(error, SyntaxError):  # raised by the compiler, or by a framework that compiles other text
        is_own = error.filename == PROGRAM_FILE
        return f"{PROGRAM_ERROR_PREFIX}{type(error).__name__}: {error.msg}, line {error.lineno}" if is_own else None
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_frame.f_code.co_name, trace.tb_lineno))
        trace = trace.tb_next
    while isinstance(error, AttributeError) and frames and frames[-1][1] in ATTRIBUTE_FUNCTIONS:
        frames.pop()
    if not frames or frames[-1][0] != PROGRAM_FILE:
        return None
    return f"{PROGRAM_ERROR_PREFIX}{exception_text(error)}, line {frames[-1][2]}"


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of imported packages, from `__version__` or from the package metadata."""
    return {
        name: str(getattr(sys.modules.get(name), "__version__", None) or installed_version(name)) for name in packages
    }


def installed_version(name: str) -> str:
    """Return the version of an imported package from its metadata, "unknown" if it has no metadata."""
    from importlib import metadata  # noqa: PLC0415 - slow to import, and most packages have __version__

    try:
        return metadata.version(name) if name in sys.modules else "unknown"
    except metadata.PackageNotFoundError:
        return "unknown"


def cpu_features() -> list[str]:
    """Return the vector instruction sets of the processor by their Linux names. Frameworks select kernels by them.

    An empty list on systems without /proc/cpuinfo.
    """
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            lines = [line.partition(":") for line in stream]
    except OSError:
        return []
    flags = next((value.split() for key, _, value in lines if key.strip() in {"flags", "Features"}), [])
    return sorted({flag for flag in flags if flag.startswith(VECTOR_FEATURE_PREFIXES)})


def run_setup(request: FrameHeader, names: Names, seed_generators: Callable[[], None]) -> FrameHeader:
    """Run the setup texts in `names`, the device probe in a copy of it, and return the reply with the versions."""
    probe_names: Names = {}
    for part in SETUP_PARTS:
        try:
            # The state that is restored after each program is read after the setup, so that it must not be random.
            seed_generators()
            probe_names = dict(names) if part == "probe" else probe_names
            code = compile(request.get(part, ""), f"<{part}>", "exec")
            exec(code, probe_names if part == "probe" else names)  # noqa: S102 - runs the adapter's text by design
        except BaseException as error:  # some frameworks raise SystemExit on import; the suite must get the message
            return {"ready": False, "message": exception_text(error), "part": part}
    return {
        "ready": True,
        "python": platform.python_version(),
        "packages": package_versions(request["packages"]),
        "cpu": cpu_features(),
        "hardware": str(probe_names.get("hardware", "")),
    }


def compile_program(request: FrameHeader, names: Names, compiled: CompiledPrograms) -> Callable[..., Any]:
    """Return the function `run` of a program. It is compiled on its first use, in its own copy of the setup names.

    compiled: the functions by digest, or the texts of programs that have not been compiled without an error.
    """
    digest = request["program"]
    if "text" in request:
        compiled[digest] = request["text"]
    found = compiled[digest]
    if isinstance(found, str):
        program_names = dict(names)
        exec(compile(found, PROGRAM_FILE, "exec"), program_names)  # noqa: S102 - runs the program by design
        found = compiled[digest] = program_names["run"]
    function: Callable[..., Any] = found
    return function


def run_program(
    request: FrameHeader, arrays: Arrays, names: Names, compiled: CompiledPrograms
) -> tuple[FrameHeader, Arrays]:
    """Run one program. Return the header of the reply and its arrays."""
    start = time.perf_counter()
    reply: FrameHeader
    results: Arrays = ()
    certain = False
    try:
        function = compile_program(request, names, compiled)
        returned = function(*arrays)
        reply, results = (
            {"outcome": "returned", "message": ""},
            returned if isinstance(returned, tuple) else (returned,),
        )
        problem = result_problem(results)
        if problem:
            # Not an outcome of its own: the suite judges a wrong kind of result like a wrong value.
            reply["message"], results = f"returned {problem}", ()
    except PROGRAM_ERRORS as error:
        message = program_error_text(error)
        certain = message is not None
        reply = {"outcome": "crashed" if certain else "rejected", "message": message or exception_text(error)}
    except MACHINE_ERRORS as error:
        reply = {"outcome": "crashed", "message": exception_text(error)}
    except Exception as error:  # the framework rejected the call
        reply = {"outcome": "rejected", "message": exception_text(error)}
    except BaseException as error:  # SystemExit and the like must not end the worker
        reply = {"outcome": "crashed", "message": exception_text(error)}
    reply.update(seconds=time.perf_counter() - start, certain=certain)
    return reply, results


class ProgramRunner:
    """Runs programs after a setup, restores the state after each, and sends the replies.

    replies: the stream of the replies; worker_state: the module; names: those of the setup.
    """

    def __init__(self, replies: BinaryIO, worker_state: Any, names: Names) -> None:
        self._replies, self._names = replies, names
        self._state_of_process, self._seed_generators, self._open_streams_again = (
            worker_state.process_state.ProcessState,
            worker_state.generators.seed_generators,
            worker_state.streams.open_streams_again,
        )
        self._compiled: CompiledPrograms = {}
        self.finish_setup("", trusted=False)

    def finish_setup(self, reset: str, trusted: bool) -> None:
        """Read the state that is restored. What the setup and its imports have changed belongs to it."""
        self._reset = compile(reset, "<reset>", "exec")
        self._state = self._state_of_process(trusted)

    def run(self, request: FrameHeader, arrays: list[Any]) -> str:
        """Run a program and send the reply. Return why the process must not run another one, "" if it may.

        arrays: the inputs. The list is emptied.
        """
        process = os.getpid()
        if "text" in request and len(self._compiled) >= MAX_COMPILED_PROGRAMS:
            self._forget_programs()
        inputs: Arrays = tuple(arrays)
        arrays.clear()
        reply, results = run_program(request, inputs, self._names, self._compiled)
        exit_fork(process)
        # Inputs and results end here: their finalizers must not change the state during a later program.
        encoded = encode_arrays(results)
        del inputs, results
        # Before the reply is sent: a reset that crashes or hangs then costs this case and not the next one.
        reply["changed"], reply["exit"] = self._state.restore()
        exec(self._reset, self._names)  # noqa: S102 - the adapter's text
        exit_fork(process)
        write_frame(self._replies, {"request": request["request"], **reply}, encoded)
        return str(reply["exit"])

    def _forget_programs(self) -> None:
        """Release all compiled programs, each of which is a cycle of a function and its names.

        A finalizer of what a program has left in its names runs here, and its changes of the state count for no case.
        """
        self._compiled.clear()
        gc.collect()
        self._state.restore()

    def run_alone(self, request: FrameHeader, arrays: Arrays) -> None:
        """Run a program the requested number of times in a fork, in a new one after each crash, and send the replies.

        The fork has its own temporary folder. What it leaves, files and processes, is removed.
        """
        remaining, leave = request["alone"], os._exit
        # Shared with the fork: whether a program runs, the number of replies, and whether the fork sends no more.
        progress = mmap.mmap(-1, 3)
        while remaining > 0:
            progress[:] = bytes(3)
            folder = make_folder_for_fork()
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # wait_for_fork waits for the signal
            child = os.fork()
            if not child:
                try:
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
                    run_below_parent()
                    self._open_streams_again()
                    set_temporary_folder(folder)
                    self._seed_generators()  # `random` seeds its generator from the system in a fork
                    # Several runs without a crash share the fork, as runs of a repeated case share a worker.
                    for number in range(min(remaining, MAX_RUNS_OF_FORK)):
                        progress[0] = 1
                        must_end = self.run(request, [array.copy() for array in arrays])
                        progress[:2] = bytes((0, number + 1))
                        if must_end:
                            break
                    progress[2] = 1
                finally:
                    leave(1)  # not the status of a program: its reply has been sent
            status = wait_for_fork(child, progress)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            kill_orphans()
            if folder:
                remove_folder_of_fork(folder)
            remaining -= progress[1]
            if progress[0]:
                remaining -= 1
                time.sleep(LAST_OUTPUT_SECONDS)
                write_frame(self._replies, {"request": request["request"], **crash_reply(status)})
        progress.close()


def wait_for_fork(child: int, progress: mmap.mmap) -> int:
    """Return the exit status of a fork, 0 if the fork has sent all replies and does not exit.

    A program can damage the parent of its process so that it never exits. The caller kills it.
    """
    while True:
        has_finished = progress[2]
        process, status = os.waitpid(child, os.WNOHANG)
        if process:
            return status
        if signal.sigtimedwait({signal.SIGCHLD}, FORK_CHECK_SECONDS) is None and has_finished:
            return 0


def crash_reply(status: int) -> FrameHeader:
    """Return the reply for a program whose fork has ended with a status."""
    if os.WIFSIGNALED(status):
        text = f"signal {os.WTERMSIG(status)} ({signal.strsignal(os.WTERMSIG(status))})"
    else:
        text = f"the process exited with status {os.WEXITSTATUS(status)}"
    return {
        "outcome": "crashed",
        "message": text,
        "seconds": 0.0,
        "certain": False,
        "changed": [],
        "exit": "",
        "died": True,
    }


def make_folder_for_fork() -> str:
    """Return a new folder for the temporary files of a fork, "" if the worker itself has none."""
    folder = os.path.join(os.environ.get(TEMPORARY_FOLDER_VARIABLE, ""), f"alone-{time.monotonic_ns()}")
    if not os.path.isabs(folder):
        return ""
    os.mkdir(folder, 0o700)
    return folder


def set_temporary_folder(folder: str) -> None:
    """Set the folder for temporary files, if there is one, for Python and for libraries."""
    if folder:
        os.environ["TMPDIR"] = folder
        if getattr(sys.modules.get("tempfile"), "tempdir", None) is not None:
            sys.modules["tempfile"].tempdir = folder  # type: ignore[attr-defined]


def remove_folder_of_fork(folder: str) -> None:
    """Remove the folder of a fork. It is empty in most cases."""
    try:
        os.rmdir(folder)
    except OSError:
        remove_temporary_files(folder)


def run_command(command: Sequence[str]) -> None:
    """Replace this process, below its supervisor, by a worker in another language. It inherits the protocol's pipes."""
    run_under_supervisor()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores the signal, and a command would inherit that
    try:
        os.execvp(command[0], list(command))  # noqa: S606 - the command that the adapter or the user named
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def main() -> None:
    """Answer requests until the input is closed."""
    worker_state = load_worker_state()
    requests, replies = open_protocol(run_under_supervisor(), worker_state)
    # The suite itself writes programs with `np`, for example for padding and divisors.
    names: Names = {"np": np}
    runner = ProgramRunner(replies, worker_state, names)
    process = os.getpid()
    must_end = ""
    while not must_end and (frame := read_frame(requests)) is not None:
        request, arrays = frame
        del frame  # the runner releases the inputs after the program
        if "setup" in request:
            reply = run_setup(request, names, worker_state.generators.seed_generators)
            reply["unfiltered"] = "" if request["trusted"] else worker_state.system_calls.refuse_calls()
            runner.finish_setup(request["reset"], request["trusted"])
            # A program can change how modules are compiled. What it compiles must not reach later processes.
            sys.dont_write_bytecode = sys.dont_write_bytecode or not request["trusted"]
            # Collections after programs skip the objects of the framework, which live as long as the process.
            gc.freeze()
            reply["forks"] = bool(request.get("alone")) and worker_state.forks.can_fork(
                call_prctl(SET_CHILD_SUBREAPER, 1)
            )
            reply["resources"] = worker_state.forks.open_resources()
            exit_fork(process)
            write_frame(replies, {"request": request["request"], **reply})
        elif "alone" in request:
            runner.run_alone(request, arrays)
        else:
            must_end = runner.run(request, arrays)
    # os._exit skips the teardown of the framework, in which some frameworks print errors or hang.
    sys.stderr.flush()
    os._exit(0)


def exit_fork(process: int) -> None:
    """Exit in a process that a program or a framework has forked: only the worker sends replies."""
    if os.getpid() != process:
        os._exit(0)


if __name__ == "__main__":
    if sys.argv[1:]:
        run_command(sys.argv[1:])
    main()
