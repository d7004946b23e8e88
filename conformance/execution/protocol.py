"""Protocol between the suite and a worker: frames, and checks of replies. worker.py implements the other side."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np

from conformance.adapters.api import Backend, used_features
from conformance.cases.arrays import NUMPY_DTYPES, Array, dtype_name
from conformance.execution.worker import FRAME_LENGTHS, MAX_REPLY_BYTES
from conformance.judging.verdict import ProgramOutcome
from reports.results.vocabulary import Outcome

MAX_HEADER_BYTES = 1 << 24
MAX_FRAME_BYTES = MAX_REPLY_BYTES + MAX_HEADER_BYTES
"""Maximum size of a frame in bytes: the arrays and the header."""
MAX_AXES = 64
"""Maximum number of axes of an array of NumPy."""
WORKER_OUTCOMES = frozenset({Outcome.RETURNED, Outcome.REJECTED, Outcome.CRASHED})
"""Outcomes that a reply may contain. The other outcomes are set on this side."""
MAX_REASON_LENGTH = 400
"""Maximum number of characters of a reason in the reply to `setup`, which is printed."""
MAX_PROGRAM_SECONDS = 86_400.0
"""Maximum seconds of a program in a reply, which is the largest time limit of a case."""
IMMEDIATE_EXIT_TEXT = "exited with status 1; last output:"
"""Part of the message when Python ends before the first reply, as without NumPy."""
SUCCESSFUL_EXIT_TEXT = "exited with status 0"
"""Part of the message if the process exits with status 0 before its first reply. A Python interpreter never does."""
INTERPRETER_HINT = " before it replied: PYTHON in --backend NAME=PYTHON is probably not a Python interpreter"
WORKER_REQUIREMENTS_HINT = " (a worker needs Python 3.8 or newer, and NumPy)"

Frame = tuple[dict[str, Any], list[Array]]


def encode_frame(header: dict[str, Any], arrays: Sequence[Array]) -> bytes:
    """Return a header and arrays as a frame."""
    header["arrays"] = [{"dtype": dtype_name(array.dtype), "shape": array.shape} for array in arrays]
    text = json.dumps(header).encode()
    body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return FRAME_LENGTHS.pack(len(text), len(body)) + text + body


def read_frame(pipe: IO[bytes] | io.BufferedReader) -> Frame | None:
    """Return the next frame, None at the end and for an invalid frame, as from a worker that died while writing."""
    lengths = pipe.read(FRAME_LENGTHS.size)
    if len(lengths) < FRAME_LENGTHS.size:
        return None
    header_length, body_length = FRAME_LENGTHS.unpack(lengths)
    # A framework that writes into the pipe could announce any length. Do not allocate it.
    if header_length > MAX_HEADER_BYTES or body_length > MAX_REPLY_BYTES:
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
        array = np.frombuffer(body, dtype, element_count(shape), start).reshape(shape)
        yield array
        start += array.nbytes


def element_count(shape: Any) -> int:
    """Return the number of elements of a shape in a reply. Raises ValueError if it is not the shape of an array."""
    # `type`, not isinstance: True is an int, but not an extent.
    if not isinstance(shape, list) or any(type(extent) is not int or extent < 0 for extent in shape):
        raise ValueError("not a shape")
    # Without these limits, the product can have millions of digits, and its computation cannot be interrupted.
    if len(shape) > MAX_AXES or max(shape, default=0) > MAX_REPLY_BYTES:
        raise ValueError("not the shape of an array in a reply")
    return math.prod(shape)


def is_start_reply(header: Mapping[str, Any]) -> bool:
    """Whether the header is a valid reply to `setup`. Code of a framework may have written into the pipe."""
    ready, packages, cpu = (header.get(key) for key in ("ready", "packages", "cpu"))
    if ready is not True:
        return ready is False and isinstance(header.get("message"), str)
    texts = [header.get("python"), header.get("hardware", ""), header.get("unfiltered")]
    texts += packages.values() if isinstance(packages, dict) else [None]
    resources = header.get("resources")
    if not (isinstance(cpu, list) and isinstance(resources, list) and isinstance(header.get("forks"), bool)):
        return False
    if not all(isinstance(text, str) for text in (*texts, *cpu, *resources)):
        return False
    return len(header["unfiltered"]) <= MAX_REASON_LENGTH and header["unfiltered"].isprintable()


def is_program_reply(header: Mapping[str, Any]) -> bool:
    """Whether the header is a valid reply to `run`."""
    kind, message, seconds, certain = (header.get(key) for key in ("outcome", "message", "seconds", "certain"))
    if not (isinstance(kind, str) and isinstance(message, str) and isinstance(certain, bool)):
        return False
    changed = header.get("changed")
    texts = [header.get("exit"), *changed] if isinstance(changed, list) else [None]
    if not all(isinstance(text, str) for text in texts):
        return False
    return kind in WORKER_OUTCOMES and type(seconds) is float and 0 <= seconds <= MAX_PROGRAM_SECONDS


def program_outcome(reply: Frame, *, alone: bool = False, process: int = 0) -> ProgramOutcome:
    """Return the outcome in a valid reply to `run`. alone, process: see ProgramOutcome."""
    header, arrays = reply
    return ProgramOutcome(
        Outcome(header["outcome"]),
        tuple(arrays),
        header["message"],
        header["seconds"],
        changed_state=tuple(header["changed"]),
        alone=alone,
        process=process,
    )


def start_environment(reply: Mapping[str, Any], backend: Backend) -> dict[str, Any]:
    """Return the environment that a start reply reports: versions, processor features in use, and the device."""
    return {
        "python": reply["python"],
        "packages": reply["packages"],
        "cpu": used_features(reply["cpu"], backend.instructions),
        "device": backend.device.environment_record(reply.get("hardware", "")),
    }


def start_message(pid: int, environment: Mapping[str, Any], seconds: float) -> str:
    """Return the log message of a started worker, with its start time and versions."""
    versions = {"Python": environment["python"], **environment["packages"]}
    text = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"worker {pid} started in {seconds:.1f} s: {text}"


def start_failure_message(outcome: ProgramOutcome, last_output: str) -> str:
    """Return the error message of a failed start, with a hint."""
    if outcome.kind == Outcome.TIMED_OUT:
        return f"{outcome.message}; --start-timeout sets this limit{last_output}"
    if SUCCESSFUL_EXIT_TEXT in outcome.message:
        return outcome.message + INTERPRETER_HINT
    return outcome.message + (WORKER_REQUIREMENTS_HINT if IMMEDIATE_EXIT_TEXT in outcome.message else "")
