"""What took long to make, kept in the folder of caches as Python keeps its compiled modules."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

from conformance.cache import forget

SUM = 16
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
    content = pickle.dumps(kept, pickle.HIGHEST_PROTOCOL)
    return _sum(content) + content


def unpacked(content: bytes) -> Any:
    """Return what was packed, None if it was damaged since. What it is read from is the user's own."""
    with contextlib.suppress(Exception):  # whatever is wrong with it, it is made anew
        if _sum(content[SUM:]) == content[:SUM]:
            return pickle.loads(content[SUM:])  # noqa: S301 - our own file, in the user's own folder
    return None


def _sum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=SUM).digest()
