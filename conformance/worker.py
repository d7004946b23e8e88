"""The worker: runs programs for the suite, in an interpreter that holds the framework.

One file that needs Python 3.8, the standard library and NumPy, nothing of the project. It knows no framework.

Frames go both ways over a private pipe: what was standard input and output when the worker started. Before anything
else runs, standard output is pointed at standard error, so whatever a framework prints never enters the protocol.
A frame is the length of its header and of its body (8 bytes each, big-endian), the header in JSON, and the raw bytes
of its arrays, which the header lists as [{"dtype", "shape"}]. bfloat16 travels as 16-bit words: a program gets uint16,
and returns an array that calls itself bfloat16, or words in a field that is named so.

setup    {"threads", "setup", "reset", "packages"}
                                           -> {"ready": true, "python", "packages"} or {"ready": false, "message"}
run      {"program", "text"?, "arrays"}    -> {"outcome", "message", "seconds", "arrays"}
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # Python puts the folder of a script first on the path: the suite's modules would hide others of the same name.
    sys.path.pop(0)

import json
import os
import platform
import struct
import time
import traceback
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # Python 3.8 knows these only as texts
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, BinaryIO

    Header = dict[str, Any]
    Arrays = Sequence[Any]
    Names = dict[str, Any]
    Known = dict[str, Callable[..., Any]]

LENGTHS = struct.Struct(">QQ")
LONGEST_MESSAGE = 2000
DTYPES = {"bool", "bfloat16", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
WORDS = np.dtype([("bfloat16", np.uint16)])
FAULTS_OF_THE_PROGRAM = (NameError, SyntaxError, ImportError, AttributeError)
FAULTS_OF_THE_MACHINE = (MemoryError, RecursionError)


def private_pipe() -> tuple[BinaryIO, BinaryIO]:
    """Take standard input and output for the protocol, and leave the program an empty input and standard error."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def read_frame(stream: BinaryIO) -> tuple[Header, list[Any]] | None:
    """Return the next header and its arrays, or None at the end."""
    lengths = stream.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    header_length, body_length = LENGTHS.unpack(lengths)
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


def write_frame(stream: BinaryIO, header: Header, arrays: Arrays = ()) -> None:
    """Send a header and arrays."""
    header["arrays"] = [{"dtype": name_of(array), "shape": array.shape} for array in arrays]
    body = b"".join(array.astype(array.dtype.newbyteorder("="), copy=False).tobytes() for array in arrays)
    text = json.dumps(header).encode()
    stream.write(LENGTHS.pack(len(text), len(body)) + text + body)
    stream.flush()


def name_of(array: Any) -> str:
    """Return the name of an array's dtype."""
    return "bfloat16" if array.dtype == WORDS else str(array.dtype.name)


def not_numbers(item: Any) -> str | None:
    """Return what a program returned, None if it is an array of a dtype that the suite knows."""
    if not isinstance(item, np.ndarray):
        return type(item).__name__
    return None if name_of(item) in DTYPES else f"an array of {name_of(item)}"


def describe(error: BaseException) -> str:
    """Return an exception as one short text."""
    return f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of imported packages: as they say it themselves, or as they were installed."""
    return {name: str(getattr(sys.modules.get(name), "__version__", None) or installed(name)) for name in packages}


def installed(name: str) -> str:
    """Return the version in which an imported package was installed."""
    try:
        return metadata.version(name) if name in sys.modules else "unknown"
    except metadata.PackageNotFoundError:
        return "unknown"


def set_up(request: Header, names: Names) -> Header:
    """Run the setup text in `names`, and say what is there."""
    try:
        for part in ("threads", "setup", "reset"):
            exec(compile(request[part], f"<{part}>", "exec"), names)  # noqa: S102 - this is what a worker is for
    except BaseException as error:  # whatever an import does must be told
        traceback.print_exc()
        return {"ready": False, "message": describe(error)}
    return {"ready": True, "python": platform.python_version(), "packages": versions(request["packages"])}


def program(request: Header, names: Names, known: Known) -> Callable[..., Any]:
    """Return the function `run` of a program, compiled on its first use."""
    digest = request["program"]
    if digest not in known:
        own = dict(names)
        exec(compile(request["text"], "<program>", "exec"), own)  # noqa: S102 - this is what a worker is for
        known[digest] = own["run"]
    return known[digest]


def outcome(request: Header, arrays: Arrays, names: Names, known: Known) -> tuple[Header, Arrays]:
    """Run one program, and return the header of the reply and its arrays."""
    start = time.perf_counter()
    reply: Header
    results: Arrays = ()
    try:
        function = program(request, names, known)
        returned = function(*arrays)
        reply, results = (
            {"outcome": "returned", "message": ""},
            returned if isinstance(returned, tuple) else (returned,),
        )
        wrong = [kind for kind in map(not_numbers, results) if kind]
        if wrong:
            reply["message"], results = f"returned {wrong[0]}, not an array of numbers", ()
    except FAULTS_OF_THE_PROGRAM as error:
        reply = {"outcome": "crashed", "message": f"the program is at fault: {describe(error)}"}
    except FAULTS_OF_THE_MACHINE as error:
        reply = {"outcome": "crashed", "message": describe(error)}
    except Exception as error:  # a refusal is an outcome
        reply = {"outcome": "rejected", "message": describe(error)}
    except BaseException as error:  # the worker must live on
        reply = {"outcome": "crashed", "message": describe(error)}
    reply["seconds"] = time.perf_counter() - start
    return reply, results


def main() -> None:
    """Serve frames until there are no more."""
    requests, replies = private_pipe()
    names: Names = {}
    known: Known = {}
    reset = compile("", "<reset>", "exec")
    while True:
        frame = read_frame(requests)
        if frame is None:
            break
        request, arrays = frame
        if "setup" in request:
            write_frame(replies, set_up(request, names))
            reset = compile(request["reset"], "<reset>", "exec")
            continue
        reply, results = outcome(request, arrays, names, known)
        exec(reset, names)  # noqa: S102 - the adapter's text
        write_frame(replies, reply, results)
    # Frameworks complain, and some hang, while they are torn down: the work is done.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
