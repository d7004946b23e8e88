"""Files that are written whole or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path

from conformance import ConformanceError


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all: what was there stays until there was room for the new one. Raises OSError."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    if path.exists() and not path.is_file():  # a device or a pipe takes no other's place
        path.write_bytes(data)
        return
    path = path.resolve()
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_in_folder(path: Path, content: str | bytes) -> None:
    """Write a file as `put` does, and the folders that it needs. Raises ConformanceError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None


def make_folder(folder: Path) -> None:
    """Make a folder, and see that files can be written into it. Raises ConformanceError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        raise ConformanceError(f"{folder}: {error.strerror}") from None


def remove_file(path: Path) -> None:
    """Remove a file, if it is there. Raises ConformanceError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
