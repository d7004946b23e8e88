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
from conformance.execution.records import case_line
from conformance.judging.expected import Expected, Target, expected
from conformance.system import cache
from conformance.system.cache import environment, folder, forget
from reference import Exact

SOURCES = (
    "reference",
    *(
        f"conformance/{name}"
        for name in ("__init__.py", "system", "cases", "judging", "translation", "catalogue", "execution")
    ),
)
LARGEST = 1 << 16
"""Elements of a result beyond which it is not kept: some of its details are made only when they are asked for."""
LIMIT = 256 << 20
"""Bytes of a file, beyond which nothing more is kept."""
FILES = 2
"""Files that are kept: one for each source of the suite and set of versions."""
AT_ONCE = 4 << 20
"""Bytes that are gathered before they are written."""
FIELDS = frozenset(one.name for one in fields(Expected))
PARTS = ("value", "high", "low", "terms", "magnitude", "extra", "exact")
TABLE = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, expected BLOB)"
"""With row numbers, as a long blob is found three times as fast then."""
LENGTH = struct.Struct(">I")
"""Of the line, which stands before the rest."""


@contextlib.contextmanager
def kept(path: Path | None = None) -> Iterator[Callable[[Case], Expected]]:
    """Yield what to ask for expectations; what was new is written at the end."""
    known = Kept(path or folder("conformance-expected") / f"{environment(SOURCES)}.sqlite")
    try:
        yield known.expected
    finally:
        known.save()


@dataclass
class Kept:
    """The expectations in one file. fresh: those that are not in it yet, of so many bytes."""

    path: Path
    fresh: dict[str, bytes] = field(default_factory=dict)
    gathered: int = 0

    def expected(self, case: Case) -> Expected:
        """Return what must happen in a case, as conformance.expected has it. Raises CatalogueError."""
        found = self.get(case)
        if found is None:
            made = expected(case)
            found = replace(made, line=case_line(case, made))
            if all(target.exact is None or target.exact.value.size <= LARGEST for target in made.targets):
                self.put(case.key, found)
        return found

    def get(self, case: Case) -> Expected | None:
        """Return an expectation, None if it is not known or was damaged."""
        packed = self.fresh.get(case.key)
        if packed is None and case.key in self._keys:
            with contextlib.suppress(sqlite3.Error):
                row = self._file.execute("SELECT expected FROM kept WHERE key = ?", (case.key,)).fetchone()
                packed = row[0] if row else None
        content = cache.unseal(packed) if packed else None
        return Packed(case, content) if content else None

    def put(self, key: str, made: Expected) -> None:
        """Enter an expectation with its line, and write what has gathered."""
        line = made.line.encode()
        rest = pickle.dumps(replace(_whole(made), line=""), pickle.HIGHEST_PROTOCOL)
        self.fresh[key] = cache.seal(LENGTH.pack(len(line)) + line + rest)
        self.gathered += len(self.fresh[key])
        if self.gathered > AT_ONCE:
            self.save()

    def save(self) -> None:
        """Write what is new, while there is room."""
        fresh, self.fresh, self.gathered = self.fresh, {}, 0
        if not fresh or (self.path.exists() and self.path.stat().st_size > LIMIT):
            return
        with contextlib.suppress(sqlite3.Error, OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path)) as file, file:
                file.execute(TABLE)
                file.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", fresh.items())
            forget(self.path.parent.glob("*.sqlite"), FILES)

    @cached_property
    def _file(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)

    @cached_property
    def _keys(self) -> frozenset[str]:
        with contextlib.suppress(sqlite3.Error):
            return frozenset(key for (key,) in self._file.execute("SELECT key FROM kept"))
        return frozenset()


class Packed(Expected):
    """A kept expectation: its line, and the rest in a pickle until it is asked for, as no result may need it."""

    def __init__(self, case: Case, content: memoryview) -> None:
        start = LENGTH.size + LENGTH.unpack_from(content)[0]
        parts = {"line": str(content[LENGTH.size : start], "utf-8"), "_case": case, "_pickle": content[start:]}
        vars(self).update(parts)

    def __getattr__(self, name: str) -> Any:
        if name not in FIELDS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        made: Expected | None = cache.unpickle(self._pickle)
        vars(self).update(vars(made or expected(self._case)), line=self.line, _pickle=b"")
        return vars(self)[name]


def _whole(made: Expected) -> Expected:
    """Return an expectation of which nothing is still to be computed."""
    target = None if made.target is None else _settled(made.target)
    return replace(made, target=target, answers={name: _settled(one) for name, one in made.answers.items()})


def _settled(target: Target) -> Target:
    if target.exact is None:
        return target
    parts: dict[str, Any] = {name: getattr(target.exact, name) for name in PARTS}
    return replace(target, exact=Exact(**parts))
