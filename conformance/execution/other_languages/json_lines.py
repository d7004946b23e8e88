"""Frames as JSON lines, for workers in other languages. docs/worker-protocol.md describes the lines.

A frame is one line in either direction. Arrays are base64 of their bytes in C order and in the byte order of the
machine. The functions correspond to those of `protocol`, and convert the requests and replies of a Python worker.
"""

from __future__ import annotations

import base64
import io
import json
import platform
from collections.abc import Mapping, Sequence
from typing import IO, Any

import numpy as np

from conformance.cases.arrays import NUMPY_DTYPES, Array
from conformance.execution.protocol import MAX_FRAME_BYTES, Frame, element_count
from conformance.execution.worker import MAX_ERROR_MESSAGE_LENGTH, PROGRAM_ERROR_PREFIX, cpu_features
from reports.results.vocabulary import Outcome, Word

PROTOCOL_VERSION = 1
MAX_LINE_BYTES = MAX_FRAME_BYTES // 3 * 4
"""Maximum length of a line: base64 writes three bytes as four characters."""
MALFORMED: Frame = {}, []
"""The frame of a malformed line. It has no request id, so it is the reply to no request."""


class ErrorKind(Word):
    """What an error of a worker means for the case."""

    REJECTED = "rejected"  # the framework rejected the call
    PROGRAM = "program"  # the program text has an error
    CRASHED = "crashed"  # the worker cannot continue


def encode_frame(header: dict[str, Any], arrays: Sequence[Array]) -> bytes:
    """Return a request of the suite, with the keys for a Python worker, as a line."""
    request: dict[str, Any] = {"request": header["request"]}
    if "setup" in header:
        request |= {"hello": PROTOCOL_VERSION, "setup": header["setup"]}
    else:
        request |= {"program": header["text"], "arrays": [*map(_encoded_array, arrays)]}
    return json.dumps(request).encode() + b"\n"


def _encoded_array(array: Array) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    return {"dtype": array.dtype.name, "shape": array.shape, "data": data}


def read_frame(pipe: IO[bytes] | io.BufferedReader) -> Frame | None:
    """Return the next reply with the keys of a Python worker; None at the end, MALFORMED for an invalid line."""
    line = pipe.readline(MAX_LINE_BYTES)
    if not line:
        return None
    try:
        reply = json.loads(line)
        arrays = [_decoded_array(item) for item in reply.get("arrays", [])]
        return {"request": reply["request"], **_reply_header(reply)}, arrays
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError):
        return MALFORMED


def _decoded_array(item: Mapping[str, Any]) -> Array:
    dtype, shape = NUMPY_DTYPES[item["dtype"]], item["shape"]
    data = base64.b64decode(item["data"], validate=True)
    if len(data) != element_count(shape) * dtype.itemsize:
        raise ValueError("the number of bytes is not that of the shape")
    if len(item["data"]) != -(-len(data) // 3) * 4:  # Python accepts further padding
        raise ValueError("not base64")
    array: Array = np.frombuffer(data, dtype).reshape(shape)
    return array


def _reply_header(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of a reply. Raises LookupError, TypeError or ValueError for an invalid one."""
    if "error" in reply:
        return {**_error_header(reply["error"]), "ready": False}  # of a program, or of a setup that failed
    if "versions" in reply:
        return _hello_header(reply)
    if "arrays" not in reply:
        raise ValueError("neither arrays nor an error")
    seconds = reply.get("seconds", 0.0)
    if isinstance(seconds, (bool, str)):
        raise TypeError("the time is no number")
    return _outcome_header(Outcome.RETURNED, "", float(seconds))


def _hello_header(reply: Mapping[str, Any]) -> dict[str, Any]:
    if reply["hello"] != PROTOCOL_VERSION:
        message = f"the worker speaks version {reply['hello']} of the protocol, not {PROTOCOL_VERSION}"
        return {"ready": False, "message": message}
    return {
        "ready": True,
        "python": platform.python_version(),
        "packages": reply["versions"],
        "cpu": cpu_features(),
        "hardware": "",
        "forks": False,
        "resources": [],
        "unfiltered": "",
    }


def _error_header(error: Mapping[str, Any]) -> dict[str, Any]:
    kind = ErrorKind(error.get("kind", ErrorKind.REJECTED))
    message = f"{error['type']}: {error['message']}"[:MAX_ERROR_MESSAGE_LENGTH]
    if kind is ErrorKind.REJECTED:
        return _outcome_header(Outcome.REJECTED, message)
    is_program_error = kind is ErrorKind.PROGRAM
    return _outcome_header(Outcome.CRASHED, PROGRAM_ERROR_PREFIX * is_program_error + message, certain=is_program_error)


def _outcome_header(outcome: Outcome, message: str, seconds: float = 0.0, *, certain: bool = False) -> dict[str, Any]:
    """Return the header of the reply to a program."""
    return {
        "outcome": outcome,
        "message": message,
        "seconds": seconds,
        "certain": certain,
        "changed": [],
        "exit": "",
    }
