"""On-disk cache of expected results and case records, shared between backends and runs.

A key is the digest of the content of a case. A cache file belongs to one state of the suite's source, without its
adapters, and to the versions of its dependencies, so its entries cannot be outdated. Entries that cannot be read are
computed again. Entries that cannot be written are dropped.
"""

from __future__ import annotations

import contextlib
import pickle
import sqlite3
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance.cases.case import Case
from conformance.execution.records import case_record_line
from conformance.judging.expected import Expected, Target, compute_expected
from conformance.system import cache
from conformance.system.cache import cache_folder, remove_old_files, source_digest
from reference import Exact

SOURCE_FILES = (
    "reference",
    *(
        f"conformance/{name}"
        for name in ("__init__.py", "system", "cases", "judging", "translation", "catalogue", "execution")
    ),
)
"""Source that the expected results depend on: everything except adapters, exploration and user interfaces."""
MAX_RESULT_ELEMENTS = 1 << 16
"""Maximum number of elements of a cached result. Caching computes lazy details of a result, slow for large ones."""
MAX_EXPECTATION_FILE_BYTES = 256 << 20
"""Size of a cache file in bytes at which it gets no more entries."""
MAX_EXPECTATION_FILES = 2
"""Maximum number of cache files. Each is for one state of the source and one set of versions."""
WRITE_BATCH_BYTES = 4 << 20
"""Bytes of new entries that are written in one batch."""
EXPECTED_FIELDS = frozenset(one.name for one in fields(Expected))
EXACT_FIELDS = ("value", "high", "low", "terms", "magnitude", "extra", "exact")
CREATE_TABLE = "CREATE TABLE IF NOT EXISTS expectations (key TEXT PRIMARY KEY, expected BLOB)"
"""A table with row ids. Without them the lookup of a long blob takes three times as long."""
LINE_LENGTH = struct.Struct(">I")
"""Length of the case record in bytes. It precedes the record and the pickle in an entry."""


@contextlib.contextmanager
def open_expectation_cache(path: Path | None = None) -> Iterator[Callable[[Case], Expected]]:
    """Yield a cached `compute_expected`. New entries are saved at the end."""
    expectations = ExpectationCache(
        path or cache_folder("conformance-expected") / f"{source_digest(SOURCE_FILES)}.sqlite"
    )
    try:
        yield expectations.expected
    finally:
        expectations.save()


@dataclass
class ExpectationCache:
    """Expected results in one SQLite file. unsaved: new entries that are not in the file yet, by key."""

    path: Path
    unsaved: dict[str, bytes] = field(default_factory=dict)
    unsaved_bytes: int = 0

    def expected(self, case: Case) -> Expected:
        """Return the expected result of a case, from the cache or from compute_expected. Raises CatalogueError."""
        expected = self.get(case)
        if expected is None:
            computed = compute_expected(case)
            expected = replace(computed, record_line=case_record_line(case, computed))
            exacts = [target.exact for target in computed.targets if target.exact is not None]
            if all(exact.value.size <= MAX_RESULT_ELEMENTS for exact in exacts):
                self.put(case.content_digest, expected)
        return expected

    def get(self, case: Case) -> Expected | None:
        """Return a cached expected result, None if it is missing or damaged."""
        packed = self.unsaved.get(case.content_digest)
        if packed is None and case.content_digest in self._keys:
            with contextlib.suppress(sqlite3.Error):
                row = self._connection.execute(
                    "SELECT expected FROM expectations WHERE key = ?", (case.content_digest,)
                ).fetchone()
                packed = row[0] if row else None
        content = cache.unseal(packed) if packed else None
        return LazyExpected(case, content) if content else None

    def put(self, key: str, expected: Expected) -> None:
        """Add an expected result with its case record. Save a full batch."""
        line = expected.record_line.encode()
        rest = pickle.dumps(replace(_fully_computed(expected), record_line=""), pickle.HIGHEST_PROTOCOL)
        self.unsaved[key] = cache.seal(LINE_LENGTH.pack(len(line)) + line + rest)
        self.unsaved_bytes += len(self.unsaved[key])
        if self.unsaved_bytes > WRITE_BATCH_BYTES:
            self.save()

    def save(self) -> None:
        """Write the new entries to the file unless it is full."""
        entries, self.unsaved, self.unsaved_bytes = self.unsaved, {}, 0
        if not entries or (self.path.exists() and self.path.stat().st_size > MAX_EXPECTATION_FILE_BYTES):
            return
        with contextlib.suppress(sqlite3.Error, OSError):  # a cache that cannot be written must not fail the run
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path)) as file, file:
                file.execute(CREATE_TABLE)
                file.executemany("INSERT OR REPLACE INTO expectations VALUES (?, ?)", entries.items())
            remove_old_files(self.path.parent.glob("*.sqlite"), MAX_EXPECTATION_FILES)

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)

    @cached_property
    def _keys(self) -> frozenset[str]:
        with contextlib.suppress(sqlite3.Error):
            return frozenset(key for (key,) in self._connection.execute("SELECT key FROM expectations"))
        return frozenset()


class LazyExpected(Expected):
    """Cached expected result: the case record, and the other fields in a pickle that is loaded on first access.

    Unsupported results need only the case record.
    """

    def __init__(self, case: Case, content: memoryview) -> None:
        start = LINE_LENGTH.size + LINE_LENGTH.unpack_from(content)[0]
        line = str(content[LINE_LENGTH.size : start], "utf-8")
        vars(self).update(record_line=line, _case=case, _pickle=content[start:])  # the dataclass is frozen

    def __getattr__(self, name: str) -> Any:
        if name not in EXPECTED_FIELDS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        loaded: Expected | None = cache.unpickle(self._pickle)
        loaded_fields = vars(loaded or compute_expected(self._case))
        vars(self).update({**loaded_fields, "record_line": self.record_line, "_pickle": b""})
        return vars(self)[name]


def _fully_computed(expected: Expected) -> Expected:
    """Return an expected result whose lazy details have been computed."""
    target = None if expected.target is None else _computed_target(expected.target)
    answers = {name: _computed_target(answer) for name, answer in expected.answers.items()}
    return replace(expected, target=target, answers=answers)


def _computed_target(target: Target) -> Target:
    if target.exact is None:
        return target
    details: dict[str, Any] = {name: getattr(target.exact, name) for name in EXACT_FIELDS}
    return replace(target, exact=Exact(**details))
