"""The rows of sweeps: which of them are read, and how sweeps of level exhaustive differ from others."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.cases.case import LEVELS, Case
from conformance.cases.parsing import parse_case
from conformance.cases.schema import case_prefix
from conformance.cases.selectors import GLOB_CHARACTERS
from conformance.cases.yaml_reader import YamlDocument
from conformance.catalogue import lock
from conformance.catalogue.sweeps import Sweep


def row_id_prefix(sweep: Sweep) -> str:
    """Return what the ids of a sweep's rows begin with."""
    return f"{sweep.operator}/{sweep.id}/"


def sweep_name(sweep: Sweep) -> str:
    """Return what an exhaustive sweep is called in the lock."""
    return f"{sweep.operator}/{sweep.id}{lock.SWEEP_SUFFIX}"


def is_exhaustive(sweep: Sweep) -> bool:
    """Whether the rows of a sweep are too many to be read or frozen one by one."""
    return bool(sweep.common.get("level") == LEVELS[-1])


def sweep_definition_text(sweep: Sweep) -> str:
    """Return all that decides what the rows of an exhaustive sweep are, as text."""
    return json.dumps([sweep.operator, sweep.id, sweep.factors, sweep.strength, sweep.common], default=str)


@dataclass
class PartCache:
    """Parts of cases that many rows of a sweep have in common, each kept once, by the text that it is."""

    parts: dict[str, Any] = field(default_factory=dict)

    def share_parts(self, case: Case) -> Case:
        """Return the case made of parts that others may have, too."""
        inputs = {name: replace(spec, shape=self._shared_part(spec.shape)) for name, spec in case.inputs.items()}
        expect, parameters = self._shared_part(case.expect), self._shared_part(case.parameters)
        return replace(case, inputs=inputs, expect=expect, parameters=parameters)

    def _shared_part(self, part: Any) -> Any:
        return self.parts.setdefault(repr(part), part)


@dataclass
class SweepReader:
    """Reads the sweeps of one file after another: into cases, or to be left unloaded."""

    errors: list[str]
    extend: bool
    level: str
    operators: Sequence[str]
    globs: Sequence[str]
    sweeps: dict[Sweep, Sequence[str]] = field(default_factory=dict)
    unloaded: list[Sweep] = field(default_factory=list)

    def read(self, document: YamlDocument, sound: Iterable[int]) -> list[Case]:
        """Return the cases of some sweeps of a file, and enter the sweeps with the names of their rows."""
        path, cases = document.path.resolve().parent.parent / lock.LOCK_FILE, []
        released = lock.read_lock_file(path).records if path.exists() else {}
        for index in sound:
            where, raw = ("sweeps", index), document.data["sweeps"][index]
            place = document.location_of(where)
            try:
                sweep = self._sweep(document.data["operator"], raw, place)
                if is_exhaustive(sweep) and not self._may_select_row(sweep):
                    self.unloaded.append(sweep)
                    continue
                names = self._rows(sweep, released)
                self.sweeps[sweep] = names
                wanted = [name for name in names if self._selects_row(sweep, name)]
                alike = PartCache()
                cases += [
                    alike.share_parts(parse_case({"source": "", **document.data}, sweep.raw_case(name), place))
                    for name in wanted
                ]
            except ValueError as fault:
                self.errors.append(f"{place}: {case_prefix(document, where)}{fault}")
        return cases

    def _sweep(self, operator: str, raw: Mapping[str, Any], place: str) -> Sweep:
        for other in (*self.sweeps, *self.unloaded):
            if row_id_prefix(other) == f"{operator}/{raw['id']}/":
                raise ValueError("key 'id': another sweep of the operator is called so")
        return Sweep.parse(operator, raw, place)

    def _rows(self, sweep: Sweep, released: lock.LockRecords) -> list[str]:
        """Return the names of the rows; an exhaustive sweep has no frozen ones, its factors make them."""
        if is_exhaustive(sweep):
            named = self.globs and not any(GLOB_CHARACTERS.search(glob) for glob in self.globs)
            return [name for name in self._named_rows(sweep) if _is_row(sweep, name)] if named else sweep.rows()
        start = row_id_prefix(sweep)
        kept = [name.removeprefix(start) for name in released if name.startswith(start) and start + "*" != name]
        return sweep.rows(kept, extend=self.extend)

    def _may_select_row(self, sweep: Sweep) -> bool:
        """Whether a row of an exhaustive sweep may be wanted, as far as the start of its id tells."""
        start = row_id_prefix(sweep)
        fixed = [GLOB_CHARACTERS.split(glob)[0] for glob in self.globs]
        return (
            self.level == LEVELS[-1]
            and (not self.operators or sweep.operator in self.operators)
            and (not fixed or any(start.startswith(part) or part.startswith(start) for part in fixed))
        )

    def _named_rows(self, sweep: Sweep) -> list[str]:
        """Return what names the globs have for rows of a sweep, where there is nothing wild in them."""
        return [glob.removeprefix(row_id_prefix(sweep)) for glob in self.globs if glob.startswith(row_id_prefix(sweep))]

    def _selects_row(self, sweep: Sweep, name: str) -> bool:
        if not (is_exhaustive(sweep) and self.globs):
            return True
        return any(fnmatch.fnmatchcase(row_id_prefix(sweep) + name, glob) for glob in self.globs)


def _is_row(sweep: Sweep, name: str) -> bool:
    """Whether a sweep has a row of this name, found without making all of them."""
    try:
        (row,) = sweep.row_levels([name])
    except ValueError:
        return False
    return bool(sweep.name(row) == name and (sweep.cover.valid_rows == row).all(axis=1).any())
