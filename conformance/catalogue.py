"""The catalogue: YAML files in, expanded cases out, and one line for everything that is wrong with them."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from conformance.cases import LEVELS, Case
from conformance.errors import CatalogueError
from conformance.expand import Faulty, expand
from conformance.schema import problems, subject
from conformance.yaml_reader import read

HERE = Path(__file__).parent


def home() -> Path:
    """Return the folder of the suite's own catalogue: inside an installed package, or beside it in a checkout."""
    installed = HERE / "_cases"
    return installed if installed.is_dir() else HERE.parent / "cases"


@dataclass(frozen=True)
class Catalogue:
    """All cases, in the order of their files."""

    cases: tuple[Case, ...]

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


def load(paths: Sequence[Path] = ()) -> Catalogue:
    """Read the given files and folders, or the suite's own catalogue.

    Raises CatalogueError with one line for each fault, each naming file, line, case and key.
    """
    cases: dict[str, Case] = {}
    faults: list[str] = []
    for path in _files(paths or [home()]):
        for case in _read_file(path, faults):
            if case.id in cases:
                faults.append(f"{case.place}: case {case.id} stands already at {cases[case.id].place}")
            cases.setdefault(case.id, case)
    if faults:
        raise CatalogueError("\n".join(faults))
    if not cases:
        raise CatalogueError(f"{', '.join(map(str, paths))}: no case in it")
    return Catalogue(tuple(cases.values()))


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


def _read_file(path: Path, faults: list[str]) -> list[Case]:
    try:
        document = read(path)
    except CatalogueError as error:
        faults.append(str(error))
        return []
    found = problems(document, home() / "schema.json")
    faults += found
    if found:
        return []
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
