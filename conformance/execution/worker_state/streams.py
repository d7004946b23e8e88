"""Standard streams and descriptors of the process."""

from __future__ import annotations

import fcntl
import io
import os
import signal
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from typing import Any


ERRORS_DESCRIPTOR = 200
"""Duplicate descriptor of standard error. Its high number protects it from programs that close descriptors."""
PROGRAM_DESCRIPTORS = frozenset((0, 1, 2, ERRORS_DESCRIPTOR))
"""Descriptors that each program finds: an empty input and standard error."""
GET_SIGNAL, SET_SIGNAL, MARK = getattr(fcntl, "F_GETSIG", 0), getattr(fcntl, "F_SETSIG", 0), int(signal.SIGIO)
"""Linux commands for the signal of an open file, and the signal that is sent by default: 0 means this signal, too.

Standard error is marked with it. A descriptor of another file has no mark.
"""
MARKS: set[int] = set()
"""Contains the mark if the system could set it."""
ERROR_FLAGS = os.O_APPEND | os.O_NONBLOCK | getattr(os, "O_ASYNC", 0) | getattr(os, "O_DIRECT", 0)
"""Flags of standard error that a program can change for all processes that have inherited it."""


def mark_errors() -> None:
    """Mark standard error, if the system can."""
    with suppress(OSError):
        fcntl.fcntl(ERRORS_DESCRIPTOR, SET_SIGNAL, MARK)
        MARKS.add(fcntl.fcntl(ERRORS_DESCRIPTOR, GET_SIGNAL))


def opened_files() -> Any:
    """Return what identifies the files of standard output and standard error. Marks are read three times as fast."""
    if MARK in MARKS:
        return fcntl.fcntl(1, GET_SIGNAL), fcntl.fcntl(2, GET_SIGNAL)
    return [(status.st_dev, status.st_ino) for status in map(os.fstat, (1, 2))]


def stream_state() -> Any:
    """Return the standard streams, their closed flags and descriptors, to detect changes."""
    output, errors = sys.stdout, sys.stderr
    closed = getattr(output, "closed", True), getattr(errors, "closed", True)
    try:
        # Descriptors that Python opens are not inheritable. Those of set_streams are.
        flags = fcntl.fcntl(ERRORS_DESCRIPTOR, fcntl.F_GETFL) & ERROR_FLAGS
        return output, errors, closed, os.get_inheritable(0), opened_files(), flags
    except OSError:  # a descriptor is closed
        return output, errors, closed, -1


def set_streams(state: Any) -> None:
    """Reopen the standard streams: an empty input, and both outputs on standard error.

    state: of stream_state, None for new streams. Streams that are closed are new ones, too.
    """
    if state:
        fcntl.fcntl(ERRORS_DESCRIPTOR, fcntl.F_SETFL, state[-1])
    else:
        mark_errors()
    empty = os.open(os.devnull, os.O_RDONLY)
    for source, descriptor in ((empty, 0), (ERRORS_DESCRIPTOR, 1), (ERRORS_DESCRIPTOR, 2)):
        # os.open reuses the number of a closed standard stream. os.dup2 to the same number changes nothing, not even
        # the flag by which stream_state recognizes the stream.
        if source == descriptor:
            os.set_inheritable(descriptor, True)
        os.dup2(source, descriptor)
    if empty > 2:  # otherwise os.open reused the number of a closed standard stream  # noqa: PLR2004
        os.close(empty)
    if state and not any(getattr(stream, "closed", True) for stream in state[:2]):
        sys.stdout, sys.stderr = state[:2]
        return
    # A program may close sys.stdout, which must not close the descriptor. Messages of frameworks may contain any text.
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
        for descriptor in (1, 2)
    )


def open_streams_again() -> None:
    """Open the standard streams again, so that this process shares their flags and locks with no other process."""
    empty = os.open(os.devnull, os.O_RDONLY)
    if empty:  # otherwise it was closed
        os.dup2(empty, 0)
        os.close(empty)
    if not stat.S_ISFIFO(os.fstat(2).st_mode):  # a file would be overwritten from its start
        return
    descriptor = os.open("/proc/self/fd/2", os.O_WRONLY)
    for target in (1, 2, ERRORS_DESCRIPTOR):
        os.dup2(descriptor, target, inheritable=target != ERRORS_DESCRIPTOR)
    os.close(descriptor)
    mark_errors()
