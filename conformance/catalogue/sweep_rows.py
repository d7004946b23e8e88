"""The rows of sweeps: which of them are read, and how sweeps of level exhaustive differ from others."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.cases.case import LEVELS, Case
from conformance.cases.parsing import expand
from conformance.cases.schema import subject
from conformance.cases.selectors import GLOB
from conformance.cases.yaml_reader import Document
from conformance.catalogue import lock
from conformance.catalogue.sweeps import Sweep


def prefix(sweep: Sweep) -> str:
    """Return what the ids of a sweep's rows begin with."""
    return f"{sweep.operator}/{sweep.id}/"


def sweep_name(sweep: Sweep) -> str:
    """Return what an exhaustive sweep is called in the lock."""
    return f"{sweep.operator}/{sweep.id}{lock.ROWS}"


def exhaustive(sweep: Sweep) -> bool:
    """Whether the rows of a sweep are too many to be read or frozen one by one."""
    return bool(sweep.common.get("level") == LEVELS[-1])


def meaning(sweep: Sweep) -> str:
    """Return all that decides what the rows of an exhaustive sweep are, as text."""
    return json.dumps([sweep.operator, sweep.id, sweep.factors, sweep.strength, sweep.common], default=str)


@dataclass
class Alike:
    """Parts of cases that many rows of a sweep have in common, each kept once, by the text that it is."""

    known: dict[str, Any] = field(default_factory=dict)

    def shared(self, case: Case) -> Case:
        """Return the case made of parts that others may have, too."""
        inputs = {name: replace(spec, shape=self._one(spec.shape)) for name, spec in case.inputs.items()}
        expect, parameters = self._one(case.expect), self._one(case.parameters)
        return replace(case, inputs=inputs, expect=expect, parameters=parameters)

    def _one(self, part: Any) -> Any:
        return self.known.setdefault(repr(part), part)


@dataclass
class SweepReader:
    """Reads the sweeps of one file after another: into cases, or to be left unloaded."""

    told: list[str]
    grow: bool
    level: str
    operators: Sequence[str]
    globs: Sequence[str]
    sweeps: dict[Sweep, Sequence[str]] = field(default_factory=dict)
    unloaded: list[Sweep] = field(default_factory=list)

    def read(self, document: Document, sound: Iterable[int]) -> list[Case]:
        """Return the cases of some sweeps of a file, and enter the sweeps with the names of their rows."""
        path, cases = document.path.resolve().parent.parent / lock.NAME, []
        released = lock.read(path).records if path.exists() else {}
        for index in sound:
            where, raw = ("sweeps", index), document.data["sweeps"][index]
            place = document.place(where)
            try:
                sweep = self._sweep(document.data["operator"], raw, place)
                if exhaustive(sweep) and not self._wants_any(sweep):
                    self.unloaded.append(sweep)
                    continue
                names = self._rows(sweep, released)
                self.sweeps[sweep] = names
                wanted = [name for name in names if self._wants(sweep, name)]
                alike = Alike()
                cases += [
                    alike.shared(expand({"source": "", **document.data}, sweep.case(name), place)) for name in wanted
                ]
            except ValueError as fault:
                self.told.append(f"{place}: {subject(document, where)}{fault}")
        return cases

    def _sweep(self, operator: str, raw: Mapping[str, Any], place: str) -> Sweep:
        for other in (*self.sweeps, *self.unloaded):
            if prefix(other) == f"{operator}/{raw['id']}/":
                raise ValueError("key 'id': another sweep of the operator is called so")
        return Sweep.of(operator, raw, place)

    def _rows(self, sweep: Sweep, released: lock.Records) -> list[str]:
        """Return the names of the rows; an exhaustive sweep has no frozen ones, its factors make them."""
        if exhaustive(sweep):
            named = self.globs and not any(GLOB.search(glob) for glob in self.globs)
            return [name for name in self._ends(sweep) if _is_row(sweep, name)] if named else sweep.rows()
        start = prefix(sweep)
        kept = [name.removeprefix(start) for name in released if name.startswith(start) and start + "*" != name]
        return sweep.rows(kept, grow=self.grow)

    def _wants_any(self, sweep: Sweep) -> bool:
        """Whether a row of an exhaustive sweep may be wanted, as far as the start of its id tells."""
        start = prefix(sweep)
        fixed = [GLOB.split(glob)[0] for glob in self.globs]
        return (
            self.level == LEVELS[-1]
            and (not self.operators or sweep.operator in self.operators)
            and (not fixed or any(start.startswith(part) or part.startswith(start) for part in fixed))
        )

    def _ends(self, sweep: Sweep) -> list[str]:
        """Return what names the globs have for rows of a sweep, where there is nothing wild in them."""
        return [glob.removeprefix(prefix(sweep)) for glob in self.globs if glob.startswith(prefix(sweep))]

    def _wants(self, sweep: Sweep, name: str) -> bool:
        if not (exhaustive(sweep) and self.globs):
            return True
        return any(fnmatch.fnmatchcase(prefix(sweep) + name, glob) for glob in self.globs)


def _is_row(sweep: Sweep, name: str) -> bool:
    """Whether a sweep has a row of this name, found without making all of them."""
    try:
        (row,) = sweep.numbers([name])
    except ValueError:
        return False
    return bool(sweep.name(row) == name and (sweep.cover.valid == row).all(axis=1).any())
