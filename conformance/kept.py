"""What must happen in each case, and the line that results files have of it, kept on disk for other backends and runs.

A key is a digest of all that is said of the case; a file belongs to one source of the suite, but for its adapters, and
the versions below it, so nothing in it can be out of date. What cannot be read is asked for anew, and what cannot be
written is asked for again the next time.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance import pickles
from conformance.cache import environment, folder, forget
from conformance.case_line import case_line
from conformance.cases import Case
from conformance.expected import Expected, Target, expected
from reference import Exact

SOURCES = ("reference", *sorted(f"conformance/{path.name}" for path in Path(__file__).parent.glob("*.py")))
LARGEST = 1 << 16
"""Elements of a result beyond which it is not kept: some of its details are made only when they are asked for."""
LIMIT = 256 << 20
"""Bytes of a file, beyond which nothing more is kept."""
FILES = 2
"""Files that are kept: one for each source of the suite and set of versions."""
AT_ONCE = 4 << 20
"""Bytes that are gathered before they are written."""
PARTS = ("value", "high", "low", "terms", "magnitude", "extra", "exact")
TABLE = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, expected BLOB) WITHOUT ROWID"


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
        found = self.get(case.key)
        if found is None:
            made = expected(case)
            found = replace(made, line=case_line(case, made))
            if all(target.exact is None or target.exact.value.size <= LARGEST for target in made.targets):
                self.put(case.key, found)
        return found

    def get(self, key: str) -> Expected | None:
        """Return an expectation, None if it is not known or was damaged."""
        packed = self.fresh.get(key)
        if packed is None and key in self._keys:
            with contextlib.suppress(sqlite3.Error):
                row = self._file.execute("SELECT expected FROM kept WHERE key = ?", (key,)).fetchone()
                packed = row[0] if row else None
        found: Expected | None = pickles.unpacked(packed) if packed else None
        return found

    def put(self, key: str, made: Expected) -> None:
        """Enter an expectation, and write what has gathered."""
        self.fresh[key] = pickles.packed(_whole(made))
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


def _whole(made: Expected) -> Expected:
    """Return an expectation of which nothing is still to be computed."""
    target = None if made.target is None else _settled(made.target)
    return replace(made, target=target, answers={name: _settled(one) for name, one in made.answers.items()})


def _settled(target: Target) -> Target:
    if target.exact is None:
        return target
    parts: dict[str, Any] = {name: getattr(target.exact, name) for name in PARTS}
    return replace(target, exact=Exact(**parts))
