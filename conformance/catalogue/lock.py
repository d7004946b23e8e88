"""The lock: digests of every case of a catalogue at its last freeze, and the version of the last release.

Format 2 has one line per record. A case is `<digest> <parameters> <inputs> <output>`: a 128-bit digest of inputs and
expected output as in format 1, then a 64-bit digest of each part, so that the changed part can be reported. An
exhaustive sweep is one record, `<rows> <ids> <digest>`. `unreleased` contains the records of the last release for all
names added, removed or changed since; an empty record means that the name was not in it. Format 1 was a mapping of ids
to digests; it is read as a lock without parts and without a release.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance import CatalogueError

LOCK_FILE = "lock.json"
LOCK_FORMAT = 2
"""Version of the format that is written."""
SWEEP_SUFFIX = "/*"
"""Suffix of the name of a sweep, to distinguish it from ids of cases."""


@dataclass(frozen=True)
class FrozenCase:
    """The record of a case. The parts are "" in a lock of format 1."""

    digest: str
    parameters: str = ""
    inputs: str = ""
    output: str = ""

    @property
    def text(self) -> str:
        """The record as a line of the lock."""
        return " ".join(filter(None, vars(self).values()))

    def changes(self, now: FrozenCase | FrozenSweep) -> str:
        """Return a description of the changed parts, "" if there are none."""
        if not isinstance(now, FrozenCase):
            return "its kind"
        if not (self.parameters and now.parameters):
            return "its inputs or its expected output" if self.digest != now.digest else ""
        words = {"parameters": "its parameters", "inputs": "its inputs", "output": "its expected output"}
        parts = [words[name] for name in words if getattr(self, name) != getattr(now, name)]
        if not parts and self.digest != now.digest:
            return "its digest"
        return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


@dataclass(frozen=True)
class FrozenSweep:
    """The record of an exhaustive sweep: the number of rows, a digest of their ids, and one of their records."""

    rows: int
    ids: str
    digest: str

    @property
    def text(self) -> str:
        """The record as a line of the lock."""
        return " ".join(map(str, vars(self).values()))

    def changes(self, now: FrozenCase | FrozenSweep) -> str:
        """Return a description of the changes, "" if there are none."""
        if not isinstance(now, FrozenSweep):
            return "its kind"
        if self.rows != now.rows:
            return f"its number of rows (from {self.rows} to {now.rows})"
        if self.ids != now.ids:
            return "the ids of its rows"
        return "the inputs or the expected outputs of its rows" if self.digest != now.digest else ""


LockRecord = FrozenCase | FrozenSweep
LockRecords = Mapping[str, LockRecord]


@dataclass(frozen=True)
class Lock:
    """All records by name, the last version of the catalogue, and its records of the names changed since."""

    records: LockRecords = field(default_factory=dict)
    version: str = ""
    unreleased: Mapping[str, LockRecord | None] = field(default_factory=dict)

    @property
    def released(self) -> LockRecords:
        """The records of the last release; empty before the first."""
        if not self.version:
            return {}
        merged = {**self.records, **self.unreleased}
        return {name: record for name, record in merged.items() if record is not None}

    @property
    def label(self) -> str:
        """The version of the catalogue as text, marked if there are unreleased changes."""
        if not self.version:
            return "unreleased"
        return f"{self.version}+unreleased" if self.unreleased else self.version

    def with_records(self, records: LockRecords) -> Lock:
        """Return a lock with other records that retains the records of the last release."""
        before = self.released
        # Before the first release there is no record to retain.
        changed = {} if not self.version else compare_records(before, records).names
        return replace(self, records=records, unreleased={name: before.get(name) for name in changed})

    def release(self, version: str) -> Lock:
        """Return the lock of a new release with the same records."""
        return Lock(self.records, version)


@dataclass(frozen=True)
class LockDifference:
    """The names added, removed and changed between two sets of records, and a description of each change."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return (*self.added, *self.removed, *self.changed)


def compare_records(before: LockRecords, after: LockRecords) -> LockDifference:
    """Return the difference from the first to the second records, sorted by name."""
    changes = {name: before[name].changes(after[name]) for name in sorted(before.keys() & after.keys())}
    return LockDifference(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        {name: change for name, change in changes.items() if change},
    )


def read_lock_file(path: Path) -> Lock:
    """Return the lock. Raises CatalogueError if it cannot be read."""
    try:
        state = path.stat()
        return _parse_lock_file(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}") from None


@lru_cache(maxsize=4)
def _parse_lock_file(path: Path, _time: int, _size: int) -> Lock:
    """Parse a lock file. Cached, because every case file of a catalogue reads it; time and size are part of the key."""
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CatalogueError(f"{path}: {error}") from None
    if isinstance(raw, dict) and raw.get("format", 1) not in (1, LOCK_FORMAT):
        raise CatalogueError(f"{path}: unsupported format {raw['format']!r}, supported are 1 and {LOCK_FORMAT}")
    try:
        data = raw if "format" in raw else {"cases": raw}  # a file of format 1 is only the mapping of ids to digests
        unreleased = _parse_records(data.get("unreleased", {}))
        return Lock(_parse_records(data), str(data.get("version", "")), unreleased)
    except (ValueError, TypeError, AttributeError, KeyError):
        raise CatalogueError(f"{path}: not a lock file, which maps the id of each case to a digest") from None


def _parse_records(raw: Mapping[str, Any]) -> dict[str, LockRecord | Any]:
    # An empty text is the record of a name that the last release did not have.
    cases = {name: FrozenCase(*text.split()) if text else None for name, text in raw.get("cases", {}).items()}
    sweeps = {name + SWEEP_SUFFIX: _parse_frozen_sweep(text) for name, text in raw.get("sweeps", {}).items()}
    return {**cases, **sweeps}


def _parse_frozen_sweep(text: str) -> FrozenSweep | None:
    if not text:
        return None
    rows, ids, digest = text.split()
    return FrozenSweep(int(rows), ids, digest)


def write_lock(path: Path, lock: Lock) -> None:
    """Write a lock atomically, sorted by name. Raises CatalogueError if it cannot be written."""
    data = {
        "format": LOCK_FORMAT,
        "version": lock.version,
        **_record_lines(lock.records),
        "unreleased": _record_lines(lock.unreleased) if lock.unreleased else {},
    }
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        try:
            part.write_text(json.dumps(data, indent=0) + "\n", "utf-8")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}") from None


def _record_lines(records: Mapping[str, LockRecord | None]) -> dict[str, dict[str, str]]:
    texts = {name: records[name].text if records[name] else "" for name in sorted(records)}  # type: ignore[union-attr]
    return {
        "cases": {name: text for name, text in texts.items() if not name.endswith(SWEEP_SUFFIX)},
        "sweeps": {
            name.removesuffix(SWEEP_SUFFIX): text for name, text in texts.items() if name.endswith(SWEEP_SUFFIX)
        },
    }
