"""What must happen in each case, and the line that results files have of it, kept on disk for other backends and runs.

A key is a digest of all that is said of the case; a file belongs to one source of the suite, but for its adapters, and
the versions below it, so nothing in it can be out of date. What cannot be read is asked for anew, and what cannot be
written is asked for again the next time.
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
MAX_RESULT_ELEMENTS = 1 << 16
"""Elements of a result beyond which it is not kept: some of its details are made only when they are asked for."""
MAX_EXPECTATION_FILE_BYTES = 256 << 20
"""Bytes of a file, beyond which nothing more is kept."""
MAX_EXPECTATION_FILES = 2
"""Files that are kept: one for each source of the suite and set of versions."""
WRITE_BATCH_BYTES = 4 << 20
"""Bytes that are gathered before they are written."""
EXPECTED_FIELDS = frozenset(one.name for one in fields(Expected))
EXACT_FIELDS = ("value", "high", "low", "terms", "magnitude", "extra", "exact")
CREATE_TABLE = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, expected BLOB)"
"""With row numbers, as a long blob is found three times as fast then."""
LINE_LENGTH = struct.Struct(">I")
"""Of the line, which stands before the rest."""


@contextlib.contextmanager
def open_expectation_cache(path: Path | None = None) -> Iterator[Callable[[Case], Expected]]:
    """Yield what to ask for expectations; what was new is written at the end."""
    known = ExpectationCache(path or cache_folder("conformance-expected") / f"{source_digest(SOURCE_FILES)}.sqlite")
    try:
        yield known.expected
    finally:
        known.save()


@dataclass
class ExpectationCache:
    """The expectations in one file. fresh: those that are not in it yet, of so many bytes."""

    path: Path
    unsaved: dict[str, bytes] = field(default_factory=dict)
    unsaved_bytes: int = 0

    def expected(self, case: Case) -> Expected:
        """Return what must happen in a case, as conformance.expected has it. Raises CatalogueError."""
        found = self.get(case)
        if found is None:
            made = compute_expected(case)
            found = replace(made, record_line=case_record_line(case, made))
            if all(target.exact is None or target.exact.value.size <= MAX_RESULT_ELEMENTS for target in made.targets):
                self.put(case.content_digest, found)
        return found

    def get(self, case: Case) -> Expected | None:
        """Return an expectation, None if it is not known or was damaged."""
        packed = self.unsaved.get(case.content_digest)
        if packed is None and case.content_digest in self._keys:
            with contextlib.suppress(sqlite3.Error):
                row = self._connection.execute(
                    "SELECT expected FROM kept WHERE key = ?", (case.content_digest,)
                ).fetchone()
                packed = row[0] if row else None
        content = cache.unseal(packed) if packed else None
        return LazyExpected(case, content) if content else None

    def put(self, key: str, made: Expected) -> None:
        """Enter an expectation with its line, and write what has gathered."""
        line = made.record_line.encode()
        rest = pickle.dumps(replace(_fully_computed(made), record_line=""), pickle.HIGHEST_PROTOCOL)
        self.unsaved[key] = cache.seal(LINE_LENGTH.pack(len(line)) + line + rest)
        self.unsaved_bytes += len(self.unsaved[key])
        if self.unsaved_bytes > WRITE_BATCH_BYTES:
            self.save()

    def save(self) -> None:
        """Write what is new, while there is room."""
        fresh, self.unsaved, self.unsaved_bytes = self.unsaved, {}, 0
        if not fresh or (self.path.exists() and self.path.stat().st_size > MAX_EXPECTATION_FILE_BYTES):
            return
        with contextlib.suppress(sqlite3.Error, OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path)) as file, file:
                file.execute(CREATE_TABLE)
                file.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", fresh.items())
            remove_old_files(self.path.parent.glob("*.sqlite"), MAX_EXPECTATION_FILES)

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)

    @cached_property
    def _keys(self) -> frozenset[str]:
        with contextlib.suppress(sqlite3.Error):
            return frozenset(key for (key,) in self._connection.execute("SELECT key FROM kept"))
        return frozenset()


class LazyExpected(Expected):
    """A kept expectation: its line, and the rest in a pickle until it is asked for, as no result may need it."""

    def __init__(self, case: Case, content: memoryview) -> None:
        start = LINE_LENGTH.size + LINE_LENGTH.unpack_from(content)[0]
        parts = {"line": str(content[LINE_LENGTH.size : start], "utf-8"), "_case": case, "_pickle": content[start:]}
        vars(self).update(parts)

    def __getattr__(self, name: str) -> Any:
        if name not in EXPECTED_FIELDS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        made: Expected | None = cache.unpickle(self._pickle)
        vars(self).update(vars(made or compute_expected(self._case)), line=self.record_line, _pickle=b"")
        return vars(self)[name]


def _fully_computed(made: Expected) -> Expected:
    """Return an expectation of which nothing is still to be computed."""
    target = None if made.target is None else _computed_target(made.target)
    return replace(made, target=target, answers={name: _computed_target(one) for name, one in made.answers.items()})


def _computed_target(target: Target) -> Target:
    if target.exact is None:
        return target
    parts: dict[str, Any] = {name: getattr(target.exact, name) for name in EXACT_FIELDS}
    return replace(target, exact=Exact(**parts))
