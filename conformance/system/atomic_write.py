"""Atomic file writes that convert OSError to ConformanceError."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from conformance import ConformanceError


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file atomically: the previous content remains until the new content is complete. Raises OSError."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    if path.exists() and not path.is_file():  # a device or a pipe, such as /dev/stdout, must not be replaced by a file
        _write_special(path, data)
        return
    # Replace the target of a symbolic link, not the link.
    path = path.resolve()
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)  # it may be a pipe
        with part.open("xb") as file:
            file.write(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _write_special(path: Path, data: bytes) -> None:
    """Write to a device or a pipe. Raises OSError, also for a pipe that no process reads."""
    descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def write_in_folder(path: Path, content: str | bytes) -> None:
    """Write a file atomically and create its parent folders. Raises ConformanceError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None


def make_folder(folder: Path) -> None:
    """Create a folder and check that it is writable. Raises ConformanceError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        raise ConformanceError(f"{folder}: {error.strerror}") from None


def remove_file(path: Path) -> None:
    """Remove a file if it exists. Raises ConformanceError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
