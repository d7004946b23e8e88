"""On-disk caches of pickled objects, keyed by the content of data files, the source and the installed versions."""

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
"""Maximum number of cache files of `conformance check`; there is one per digest of source and versions."""


def cache_folder(name: str = CHECK_CACHE_FOLDER) -> Path:
    """Return the folder of a cache: `build/<name>` in a checkout, otherwise a folder in the user's cache directory."""
    if (SOURCE_ROOT / "pyproject.toml").is_file() and (SOURCE_ROOT / "cases").is_dir():
        return SOURCE_ROOT / "build" / name
    user_cache = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else os.environ.get("XDG_CACHE_HOME")
    return Path(user_cache or Path.home() / ".cache") / "nn-conformance" / name


@cache
def source_digest(sources: tuple[str, ...] = ("conformance", "reference")) -> str:
    """Return a 128-bit digest of source files and of the versions of NumPy, ml_dtypes and Python.

    sources: folders, searched recursively for Python files, and single files; paths relative to the repository.
    """
    roots = [SOURCE_ROOT / name for name in sources]
    files = [path for root in roots for path in (sorted(root.rglob("*.py")) if root.is_dir() else [root])]
    state = hashlib.blake2b(f"{np.__version__} {ml_dtypes.__version__} {sys.version}".encode(), digest_size=16)
    for path in files:
        state.update(f"\n{path.relative_to(SOURCE_ROOT).as_posix()}\n".encode() + path.read_bytes())
    return state.hexdigest()


def remove_old_files(paths: Iterable[Path], max_files: int) -> None:
    """Remove all but the `max_files` most recently modified files."""
    for path in sorted(paths, key=lambda path: path.stat().st_mtime)[:-max_files]:
        path.unlink(missing_ok=True)


T = TypeVar("T")

MAX_CATALOGUE_FILES = 4
"""Maximum number of cached catalogues; there is one per content of the YAML files and of the source."""
MAX_SMALL_FILES = 64
"""Maximum number of other cached objects: parsed declarations of each backend, and parsed ledgers."""


def cached_catalogue(home: Path, load: Callable[[], T]) -> T:
    """Return the cached catalogue of a folder; on a miss, call `load` and cache its result."""
    return _cached("conformance-catalogue", MAX_CATALOGUE_FILES, sorted(home.rglob("*.*")), load)


def cached_data(files: Iterable[Path], load: Callable[[], T]) -> T:
    """Return the cached object made from these files; on a miss, call `load` and cache its result."""
    return _cached("conformance-data", MAX_SMALL_FILES, files, load)


def _cached(name: str, max_files: int, files: Iterable[Path], load: Callable[[], T]) -> T:
    path = cache_folder(name) / f"{_content_key(files)}.pickle"
    cached = read(path)
    if cached is None:
        cached = load()
        write(path, cached, max_files)
    value: T = cached
    return value


def _content_key(files: Iterable[Path]) -> str:
    """Return a 128-bit digest of the source and of the paths and contents of the files."""
    state = hashlib.blake2b(source_digest().encode(), digest_size=16)
    for path in files:
        content = path.read_bytes()
        state.update(f"\n{path} {len(content)}\n".encode() + content)
    return state.hexdigest()


CHECKSUM_BYTES = 4
"""Number of bytes of the CRC-32 checksum at the start of packed data."""


def read(path: Path) -> Any:
    """Return the object in a cache file; None if the file is missing or damaged."""
    with contextlib.suppress(OSError):
        return unpack(path.read_bytes())
    return None


def write(path: Path, value: object, max_files: int) -> None:
    """Write an object to a cache file and remove all but the newest `max_files` files of its folder.

    Errors are ignored: the object is computed again the next time.
    """
    content = pack(value)
    part = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
        remove_old_files(path.parent.glob("*.pickle"), max_files)


def pack(value: object) -> bytes:
    """Return a pickled object with a checksum in front."""
    return seal(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))


def unpack(content: bytes) -> Any:
    """Return the object in packed bytes, None if they are damaged. Use only on the user's own files."""
    inner = unseal(content)
    return None if inner is None else unpickle(inner)


def unpickle(content: bytes | memoryview) -> Any:
    """Return the object in a pickle; None if unpickling fails, so that the caller computes the object again."""
    with contextlib.suppress(Exception):  # unpickling can raise any exception, for example after a class was renamed
        return pickle.loads(content)  # noqa: S301 - our own file, in the user's own folder
    return None


def seal(content: bytes) -> bytes:
    """Return bytes with a checksum in front."""
    return zlib.crc32(content).to_bytes(CHECKSUM_BYTES, "big") + content


def unseal(content: bytes) -> memoryview | None:
    """Return the content behind the checksum; None if the checksum does not match."""
    inner = memoryview(content)[CHECKSUM_BYTES:]
    return inner if content[:CHECKSUM_BYTES] == zlib.crc32(inner).to_bytes(CHECKSUM_BYTES, "big") else None
