"""Selection of the rows of sweeps to load, and the special treatment of exhaustive sweeps."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.cases.case import Case
from conformance.cases.parsing import parse_case
from conformance.cases.schema import case_prefix
from conformance.cases.selectors import GLOB_CHARACTERS
from conformance.cases.yaml_reader import YamlDocument
from conformance.catalogue import lock
from conformance.catalogue.sweeps import Sweep
from conformance.system.packed_sequence import compact
from reports.results.vocabulary import Level


def row_id_prefix(sweep: Sweep) -> str:
    """Return the common prefix of the ids of a sweep's rows."""
    return f"{sweep.operator}/{sweep.id}/"


def sweep_name(sweep: Sweep) -> str:
    """Return the name of an exhaustive sweep in the lock."""
    return f"{sweep.operator}/{sweep.id}{lock.SWEEP_SUFFIX}"


def is_exhaustive(sweep: Sweep) -> bool:
    """Whether a sweep is of level exhaustive. It has too many rows to load by default or to freeze individually."""
    return bool(sweep.common.get("level") == Level.EXHAUSTIVE)


def sweep_definition_text(sweep: Sweep) -> str:
    """Return everything that determines the rows of an exhaustive sweep as text."""
    return json.dumps([sweep.operator, sweep.id, sweep.factors, sweep.strength, sweep.common], default=str)


@dataclass
class PartCache:
    """Cache of the parts of a sweep's rows, by their text. Rows with equal parts share objects to save memory."""

    parts: dict[str, Any] = field(default_factory=dict)

    def share_parts(self, case: Case) -> Case:
        """Return an equal case made of shared parts."""
        inputs = {name: replace(spec, shape=self._shared_part(spec.shape)) for name, spec in case.inputs.items()}
        expect, parameters = self._shared_part(case.expect), self._shared_part(case.parameters)
        return replace(case, inputs=inputs, expect=expect, parameters=parameters)

    def _shared_part(self, part: Any) -> Any:
        return self.parts.setdefault(repr(part), part)


@dataclass
class SweepReader:
    """Reader of the sweeps of several files, which expands them to cases or records them as unloaded.

    errors: messages are added to it; count_case: called for each row; extend: whether to add rows for uncovered
    combinations.
    """

    errors: list[str]
    count_case: Callable[[], None]
    extend: bool
    level: str
    operators: Sequence[str]
    globs: Sequence[str]
    sweeps: dict[Sweep, Sequence[str]] = field(default_factory=dict)
    unloaded: list[Sweep] = field(default_factory=list)

    def read(self, document: YamlDocument, positions: Iterable[int]) -> Iterator[Case]:
        """Yield the cases of the sweeps at some positions of a file, and record the sweeps and their rows."""
        path = document.path.resolve().parent.parent / lock.LOCK_FILE
        frozen = lock.read_lock_file(path).records if path.exists() else {}
        for index in positions:
            item, raw = ("sweeps", index), document.data["sweeps"][index]
            location = document.location_of(item)
            try:
                sweep = self._sweep(document.data["operator"], raw, location)
                if is_exhaustive(sweep) and not self._may_select_row(sweep):
                    self.unloaded.append(sweep)
                    continue
                names = compact(self._rows(sweep, frozen))
                self.sweeps[sweep] = names
                sweep.forget_possible_rows()
                parts = PartCache()
                for name in names:
                    if self._selects_row(sweep, name):
                        case = parse_case({"source": "", **document.data}, sweep.raw_case(name), location)
                        self.count_case()
                        yield parts.share_parts(case)
            except ValueError as error:
                self.errors.append(f"{location}: {case_prefix(document, item)}{error}")

    def _sweep(self, operator: str, raw: Mapping[str, Any], location: str) -> Sweep:
        for other in (*self.sweeps, *self.unloaded):
            if row_id_prefix(other) == f"{operator}/{raw['id']}/":
                raise ValueError("key 'id': another sweep of the operator has the same id")
        return Sweep.parse(operator, raw, location)

    def _rows(self, sweep: Sweep, frozen: lock.LockRecords) -> list[str]:
        """Return the names of the rows: those in the lock, or for an exhaustive sweep those made from its factors."""
        if is_exhaustive(sweep):
            # If the ids are given in full, only these rows are tested, because making all rows is slow.
            named = self.globs and not any(GLOB_CHARACTERS.search(glob) for glob in self.globs)
            return [name for name in self._named_rows(sweep) if _is_row(sweep, name)] if named else sweep.rows()
        start = row_id_prefix(sweep)
        # The last condition excludes the record of an exhaustive sweep, whose name ends with `*`.
        names = [name.removeprefix(start) for name in frozen if name.startswith(start) and start + "*" != name]
        return sweep.rows(names, extend=self.extend)

    def _may_select_row(self, sweep: Sweep) -> bool:
        """Whether a row of an exhaustive sweep may be selected, judged by the prefix of its id."""
        start = row_id_prefix(sweep)
        fixed = [GLOB_CHARACTERS.split(glob)[0] for glob in self.globs]
        return (
            self.level == Level.EXHAUSTIVE
            and (not self.operators or sweep.operator in self.operators)
            and (not fixed or any(start.startswith(part) or part.startswith(start) for part in fixed))
        )

    def _named_rows(self, sweep: Sweep) -> list[str]:
        """Return the names of rows in globs without wildcards."""
        return [glob.removeprefix(row_id_prefix(sweep)) for glob in self.globs if glob.startswith(row_id_prefix(sweep))]

    def _selects_row(self, sweep: Sweep, name: str) -> bool:
        if not (is_exhaustive(sweep) and self.globs):
            return True
        return any(fnmatch.fnmatchcase(row_id_prefix(sweep) + name, glob) for glob in self.globs)


def _is_row(sweep: Sweep, name: str) -> bool:
    """Whether a sweep has a row of this name, without making all rows."""
    try:
        (row,) = sweep.row_levels([name])
    except ValueError:
        return False
    return bool(sweep.name(row) == name and (sweep.cover.valid_rows == row).all(axis=1).any())
