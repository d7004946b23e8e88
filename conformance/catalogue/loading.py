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
from conformance.cases.all_errors import every_fault
from conformance.cases.case import LEVELS, Case
from conformance.cases.invalid.templates import rejects
from conformance.cases.operators import OPERATORS
from conformance.cases.parameters import Faulty
from conformance.cases.parsing import expand
from conformance.cases.schema import Fault, catalogue_folder, faults, subject
from conformance.cases.yaml_reader import Document, KeyPath, read_on
from conformance.catalogue import export_reader, lock
from conformance.catalogue.sweep_rows import SweepReader, exhaustive, meaning, prefix
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
    unloaded: tuple[Sweep, ...] = ()
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
        wide = [*filter(exhaustive, self.sweeps), *self.unloaded]
        rows = tuple(map(prefix, wide))
        texts = sorted(
            [meaning(sweep) for sweep in wide]
            + [case.canonical() for case in self.cases if not (rows and case.id.startswith(rows))]
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


def load(
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
        return cached_catalogue(catalogue_folder(), _digested)
    return _load(paths, grow=grow, level=level, operators=operators, globs=globs)


def _digested() -> Catalogue:
    """Return the suite's own catalogue with every digest ready, so that they are kept with it."""
    found = _load()
    _ = found.digest, [case.key for case in found.cases]
    return found


def _load(paths: Sequence[Path] = (), **how: Any) -> Catalogue:
    found, told = examine(paths, **how)
    if told:
        raise CatalogueError("\n".join(told))
    if not found.cases:
        raise CatalogueError(f"{', '.join(map(str, paths))}: no case in it")
    return found


def examine(
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
    for path in _files([path for path in paths or [catalogue_folder()] if path not in exports]):
        _enter(_read(path, reader, told), cases, told)
    versions = [] if paths else [version()]
    for path in exports:
        try:
            export = export_reader.read(path)
        except CatalogueError as error:
            told.append(str(error))
            continue
        _enter(export.cases, cases, told)
        versions.append(export.version)
    told += _strangers(cases.values(), {**dict.fromkeys(reader.unloaded, ()), **reader.sweeps})
    only = versions[0] if len(versions) == 1 and len(paths) <= 1 else ""
    return Catalogue(tuple(cases.values()), reader.sweeps, tuple(reader.unloaded), only), in_order(told)


def _enter(found: Iterable[Case], cases: dict[str, Case], told: list[str]) -> None:
    for case in found:
        if case.id in cases:
            told.append(f"{case.place}: case {case.id} stands already at {cases[case.id].place}")
        cases.setdefault(case.id, case)


def version() -> str:
    """Return the version of the suite's own catalogue, "" if it has no lock."""
    path = catalogue_folder() / lock.NAME
    return lock.read(path).label if path.exists() else ""


def _strangers(cases: Iterable[Case], sweeps: Mapping[Sweep, Sequence[str]]) -> Iterator[str]:
    """Yield a fault for each case that is called like the row of a sweep and is none."""
    rows = {f"{sweep.operator}/{sweep.id}/{name}" for sweep, names in sweeps.items() for name in names}
    prefixes = tuple(f"{sweep.operator}/{sweep.id}/" for sweep in sweeps)
    for case in cases:
        if prefixes and case.id.startswith(prefixes) and case.id not in rows:
            sweep = case.id.rsplit("/", 1)[0]
            yield f"{case.place}: case {case.id}: a sweep is called {sweep}, and this is no row of it"


def _files(paths: Iterable[Path]) -> list[Path]:
    """Return the case files: those given, and in folders every YAML file one level down; the ledger stands above."""
    return [file for path in paths for file in _files_of(path)]


def _files_of(path: Path) -> list[Path]:
    if not path.exists():
        raise CatalogueError(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    found = sorted([*path.glob("*/*.yaml"), *path.glob("*/*.yml")])
    if not found:
        raise CatalogueError(f"{path}: no case file in it (they are called <family>/<operator>.yaml)")
    return found


def _read(path: Path, reader: SweepReader, told: list[str]) -> list[Case]:
    """Return the sound cases of a file; what is wrong with others does not hide what is wrong with them."""
    try:
        document = read_on(path)
    except CatalogueError as error:
        told.append(str(error))
        return []
    known = faults(document, catalogue_folder() / "schema.json")
    told += [f"{path}:{fault.line}: {fault.sentence}" for fault in known]
    operator = document.data.get("operator") if isinstance(document.data, dict) else None
    if not isinstance(operator, str) or operator not in OPERATORS:
        return []
    of_items: dict[KeyPath, list[Fault]] = {}
    for fault in known:
        of_items.setdefault(fault.where[:2], []).append(fault)
    items = [(kind, index) for kind in ("cases", "questions") for index in _positions(document, kind)]
    cases = [_read_case(document, where, of_items.get(where, ()), told) for where in items]
    cases += _read_rejects(document, _sound(document, "rejects", of_items), told)
    return [case for case in cases if case] + reader.read(document, _sound(document, "sweeps", of_items))


def _sound(document: Document, kind: str, of_items: Mapping[KeyPath, object]) -> list[int]:
    """Return the positions of the items of a list against which the schema has nothing."""
    return [index for index in _positions(document, kind) if (kind, index) not in of_items]


def _read_rejects(document: Document, sound: Iterable[int], told: list[str]) -> list[Case]:
    """Return the cases that must be rejected, made from valid ones."""
    cases: list[Case] = []
    for index in sound:
        where, raw = ("rejects", index), document.data["rejects"][index]
        places = {n: document.place((*where, "faults", n)) for n in range(len(raw["faults"]))}
        try:
            cases += rejects({"source": "", **document.data}, raw, places)
        except Faulty as fault:
            told.append(f"{document.place((*where, *fault.where))}: {subject(document, where)}{fault}")
    return cases


def _positions(document: Document, kind: str) -> range:
    items = document.data.get(kind)
    return range(len(items) if isinstance(items, list) else 0)


def _read_case(document: Document, where: tuple[str, int], known: Sequence[Fault], told: list[str]) -> Case | None:
    family, place = {"source": "", **document.data}, document.place(where)
    raw = family[where[0]][where[1]]
    if not known:
        with suppress(Faulty):
            return expand(family, raw, place)
    for fault in every_fault(family, raw, place, [(fault.where[2:], fault.removable) for fault in known]):
        told.append(f"{document.place((*where, *fault.where))}: {subject(document, where)}{fault}")
    return None


def in_order(faults: Iterable[str]) -> list[str]:
    """Return lines of faults, those of one file by their line, files as they come; those of none stay as they are."""
    files: dict[str, int] = {}

    def place(text: str) -> tuple[int, int, str]:
        found = re.match(r"(.*?):(\d+): ", text)
        file, line = found.groups() if found else ("", "0")
        return files.setdefault(file, len(files)), int(line), text if found else ""

    return sorted(faults, key=place)
