"""What has been found sound before, by content: of the case, of the suite's source and of the versions below it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

SOURCE_ROOT = Path(__file__).parents[2]
CHECK_CACHE_FOLDER = "conformance-check"
MAX_CHECK_CACHE_FILES = 8
"""Files that are kept: one for each set of source and versions."""


def cache_folder(name: str = CHECK_CACHE_FOLDER) -> Path:
    """Return where a cache is: in `build` of a checkout, else in the user's folder for caches."""
    if (SOURCE_ROOT / "pyproject.toml").is_file() and (SOURCE_ROOT / "cases").is_dir():
        return SOURCE_ROOT / "build" / name
    usual = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else os.environ.get("XDG_CACHE_HOME")
    return Path(usual or Path.home() / ".cache") / "nn-conformance" / name


@cache
def source_digest(sources: tuple[str, ...] = ("conformance", "reference")) -> str:
    """128 bits over all that a finding depends on beside the case: source files, NumPy, ml_dtypes, Python.

    sources: the folders of Python files, and single ones.
    """
    roots = [SOURCE_ROOT / name for name in sources]
    files = [path for root in roots for path in (sorted(root.rglob("*.py")) if root.is_dir() else [root])]
    state = hashlib.blake2b(f"{np.__version__} {ml_dtypes.__version__} {sys.version}".encode(), digest_size=16)
    for path in files:
        state.update(f"\n{path.relative_to(SOURCE_ROOT).as_posix()}\n".encode() + path.read_bytes())
    return state.hexdigest()


def remove_old_files(paths: Iterable[Path], max_files: int) -> None:
    """Remove files but for the last ones."""
    for path in sorted(paths, key=lambda path: path.stat().st_mtime)[:-max_files]:
        path.unlink(missing_ok=True)


T = TypeVar("T")

MAX_CATALOGUE_FILES = 4
"""Catalogues that are kept: one for each content of its files and of the source."""
MAX_SMALL_FILES = 64
"""Of what else is made of data files: declarations of each backend, and ledgers."""


def cached_catalogue(home: Path, load: Callable[[], T]) -> T:
    """Return the catalogue of a folder as it was kept, or else as `load` returns it, to be kept."""
    return _cached("conformance-catalogue", MAX_CATALOGUE_FILES, sorted(home.rglob("*.*")), load)


def cached_data(files: Iterable[Path], load: Callable[[], T]) -> T:
    """Return what was made of a few files as it was kept, or else as `load` returns it, to be kept."""
    return _cached("conformance-data", MAX_SMALL_FILES, files, load)


def _cached(name: str, most: int, files: Iterable[Path], load: Callable[[], T]) -> T:
    path = cache_folder(name) / f"{_content_key(files)}.pickle"
    kept = read(path)
    if kept is None:
        kept = load()
        write(path, kept, most)
    found: T = kept
    return found


def _content_key(files: Iterable[Path]) -> str:
    """Return 128 bits over all that something is made from."""
    state = hashlib.blake2b(source_digest().encode(), digest_size=16)
    for path in files:
        content = path.read_bytes()
        state.update(f"\n{path} {len(content)}\n".encode() + content)
    return state.hexdigest()


CHECKSUM_BYTES = 4
"""Bytes of the checksum in front."""


def read(path: Path) -> Any:
    """Return what a file keeps, None if there is none or it was damaged."""
    with contextlib.suppress(OSError):
        return unpack(path.read_bytes())
    return None


def write(path: Path, kept: object, files: int) -> None:
    """Keep something in a file, and the last files beside it; what cannot be written is made anew the next time."""
    content = pack(kept)
    part = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
        remove_old_files(path.parent.glob("*.pickle"), files)


def pack(kept: object) -> bytes:
    """Return something as bytes, a checksum in front."""
    return seal(pickle.dumps(kept, pickle.HIGHEST_PROTOCOL))


def unpack(content: bytes) -> Any:
    """Return what was packed, None if it was damaged since. What it is read from is the user's own."""
    inner = unseal(content)
    return None if inner is None else unpickle(inner)


def unpickle(content: bytes | memoryview) -> Any:
    """Return what a pickle holds, None if it cannot be read: whatever is wrong with it, it is made anew."""
    with contextlib.suppress(Exception):
        return pickle.loads(content)  # noqa: S301 - our own file, in the user's own folder
    return None


def seal(content: bytes) -> bytes:
    """Return bytes with a checksum in front."""
    return zlib.crc32(content).to_bytes(CHECKSUM_BYTES, "big") + content


def unseal(content: bytes) -> memoryview | None:
    """Return what was sealed, None if it was damaged since."""
    inner = memoryview(content)[CHECKSUM_BYTES:]
    return inner if content[:CHECKSUM_BYTES] == zlib.crc32(inner).to_bytes(CHECKSUM_BYTES, "big") else None
