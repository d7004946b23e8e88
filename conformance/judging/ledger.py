"""The ledger of known deviations. An entry that no longer applies is an error. docs/ledger.md describes the format."""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from conformance import CatalogueError
from conformance.adapters.api import CPU
from conformance.cases import selectors
from conformance.cases.case import Case
from conformance.cases.features.case_features import CaseFeatures
from conformance.cases.schema import catalogue_folder, error_messages
from conformance.cases.selector_values import compact_value, parse_selector_values, selector_value_text
from conformance.cases.selectors import GLOB_CHARACTERS, Selector
from conformance.cases.yaml_reader import YamlDocument, read_yaml
from conformance.system.cache import cached_data
from reports.results.vocabulary import DifferenceKind, Status

WITHOUT_FEATURE_PREFIX = "without-"
LEDGER_SCHEMA_FILE = "ledger.schema.json"
MAX_SPECIFIER_LENGTH = 200
"""Maximum number of characters of a version specifier."""
MAX_CACHED_CASES = 1_000
"""Maximum number of cases whose entries are cached."""
ENTRY_KINDS: tuple[DifferenceKind | Status, ...] = (
    *DifferenceKind,
    Status.CRASHED,
    Status.TIMED_OUT,
    Status.FLAKY,
)
"""How a case may differ, in the order of the ledger's schema."""
RESULT_KINDS = frozenset({DifferenceKind.SHAPE, DifferenceKind.DTYPE, DifferenceKind.VALUE, DifferenceKind.SPECIAL})
"""Kinds of difference with which a framework returns another result."""


