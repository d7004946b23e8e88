"""The ledger: known deviations, each with a reason, held both ways."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from conformance.cases import Case
from conformance.catalogue import home
from conformance.errors import CatalogueError
from conformance.schema import problems
from conformance.yaml_reader import Document, read


@dataclass(frozen=True)
class Entry:
    """One known deviation: which cases on which surfaces, in which versions, how, and why.

    kinds: how it shows: kinds of a difference, `crashed`, `timed_out` or `flaky`; versions: a specifier for each
    package that matters, an empty mapping for all versions.
    """

    id: str
    cases: tuple[str, ...]
    surfaces: tuple[str, ...]
    kinds: tuple[str, ...]
    reason: str
    issue: str | None = None
    versions: Mapping[str, SpecifierSet] = field(default_factory=dict)
    place: str = ""

    def covers(self, case: str, surface: str, packages: Mapping[str, str]) -> bool:
        """Whether the entry speaks of a case on a surface in these versions."""
        return (
            any(fnmatch.fnmatchcase(case, glob) for glob in self.cases)
            and any(fnmatch.fnmatchcase(surface, glob) for glob in self.surfaces)
            and all(_within(packages.get(name), specifier) for name, specifier in self.versions.items())
        )


def _within(version: str | None, specifier: SpecifierSet) -> bool:
    try:
        return version is not None and specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


@dataclass(frozen=True)
class Ledger:
    """All entries; the first one that covers a case speaks for it."""

    entries: tuple[Entry, ...] = ()

    @property
    def digest(self) -> str:
        """128 bits over all that decides a status."""
        text = [[*vars(entry).values()][:-1] for entry in self.entries]
        return hashlib.blake2b(repr(text).encode(), digest_size=16).hexdigest()

    def entry(self, case: str, surface: str, packages: Mapping[str, str]) -> Entry | None:
        """Return the entry that speaks of a case on a surface, if one does."""
        return next((entry for entry in self.entries if entry.covers(case, surface, packages)), None)

    def idle(self, cases: Iterable[Case], surfaces: Iterable[str]) -> list[str]:
        """Return a line for each entry that matches no case or no surface at all."""
        ids, names = [case.id for case in cases], list(surfaces)
        return [
            f"{entry.place}: entry {entry.id}: matches no {what} of the catalogue"
            for entry in self.entries
            for what, globs, known in (("case", entry.cases, ids), ("surface", entry.surfaces, names))
            if not all(fnmatch.filter(known, glob) for glob in globs)
        ]


def load(path: Path | None = None) -> Ledger:
    """Read the ledger. Raises CatalogueError with one line for each fault."""
    document = read(path or home() / "ledger.yaml")
    faults = problems(document, home() / "ledger.schema.json")
    if faults:
        raise CatalogueError("\n".join(faults))
    entries = tuple(_entry(document, index) for index in range(len(document.data["entries"])))
    for position, entry in enumerate(entries):
        if entry.id in {earlier.id for earlier in entries[:position]}:
            raise CatalogueError(f"{entry.place}: entry {entry.id}: an id that stands already above")
    return Ledger(entries)


def _entry(document: Document, index: int) -> Entry:
    raw, place = document.data["entries"][index], document.place(("entries", index))
    try:
        versions = {name: SpecifierSet(text) for name, text in raw.get("versions", {}).items()}
    except InvalidSpecifier as error:
        raise CatalogueError(f"{place}: entry {raw['id']}: key 'versions': {error}") from None
    lists = {key: tuple(raw[key]) for key in ("cases", "surfaces", "kinds")}
    return Entry(raw["id"], **lists, reason=raw["reason"], issue=raw.get("issue"), versions=versions, place=place)
