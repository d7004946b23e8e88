"""What took long to make, kept in the folder of caches as Python keeps its compiled modules."""

from __future__ import annotations

import contextlib
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

from conformance.cache import forget

SUM = 4
"""Bytes of the checksum in front."""


def get(path: Path) -> Any:
    """Return what a file keeps, None if there is none or it was damaged."""
    with contextlib.suppress(OSError):
        return unpacked(path.read_bytes())
    return None


def put(path: Path, kept: object, files: int) -> None:
    """Keep something in a file, and the last files beside it; what cannot be written is made anew the next time."""
    content = packed(kept)
    part = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
        forget(path.parent.glob("*.pickle"), files)


def packed(kept: object) -> bytes:
    """Return something as bytes, a checksum in front."""
    return sealed(pickle.dumps(kept, pickle.HIGHEST_PROTOCOL))


def unpacked(content: bytes) -> Any:
    """Return what was packed, None if it was damaged since. What it is read from is the user's own."""
    inner = opened(content)
    return None if inner is None else loaded(inner)


def loaded(content: bytes | memoryview) -> Any:
    """Return what a pickle holds, None if it cannot be read: whatever is wrong with it, it is made anew."""
    with contextlib.suppress(Exception):
        return pickle.loads(content)  # noqa: S301 - our own file, in the user's own folder
    return None


def sealed(content: bytes) -> bytes:
    """Return bytes with a checksum in front."""
    return zlib.crc32(content).to_bytes(SUM, "big") + content


def opened(content: bytes) -> memoryview | None:
    """Return what was sealed, None if it was damaged since."""
    inner = memoryview(content)[SUM:]
    return inner if content[:SUM] == zlib.crc32(inner).to_bytes(SUM, "big") else None
