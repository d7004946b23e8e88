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

from conformance import lock
from conformance.cases import LEVELS, Case
from conformance.errors import CatalogueError
from conformance.expand import Faulty, expand
from conformance.faults import every_fault
from conformance.operators import OPERATORS
from conformance.rejects import rejects
from conformance.schema import Fault, faults, subject
from conformance.sweeps import Sweep
from conformance.yaml_reader import Document, KeyPath, read_on

HERE = Path(__file__).parent


def home() -> Path:
    """Return the folder of the suite's own catalogue: inside an installed package, or beside it in a checkout."""
    installed = HERE / "_cases"
    return installed if installed.is_dir() else HERE.parent / "cases"


@dataclass(frozen=True)
class Catalogue:
    """All cases, in the order of their files, and the sweeps that some come from, with the names of their rows."""

    cases: tuple[Case, ...]
    sweeps: Mapping[Sweep, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> dict[str, Case]:
        """The cases by their ids."""
        return {case.id: case for case in self.cases}

    @cached_property
    def digest(self) -> str:
        """128 bits over the meaning of every case, whatever their order."""
        texts = sorted(case.canonical() for case in self.cases)
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


def load(paths: Sequence[Path] = (), *, grow: bool = False) -> Catalogue:
    """Read the given files and folders, or the suite's own catalogue.

    The rows of a sweep are those that the lock above its file holds; where it holds none, or to grow, the combinations
    that these leave uncovered get further rows. Raises CatalogueError with one line for each fault, each naming file,
    line, case and key.
    """
    found, told = examine(paths, grow=grow)
    if told:
        raise CatalogueError("\n".join(told))
    if not found.cases:
        raise CatalogueError(f"{', '.join(map(str, paths))}: no case in it")
    return found


def examine(paths: Sequence[Path] = (), *, grow: bool = False) -> tuple[Catalogue, list[str]]:
    """Return what is sound of the given files and folders, and one line for each fault; see `load`."""
    cases: dict[str, Case] = {}
    sweeps: dict[Sweep, Sequence[str]] = {}
    told: list[str] = []
    for path in _files(paths or [home()]):
        found = _read(path, sweeps, told, grow=grow)
        for case in found:
            if case.id in cases:
                told.append(f"{case.place}: case {case.id} stands already at {cases[case.id].place}")
            cases.setdefault(case.id, case)
    told += _strangers(cases.values(), sweeps)
    return Catalogue(tuple(cases.values()), sweeps), in_order(told)


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


def _read(path: Path, sweeps: dict[Sweep, Sequence[str]], told: list[str], *, grow: bool) -> list[Case]:
    """Return the sound cases of a file; what is wrong with others does not hide what is wrong with them."""
    try:
        document = read_on(path)
    except CatalogueError as error:
        told.append(str(error))
        return []
    known = faults(document, home() / "schema.json")
    told += [f"{path}:{fault.line}: {fault.sentence}" for fault in known]
    if not isinstance(document.data, dict) or document.data.get("operator") not in OPERATORS:
        return []
    of_items: dict[KeyPath, list[Fault]] = {}
    for fault in known:
        of_items.setdefault(fault.where[:2], []).append(fault)
    items = [(kind, index) for kind in ("cases", "questions") for index in _positions(document, kind)]
    cases = [_read_case(document, where, of_items.get(where, ()), told) for where in items]
    cases += _read_rejects(document, _sound(document, "rejects", of_items), told)
    sound = _sound(document, "sweeps", of_items)
    return [case for case in cases if case] + _read_sweeps(document, sound, sweeps, told, grow=grow)


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
    """Return lines of faults, those of one file by their line, files as they come."""
    files: dict[str, int] = {}

    def place(text: str) -> tuple[int, int, str]:
        found = re.match(r"(.*?):(\d+): ", text)
        file, line = found.groups() if found else ("", "0")
        return files.setdefault(file, len(files)), int(line), text

    return sorted(faults, key=place)


def _read_sweeps(
    document: Document, sound: Iterable[int], sweeps: dict[Sweep, Sequence[str]], told: list[str], *, grow: bool
) -> list[Case]:
    """Return the cases of some sweeps of a file, and enter the sweeps with the names of their rows."""
    path, cases = document.path.resolve().parent.parent / lock.NAME, []
    released = lock.read(path) if path.exists() else {}
    for index in sound:
        where, raw = ("sweeps", index), document.data["sweeps"][index]
        operator, place = document.data["operator"], document.place(where)
        prefix = f"{operator}/{raw['id']}/"
        try:
            if any(prefix == f"{other.operator}/{other.id}/" for other in sweeps):
                raise ValueError("key 'id': another sweep of the operator is called so")
            sweep = Sweep.of(operator, raw, place)
            kept = [name.removeprefix(prefix) for name in released if name.startswith(prefix)]
            sweeps[sweep] = names = sweep.rows(kept, grow=grow)
            cases += [expand({"source": "", **document.data}, sweep.case(name), place) for name in names]
        except ValueError as fault:
            told.append(f"{place}: {subject(document, where)}{fault}")
    return cases
