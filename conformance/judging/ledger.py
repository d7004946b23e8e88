"""The ledger: known deviations, each with a reason, held both ways. How to write one is docs/ledger.md."""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from conformance import CatalogueError
from conformance.adapters.api.devices import CPU
from conformance.cases import selectors
from conformance.cases.case import Case
from conformance.cases.schema import catalogue_folder, error_messages
from conformance.cases.selectors import GLOB_CHARACTERS, CaseFeatures, Selector
from conformance.cases.yaml_reader import YamlDocument, read_yaml
from conformance.system.cache import cached_data

WITHOUT_FEATURE_PREFIX = "without-"
LEDGER_SCHEMA_FILE = "ledger.schema.json"


@dataclass(frozen=True)
class LedgerEntry:
    """One known deviation: which cases on which surfaces, in which versions, how, and why.

    cases: globs of ids, empty for all; where: what the cases are, see conformance.selectors, empty for anything;
    kinds: how it shows: kinds of a difference, `crashed`, `timed_out` or `flaky`; versions: a specifier for each
    package that matters, an empty mapping for all versions; cpu: features that the processor must have, see
    Declaration, or must not have, after "without-"; device: devices that it holds on, the CPU alone if there are none;
    observed: what the backend gives instead.
    beyond: what cases that nobody wrote are that have the same cause, where this is more than cases and where say.
    An entry of the kind `flaky` holds whether or not its cases agree in a run; they are run last.
    """

    id: str
    cases: tuple[str, ...]
    surfaces: tuple[str, ...]
    kinds: tuple[str, ...]
    reason: str
    issue: str | None = None
    versions: Mapping[str, SpecifierSet] = field(default_factory=dict)
    selector: Selector = field(default_factory=dict)
    observed: str = ""
    place: str = ""
    cpu: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    exploration_selector: Selector = field(default_factory=dict)

    @property
    def is_flaky(self) -> bool:
        """Whether the outcome is not the same every time, so that a case which agrees once says nothing."""
        return "flaky" in self.kinds

    @cached_property
    def _ids(self) -> re.Pattern[str]:
        return re.compile("|".join(map(fnmatch.translate, self.cases)))

    def may_match_operator(self, operator: str) -> bool:
        """Whether the entry can be about a case of the operator, with which ids begin."""
        start = f"{operator}/"
        fixed = [GLOB_CHARACTERS.split(glob)[0] for glob in self.cases] or [""]
        by_id = any(part.startswith(start) or start.startswith(part) for part in fixed)
        return by_id and any(fnmatch.fnmatchcase(operator, str(name)) for name in self.selector.get("operator", ("*",)))

    def matches_case(self, features: CaseFeatures) -> bool:
        """Whether the entry is about a case, whatever the surface and the versions."""
        return (not self.cases or bool(self._ids.match(features.case.id))) and selectors.matches(
            features, self.selector
        )

    def matches_surface(self, surface: str) -> bool:
        """Whether the entry is about a surface."""
        return any(fnmatch.fnmatchcase(surface, glob) for glob in self.surfaces)

    def matches_versions(self, packages: Mapping[str, str]) -> bool:
        """Whether the entry holds for these versions."""
        return all(_version_matches(packages.get(name), specifier) for name, specifier in self.versions.items())

    def matches_machine(self, features: Collection[str], device: str = CPU) -> bool:
        """Whether the entry holds for a device, and a processor with these features."""
        if device not in (self.device or (CPU,)):
            return False
        return all(
            (name.removeprefix(WITHOUT_FEATURE_PREFIX) in features) != name.startswith(WITHOUT_FEATURE_PREFIX)
            for name in self.cpu
        )

    def unmatched_parts(self, known: Sequence[CaseFeatures], surfaces: Sequence[str]) -> Iterator[str]:
        """Yield what is wrong with the entry, or with each part of it, that matches nothing."""
        picked = [facts for facts in known if self.matches_case(facts)]
        if not picked:
            yield "matches no case of the catalogue"
        for glob in self.cases if picked else ():
            if not fnmatch.filter((facts.case.id for facts in picked), glob):
                yield f"key 'cases': {glob} matches no case of the catalogue"
        for key, value in ((key, value) for key, values in self.selector.items() for value in values if picked):
            if not any(selectors.matches(facts, {key: (value,)}) for facts in picked):
                yield f"key 'where.{key}': {selectors.selector_value_text(value)} matches no case of the catalogue"
        missed = next(
            (facts.case.id for facts in picked if not selectors.matches(facts, self.exploration_selector)), None
        )
        if missed:
            yield f"key 'beyond': does not hold for {missed}, which the entry is about"
        for glob in self.surfaces:
            if not fnmatch.filter(surfaces, glob):
                yield f"key 'surfaces': {glob} matches no surface"


