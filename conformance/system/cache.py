"""One on-disk cache for values that take long to compute, with the digests that its keys are made of.

All cache files are in the user's own folders, next to the source of the checkout or in the user's cache directory.
A user who can write them can also change the source, so unpickling them adds no risk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

SOURCE_ROOT = Path(__file__).parents[2]
MAX_CACHE_FILE_BYTES = 256 << 20
"""Size of a cache file in bytes at which it gets no more entries."""
WRITE_BATCH_BYTES = 4 << 20
"""Bytes of new entries that are written in one batch."""
CREATE_TABLE = "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value BLOB)"
"""A table with row ids. Without them the lookup of a long value takes three times as long."""
CHECKSUM_BYTES = 4
"""Number of bytes of the CRC-32 checksum at the start of a stored value. SQLite has no checksums."""


def cache_folder(name: str) -> Path:
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


class Cache:
    """Values by key in one SQLite file. The name of the file is a digest of everything that the values depend on.

    A cache never fails: a value that is missing, damaged or locked by another process is None, and values that cannot
    be written are dropped. New values are written in batches and when the `with` block ends.
    max_files: number of files in the folder, the newest ones, that remain after a write.
    """

    def __init__(self, path: Path, max_files: int) -> None:
        self.path = path
        self.max_files = max_files
        self._reader: sqlite3.Connection | None = None
        self._unsaved: dict[str, bytes] = {}
        self._unsaved_bytes = 0

    @classmethod
    def of_version(cls, name: str, version: str, max_files: int) -> Cache:
        """Return the cache of this name for one version, such as a digest of the source."""
        return cls(cache_folder(name) / f"{version}.sqlite", max_files)

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_error: object) -> None:
        self.save()
        self._close_reader()

    def get(self, key: str) -> memoryview | None:
        """Return the value of a key; None if it is missing or damaged."""
        value = self._unsaved.get(key)
        if value is None:
            with contextlib.suppress(sqlite3.Error):
                value = self._read(key)
        return unseal(value) if value else None

    def put(self, key: str, value: bytes) -> None:
        """Add or replace a value."""
        self._unsaved[key] = seal(value)
        self._unsaved_bytes += len(value)
        if self._unsaved_bytes > WRITE_BATCH_BYTES:
            self.save()

    def get_object(self, key: str) -> Any:
        """Return the object that `put_object` stored for a key, or None."""
        content = self.get(key)
        return None if content is None else unpickle(content)

    def put_object(self, key: str, value: object) -> None:
        """Add or replace an object, pickled. None cannot be stored."""
        self.put(key, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))

    def save(self) -> None:
        """Write the new values to the file unless it is full."""
        entries, self._unsaved, self._unsaved_bytes = self._unsaved, {}, 0
        if not entries:
            return
        with contextlib.suppress(sqlite3.Error, OSError):  # such as a full or read-only disk
            try:
                self._write(entries)
            except sqlite3.OperationalError:  # locked by another process or not writable, but not damaged
                raise
            except sqlite3.DatabaseError:
                self._close_reader()
                self.path.unlink()
                self._write(entries)

    def _read(self, key: str) -> bytes | None:
        if self._reader is None:
            # A missing file must not be created, and opening it would cost more than this check.
            if not self.path.exists():
                return None
            self._reader = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)
        row = self._reader.execute("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def _write(self, entries: dict[str, bytes]) -> None:
        """Write entries in one transaction, so that a crash leaves all or none of them. Raises sqlite3.Error."""
        if self.path.exists() and self.path.stat().st_size > MAX_CACHE_FILE_BYTES:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(sqlite3.connect(self.path)) as file, file:
            file.execute(CREATE_TABLE)
            file.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", entries.items())
        self._remove_old_files()

    def _remove_old_files(self) -> None:
        # The journal of another process must remain: without it, SQLite cannot undo an interrupted write.
        files = [path for path in self.path.parent.iterdir() if not path.name.endswith("-journal")]
        for path in sorted(files, key=lambda path: path.stat().st_mtime)[: -self.max_files]:
            path.unlink(missing_ok=True)

    def _close_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


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


CachedValue = TypeVar("CachedValue")

MAX_CATALOGUE_FILES = 4
"""Maximum number of cached catalogues; there is one per content of the YAML files and of the source."""
MAX_SMALL_FILES = 64
"""Maximum number of other cached objects: parsed declarations of each backend, and parsed ledgers."""
OBJECT_KEY = "object"
"""Key of the single object in a file."""


def cached_catalogue(home: Path, load: Callable[[], CachedValue]) -> CachedValue:
    """Return the cached catalogue of a folder; on a miss, call `load` and cache its result."""
    return _cached_object("conformance-catalogue", MAX_CATALOGUE_FILES, sorted(home.rglob("*.*")), load)


def cached_data(files: Iterable[Path], load: Callable[[], CachedValue]) -> CachedValue:
    """Return the cached object made from these files; on a miss, call `load` and cache its result."""
    return _cached_object("conformance-data", MAX_SMALL_FILES, files, load)


def _cached_object(name: str, max_files: int, files: Iterable[Path], load: Callable[[], CachedValue]) -> CachedValue:
    with Cache.of_version(name, _content_key(files), max_files) as objects:
        value: CachedValue | None = objects.get_object(OBJECT_KEY)
        if value is None:
            value = load()
            objects.put_object(OBJECT_KEY, value)
    return value


def _content_key(files: Iterable[Path]) -> str:
    """Return a 128-bit digest of the source and of the paths and contents of the files."""
    state = hashlib.blake2b(source_digest().encode(), digest_size=16)
    for path in files:
        content = path.read_bytes()
        state.update(f"\n{path} {len(content)}\n".encode() + content)
    return state.hexdigest()
