"""The worker: runs programs for the suite, in an interpreter that holds the framework.

One file that needs Python 3.8, the standard library and NumPy, nothing of the project. It knows no framework.

Frames go both ways over a private pipe: what was standard input and output when the worker started. Before anything
else runs, standard output is pointed at standard error, so whatever a framework prints never enters the protocol.
A frame is the length of its header and of its body (8 bytes each, big-endian), the header in JSON, and the raw bytes
of its arrays, which the header lists as [{"dtype", "shape"}]. bfloat16 travels as 16-bit words: a program gets uint16,
and returns an array that calls itself bfloat16, or words in a field that is named so.

setup    {"threads", "setup", "probe"?, "reset", "packages"}
                          -> {"ready": true, "python", "packages", "cpu", "hardware"}
                          or {"ready": false, "message", "part"}: which of the texts failed
run      {"program", "text"?, "arrays"}    -> {"outcome", "message", "seconds", "certain", "arrays"}
           certain: whether a crash is the program's own fault, and would come again

What a program changes of its process, as far as STATE lists it, is as it was before the next one runs. The process that
is started becomes a guard: the worker is its child, and what that has started ends with it, or if the suite goes away.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # Python puts the folder of a script first on the path: the suite's modules would hide others of the same name.
    sys.path.pop(0)

import contextlib
import ctypes
import glob
import io
import json
import os
import platform
import random
import resource
import select
import signal
import struct
import time
import traceback
import warnings
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # Python 3.8 knows these only as texts
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, BinaryIO

    FrameHeader = dict[str, Any]
    Arrays = Sequence[Any]
    Names = dict[str, Any]
    CompiledPrograms = dict[str, Callable[..., Any]]

FRAME_LENGTHS = struct.Struct(">QQ")
MERSENNE_OF_NUMPY = (ctypes.c_char * 2500).from_address(np.random.mtrand._rand._bit_generator.ctypes.state_address)
MERSENNE_OF_PYTHON = (ctypes.c_char * random._inst.__sizeof__()).from_address(id(random._inst))
OBJECT_HEADER_BYTES = object.__basicsize__
"""Bytes before what an object holds itself; they count who knows it."""
ERRORS_DESCRIPTOR = 200
"""A descriptor of standard error that no program closes."""
MAX_ERROR_MESSAGE_LENGTH = 2000
MAX_REPLY_BYTES = 1 << 30
"""Bytes of arrays that a program may return; a view can be larger than all memory."""
SET_CHILD_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux: who descends from a process becomes its child when its own parent dies."""
ORPHAN_EXIT_TIMEOUT_SECONDS = 3
"""Seconds in which a worker may end by itself once nobody asks it any more."""
TRANSFERABLE_DTYPES = {"bool", "bfloat16", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
VECTOR_FEATURE_PREFIXES = ("sse4", "avx", "amx", "f16c", "fma", "asimd", "sve", "sme", "bf16", "fphp")
BFLOAT16_FIELD = np.dtype([("bfloat16", np.uint16)])
SETUP_PARTS = ("threads", "setup", "probe", "reset")
PROGRAM_ERRORS = (NameError, SyntaxError, ImportError, AttributeError)
MACHINE_ERRORS = (MemoryError, RecursionError)


def run_under_supervisor() -> None:
    """Go on in a child of this process, which stays behind as its guard and ends as that one ends.

    Nothing that the child starts lives longer: what it leaves behind becomes a child of the guard, whatever session
    and environment it has given itself. The guard also ends all once the suite is gone, though it was killed: a program
    that hangs might never let a thread run.
    """
    if os.getpgrp() != os.getpid():
        return  # started by hand, in the group of somebody else's processes
    with contextlib.suppress(OSError, AttributeError):  # only Linux has it
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.fork()
    if child:
        for stream in (1, 2):
            os.close(stream)
        status = wait_for_child(child)
        kill_orphans()
        exit_like(status)


def wait_for_child(child: int) -> int:
    """Return the status with which a child has ended; it is killed if it goes on for a while without a suite.

    That is there as long as the far end of standard input is open.
    """
    news, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    look = select.poll()
    look.register(news, select.POLLIN)
    look.register(0, 0)
    status = reap_children(child)
    while status is None:
        for descriptor, _ in look.poll():
            if descriptor == news:
                os.read(news, 512)
            else:
                look.unregister(0)
                signal.alarm(ORPHAN_EXIT_TIMEOUT_SECONDS)
        status = reap_children(child)
    signal.alarm(0)
    return status


def reap_children(child: int) -> int | None:
    """Take note of all children that have ended; return the status of this one, None if it is not among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        process, status = os.waitpid(-1, os.WNOHANG)
        while process:
            found = status if process == child else found
            process, status = os.waitpid(-1, os.WNOHANG)
    return found


def kill_orphans() -> None:
    """Kill all children until there are none: those that one of them leaves behind become children too."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        while found := child_pids():
            for child in found:
                with contextlib.suppress(PermissionError):
                    os.kill(child, signal.SIGKILL)
            os.waitpid(-1, 0)


def child_pids() -> list[int]:
    """Return the children of this process, none where the system lists no processes."""
    found = []
    for place in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(place, "rb") as stream:
            # The name stands in parentheses and may hold any others; the parent is the second field behind them.
            number, _, fields = stream.read().rpartition(b")")
            if int(fields.split()[1]) == os.getpid():
                found.append(int(number.split()[0]))
    return found


def exit_like(status: int) -> None:
    """End this process with the status of another one."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # what cannot be caught needs no handler
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def open_private_pipe() -> tuple[BinaryIO, BinaryIO]:
    """Take standard input and output for the protocol, and leave the program an empty input and standard error."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, ERRORS_DESCRIPTOR, inheritable=False)
    set_streams(None)
    return requests, replies


def read_frame(stream: BinaryIO) -> tuple[FrameHeader, list[Any]] | None:
    """Return the next header and its arrays, or None at the end."""
    lengths = stream.read(FRAME_LENGTHS.size)
    if len(lengths) < FRAME_LENGTHS.size:
        return None
    header_length, body_length = FRAME_LENGTHS.unpack(lengths)
    header, body = json.loads(stream.read(header_length)), stream.read(body_length)
    arrays, start = [], 0
    for item in header.get("arrays", ()):
        words = np.dtype("uint16" if item["dtype"] == "bfloat16" else item["dtype"])
        count = int(np.prod(item["shape"], dtype=np.int64))
        # A copy: what a program writes into its inputs must stay its own.
        array = np.frombuffer(body, words, count, start).reshape(item["shape"]).copy()
        arrays.append(array)
        start += array.nbytes
    return header, arrays


def write_frame(stream: BinaryIO, header: FrameHeader, arrays: Arrays = ()) -> None:
    """Send a header and arrays."""
    header["arrays"] = [{"dtype": dtype_name(array), "shape": array.shape} for array in arrays]
    body = b"".join(array.astype(array.dtype.newbyteorder("="), copy=False).tobytes() for array in arrays)
    text = json.dumps(header).encode()
    stream.write(FRAME_LENGTHS.pack(len(text), len(body)) + text + body)
    stream.flush()


def dtype_name(array: Any) -> str:
    """Return the name of an array's dtype."""
    return "bfloat16" if array.dtype == BFLOAT16_FIELD else str(array.dtype.name)


def invalid_result(item: Any) -> str | None:
    """Return what a program returned, None if it is an array of a dtype that the suite knows."""
    if not isinstance(item, np.ndarray):
        return type(item).__name__
    return None if dtype_name(item) in TRANSFERABLE_DTYPES else f"an array of {dtype_name(item)}"


def result_problem(results: Arrays) -> str | None:
    """Return what is wrong with what a program returned, None if it can be sent."""
    for kind in filter(None, map(invalid_result, results)):
        return f"{kind}, not an array of numbers"
    size = sum(array.nbytes for array in results)
    return f"{size:,} bytes, more than can be judged" if size > MAX_REPLY_BYTES else None


def exception_text(error: BaseException) -> str:
    """Return an exception as one short text."""
    return f"{type(error).__name__}: {error}"[:MAX_ERROR_MESSAGE_LENGTH]


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of imported packages: as they say it themselves, or as they were installed."""
    return {
        name: str(getattr(sys.modules.get(name), "__version__", None) or installed_version(name)) for name in packages
    }


def installed_version(name: str) -> str:
    """Return the version in which an imported package was installed."""
    from importlib import metadata  # noqa: PLC0415 - slow, and most packages say their version themselves

    try:
        return metadata.version(name) if name in sys.modules else "unknown"
    except metadata.PackageNotFoundError:
        return "unknown"


def cpu_features() -> list[str]:
    """Return what the processor computes vectors with, as Linux names it: frameworks choose their kernels by that.

    Nothing where the system does not say.
    """
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            lines = [line.partition(":") for line in stream]
    except OSError:
        return []
    words = next((value.split() for key, _, value in lines if key.strip() in {"flags", "Features"}), [])
    return sorted({word for word in words if word.startswith(VECTOR_FEATURE_PREFIXES)})


def run_setup(request: FrameHeader, names: Names) -> FrameHeader:
    """Run the setup texts in `names`, the probe of the device in a copy, and say what is there."""
    own: Names = {}
    for part in SETUP_PARTS:
        try:
            seed_generators()
            own = dict(names) if part == "probe" else own
            code = compile(request.get(part, ""), f"<{part}>", "exec")
            exec(code, own if part == "probe" else names)  # noqa: S102 - this is what a worker is for
        except BaseException as error:  # whatever an import does must be told
            traceback.print_exc()
            return {"ready": False, "message": exception_text(error), "part": part}
    return {
        "ready": True,
        "python": platform.python_version(),
        "packages": package_versions(request["packages"]),
        "cpu": cpu_features(),
        "hardware": str(own.get("hardware", "")),
    }


def compile_program(request: FrameHeader, names: Names, known: CompiledPrograms) -> Callable[..., Any]:
    """Return the function `run` of a program, compiled on its first use."""
    digest = request["program"]
    if digest not in known:
        own = dict(names)
        exec(compile(request["text"], "<program>", "exec"), own)  # noqa: S102 - this is what a worker is for
        known[digest] = own["run"]
    return known[digest]


def run_program(
    request: FrameHeader, arrays: Arrays, names: Names, known: CompiledPrograms
) -> tuple[FrameHeader, Arrays]:
    """Run one program, and return the header of the reply and its arrays."""
    start = time.perf_counter()
    reply: FrameHeader
    results: Arrays = ()
    certain = False
    try:
        function = compile_program(request, names, known)
        returned = function(*arrays)
        reply, results = (
            {"outcome": "returned", "message": ""},
            returned if isinstance(returned, tuple) else (returned,),
        )
        wrong = result_problem(results)
        if wrong:
            reply["message"], results = f"returned {wrong}", ()
    except PROGRAM_ERRORS as error:
        reply = {"outcome": "crashed", "message": f"the program is at fault: {exception_text(error)}"}
        certain = True
    except MACHINE_ERRORS as error:
        reply = {"outcome": "crashed", "message": exception_text(error)}
    except Exception as error:  # a refusal is an outcome
        reply = {"outcome": "rejected", "message": exception_text(error)}
    except BaseException as error:  # the worker must live on
        reply = {"outcome": "crashed", "message": exception_text(error)}
    reply.update(seconds=time.perf_counter() - start, certain=certain)
    return reply, results


def seed_generators(_state: Any = None) -> None:
    """Start the generators that all share from the beginning: NumPy's and Python's."""
    np.random.seed(0)
    random.seed(0)


def generator_memory() -> Any:
    """Return what the shared generators hold in memory; to ask them for their state takes fifty times as long."""
    return MERSENNE_OF_NUMPY.raw, MERSENNE_OF_PYTHON.raw[OBJECT_HEADER_BYTES:]


def is_original_descriptor(descriptor: int) -> bool:
    """Whether a descriptor is open, and is the one that set_streams left: what Python opens is not inheritable."""
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        return False


def stream_state() -> Any:
    """Return what the standard streams are."""
    texts = [(getattr(stream, "name", None), getattr(stream, "closed", True)) for stream in (sys.stdout, sys.stderr)]
    return texts, is_original_descriptor(0), is_original_descriptor(1), is_original_descriptor(2)


def set_streams(_state: Any) -> None:
    """Open the standard streams anew: nothing to read, and both outputs to where errors go."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, descriptor in ((nothing, 0), (ERRORS_DESCRIPTOR, 1), (ERRORS_DESCRIPTOR, 2)):
        if source == descriptor:
            os.set_inheritable(descriptor, True)
        os.dup2(source, descriptor)
    if nothing > 2:  # else it took the place of a stream that was closed  # noqa: PLR2004
        os.close(nothing)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
        for descriptor in (1, 2)
    )


