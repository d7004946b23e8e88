"""One on-disk cache for values that take long to compute, with the digests that its keys are made of.

A cache file contains data only (see data_format.py), and each value has a signature of the user (see signing.py). A
value that is damaged or not signed by this user is computed again. A cache folder that is a link, belongs to another
user or can be written by other users is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

from conformance.system.data_format import Classes, decode_object, encode_object
from conformance.system.signing import OTHERS_CAN_WRITE, SIGNATURE_BYTES, is_own, signature

SOURCE_ROOT = Path(__file__).parents[2]
MAX_CACHE_FILE_BYTES = 256 << 20
"""Size of a cache file in bytes at which it gets no more entries."""
WRITE_BATCH_BYTES = 4 << 20
"""Bytes of new entries that are written in one batch."""
TABLE = "entries (key TEXT PRIMARY KEY, value BLOB)"
"""A table with row ids. Without them the lookup of a long value takes three times as long."""
SCHEMA = {("entries", f"CREATE TABLE {TABLE}"), ("sqlite_autoindex_entries_1", None)}
"""Names and definitions in a cache file. A view or a trigger in a foreign file could run without end."""


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
        return self._unseal(key, value) if value else None

    def put(self, key: str, value: bytes) -> None:
        """Add or replace a value."""
        self._unsaved[key] = signature(value, self._label(key)) + value
        self._unsaved_bytes += len(value)
        if self._unsaved_bytes > WRITE_BATCH_BYTES:
            self.save()

    def get_object(self, key: str, classes: Classes) -> Any:
        """Return the object that `put_object` stored for a key, or None. classes: those that it may contain."""
        content = self.get(key)
        with contextlib.suppress(ValueError):  # a file of this user that another version of the suite has written
            return None if content is None else decode_object(content, classes)
        return None

    def put_object(self, key: str, value: object, classes: Classes) -> None:
        """Add or replace an object. None cannot be stored. Raises TypeError for a class that is not listed."""
        self.put(key, encode_object(value, classes))

    def _label(self, key: str) -> str:
        return f"{self.path.parent.name}/{self.path.name}/{key}"

    def _unseal(self, key: str, value: bytes) -> memoryview | None:
        """Return the value behind the signature; None if the signature is not that of this user."""
        content = memoryview(value)[SIGNATURE_BYTES:]
        expected = signature(content, self._label(key))
        return content if hmac.compare_digest(expected, value[:SIGNATURE_BYTES]) else None

    def save(self) -> None:
        """Write the new values to the file unless it is full."""
        entries, self._unsaved, self._unsaved_bytes = self._unsaved, {}, 0
        if not entries:
            return
        self._close_reader()  # it does not expect the file to change
        with contextlib.suppress(sqlite3.Error, OSError):  # such as a full or read-only disk
            try:
                self._write(entries)
            except sqlite3.OperationalError:  # locked by another process or not writable, but not damaged
                raise
            except sqlite3.DatabaseError:
                self.path.unlink()
                self._write(entries)

    def _read(self, key: str) -> bytes | None:
        if self._reader is None:
            # A missing file must not be created, and opening it would cost more than this check.
            if not self.path.exists() or not self._is_safe():
                return None
            # Without locks, 6,000 values took 0.07 s instead of 0.13 s. A value that another process changes at the
            # same time can be read in part, and its signature is then invalid.
            reader = sqlite3.connect(f"{self.path.absolute().as_uri()}?immutable=1", uri=True)
            with _close_on_error(reader):
                _check_schema(reader)
            self._reader = reader
        row = self._reader.execute("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def _write(self, entries: dict[str, bytes]) -> None:
        """Write entries in one transaction, so that a crash leaves all or none of them. Raises sqlite3.Error."""
        if self.path.exists() and self.path.stat().st_size > MAX_CACHE_FILE_BYTES:
            return
        self.path.parent.parent.mkdir(parents=True, exist_ok=True)
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        if not self._is_safe():
            return
        with contextlib.closing(sqlite3.connect(self.path)) as file, file:
            file.execute(f"CREATE TABLE IF NOT EXISTS {TABLE}")
            _check_schema(file)
            file.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", entries.items())
        self._remove_old_files()

    def _is_safe(self) -> bool:
        """Whether the folder and the file belong to this user and are no links. Prints a line for another folder."""
        problem = folder_problem(self.path.parent)
        if not problem and (special := next(filter(_is_special, self._files()), None)):
            problem = f"{special.name} is not a regular file"
        if problem:
            warn_once(f"the cache {self.path.parent} is not used: {problem}")
        return not problem and not self.path.is_symlink()

    def _files(self) -> Iterator[Path]:
        """Yield the file and those that SQLite opens with it. Opening a pipe would wait without end."""
        return (self.path.with_name(self.path.name + end) for end in ("", "-journal", "-wal"))

    def _remove_old_files(self) -> None:
        # The journal of another process must remain: without it, SQLite cannot undo an interrupted write.
        files = [path for path in self.path.parent.iterdir() if not path.name.endswith("-journal")]
        for path in sorted(files, key=lambda path: path.stat().st_mtime)[: -self.max_files]:
            path.unlink(missing_ok=True)

    def _close_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


def _check_schema(file: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError for a database that is not a cache file."""
    if {*file.execute("SELECT name, sql FROM sqlite_master").fetchmany(len(SCHEMA) + 1)} != SCHEMA:
        raise sqlite3.DatabaseError("not a cache file")


