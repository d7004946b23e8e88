"""State of the process in the operating system and the C library."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # a tenth of the time of `signal`, which converts to enums
import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from .c_library import C_LIBRARY

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from collections.abc import Sequence
    from typing import Any


LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_STACK)
RARE_LIMITS = (resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE)
"""Resource limits that can make a later program fail."""
# Integers, because enums take longer to convert.
HANDLED_SIGNALS = (
    int(signal.SIGABRT),
    int(signal.SIGALRM),
    int(signal.SIGCHLD),
    int(signal.SIGFPE),
    int(signal.SIGINT),
    int(signal.SIGPIPE),
    int(signal.SIGSEGV),
    int(signal.SIGTERM),
    int(signal.SIGUSR1),
    int(signal.SIGUSR2),
)
C_SIGNALS = (int(signal.SIGCHLD), int(signal.SIGPIPE))
"""Signals whose handler in the C library is compared too. Ignored children have no exit status."""
MAX_DESCRIPTORS = 128
"""Number of open descriptors above which the process is replaced. Later programs need some, up to the limit."""
SIGNAL_ACTION_BYTES, HANDLER_BYTES = 256, 8
"""Size of a buffer for the C type sigaction, and of the handler at its start."""


def working_directory() -> str:
    """Return the working directory, "" if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def resource_limits(numbers: Sequence[int]) -> Any:
    """Return the resource limits with these numbers."""
    return [*map(resource.getrlimit, numbers)]


def signal_handlers() -> Any:
    """Return the signal handlers in HANDLED_SIGNALS."""
    return [*map(_signal.getsignal, HANDLED_SIGNALS)]


def set_limits(numbers: Sequence[int], limits: Any) -> None:
    """Set the resource limits with these numbers."""
    for number, limit in zip(numbers, limits):  # noqa: B905 - Python 3.8 has no `strict`
        if resource.getrlimit(number) != limit:
            resource.setrlimit(number, limit)


def set_handlers(handlers: Any) -> None:
    """Set the signal handlers in HANDLED_SIGNALS. None is a handler that Python did not install."""
    for number, handler in zip(HANDLED_SIGNALS, handlers):  # noqa: B905 - Python 3.8 has no `strict`
        if _signal.getsignal(number) != handler and handler is not None:
            _signal.signal(number, handler)


def temporary_folder() -> Any:
    """Return the value of `tempfile.tempdir`, None if tempfile is not imported, and whether TMPDIR is a folder.

    The last value is whether there is a free descriptor that is not above MAX_DESCRIPTORS.
    """
    module = sys.modules.get("tempfile")
    folder = getattr(module, "tempdir", None)
    try:
        descriptor = os.open(TEMPORARY_FOLDER, FOLDER_FLAGS)
    except OSError:
        return folder, False, has_free_descriptors()
    os.close(descriptor)
    return folder, True, descriptor <= MAX_DESCRIPTORS


def has_free_descriptors() -> bool:
    """Whether there is a free descriptor that is not above MAX_DESCRIPTORS."""
    try:
        descriptor = os.dup(0)
    except OSError:
        return False
    os.close(descriptor)
    return descriptor <= MAX_DESCRIPTORS


def set_temporary_folder(state: Any) -> None:
    """Set `tempfile.tempdir`, and make the folder again. With None, tempfile finds the folder when it needs it."""
    folder, exists, _ = state
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = folder  # type: ignore[attr-defined]
    if exists and not temporary_folder()[1]:
        with suppress(OSError):  # a file or a link
            os.unlink(TEMPORARY_FOLDER)
        os.mkdir(TEMPORARY_FOLDER, 0o700)


def c_handlers() -> Any:
    """Return the handlers of C_SIGNALS in the C library. A program can set them without Python."""
    (child, child_action, child_handler), (pipe, pipe_action, pipe_handler) = C_ACTIONS
    GET_SIGNAL_ACTION(child, None, child_action)
    GET_SIGNAL_ACTION(pipe, None, pipe_action)
    return child_handler.raw, pipe_handler.raw


def set_c_handlers(handlers: Any) -> None:
    """Set the handlers of C_SIGNALS, with the flags and the mask of this process."""
    for (number, action, place), handler in zip(C_ACTIONS, handlers):  # noqa: B905 - Python 3.8 has no `strict`
        GET_SIGNAL_ACTION(number, None, action)
        place.raw = handler
        C_LIBRARY.sigaction(number, action, None)


def action_buffers() -> Any:
    """Return for each of C_SIGNALS its number, a buffer for its action, and the place of the handler in it."""
    buffers = [ctypes.create_string_buffer(SIGNAL_ACTION_BYTES) for _ in C_SIGNALS]
    handlers = [(ctypes.c_char * HANDLER_BYTES).from_buffer(buffer) for buffer in buffers]
    return [*zip(C_SIGNALS, map(ctypes.byref, buffers), handlers)]  # noqa: B905 - Python 3.8 has no `strict`


GET_SIGNAL_ACTION = C_LIBRARY.sigaction
C_ACTIONS = action_buffers()
TEMPORARY_FOLDER = os.environ.get("TMPDIR", "")
FOLDER_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)


def file_mode_mask() -> int:
    """Return the file mode creation mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
