"""Open results files. A pipe or a device in their place could be waited for without end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

NOT_REGULAR = "not a regular file"
"""Reason that an error message contains for a pipe or a device."""


def open_regular(path: Path, mode: str = "rb") -> IO[bytes]:
    """Open a file in binary mode. Raises OSError, also for everything that is not a regular file."""
    # Before the open, which could change the state of a device.
    if path.exists():
        _check(path, path.stat())
    file = open(path, mode, opener=_open_without_waiting)  # noqa: SIM115 - the caller closes it
    try:
        _check(path, os.fstat(file.fileno()))
    except OSError:
        file.close()
        raise
    return file


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)


def _check(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