@contextlib.contextmanager
def _close_on_error(file: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        file.close()
        raise


def _is_special(path: Path) -> bool:
    """Whether a path is a pipe or a device. SQLite does not follow links to its other files."""
    return path.exists() and not path.is_file()


def folder_problem(folder: Path) -> str:
    """Return why a folder must not contain a cache, "" if it may."""
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode):
        return "it is a symbolic link"
    return "" if is_own(status, OTHERS_CAN_WRITE) else "another user owns it or can write into it"


@cache
def warn_once(message: str) -> None:
    """Print a line to standard error, once per process."""
    print(f"conformance: {message}", file=sys.stderr)


CachedValue = TypeVar("CachedValue")

MAX_CATALOGUE_FILES = 4
"""Maximum number of cached catalogues; there is one per content of the YAML files and of the source."""
MAX_SMALL_FILES = 64
"""Maximum number of other cached objects: parsed declarations of each backend, and parsed ledgers."""
OBJECT_KEY = "object"
"""Key of the single object in a file."""


def cached_catalogue(home: Path, load: Callable[[], CachedValue], classes: Classes) -> CachedValue:
    """Return the cached catalogue of a folder; on a miss, call `load` and cache its result."""
    files = Cache.of_version("conformance-catalogue", _content_key(sorted(home.rglob("*.*"))), MAX_CATALOGUE_FILES)
    return _cached_object(files, load, classes)


def cached_data(files: Iterable[Path], load: Callable[[], CachedValue], classes: Classes) -> CachedValue:
    """Return the cached object made from these files; on a miss, call `load` and cache its result."""
    return _cached_object(Cache.of_version("conformance-data", _content_key(files), MAX_SMALL_FILES), load, classes)


def _cached_object(file: Cache, load: Callable[[], CachedValue], classes: Classes) -> CachedValue:
    with file:
        value: CachedValue | None = file.get_object(OBJECT_KEY, classes)
        if value is None:
            value = load()
            file.put_object(OBJECT_KEY, value, classes)
    return value


def _content_key(files: Iterable[Path]) -> str:
    """Return a 128-bit digest of the source and of the paths and contents of the files."""
    state = hashlib.blake2b(source_digest().encode(), digest_size=16)
    for path in files:
        # The reader of a pipe or a device reports an error.
        content = b"" if path.exists() and not path.is_file() else path.read_bytes()
        state.update(f"\n{path} {len(content)}\n".encode() + content)
    return state.hexdigest()
