"""`conformance freeze`: write what every case is to the lock, and make releases of it.

Ids and answers are for ever, so a freeze adds; to drop an id or to change an answer must be asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from itertools import groupby
from pathlib import Path

from conformance import CatalogueError, ConformanceError
from conformance.cases.schema import catalogue_folder
from conformance.catalogue import lock as lock_file
from conformance.catalogue.check import (
    DEFAULT_CHECKER,
    MAX_SHOWN_NAMES,
    CaseChecker,
    check_cases,
    comparable_records,
    lock_path,
    lock_records,
)
from conformance.catalogue.loading import Catalogue
from conformance.catalogue.lock import FrozenCase, FrozenSweep, Lock, LockDifference, LockRecords, compare_records

MAX_CHANGELOG_IDS = 10
"""Ids that the changelog names of one operator and kind; more are counted only."""

VERSION_PATTERN = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")
CHANGELOG_HEADER = "# What changed in the catalogue\n"


def changelog_path() -> Path:
    """Return the catalogue's own changelog."""
    return catalogue_folder() / "CHANGELOG.md"


def freeze_catalogue(
    catalogue: Catalogue,
    *,
    remove: bool = False,
    change: bool = False,
    release: str | None = None,
    checker: CaseChecker = DEFAULT_CHECKER,
) -> LockDifference:
    """Freeze all cases, and return what was added, removed and changed.

    release: the version that what is frozen now becomes. Raises CatalogueError for a case with a fault, and
    ConformanceError where something would be removed or changed without being asked for, or be no release; then nothing
    is written.
    """
    old = lock_file.read_lock_file(lock_path()) if lock_path().exists() else Lock()
    now = lock_records(catalogue, _checked_records(catalogue, checker))
    before = comparable_records(old.records, catalogue)
    found = compare_records(before, now)
    _refuse_unconfirmed(found, remove=remove, change=change)
    away = {name: record for name, record in old.records.items() if name not in before}
    lock = old.with_records({**now, **away})
    if release is not None:
        section = changelog_section(lock, release, datetime.now(timezone.utc).date().isoformat())
        lock = lock.release(release)
        _add_section(section)
    lock_file.write_lock(lock_path(), lock)
    return found


def _checked_records(catalogue: Catalogue, checker: CaseChecker) -> dict[str, FrozenCase]:
    """Return the record of every case. Raises CatalogueError with a line for each that has none."""
    found: dict[str, FrozenCase] = {}
    faults: list[str] = []
    for name, finding in check_cases(catalogue, checker):
        if finding.lock_record:
            found[name] = finding.lock_record
        elif name:
            faults += finding.problems
    if faults:
        raise CatalogueError("\n".join(faults))
    return found


def _refuse_unconfirmed(found: LockDifference, *, remove: bool, change: bool) -> None:
    lines = []
    if found.removed and not remove:
        lines.append(f"an id is for ever, and {_names_or_count(found.removed)} would be removed: --remove does it")
    if found.changed and not change:
        named = [f"{name} ({what})" for name, what in found.changed.items()]
        lines.append(f"an answer is for ever, and {_names_or_count(named)} would change: --change does it")
    if lines:
        raise ConformanceError("\n".join(lines))


def _names_or_count(names: Iterable[str], limit: int = MAX_SHOWN_NAMES) -> str:
    names = list(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def changelog_section(lock: Lock, version: str, day: str) -> str:
    """Return what changed since the last release, by operator. Raises ConformanceError for no fitting version."""
    found = compare_records(lock.released, lock.records)
    _check_version(version, lock.version, found)
    before = f"since {lock.version}" if lock.version else "the first"
    lines = [f"## {version} ({day}, {before})", ""]
    old, new = lock.released, lock.records
    for operator in sorted({name.split("/")[0] for name in found.names}):
        parts = [
            _change_line("added", _names_of_operator(operator, found.added), new),
            _change_line("removed", _names_of_operator(operator, found.removed), old),
            _change_line("changed", _names_of_operator(operator, found.changed), new, found.changed),
        ]
        lines.append(f"- {operator}: {', '.join(filter(None, parts))}.")
    return "\n".join(lines) + "\n"


def _names_of_operator(operator: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(f"{operator}/")]


def _change_line(word: str, names: list[str], known: LockRecords, why: Mapping[str, str] | None = None) -> str:
    """Return how many were added, removed or changed, by sweep or, where there are few, by name."""
    if not names:
        return ""
    records = [known[name] for name in names]
    count = sum(record.rows if isinstance(record, FrozenSweep) else 1 for record in records)
    if len(names) <= MAX_CHANGELOG_IDS:
        told = [f"`{name}` ({why[name]})" if why else f"`{name}`" for name in names]
    else:
        told = [
            _group_text(group, list(members))
            for group, members in groupby(sorted(names, key=_sweep_of_row), _sweep_of_row)
        ]
    return f"{count:,} {word} ({'; '.join(told)})" if len(told) <= 2 * MAX_CHANGELOG_IDS else f"{count:,} {word}"


def _sweep_of_row(name: str) -> str:
    """Return the sweep of a row; a single case has none."""
    return name.rsplit("/", 1)[0] if name.count("/") > 1 else ""


def _group_text(family: str, members: list[str]) -> str:
    return f"{len(members):,} of `{family}`" if family else f"{len(members):,} single"


def _check_version(version: str, last: str, found: LockDifference) -> None:
    if not VERSION_PATTERN.fullmatch(version):
        raise ConformanceError(f"release {version!r}: not a version such as 1.4.0")
    if not found.names:
        raise ConformanceError(f"release {version!r}: nothing has changed since {last or 'the start'}")
    if not last:
        return
    new, old = _version_numbers(version), _version_numbers(last)
    breaking = bool(found.removed or found.changed)
    # As in semantic versioning: before 1.0.0 the second number stands for the first.
    digits = 1 if breaking and old[0] else 2
    if new[:digits] <= old[:digits]:
        what = "cases were removed or changed" if breaking else "cases were added"
        raise ConformanceError(
            f"release {version!r}: {what} since {last}: its {'first' if digits == 1 else 'second'} number must rise"
        )


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _add_section(section: str) -> None:
    """Put a section above those of earlier releases."""
    path = changelog_path()
    try:
        text = path.read_text("utf-8") if path.exists() else CHANGELOG_HEADER
        head, mark, older = text.partition("\n## ")
        path.write_text(f"{head.rstrip()}\n\n{section}" + (mark + older if mark else ""), "utf-8")
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
