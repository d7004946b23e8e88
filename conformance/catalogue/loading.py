"""The catalogue: YAML files in, expanded cases out, and one line for everything that is wrong with them."""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance import CatalogueError
from conformance.cases.all_errors import all_errors
from conformance.cases.case import LEVELS, Case
from conformance.cases.invalid.templates import expand_rejects
from conformance.cases.operators import OPERATORS
from conformance.cases.parameters import CaseError
from conformance.cases.parsing import parse_case
from conformance.cases.schema import DocumentError, case_prefix, catalogue_folder, document_errors
from conformance.cases.yaml_reader import YamlDocument, YamlPath, read_yaml_with_errors
from conformance.catalogue import export_reader, lock
from conformance.catalogue.sweep_rows import SweepReader, is_exhaustive, row_id_prefix, sweep_definition_text
from conformance.catalogue.sweeps import Sweep
from conformance.system.cache import cached_catalogue


@dataclass(frozen=True)
class Catalogue:
    """All cases, in the order of their files, and the sweeps that some come from, with the names of their rows.

    unloaded: sweeps of level exhaustive whose rows nobody asked for. version: that of the suite's own catalogue or of
    the one that was exported, "" for any other.
    """

    cases: tuple[Case, ...]
    sweeps: Mapping[Sweep, Sequence[str]] = field(default_factory=dict)
    unloaded_sweeps: tuple[Sweep, ...] = ()
    version: str = ""

    @cached_property
    def by_id(self) -> dict[str, Case]:
        """The cases by their ids."""
        return {case.id: case for case in self.cases}

    @cached_property
    def digest(self) -> str:
        """128 bits over the meaning of every case, whatever their order.

        An exhaustive sweep counts as what it says of its rows, so that it does not matter whether these were loaded.
        """
        wide = [*filter(is_exhaustive, self.sweeps), *self.unloaded_sweeps]
        rows = tuple(map(row_id_prefix, wide))
        texts = sorted(
            [sweep_definition_text(sweep) for sweep in wide]
            + [case.canonical_text() for case in self.cases if not (rows and case.id.startswith(rows))]
        )
        return hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()

    def select(self, level: str = "exhaustive", operators: Iterable[str] = (), globs: Iterable[str] = ()) -> list[Case]:
        """Return the cases up to a level that match any operator and any glob given; none given match all."""
        levels = LEVELS[: LEVELS.index(level) + 1]
        operators, globs = set(operators), list(globs)
        return [
            case
            for case in self.cases
            if case.level in levels
            and (not operators or case.operator in operators)
            and (not globs or any(fnmatch.fnmatchcase(case.id, glob) for glob in globs))
        ]


def load_catalogue(
    paths: Sequence[Path] = (),
    *,
    grow: bool = False,
    level: str = "standard",
    operators: Sequence[str] = (),
    globs: Sequence[str] = (),
) -> Catalogue:
    """Read the given files, folders and exported catalogues, or the suite's own catalogue.

    Rows of sweeps of level exhaustive are read at that level only, and then those of the operators and of the globs
    given, as far as any are; they are all that the factors make of them, and the lock names none. The rows of any
    other sweep are those that the lock above its file holds; where it holds none, or to grow, the combinations that
    these leave uncovered get further rows. Raises CatalogueError with one line for each fault, each naming file, line,
    case and key. The suite's own, without its exhaustive rows, comes as it was kept if no file has changed since.
    """
    if not paths and not grow and level != LEVELS[-1]:
        return cached_catalogue(catalogue_folder(), _load_with_digests)
    return _load_paths(paths, grow=grow, level=level, operators=operators, globs=globs)


def _load_with_digests() -> Catalogue:
    """Return the suite's own catalogue with every digest ready, so that they are kept with it."""
    found = _load_paths()
    _ = found.digest, [case.content_digest for case in found.cases]
    return found


def _load_paths(paths: Sequence[Path] = (), **how: Any) -> Catalogue:
    found, told = load_with_errors(paths, **how)
    if told:
        raise CatalogueError("\n".join(told))
    if not found.cases:
        raise CatalogueError(f"{', '.join(map(str, paths))}: no case in it")
    return found


def load_with_errors(
    paths: Sequence[Path] = (),
    *,
    grow: bool = False,
    level: str = "standard",
    operators: Sequence[str] = (),
    globs: Sequence[str] = (),
) -> tuple[Catalogue, list[str]]:
    """Return what is sound of the given files, folders and exports, and one line for each fault; see `load`."""
    cases: dict[str, Case] = {}
    told: list[str] = []
    reader = SweepReader(told, grow, level, operators, globs)
    exports = [path for path in paths if export_reader.is_export(path)]
    for path in _case_files([path for path in paths or [catalogue_folder()] if path not in exports]):
        _add_cases(_read_file(path, reader, told), cases, told)
    versions = [] if paths else [catalogue_version()]
    for path in exports:
        try:
            export = export_reader.read_export(path)
        except CatalogueError as error:
            told.append(str(error))
            continue
        _add_cases(export.cases, cases, told)
        versions.append(export.version)
    told += _misnamed_cases(cases.values(), {**dict.fromkeys(reader.unloaded, ()), **reader.sweeps})
    only = versions[0] if len(versions) == 1 and len(paths) <= 1 else ""
    return Catalogue(tuple(cases.values()), reader.sweeps, tuple(reader.unloaded), only), sort_errors(told)


