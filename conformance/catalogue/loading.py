"""Loading of the catalogue: read YAML files and exports, expand their cases, and report all errors."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any

from conformance import CatalogueError
from conformance.cases.all_errors import all_errors
from conformance.cases.arrays import ArraySpec
from conformance.cases.case import Answers, Case, FollowingOperator, Rejected, Value
from conformance.cases.invalid.templates import expand_rejects
from conformance.cases.operators import OPERATORS
from conformance.cases.parameters import CaseError
from conformance.cases.parsing import parse_case
from conformance.cases.schema import DocumentError, case_prefix, catalogue_folder, document_errors
from conformance.cases.yaml_reader import YamlDocument, YamlPath, read_yaml_with_errors
from conformance.catalogue import export_reader, lock
from conformance.catalogue.sweep_rows import SweepReader, is_exhaustive, row_id_prefix, sweep_definition_text
from conformance.catalogue.sweeps import Sweep
from conformance.system.cache import cached_catalogue, cached_data
from conformance.system.error_lines import MAX_FILE_ERRORS, sort_errors
from conformance.system.garbage_collection import paused_garbage_collection
from conformance.system.packed_sequence import MAX_UNPACKED_ITEMS, PackedSequence, compact
from reports.results.key_set import KeySet
from reports.results.vocabulary import Level

ReadProgress = Callable[[int], None]
"""Called with the number of cases read so far."""
CASES_PER_PROGRESS_CALL = 100


@dataclass(frozen=True)
class Catalogue:
    """All cases, in the order of their files, and the sweeps with the names of their rows.

    unloaded_sweeps: exhaustive sweeps whose rows were not requested; version: that of the built-in catalogue or of an
    export, "" for any other.
    """

    cases: Sequence[Case]
    sweeps: Mapping[Sweep, Sequence[str]] = field(default_factory=dict)
    unloaded_sweeps: tuple[Sweep, ...] = ()
    version: str = ""

    @cached_property
    def by_id(self) -> dict[str, Case]:
        """The cases by their ids."""
        return {case.id: case for case in self.cases}

    @cached_property
    def digest(self) -> str:
        """A 128-bit digest of the canonical texts of all cases, independent of their order.

        An exhaustive sweep enters with its definition, so the digest does not depend on whether its rows were loaded.
        """
        exhaustive = [*filter(is_exhaustive, self.sweeps), *self.unloaded_sweeps]
        rows = tuple(map(row_id_prefix, exhaustive))
        texts = sorted(
            [sweep_definition_text(sweep) for sweep in exhaustive]
            + [case.canonical_text() for case in self.cases if not (rows and case.id.startswith(rows))]
        )
        return hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()

    def select(
        self, level: str = Level.EXHAUSTIVE, operators: Iterable[str] = (), globs: Iterable[str] = ()
    ) -> Sequence[Case]:
        """Return the cases up to a level that match an operator and a glob; empty lists match all cases."""
        levels = [*Level][: [*Level].index(Level(level)) + 1]
        operators, globs = set(operators), list(globs)
        return compact(
            case
            for case in self.cases
            if case.level in levels
            and (not operators or case.operator in operators)
            and (not globs or any(fnmatch.fnmatchcase(case.id, glob) for glob in globs))
        )


CACHED_CLASSES = (Catalogue, Case, ArraySpec, Value, Rejected, Answers, FollowingOperator, Sweep, Level)
"""Classes of the objects in a catalogue."""


def load_catalogue(
    paths: Sequence[Path] = (),
    *,
    extend: bool = False,
    level: str = Level.STANDARD,
    operators: Sequence[str] = (),
    globs: Sequence[str] = (),
    progress: ReadProgress = lambda _count: None,
) -> Catalogue:
    """Read the given files, folders and exported catalogues, by default the built-in catalogue.

    Exhaustive sweeps are expanded only at level exhaustive, restricted to the operators and globs given. All their
    possible rows are cases, and the lock does not list them. The rows of other sweeps are those in the lock of their
    catalogue. If it has none, or with `extend`, rows are added for the combinations that are not covered. Raises
    CatalogueError with one line for each of the first errors of a file, naming file, line, case and key. The built-in
    catalogue without exhaustive rows is cached on disk. progress: called again and again while cases are read.
    """
    if not paths and not extend and level != Level.EXHAUSTIVE:
        return cached_catalogue(catalogue_folder(), _load_with_digests, CACHED_CLASSES)
    options = {"operators": operators, "globs": globs, "progress": progress}
    return _load_paths(paths, extend=extend, level=level, **options)


def load_convention_cases(operator: str) -> tuple[Case, ...]:
    """Return the cases of the built-in catalogue that observe a convention of an operator.

    They are cached on disk alone: one file is read, and not the whole catalogue.
    """
    folder = catalogue_folder()
    paths = sorted(folder.glob(f"*/{operator}.yaml"))

    def read() -> tuple[Case, ...]:
        return tuple(case for case in _load_paths(paths).cases if case.convention_id is not None)

    return cached_data([*paths, folder / lock.LOCK_FILE], read, CACHED_CLASSES)


def _load_with_digests() -> Catalogue:
    """Return the built-in catalogue with all digests computed, so that they are cached with it."""
    catalogue = _load_paths()
    _ = catalogue.digest, [case.content_digest for case in catalogue.cases]
    return catalogue


def _load_paths(paths: Sequence[Path] = (), **options: Any) -> Catalogue:
    catalogue, errors = load_with_errors(paths, **options)
    if errors:
        raise CatalogueError("\n".join(errors))
    if not catalogue.cases:
        raise CatalogueError(f"{', '.join(map(str, paths))}: contains no cases")
    return catalogue


@paused_garbage_collection()
def load_with_errors(
    paths: Sequence[Path] = (),
    *,
    extend: bool = False,
    level: str = Level.STANDARD,
    operators: Sequence[str] = (),
    globs: Sequence[str] = (),
    progress: ReadProgress = lambda _count: None,
) -> tuple[Catalogue, list[str]]:
    """Return the valid cases of the given files, folders and exports, and one line for each error.

    The arguments are those of `load_catalogue`.
    """
    cases = _UniqueCases()
    errors: list[str] = []
    reader = SweepReader(errors, _case_counter(progress), extend, level, operators, globs)
    exports = [path for path in paths if export_reader.is_export(path)]
    for path in _case_files([path for path in paths or [catalogue_folder()] if path not in exports]):
        found: list[str] = []
        file_cases, unchecked = _read_file(path, reader, found)
        cases.add(file_cases, found)
        errors += _first_errors(path, found, unchecked)
    versions = [] if paths else [catalogue_version()]
    for path in exports:
        try:
            export = export_reader.read_export(path)
        except CatalogueError as error:
            errors.append(str(error))
            continue
        cases.add(export.cases, errors)
        versions.append(export.version)
    errors += _misnamed_cases(cases.cases, {**dict.fromkeys(reader.unloaded, ()), **reader.sweeps})
    # A combination of several catalogues has no version.
    version = versions[0] if len(versions) == 1 and len(paths) <= 1 else ""
    loaded = cases.cases if len(cases.cases) > MAX_UNPACKED_ITEMS else tuple(cases.cases)
    return Catalogue(loaded, reader.sweeps, tuple(reader.unloaded), version), sort_errors(errors)


def _case_counter(progress: ReadProgress) -> Callable[[], None]:
    """Return a function to call for each case. It calls `progress` for every hundredth."""
    numbers = count(1)

    def count_case() -> None:
        number = next(numbers)
        if number % CASES_PER_PROGRESS_CALL == 0:
            progress(number)

    return count_case


def _first_errors(path: Path, errors: Sequence[str], unchecked: int) -> list[str]:
    """Return the first errors of a file, and a last line if there are more. unchecked: cases without a check."""
    if len(errors) <= MAX_FILE_ERRORS and not unchecked:
        return list(errors)
    more = (
        f"and more; {unchecked:,} cases were not checked"
        if unchecked
        else f"and {len(errors) - MAX_FILE_ERRORS:,} more"
    )
    return [*sort_errors(errors)[:MAX_FILE_ERRORS], f"{path}: {more}"]


class _UniqueCases:
    """The first case with each id. Large catalogues are packed while they are read."""

    def __init__(self) -> None:
        self.cases: PackedSequence[Case] = PackedSequence()
        self._ids = KeySet()

    def add(self, found: Iterable[Case], errors: list[str]) -> None:
        """Add cases, and an error for each id that a case before has, so that one wrong id causes one message."""
        repeated: list[Case] = []
        for case in found:
            if case.id in self._ids:
                repeated.append(case)
            else:
                self._ids.add(case.id)
                self.cases.append(case)
        ids = {case.id for case in repeated}
        first = {case.id: case.location for case in self.cases if case.id in ids} if ids else {}
        errors += [f"{one.location}: duplicate case id {one.id}, first defined at {first[one.id]}" for one in repeated]


def catalogue_version() -> str:
    """Return the version of the built-in catalogue, "" if it has no lock."""
    path = catalogue_folder() / lock.LOCK_FILE
    return lock.read_lock_file(path).label if path.exists() else ""


def _misnamed_cases(cases: Iterable[Case], sweeps: Mapping[Sweep, Sequence[str]]) -> Iterator[str]:
    """Yield an error for each case whose id has the prefix of a sweep, but which is not a row of it."""
    rows = KeySet(f"{sweep.operator}/{sweep.id}/{name}" for sweep, names in sweeps.items() for name in names)
    prefixes = tuple(f"{sweep.operator}/{sweep.id}/" for sweep in sweeps)
    for case in cases:
        if prefixes and case.id.startswith(prefixes) and case.id not in rows:
            sweep = case.id.rsplit("/", 1)[0]
            yield f"{case.location}: case {case.id}: {sweep} is a sweep, and this case is not one of its rows"


def _case_files(paths: Iterable[Path]) -> list[Path]:
    """Return the case files: the files given, and the YAML files in the subfolders of the folders given.

    The ledger, which is in the catalogue folder itself, is not included.
    """
    return [file for path in paths for file in _files_in_folder(path)]


def _files_in_folder(path: Path) -> list[Path]:
    if not path.exists():
        raise CatalogueError(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    found = sorted([*path.glob("*/*.yaml"), *path.glob("*/*.yml")])
    if not found:
        raise CatalogueError(f"{path}: contains no case files (expected <family>/<operator>.yaml)")
    return found


def _read_file(path: Path, reader: SweepReader, errors: list[str]) -> tuple[Iterable[Case], int]:
    """Return the valid cases of a file, of which those of sweeps are made one by one. Add errors to `errors`.

    The check stops after MAX_FILE_ERRORS errors. Return also the number of cases that were not checked.
    """
    try:
        document = read_yaml_with_errors(path)
    except CatalogueError as error:
        errors.append(str(error))
        return [], 0
    if document.data is None:
        errors.append(f"{path}:1: the file is empty; a catalogue file has the keys operator and source")
        return [], 0
    known = document_errors(document, catalogue_folder() / "schema.json", MAX_FILE_ERRORS + 1)
    errors += dict.fromkeys(f"{path}:{found.line}: {found.message}" for found in known)
    operator = document.data.get("operator") if isinstance(document.data, dict) else None
    # Without an operator, no item can be parsed; the schema has reported the key already.
    if not isinstance(operator, str) or operator not in OPERATORS:
        return [], 0
    by_item: dict[YamlPath, list[DocumentError]] = {}
    for found in known:
        by_item.setdefault(found.key_path[:2], []).append(found)
    items = [(kind, index) for kind in ("cases", "questions") for index in _positions_by_kind(document, kind)]
    cases: list[Case | None] = []
    for number, item in enumerate(items):
        # The check of the schema stops earlier if errors have equal messages, as those of a YAML alias have.
        if len(errors) > MAX_FILE_ERRORS or len(known) > MAX_FILE_ERRORS:
            # The schema has been checked further than the other rules.
            return [], len(items) - max([number, *(items.index(found) + 1 for found in by_item if found in items)])
        cases.append(_read_case(document, item, by_item.get(item, ()), errors))
        reader.count_case()
    cases += _read_rejects(document, _valid_positions(document, "rejects", by_item), errors)
    rows = reader.read(document, _valid_positions(document, "sweeps", by_item))
    return chain(filter(None, cases), rows), 0


def _valid_positions(document: YamlDocument, kind: str, by_item: Mapping[YamlPath, object]) -> list[int]:
    """Return the positions of the items of a list that have no schema errors."""
    return [index for index in _positions_by_kind(document, kind) if (kind, index) not in by_item]


def _read_rejects(document: YamlDocument, positions: Iterable[int], errors: list[str]) -> list[Case]:
    """Return the cases of the `rejects` entries at some positions."""
    cases: list[Case] = []
    for index in positions:
        item, raw = ("rejects", index), document.data["rejects"][index]
        locations = {n: document.location_of((*item, "faults", n)) for n in range(len(raw["faults"]))}
        try:
            cases += expand_rejects({"source": "", **document.data}, raw, locations)
        except CaseError as error:
            errors.append(f"{document.location_of((*item, *error.key_path))}: {case_prefix(document, item)}{error}")
    return cases


def _positions_by_kind(document: YamlDocument, kind: str) -> range:
    items = document.data.get(kind)
    return range(len(items) if isinstance(items, list) else 0)


def _read_case(
    document: YamlDocument, item: tuple[str, int], known: Sequence[DocumentError], errors: list[str]
) -> Case | None:
    family, location = {"source": "", **document.data}, document.location_of(item)
    raw = family[item[0]][item[1]]
    if not known:
        with suppress(CaseError):
            return parse_case(family, raw, location)
    for found in all_errors(family, raw, location, [(one.key_path[2:], one.is_removable) for one in known]):
        errors.append(f"{document.location_of((*item, *found.key_path))}: {case_prefix(document, item)}{found}")
    return None