def working_directory() -> str:
    """Return the working directory, "" if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def environment_copy() -> Any:
    """Return the environment as it is kept, which takes a hundredth of the time that a decoded copy does."""
    return vars(os.environ)["_data"].copy()


def set_environment(variables: Any) -> None:
    """Make the environment this one again."""
    os.environ.clear()
    os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in variables.items()})


def set_filters(filters: Any) -> None:
    """Make the filters of warnings these again."""
    warnings.resetwarnings()  # what was decided by other filters is forgotten
    vars(warnings)["filters"][:] = filters


PROCESS_STATE: Sequence[tuple[Callable[[], Any], Callable[[Any], Any]]] = (
    (generator_memory, seed_generators),
    (stream_state, set_streams),
    (working_directory, os.chdir),
    (environment_copy, set_environment),
    (np.geterr, lambda kept: np.seterr(**kept)),
    (lambda: list(warnings.filters), set_filters),
    (sys.getrecursionlimit, sys.setrecursionlimit),
)
"""What a program can change of its process and the next one must not see: how to read it, how to set it."""


def restore_state(state: Sequence[Any]) -> None:
    """Undo what a program did to its process; a timer that is still to go off is among it."""
    for kept, (read, write) in zip(state, PROCESS_STATE):  # noqa: B905 - Python 3.8 knows no strict
        if read() != kept:
            write(kept)
    signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    """Serve frames until there are no more."""
    run_under_supervisor()
    requests, replies = open_private_pipe()
    names: Names = {}
    known: CompiledPrograms = {}
    reset = compile("", "<reset>", "exec")
    state = [read() for read, _ in PROCESS_STATE]
    while True:
        frame = read_frame(requests)
        if frame is None:
            break
        request, arrays = frame
        if "setup" in request:
            write_frame(replies, run_setup(request, names))
            reset = compile(request["reset"], "<reset>", "exec")
            state = [read() for read, _ in PROCESS_STATE]
            continue
        reply, results = run_program(request, arrays, names, known)
        restore_state(state)
        exec(reset, names)  # noqa: S102 - the adapter's text
        write_frame(replies, reply, results)
    # Frameworks complain, and some hang, while they are torn down: the work is done.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