def _add_cases(found: Iterable[Case], cases: dict[str, Case], errors: list[str]) -> None:
    for case in found:
        if case.id in cases:
            errors.append(f"{case.location}: case {case.id} stands already at {cases[case.id].location}")
        cases.setdefault(case.id, case)


def catalogue_version() -> str:
    """Return the version of the suite's own catalogue, "" if it has no lock."""
    path = catalogue_folder() / lock.LOCK_FILE
    return lock.read_lock_file(path).label if path.exists() else ""


def _misnamed_cases(cases: Iterable[Case], sweeps: Mapping[Sweep, Sequence[str]]) -> Iterator[str]:
    """Yield a fault for each case that is called like the row of a sweep and is none."""
    rows = {f"{sweep.operator}/{sweep.id}/{name}" for sweep, names in sweeps.items() for name in names}
    prefixes = tuple(f"{sweep.operator}/{sweep.id}/" for sweep in sweeps)
    for case in cases:
        if prefixes and case.id.startswith(prefixes) and case.id not in rows:
            sweep = case.id.rsplit("/", 1)[0]
            yield f"{case.location}: case {case.id}: a sweep is called {sweep}, and this is no row of it"


def _case_files(paths: Iterable[Path]) -> list[Path]:
    """Return the case files: those given, and in folders every YAML file one level down; the ledger stands above."""
    return [file for path in paths for file in _files_in_folder(path)]


def _files_in_folder(path: Path) -> list[Path]:
    if not path.exists():
        raise CatalogueError(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    found = sorted([*path.glob("*/*.yaml"), *path.glob("*/*.yml")])
    if not found:
        raise CatalogueError(f"{path}: no case file in it (they are called <family>/<operator>.yaml)")
    return found


def _read_file(path: Path, reader: SweepReader, errors: list[str]) -> list[Case]:
    """Return the sound cases of a file; what is wrong with others does not hide what is wrong with them."""
    try:
        document = read_yaml_with_errors(path)
    except CatalogueError as error:
        errors.append(str(error))
        return []
    known = document_errors(document, catalogue_folder() / "schema.json")
    errors += [f"{path}:{fault.line}: {fault.message}" for fault in known]
    operator = document.data.get("operator") if isinstance(document.data, dict) else None
    if not isinstance(operator, str) or operator not in OPERATORS:
        return []
    of_items: dict[YamlPath, list[DocumentError]] = {}
    for fault in known:
        of_items.setdefault(fault.key_path[:2], []).append(fault)
    items = [(kind, index) for kind in ("cases", "questions") for index in _positions_by_kind(document, kind)]
    cases = [_read_case(document, where, of_items.get(where, ()), errors) for where in items]
    cases += _read_rejects(document, _valid_positions(document, "rejects", of_items), errors)
    return [case for case in cases if case] + reader.read(document, _valid_positions(document, "sweeps", of_items))


def _valid_positions(document: YamlDocument, kind: str, of_items: Mapping[YamlPath, object]) -> list[int]:
    """Return the positions of the items of a list against which the schema has nothing."""
    return [index for index in _positions_by_kind(document, kind) if (kind, index) not in of_items]


def _read_rejects(document: YamlDocument, sound: Iterable[int], errors: list[str]) -> list[Case]:
    """Return the cases that must be rejected, made from valid ones."""
    cases: list[Case] = []
    for index in sound:
        where, raw = ("rejects", index), document.data["rejects"][index]
        places = {n: document.location_of((*where, "faults", n)) for n in range(len(raw["faults"]))}
        try:
            cases += expand_rejects({"source": "", **document.data}, raw, places)
        except CaseError as fault:
            errors.append(f"{document.location_of((*where, *fault.key_path))}: {case_prefix(document, where)}{fault}")
    return cases


def _positions_by_kind(document: YamlDocument, kind: str) -> range:
    items = document.data.get(kind)
    return range(len(items) if isinstance(items, list) else 0)


def _read_case(
    document: YamlDocument, where: tuple[str, int], known: Sequence[DocumentError], errors: list[str]
) -> Case | None:
    family, place = {"source": "", **document.data}, document.location_of(where)
    raw = family[where[0]][where[1]]
    if not known:
        with suppress(CaseError):
            return parse_case(family, raw, place)
    for fault in all_errors(family, raw, place, [(fault.key_path[2:], fault.is_removable) for fault in known]):
        errors.append(f"{document.location_of((*where, *fault.key_path))}: {case_prefix(document, where)}{fault}")
    return None


def sort_errors(faults: Iterable[str]) -> list[str]:
    """Return lines of faults, those of one file by their line, files as they come; those of none stay as they are."""
    files: dict[str, int] = {}

    def place(text: str) -> tuple[int, int, str]:
        found = re.match(r"(.*?):(\d+): ", text)
        file, line = found.groups() if found else ("", "0")
        return files.setdefault(file, len(files)), int(line), text if found else ""

    return sorted(faults, key=place)
