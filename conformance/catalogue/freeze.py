"""`conformance freeze`: record the digests of all cases in the lock, and release versions of the catalogue.

By default a freeze only adds cases. Removing an id or changing a result needs an option.
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
"""Maximum number of ids listed in the changelog for one operator and kind of change; further ids are counted."""

VERSION_PATTERN = re.compile(r"(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})")
CHANGELOG_HEADER = "# What changed in the catalogue\n"


def changelog_path() -> Path:
    """Return the path of the changelog of the built-in catalogue."""
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

    remove, change: allow removed and changed cases; release: the version to release. Raises CatalogueError for an
    invalid case, and ConformanceError for a removal or change that is not allowed or an invalid version. Nothing is
    written then.
    """
    old = lock_file.read_lock_file(lock_path()) if lock_path().exists() else Lock()
    now = lock_records(catalogue, _checked_records(catalogue, checker))
    before = comparable_records(old.records, catalogue)
    difference = compare_records(before, now)
    _require_permission(difference, remove=remove, change=change)
    # The records of sweeps that were not loaded remain unchanged.
    unloaded = {name: record for name, record in old.records.items() if name not in before}
    lock = old.with_records({**now, **unloaded})
    if release is not None:
        section = changelog_section(lock, release, datetime.now(timezone.utc).date().isoformat())
        lock = lock.release(release)
        _add_section(section)
    lock_file.write_lock(lock_path(), lock)
    return difference


def _checked_records(catalogue: Catalogue, checker: CaseChecker) -> dict[str, FrozenCase]:
    """Return the lock record of every case. Raises CatalogueError with a line for each invalid case."""
    found: dict[str, FrozenCase] = {}
    problems: list[str] = []
    for name, result in check_cases(catalogue, checker):
        if result.lock_record:
            found[name] = result.lock_record
        elif name:
            problems += result.problems
    if problems:
        raise CatalogueError("\n".join(problems))
    return found


def _require_permission(difference: LockDifference, *, remove: bool, change: bool) -> None:
    lines = []
    if difference.removed and not remove:
        lines.append(
            f"ids are permanent, and {_names_or_count(difference.removed)} would be removed; allow with --remove"
        )
    if difference.changed and not change:
        named = [f"{name} ({parts})" for name, parts in difference.changed.items()]
        lines.append(f"frozen cases are permanent, and {_names_or_count(named)} would change; allow with --change")
    if lines:
        raise ConformanceError("\n".join(lines))


def _names_or_count(names: Iterable[str], limit: int = MAX_SHOWN_NAMES) -> str:
    names = list(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def changelog_section(lock: Lock, version: str, day: str) -> str:
    """Return the changes since the last release, by operator. Raises ConformanceError for an invalid version."""
    difference = compare_records(lock.released, lock.records)
    _check_version(version, lock.version, difference)
    before = f"since {lock.version}" if lock.version else "the first"
    lines = [f"## {version} ({day}, {before})", ""]
    old, new = lock.released, lock.records
    for operator in sorted({name.split("/")[0] for name in difference.names}):
        parts = [
            _change_line("added", _names_of_operator(operator, difference.added), new),
            _change_line("removed", _names_of_operator(operator, difference.removed), old),
            _change_line("changed", _names_of_operator(operator, difference.changed), new, difference.changed),
        ]
        lines.append(f"- {operator}: {', '.join(filter(None, parts))}.")
    return "\n".join(lines) + "\n"


def _names_of_operator(operator: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(f"{operator}/")]


def _change_line(word: str, names: list[str], known: LockRecords, details: Mapping[str, str] | None = None) -> str:
    """Return the number of added, removed or changed cases, with their names, or for many names by sweep."""
    if not names:
        return ""
    records = [known[name] for name in names]
    count = sum(record.rows if isinstance(record, FrozenSweep) else 1 for record in records)
    if len(names) <= MAX_CHANGELOG_IDS:
        items = [f"`{name}` ({details[name]})" if details else f"`{name}`" for name in names]
    else:
        items = [
            _group_text(group, list(members))
            for group, members in groupby(sorted(names, key=_sweep_of_row), _sweep_of_row)
        ]
    return f"{count:,} {word} ({'; '.join(items)})" if len(items) <= 2 * MAX_CHANGELOG_IDS else f"{count:,} {word}"


def _sweep_of_row(name: str) -> str:
    """Return the sweep of a row, "" for a single case."""
    return name.rsplit("/", 1)[0] if name.count("/") > 1 else ""


def _group_text(family: str, members: list[str]) -> str:
    return f"{len(members):,} of `{family}`" if family else f"{len(members):,} single"


def check_version_form(version: str) -> None:
    """Raise ConformanceError if a text is not three numbers separated by dots."""
    if not VERSION_PATTERN.fullmatch(version):
        raise ConformanceError(f"release {version!r}: not a version such as 1.4.0")


def _check_version(version: str, last: str, difference: LockDifference) -> None:
    check_version_form(version)
    if not difference.names:
        raise ConformanceError(f"release {version!r}: nothing has changed since {last or 'the start'}")
    if not last:
        return
    new, old = _version_numbers(version), _version_numbers(last)
    breaking = bool(difference.removed or difference.changed)
    # As in semantic versioning, a breaking change before 1.0.0 raises the second number.
    digits = 1 if breaking and old[0] else 2
    if new[:digits] <= old[:digits]:
        change = "cases were removed or changed" if breaking else "cases were added"
        number = "first" if digits == 1 else "second"
        raise ConformanceError(f"release {version!r}: {change} since {last}: its {number} number must increase")


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _add_section(section: str) -> None:
    """Insert a section above those of earlier releases."""
    path = changelog_path()
    try:
        text = path.read_text("utf-8") if path.exists() else CHANGELOG_HEADER
        head, mark, older = text.partition("\n## ")
        path.write_text(f"{head.rstrip()}\n\n{section}" + (mark + older if mark else ""), "utf-8")
    except OSError as error:
        raise ConformanceError(f"{path}: {error.strerror}") from None