@dataclass(frozen=True)
class LedgerEntry:
    """One known deviation: cases, surfaces, versions, kinds of difference, and the reason.

    cases: globs of ids, empty for all; selector: conditions on the cases (key `where`, see
    conformance.cases.selectors), empty for all; kinds: some of ENTRY_KINDS;
    versions: a specifier for each relevant package, empty for all versions; cpu: features that the processor must have
    (see Declaration) or, with the prefix "without-", must not have; device: devices, empty for the CPU only;
    observed: what the backend returns instead; exploration_selector: conditions on generated cases with the same cause
    (key `beyond`), empty if `cases` and `selector` describe them.
    An entry of the kind `flaky` applies whether or not its cases agree in a run; these cases are run last.
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
    location: str = ""
    cpu: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    exploration_selector: Selector = field(default_factory=dict)

    @property
    def is_flaky(self) -> bool:
        """Whether the outcome varies between runs, so that an agreeing case does not make the entry stale."""
        return Status.FLAKY in self.kinds

    @cached_property
    def _ids(self) -> re.Pattern[str]:
        return re.compile("|".join(map(fnmatch.translate, self.cases)))

    def may_match_operator(self, operator: str) -> bool:
        """Whether the entry can match a case of the operator, judged by the start of the ids and by the selector."""
        start = f"{operator}/"
        fixed = [GLOB_CHARACTERS.split(glob)[0] for glob in self.cases] or [""]
        # The fixed start of a glob may be shorter than the name of the operator, as in `max_*`.
        by_id = any(part.startswith(start) or start.startswith(part) for part in fixed)
        return by_id and any(fnmatch.fnmatchcase(operator, str(name)) for name in self.selector.get("operator", ("*",)))

    def matches_case(self, features: CaseFeatures) -> bool:
        """Whether the entry matches a case, regardless of surface and versions."""
        return (not self.cases or bool(self._ids.match(features.case.id))) and selectors.matches(
            features, self.selector
        )

    def matches_surface(self, surface: str) -> bool:
        """Whether the entry matches a surface."""
        return any(fnmatch.fnmatchcase(surface, glob) for glob in self.surfaces)

    def matches_versions(self, packages: Mapping[str, str]) -> bool:
        """Whether the entry applies to these versions of packages."""
        return all(_version_matches(packages.get(name), specifier) for name, specifier in self.versions.items())

    def matches_machine(self, features: Collection[str], device: str = CPU) -> bool:
        """Whether the entry applies to a device and to a processor with these features."""
        if device not in (self.device or (CPU,)):
            return False
        return all(
            (name.removeprefix(WITHOUT_FEATURE_PREFIX) in features) != name.startswith(WITHOUT_FEATURE_PREFIX)
            for name in self.cpu
        )

    def unmatched_parts(self, matched: Sequence[CaseFeatures], surfaces: Sequence[str]) -> Iterator[str]:
        """Yield an error message for each glob and each condition of the entry that matches nothing.

        matched: the cases that the entry matches.
        """
        if not matched:
            yield "matches no case of the catalogue"
        for glob in self.cases if matched else ():
            if not fnmatch.filter((features.case.id for features in matched), glob):
                yield f"key 'cases': {glob} matches no case of the catalogue"
        for key, value in ((key, value) for key, values in self.selector.items() for value in values if matched):
            if not any(selectors.matches(features, {key: (value,)}) for features in matched):
                yield f"key 'where.{key}': {selector_value_text(value)} matches no case of the catalogue"
        missed = next(
            (features.case.id for features in matched if not selectors.matches(features, self.exploration_selector)),
            None,
        )
        if missed:
            yield f"key 'beyond': does not match {missed}, which the entry matches"
        for glob in self.surfaces:
            if not fnmatch.filter(surfaces, glob):
                yield f"key 'surfaces': {glob} matches no surface"


def _version_matches(version: str | None, specifier: SpecifierSet) -> bool:
    """Whether a version matches a specifier. Of a non-standard version such as 2.1-7-abc, the leading numbers count."""
    for text in (version or "", re.split(r"[^\d.]", version or "")[0]):
        with suppress(InvalidVersion):
            # By default a specifier excludes pre-releases, such as nightly builds.
            return specifier.contains(Version(text), prereleases=True)
    return False


@dataclass(frozen=True)
class Ledger:
    """All entries; the first one that matches a case applies to it.

    external_count: number of entries from the ledger of a backend in another package; they come last.
    for_exploration: whether all matching entries apply, because a generated case may have several causes. The lookup
    returns the first one, with the kinds of all.
    """

    entries: tuple[LedgerEntry, ...] = ()
    external_count: int = 0
    for_exploration: bool = False
    _entries_by_case: dict[Case, tuple[LedgerEntry, ...]] = field(default_factory=dict, repr=False, compare=False)
    _entries_by_operator: dict[str, tuple[LedgerEntry, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """A 128-bit digest of the parts that decide a status or appear in results, without external entries."""
        return self._digest(self.entries[: len(self.entries) - self.external_count])

    @property
    def own_digest(self) -> str | None:
        """The same digest of the external entries; None without external entries."""
        return self._digest(self.entries[-self.external_count :]) if self.external_count else None

    @staticmethod
    def _digest(entries: Iterable[LedgerEntry]) -> str:
        parts = ("id", "cases", "surfaces", "kinds", "reason", "issue", "versions", "selector", "observed", "cpu")
        # The text is made with repr, so the kinds must be plain strings: a member of an enum has another repr.
        text = [[*(getattr(entry, part) for part in parts), *entry.device] for entry in entries]
        return hashlib.blake2b(repr(text).encode(), digest_size=16).hexdigest()

    def find_entry(
        self, case: Case, surface: str, packages: Mapping[str, str], cpu: Collection[str] = (), device: str = CPU
    ) -> LedgerEntry | None:
        """Return the entry that applies to a case on a surface, or None.

        packages: the installed versions; cpu: features of the processor; device: the device of the run.
        """
        if not self._entries_for_operator(case.operator):
            return None
        if case not in self._entries_by_case:  # cached: the same case is looked up once per surface
            if len(self._entries_by_case) == MAX_CACHED_CASES:
                self._entries_by_case.clear()
            features = CaseFeatures(case)
            self._entries_by_case[case] = tuple(
                entry for entry in self._entries_for_operator(case.operator) if entry.matches_case(features)
            )
        matching = [
            one
            for one in self._entries_by_case[case]
            if one.matches_surface(surface) and one.matches_versions(packages) and one.matches_machine(cpu, device)
        ]
        if self.for_exploration and matching:
            return replace(matching[0], kinds=tuple({kind: None for one in matching for kind in one.kinds}))
        return matching[0] if matching else None

    def for_surfaces(
        self, surfaces: Iterable[str], packages: Mapping[str, str], cpu: Collection[str] = (), device: str = CPU
    ) -> Ledger:
        """Return the entries that can apply to these surfaces on this machine, so that lookups test fewer entries."""
        names = list(surfaces)
        applicable = (
            entry for entry in self.entries if entry.matches_versions(packages) and entry.matches_machine(cpu, device)
        )
        return Ledger(
            tuple(entry for entry in applicable if any(map(entry.matches_surface, names))),
            for_exploration=self.for_exploration,
        )

    def for_generated_cases(self) -> Ledger:
        """Return the ledger for generated cases: an exploration selector replaces `cases` and `where` of its entry."""
        entries = (
            replace(entry, cases=(), selector=entry.exploration_selector) if entry.exploration_selector else entry
            for entry in self.entries
        )
        return Ledger(tuple(entries), self.external_count, for_exploration=True)

    def for_requested_cases(self) -> Ledger:
        """Return the ledger for cases of a user: an exploration selector replaces `cases` of its entry, not `where`."""
        entries = (
            replace(entry, cases=(), selector=entry.exploration_selector)
            if entry.cases and entry.exploration_selector
            else entry
            for entry in self.entries
        )
        return Ledger(tuple(entries), self.external_count)

    def _entries_for_operator(self, operator: str) -> tuple[LedgerEntry, ...]:
        """Return the entries that can match a case of the operator."""
        if operator not in self._entries_by_operator:
            self._entries_by_operator[operator] = tuple(
                entry for entry in self.entries if entry.may_match_operator(operator)
            )
        return self._entries_by_operator[operator]

    def matched_cases(self, cases: Iterable[Case]) -> Iterator[tuple[LedgerEntry, list[CaseFeatures]]]:
        """Yield each entry with the cases that it matches, regardless of surface and versions."""
        by_operator = defaultdict[str, list[CaseFeatures]](list)
        for case in cases:
            by_operator[case.operator].append(CaseFeatures(case))
        for entry in self.entries:
            possible = (known for operator, known in by_operator.items() if entry.may_match_operator(operator))
            yield entry, [one for known in possible for one in known if entry.matches_case(one)]

    def unmatched_entries(self, cases: Iterable[Case], surfaces: Iterable[str]) -> list[str]:
        """Return an error message for each part of an entry that matches no case or no surface."""
        names = list(surfaces)
        problems = (
            (entry, problem)
            for entry, matched in self.matched_cases(cases)
            for problem in entry.unmatched_parts(matched, names)
        )
        return [f"{entry.location}: entry {entry.id}: {problem}" for entry, problem in problems]


def ledger_path() -> Path:
    """Return the path of the built-in ledger."""
    return catalogue_folder() / "ledger.yaml"


def load_ledger(source: Path | None = None, *, further: Iterable[Path] = ()) -> Ledger:
    """Read a ledger, by default the built-in one. Raises CatalogueError with one line for each error.

    further: ledgers of backends in other packages, which come last.
    """
    built_in = ledger_path()
    # Only the built-in ledger is cached: others are small or change often.
    use_cache = source is None and built_in.parent == catalogue_folder()
    shared = _cached_entries(built_in) if use_cache else _parse_entries(read_yaml(source or built_in))
    entries = (*shared, *(entry for file in further for entry in _parse_entries(read_yaml(file))))
    ids = set[str]()
    for entry in entries:
        if entry.id in ids:
            raise CatalogueError(f"{entry.location}: entry {entry.id}: duplicate id")
        ids.add(entry.id)
    return Ledger(entries, len(entries) - len(shared))


def _cached_entries(path: Path) -> list[LedgerEntry]:
    """Return the entries of the built-in ledger, cached on disk with their version specifiers as texts."""

    def parse() -> list[tuple[LedgerEntry, dict[str, str]]]:
        entries = _parse_entries(read_yaml(path))
        return [(replace(e, versions={}), {name: str(text) for name, text in e.versions.items()}) for e in entries]

    cached = cached_data([path, catalogue_folder() / LEDGER_SCHEMA_FILE], parse, (LedgerEntry,))
    return [
        replace(entry, versions={name: SpecifierSet(text) for name, text in texts.items()}) if texts else entry
        for entry, texts in cached
    ]


def _parse_entries(document: YamlDocument) -> list[LedgerEntry]:
    errors = error_messages(document, catalogue_folder() / LEDGER_SCHEMA_FILE)
    if errors:
        raise CatalogueError("\n".join(errors))
    return [_parse_entry(document, index) for index in range(len(document.data["entries"]))]


def _parse_entry(document: YamlDocument, index: int) -> LedgerEntry:
    raw, location = document.data["entries"][index], document.location_of(("entries", index))
    try:
        versions = {name: _version_specifier(text) for name, text in raw.get("versions", {}).items()}
    except InvalidSpecifier as error:
        raise CatalogueError(f"{location}: entry {raw['id']}: key 'versions': {error}") from None
    return LedgerEntry(
        raw["id"],
        **{key: tuple(raw.get(key, ())) for key in ("cases", "surfaces", "kinds", "cpu", "device")},
        reason=raw["reason"],
        issue=raw.get("issue"),
        versions=versions,
        selector=_parse_selector(document, index, "where"),
        exploration_selector=_parse_selector(document, index, "beyond"),
        observed=_observed_text(raw.get("observed", "")),
        location=location,
    )


def _version_specifier(text: str) -> SpecifierSet:
    """Return a specifier. Raises InvalidSpecifier, also for numbers that Python cannot convert."""
    if len(text) > MAX_SPECIFIER_LENGTH:
        raise InvalidSpecifier(f"{len(text):,} characters, the limit is {MAX_SPECIFIER_LENGTH}")
    return SpecifierSet(text)


def _observed_text(observed: Any) -> str:
    """Return a sentence unchanged, and a literal as YAML text."""
    return observed if isinstance(observed, str) else selector_value_text(_literal_value(observed))


def _literal_value(literal: Any) -> Any:
    return tuple(map(_literal_value, literal)) if isinstance(literal, list) else compact_value(literal)


def _parse_selector(document: YamlDocument, index: int, name: str) -> Selector:
    raw, errors = document.data["entries"][index], []
    for key in raw.get(name, {}):
        problem = selectors.unknown_key_problem(key)
        if problem:
            location = document.location_of(("entries", index, name, key))
            errors.append(f"{location}: entry {raw['id']}: key '{name}.{key}': {problem}")
    if errors:
        raise CatalogueError("\n".join(errors))
    return {key: parse_selector_values(value) for key, value in raw.get(name, {}).items()}