def _version_matches(version: str | None, specifier: SpecifierSet) -> bool:
    """Whether a version is meant; of one that is not written as versions are, such as 2.1-7-abc, its release counts."""
    for text in (version or "", re.split(r"[^\d.]", version or "")[0]):
        with suppress(InvalidVersion):
            return specifier.contains(Version(text), prereleases=True)
    return False


@dataclass(frozen=True)
class Ledger:
    """All entries; the first one that covers a case speaks for it.

    own: how many of them, at the end, are a backend's own, from another package; wide: whether all that cover a case
    speak for it, the first with the kinds of each: several causes may reach a case that nobody wrote.
    """

    entries: tuple[LedgerEntry, ...] = ()
    external_count: int = 0
    for_exploration: bool = False
    _entries_by_case: dict[Case, tuple[LedgerEntry, ...]] = field(default_factory=dict, repr=False, compare=False)
    _entries_by_operator: dict[str, tuple[LedgerEntry, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """128 bits over all that decides a status, or that a result quotes; what is a backend's own left out."""
        return self._digest(self.entries[: len(self.entries) - self.external_count])

    @property
    def own_digest(self) -> str | None:
        """The same of what is a backend's own, None where nothing is."""
        return self._digest(self.entries[-self.external_count :]) if self.external_count else None

    @staticmethod
    def _digest(entries: Iterable[LedgerEntry]) -> str:
        parts = ("id", "cases", "surfaces", "kinds", "reason", "issue", "versions", "selector", "observed", "cpu")
        text = [[*(getattr(entry, part) for part in parts), *entry.device] for entry in entries]
        return hashlib.blake2b(repr(text).encode(), digest_size=16).hexdigest()

    def find_entry(
        self, case: Case, surface: str, packages: Mapping[str, str], cpu: Collection[str] = (), device: str = CPU
    ) -> LedgerEntry | None:
        """Return the entry that speaks of a case on a surface, if one does, on a processor with these features."""
        if not self._entries_for_operator(case.operator):
            return None
        if case not in self._entries_by_case:  # a case comes once for each surface, but is looked at once
            facts = CaseFeatures(case)
            self._entries_by_case[case] = tuple(
                entry for entry in self._entries_for_operator(case.operator) if entry.matches_case(facts)
            )
        about = [
            one
            for one in self._entries_by_case[case]
            if one.matches_surface(surface) and one.matches_versions(packages) and one.matches_machine(cpu, device)
        ]
        if self.for_exploration and about:
            return replace(about[0], kinds=tuple({kind: None for one in about for kind in one.kinds}))
        return about[0] if about else None

    def for_surfaces(
        self, surfaces: Iterable[str], packages: Mapping[str, str], cpu: Collection[str] = (), device: str = CPU
    ) -> Ledger:
        """Return what may speak of these surfaces there, so that each case need not be held against all the rest."""
        names = list(surfaces)
        fit = (
            entry for entry in self.entries if entry.matches_versions(packages) and entry.matches_machine(cpu, device)
        )
        return Ledger(
            tuple(entry for entry in fit if any(map(entry.matches_surface, names))),
            for_exploration=self.for_exploration,
        )

    def for_generated_cases(self) -> Ledger:
        """Return the ledger as it speaks of cases that nobody wrote: of all that may have the cause of an entry."""
        wide = (
            replace(entry, cases=(), selector=entry.exploration_selector) if entry.exploration_selector else entry
            for entry in self.entries
        )
        return Ledger(tuple(wide), self.external_count, for_exploration=True)

    def _entries_for_operator(self, operator: str) -> tuple[LedgerEntry, ...]:
        """Return the entries that may pick a case of the operator."""
        if operator not in self._entries_by_operator:
            self._entries_by_operator[operator] = tuple(
                entry for entry in self.entries if entry.may_match_operator(operator)
            )
        return self._entries_by_operator[operator]

    def unmatched_entries(self, cases: Iterable[Case], surfaces: Iterable[str]) -> list[str]:
        """Return a line for each part of an entry that matches no case or no surface at all."""
        known, names = [CaseFeatures(case) for case in cases], list(surfaces)
        faults = ((entry, fault) for entry in self.entries for fault in entry.unmatched_parts(known, names))
        return [f"{entry.place}: entry {entry.id}: {fault}" for entry, fault in faults]


def ledger_path() -> Path:
    """Return the file that holds the suite's own ledger."""
    return catalogue_folder() / "ledger.yaml"


def load_ledger(source: Path | None = None, *, further: Iterable[Path] = ()) -> Ledger:
    """Read the ledger, and those of other packages behind it. Raises CatalogueError with one line for each fault."""
    own = ledger_path()
    kept = source is None and own.parent == catalogue_folder()  # another's may be anything, and is not worth a place
    shared = (
        cached_data([own, catalogue_folder() / LEDGER_SCHEMA_FILE], lambda: _parse_entries(read_yaml(own)))
        if kept
        else _parse_entries(read_yaml(source or own))
    )
    entries = (*shared, *(entry for file in further for entry in _parse_entries(read_yaml(file))))
    for position, entry in enumerate(entries):
        if entry.id in {earlier.id for earlier in entries[:position]}:
            raise CatalogueError(f"{entry.place}: entry {entry.id}: an id that stands already above")
    return Ledger(entries, len(entries) - len(shared))


def _parse_entries(document: YamlDocument) -> list[LedgerEntry]:
    faults = error_messages(document, catalogue_folder() / LEDGER_SCHEMA_FILE)
    if faults:
        raise CatalogueError("\n".join(faults))
    return [_parse_entry(document, index) for index in range(len(document.data["entries"]))]


def _parse_entry(document: YamlDocument, index: int) -> LedgerEntry:
    raw, place = document.data["entries"][index], document.location_of(("entries", index))
    try:
        versions = {name: SpecifierSet(text) for name, text in raw.get("versions", {}).items()}
    except InvalidSpecifier as error:
        raise CatalogueError(f"{place}: entry {raw['id']}: key 'versions': {error}") from None
    return LedgerEntry(
        raw["id"],
        **{key: tuple(raw.get(key, ())) for key in ("cases", "surfaces", "kinds", "cpu", "device")},
        reason=raw["reason"],
        issue=raw.get("issue"),
        versions=versions,
        selector=_parse_selector(document, index, "where"),
        exploration_selector=_parse_selector(document, index, "beyond"),
        observed=_observed_text(raw.get("observed", "")),
        place=place,
    )


def _observed_text(observed: Any) -> str:
    """Return a sentence as it is, and a literal as a YAML file has it."""
    return observed if isinstance(observed, str) else selectors.selector_value_text(_plain_literal(observed))


def _plain_literal(literal: Any) -> Any:
    return tuple(map(_plain_literal, literal)) if isinstance(literal, list) else selectors.compact_value(literal)


def _parse_selector(document: YamlDocument, index: int, name: str) -> Selector:
    raw, faults = document.data["entries"][index], []
    for key in raw.get(name, {}):
        wrong = selectors.unknown_key_problem(key)
        if wrong:
            place = document.location_of(("entries", index, name, key))
            faults.append(f"{place}: entry {raw['id']}: key '{name}.{key}': {wrong}")
    if faults:
        raise CatalogueError("\n".join(faults))
    return {key: selectors.parse_selector_values(value) for key, value in raw.get(name, {}).items()}
