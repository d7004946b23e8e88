"""The lock: what every case of a catalogue was when it was frozen, as digests by its id, and in which release.

Format 2, one line a record: a case is `<digest> <parameters> <inputs> <output>`, 128 bits over inputs and expected
output as in format 1, then 64 bits over each part, so that a drift can be named. A sweep of level exhaustive is one
record, `<rows> <ids> <digest>`. `unreleased` keeps what the last release held of whatever was added, removed or changed
since; an empty record was not in it. Format 1 was one flat mapping of ids to digests; it is read as a lock that knows
no parts and no release.
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
SWEEP_SUFFIX = "/*"
"""What the name of a sweep ends with where it stands beside the names of cases."""


@dataclass(frozen=True)
class FrozenCase:
    """What a case was. The parts are "" where a lock of format 1 does not know them."""

    digest: str
    parameters: str = ""
    inputs: str = ""
    output: str = ""

    @property
    def text(self) -> str:
        """The record as a line of the lock."""
        return " ".join(filter(None, vars(self).values()))

    def drift(self, now: FrozenCase | FrozenSweep) -> str:
        """Return what is not as it was, in words; "" if nothing is."""
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
    """What a sweep of level exhaustive was: how many rows, a digest of their ids, and one of their records."""

    rows: int
    ids: str
    digest: str

    @property
    def text(self) -> str:
        """The record as a line of the lock."""
        return " ".join(map(str, vars(self).values()))

    def drift(self, now: FrozenCase | FrozenSweep) -> str:
        """Return what is not as it was, in words; "" if nothing is."""
        if not isinstance(now, FrozenSweep):
            return "its kind"
        if self.rows != now.rows:
            return f"its rows, {self.rows} when frozen and {now.rows} now,"
        if self.ids != now.ids:
            return "the ids of its rows"
        return "the inputs or the expected outputs of its rows" if self.digest != now.digest else ""


LockRecord = FrozenCase | FrozenSweep
LockRecords = Mapping[str, LockRecord]


@dataclass(frozen=True)
class Lock:
    """All records by name, the catalogue's last version, and what that held of whatever has changed since."""

    records: LockRecords = field(default_factory=dict)
    version: str = ""
    unreleased: Mapping[str, LockRecord | None] = field(default_factory=dict)

    @property
    def released(self) -> LockRecords:
        """The records of the last release; none before the first."""
        if not self.version:
            return {}
        merged = {**self.records, **self.unreleased}
        return {name: record for name, record in merged.items() if record is not None}

    @property
    def label(self) -> str:
        """The catalogue's version as people read it."""
        if not self.version:
            return "unreleased"
        return f"{self.version}+unreleased" if self.unreleased else self.version

    def with_records(self, records: LockRecords) -> Lock:
        """Return the lock with other records, and what it must remember of the last release."""
        before = self.released
        changed = {} if not self.version else compare_records(before, records).names
        return replace(self, records=records, unreleased={name: before.get(name) for name in changed})

    def release(self, version: str) -> Lock:
        """Return the lock as that of a new release."""
        return Lock(self.records, version)


@dataclass(frozen=True)
class LockDifference:
    """What became of the names of one set of records in another, and in what each changed one changed."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.added, *self.removed, *self.changed)


def compare_records(before: LockRecords, after: LockRecords) -> LockDifference:
    """Return how the second records differ from the first, in the order of names."""
    drifts = {name: before[name].drift(after[name]) for name in sorted(before.keys() & after.keys())}
    return LockDifference(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        {name: drift for name, drift in drifts.items() if drift},
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
    """Read a lock once, however many files look for their rows in it."""
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CatalogueError(f"{path}: {error}") from None
    if isinstance(raw, dict) and raw.get("format", 1) not in (1, LOCK_FORMAT):
        raise CatalogueError(
            f"{path}: format {raw['format']!r} is none that this suite reads, which are 1 and {LOCK_FORMAT}"
        )
    try:
        return _parse_lock(raw if "format" in raw else {"cases": raw})
    except (ValueError, TypeError, AttributeError, KeyError):
        raise CatalogueError(f"{path}: not a lock: it maps the id of each case to a digest") from None


def _parse_lock(raw: Mapping[str, Any]) -> Lock:
    unreleased = raw.get("unreleased", {})
    return Lock(_parse_records(raw), str(raw.get("version", "")), _parse_records(unreleased))


def _parse_records(raw: Mapping[str, Any]) -> dict[str, LockRecord | Any]:
    cases = {name: _parse_frozen_case(text) for name, text in raw["cases"].items()} if "cases" in raw else {}
    sweeps = {name + SWEEP_SUFFIX: _parse_frozen_sweep(text) for name, text in raw.get("sweeps", {}).items()}
    return {**cases, **sweeps}


def _parse_frozen_case(text: str) -> FrozenCase | None:
    return FrozenCase(*text.split()) if text else None


def _parse_frozen_sweep(text: str) -> FrozenSweep | None:
    if not text:
        return None
    rows, ids, digest = text.split()
    return FrozenSweep(int(rows), ids, digest)


def write_lock(path: Path, lock: Lock) -> None:
    """Write the lock in the order of names, all of it or nothing. Raises CatalogueError if that cannot be done."""
    whole = {
        "format": LOCK_FORMAT,
        "version": lock.version,
        **_record_lines(lock.records),
        "unreleased": _record_lines(lock.unreleased) if lock.unreleased else {},
    }
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        try:
            beside.write_text(json.dumps(whole, indent=0) + "\n", "utf-8")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
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
