"""Statistics of the catalogue: numbers of cases by operator and property, sweeps, and counts of other test suites."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance import ConformanceError
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.case import DRAWN_KEY, EXPECTATION_KINDS, Case, ExpectationKind, Value
from conformance.cases.operators import OPERATORS
from conformance.catalogue.covering_array import CoveringArray
from conformance.catalogue.loading import Catalogue
from conformance.catalogue.sweeps import STRENGTHS, Cover, Sweep
from reports.results.vocabulary import Level


@dataclass(frozen=True)
class CountTable:
    """Numbers of cases of each operator by column; None if another suite does not count the operator."""

    columns: list[str]
    rows: Mapping[str, Sequence[int | None]]


@dataclass(frozen=True)
class SweepSummary:
    """The size of a sweep; cover: pairs, triples or all; combinations: covered combinations of levels."""

    name: str
    level: str
    cover: Cover
    factors: int
    rows: int
    combinations: int


class CatalogueStatistics:
    """Numbers of a catalogue. Rows of exhaustive sweeps are not loaded; only the totals and the sweeps include them."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.cases = catalogue.cases
        self.unloaded_rows = {sweep: sweep.rows() for sweep in catalogue.unloaded_sweeps}
        self.sweeps = {**catalogue.sweeps, **self.unloaded_rows}
        totals = Counter((case.operator, Level(case.level)) for case in self.cases)
        for sweep, names in self.unloaded_rows.items():
            totals[sweep.operator, Level.EXHAUSTIVE] += len(names)
        self.case_count = totals.total()
        self.by_level = {level: sum(count for (_, of), count in totals.items() if of == level) for level in Level}
        self.gradient_count = sum(count for (name, _), count in totals.items() if OPERATORS[name].is_gradient)
        self.unused_operators = [name for name in OPERATORS if name not in {case.operator for case in self.cases}]

    def kinds(self) -> CountTable:
        """Count cases by level and by kind of expectation."""
        return self._count([*Level, *ExpectationKind], lambda case: [case.level, expectation_kind(case)])

    def ranks(self) -> CountTable:
        """Count cases by the number of spatial axes."""
        ranks = sorted({1, 2, 3} | {len(case.shape) - 2 for case in self.cases})
        return self._count([f"{rank}-D" for rank in ranks], lambda case: [f"{len(case.shape) - 2}-D"])

    def dtypes(self) -> CountTable:
        """Count cases by the dtype of x."""
        used = {case.dtype for case in self.cases}
        return self._count([name for name in NUMPY_DTYPES if name in used], lambda case: [case.dtype])

    def _count(self, columns: Sequence[str], properties: Callable[[Case], list[str]]) -> CountTable:
        counts = {name: Counter[str]() for name in OPERATORS}
        for case in self.cases:
            counts[case.operator].update(["cases", *properties(case)])
        shown = ["cases", *columns]
        return CountTable(shown, {name: [row[one] for one in shown] for name, row in counts.items() if row})

    def sweep_summaries(self) -> list[SweepSummary]:
        """Return the size of each sweep."""
        return [_summarise_sweep(sweep, names) for sweep, names in self.sweeps.items()]

    def comparison(self, parts: Iterable[Mapping[str, Any]]) -> CountTable:
        """Return the numbers of cases, of smoke cases, and of each part of the other suites."""
        own = Counter(case.operator for case in self.cases)
        smoke = Counter(case.operator for case in self.cases if case.level == Level.SMOKE)
        counted = [part for part in parts if part["counts"]]
        names = [name for name in OPERATORS if any(name in part["counts"] for part in counted)]
        rows = {name: [own[name], smoke[name], *(part["counts"].get(name) for part in counted)] for name in names}
        return CountTable(["here", "here, smoke", *(part["name"] for part in counted)], rows)


def expectation_kind(case: Case) -> ExpectationKind:
    """Return the kind of expectation of a case; values with and without printed outputs are counted separately."""
    if DRAWN_KEY in case.parameters:
        return ExpectationKind.DRAWN
    if isinstance(case.expect, Value) and case.expect.printed:
        return ExpectationKind.PINNED
    return EXPECTATION_KINDS[type(case.expect)]


def _summarise_sweep(sweep: Sweep, names: Sequence[str]) -> SweepSummary:
    words = {strength: word for word, strength in STRENGTHS.items()}
    cover = words.get(sweep.strength, Cover.ALL) if sweep.strength < len(sweep.factors) else Cover.ALL
    level = sweep.common.get("level", Level.SMOKE)
    # Only the combinations in the rows are counted. Counting the possible ones takes a minute.
    covered = CoveringArray(sweep.row_levels(names), sweep.strength).combination_count()
    return SweepSummary(f"{sweep.operator}/{sweep.id}", level, cover, len(sweep.factors), len(names), covered)


def read_other_suites(path: Path) -> Mapping[str, Any]:
    """Read the data written by benchmarks/others.py. Raises ConformanceError if it cannot be read."""
    try:
        found: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if not {"counted", "parts"} <= found.keys():
            raise ValueError("it has no counts")
    except OSError as error:
        raise ConformanceError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, AttributeError) as error:
        raise ConformanceError(f"{path}: not what benchmarks/others.py writes: {error}") from None
    return found


def counted_parts(others: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of other suites, each with a name, what was counted, and the counts."""
    return [part for group in others["parts"].values() for part in (group if isinstance(group, list) else [group])]
