"""Standard streams and descriptors of the process."""

from __future__ import annotations

import fcntl
import io
import os
import stat
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from typing import Any


ERRORS_DESCRIPTOR = 200
"""Duplicate descriptor of standard error. Its high number protects it from programs that close descriptors."""
PROGRAM_DESCRIPTORS = frozenset((0, 1, 2, ERRORS_DESCRIPTOR))
"""Descriptors that each program finds: an empty input and standard error."""
ERROR_FLAGS = os.O_APPEND | os.O_NONBLOCK | getattr(os, "O_ASYNC", 0) | getattr(os, "O_DIRECT", 0)
"""Flags of standard error that a program can change for all processes that have inherited it."""
MAX_DESCRIPTORS = 128
"""Number of open descriptors above which the process is replaced. Later programs need some, up to the limit."""


def is_original_descriptor(descriptor: int) -> bool:
    """Whether a descriptor is open and was set by set_streams. Descriptors that Python opens are not inheritable."""
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        return False


def opened_file(descriptor: int) -> Any:
    """Return the device and the number of the file of a descriptor, None if it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def error_flags() -> int:
    """Return the flags of standard error that a program can change, -1 if it is closed."""
    try:
        return fcntl.fcntl(ERRORS_DESCRIPTOR, fcntl.F_GETFL) & ERROR_FLAGS
    except OSError:
        return -1


def stream_state() -> Any:
    """Return the standard streams, their closed flags and descriptors, to detect changes."""
    streams = sys.stdout, sys.stderr
    closed = [getattr(stream, "closed", True) for stream in streams]
    files = is_original_descriptor(0), opened_file(1), opened_file(2), error_flags()
    return streams, closed, files


def set_streams(state: Any) -> None:
    """Reopen the standard streams: an empty input, and both outputs on standard error.

    state: of stream_state, None for new streams. Streams that are closed are new ones, too.
    """
    if state:
        fcntl.fcntl(ERRORS_DESCRIPTOR, fcntl.F_SETFL, state[2][-1])
    empty = os.open(os.devnull, os.O_RDONLY)
    for source, descriptor in ((empty, 0), (ERRORS_DESCRIPTOR, 1), (ERRORS_DESCRIPTOR, 2)):
        # os.open reuses the number of a closed standard stream. os.dup2 to the same number changes nothing, not even
        # the flag by which is_original_descriptor recognizes the stream.
        if source == descriptor:
            os.set_inheritable(descriptor, True)
        os.dup2(source, descriptor)
    if empty > 2:  # otherwise os.open reused the number of a closed standard stream  # noqa: PLR2004
        os.close(empty)
    if state and not any(getattr(stream, "closed", True) for stream in state[0]):
        sys.stdout, sys.stderr = state[0]
        return
    # A program may close sys.stdout, which must not close the descriptor. Messages of frameworks may contain any text.
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
        for descriptor in (1, 2)
    )


def open_errors_again() -> None:
    """Open standard error again, so that this process shares its flags with no other process."""
    if not stat.S_ISFIFO(os.fstat(2).st_mode):  # a file would be overwritten from its start
        return
    descriptor = os.open("/proc/self/fd/2", os.O_WRONLY)
    for target in (1, 2, ERRORS_DESCRIPTOR):
        os.dup2(descriptor, target, inheritable=target != ERRORS_DESCRIPTOR)
    os.close(descriptor)


def has_free_descriptors() -> bool:
    """Whether there is a free descriptor that is not above MAX_DESCRIPTORS."""
    try:
        descriptor = os.dup(0)
    except OSError:
        return False
    os.close(descriptor)
    return descriptor <= MAX_DESCRIPTORS
