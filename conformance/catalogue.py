"""The catalogue: YAML files in, expanded cases out, and one line for everything that is wrong with them."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from conformance import lock
from conformance.cases import LEVELS, Case
from conformance.errors import CatalogueError
from conformance.expand import Faulty, expand
from conformance.schema import problems, subject
from conformance.sweeps import Sweep
from conformance.yaml_reader import Document, read

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
    cases: dict[str, Case] = {}
    sweeps: dict[Sweep, Sequence[str]] = {}
    faults: list[str] = []
    for path in _files(paths or [home()]):
        document = _document(path, faults)
        found = _read_cases(document, faults) if document else []
        if document and document.data.get("sweeps"):
            found += _read_sweeps(document, sweeps, faults, grow=grow)
        for case in found:
            if case.id in cases:
                faults.append(f"{case.place}: case {case.id} stands already at {cases[case.id].place}")
            cases.setdefault(case.id, case)
    faults += _strangers(cases.values(), sweeps)
    if faults:
        raise CatalogueError("\n".join(faults))
    if not cases:
        raise CatalogueError(f"{', '.join(map(str, paths))}: no case in it")
    return Catalogue(tuple(cases.values()), sweeps)


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


def _document(path: Path, faults: list[str]) -> Document | None:
    try:
        document = read(path)
    except CatalogueError as error:
        faults.append(str(error))
        return None
    found = problems(document, home() / "schema.json")
    faults += found
    return None if found else document


def _read_cases(document: Document, faults: list[str]) -> list[Case]:
    cases = []
    for kind in ("cases", "questions"):
        for index, raw in enumerate(document.data.get(kind, ())):
            where = (kind, index)
            try:
                cases.append(expand(document.data, raw, document.place(where)))
            except Faulty as fault:
                place = document.place((*where, *fault.where))
                faults.append(f"{place}: {subject(document, where)}{fault}")
    return cases


def _read_sweeps(
    document: Document, sweeps: dict[Sweep, Sequence[str]], faults: list[str], *, grow: bool
) -> list[Case]:
    """Return the cases of the sweeps of a file, and enter the sweeps with the names of their rows."""
    path, cases = document.path.resolve().parent.parent / lock.NAME, []
    released = lock.read(path) if path.exists() else {}
    for index, raw in enumerate(document.data["sweeps"]):
        where = ("sweeps", index)
        operator, place = document.data["operator"], document.place(where)
        prefix = f"{operator}/{raw['id']}/"
        try:
            if any(prefix == f"{other.operator}/{other.id}/" for other in sweeps):
                raise ValueError("key 'id': another sweep of the operator is called so")
            sweep = Sweep.of(operator, raw, place)
            kept = [name.removeprefix(prefix) for name in released if name.startswith(prefix)]
            sweeps[sweep] = names = sweep.rows(kept, grow=grow)
            cases += [expand(document.data, sweep.case(name), place) for name in names]
        except ValueError as fault:
            faults.append(f"{place}: {subject(document, where)}{fault}")
    return cases
