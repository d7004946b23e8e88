"""State of the process in the operating system and the C library."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # a tenth of the time of `signal`, which converts to enums
import ctypes
import os
import resource
import signal
import stat
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from .c_library import C_LIBRARY

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from typing import Any


LIMITS = (
    resource.RLIMIT_AS,
    resource.RLIMIT_CPU,
    resource.RLIMIT_DATA,
    resource.RLIMIT_FSIZE,
    resource.RLIMIT_NOFILE,
    resource.RLIMIT_NPROC,
    resource.RLIMIT_STACK,
)
"""Resource limits that can make a later program fail."""
HANDLED_SIGNALS = (
    signal.SIGABRT,
    signal.SIGALRM,
    signal.SIGCHLD,
    signal.SIGFPE,
    signal.SIGINT,
    signal.SIGPIPE,
    signal.SIGSEGV,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
C_SIGNALS = (signal.SIGCHLD, signal.SIGPIPE)
"""Signals whose handler in the C library is compared too. Ignored children have no exit status."""
SIGNAL_ACTION_BYTES, HANDLER_BYTES = 256, 8
"""Size of a buffer for the C type sigaction, and of the handler at its start."""


def working_directory() -> str:
    """Return the working directory, "" if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def environment_copy() -> Any:
    """Return a copy of the encoded environment. A decoded copy takes a hundred times as long."""
    return vars(os.environ)["_data"].copy()


def set_environment(variables: Any) -> None:
    """Replace the environment variables with an encoded copy of them."""
    os.environ.clear()
    os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in variables.items()})
    time.tzset()


def set_limits(limits: Any) -> None:
    """Set the resource limits in LIMITS."""
    for number, limit in zip(LIMITS, limits):  # noqa: B905 - Python 3.8 has no `strict`
        if resource.getrlimit(number) != limit:
            resource.setrlimit(number, limit)


def set_handlers(handlers: Any) -> None:
    """Set the signal handlers in HANDLED_SIGNALS. None is a handler that Python did not install."""
    for number, handler in zip(HANDLED_SIGNALS, handlers):  # noqa: B905 - Python 3.8 has no `strict`
        if _signal.getsignal(number) != handler and handler is not None:
            _signal.signal(number, handler)


def temporary_folder() -> Any:
    """Return the value of `tempfile.tempdir`, None if tempfile is not imported, and whether TMPDIR is a folder."""
    try:
        exists = stat.S_ISDIR(os.lstat(TEMPORARY_FOLDER).st_mode)
    except OSError:
        exists = False
    return getattr(sys.modules.get("tempfile"), "tempdir", None), exists


def set_temporary_folder(state: Any) -> None:
    """Set `tempfile.tempdir`, and make the folder again. With None, tempfile finds the folder when it needs it."""
    folder, exists = state
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = folder  # type: ignore[attr-defined]
    if exists and not temporary_folder()[1]:
        with suppress(OSError):  # a file or a link
            os.unlink(TEMPORARY_FOLDER)
        os.mkdir(TEMPORARY_FOLDER, 0o700)


def c_handlers() -> Any:
    """Return the handlers of C_SIGNALS in the C library. A program can set them without Python."""
    return [C_LIBRARY.sigaction(number, None, action) or action[:HANDLER_BYTES] for number, action in C_ACTIONS]


def set_c_handlers(handlers: Any) -> None:
    """Set the handlers of C_SIGNALS, with the flags and the mask of this process."""
    for (number, action), handler in zip(C_ACTIONS, handlers):  # noqa: B905 - Python 3.8 has no `strict`
        C_LIBRARY.sigaction(number, None, action)
        action[:HANDLER_BYTES] = handler
        C_LIBRARY.sigaction(number, action, None)


C_ACTIONS = [(number, ctypes.create_string_buffer(SIGNAL_ACTION_BYTES)) for number in C_SIGNALS]
TEMPORARY_FOLDER = os.environ.get("TMPDIR", "")


def file_mode_mask() -> int:
    """Return the file mode creation mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
