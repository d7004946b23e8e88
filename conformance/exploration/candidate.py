"""Candidates: generated cases, described by an operator and one level of each factor, like a row of a sweep."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS, PARAMETERS, Geometry, ParameterKind
from conformance.cases.parameters import CaseError
from conformance.cases.parsing import parse_case
from conformance.catalogue.factors import (
    FACTORS,
    FactorLevel,
    has_valid_pads,
    has_valid_windows,
    level_pairs,
    level_per_axis,
)
from conformance.catalogue.sweeps import Sweep

CASE_ID_PREFIX = "explored"
CASE_SOURCE = "found by exploring"
WHOLE_NUMBER_VALUES = frozenset({"integers", "distinct"})
"""Levels of the factor `values` that are the simplest for an operator: whole numbers, distinct where ties matter."""
NUMBER_PER_AXIS_FACTORS = ("extent", *(one.name for one in PARAMETERS.values() if one.kind is ParameterKind.SIZES))
"""Factors with one number per spatial axis."""
PAIR_FACTORS = tuple(
    one.name for one in PARAMETERS.values() if one.kind in {ParameterKind.PADDING, ParameterKind.PAIRS}
)
"""Factors with a pair (before, after) per spatial axis."""


@dataclass(frozen=True)
class Candidate:
    """An operator, the levels of its factors, and its inputs.

    levels: level of each factor, per spatial axis where the factor has one value per axis.
    inputs: generator options of each input, as in a sweep.
    written_numbers: inputs that are given as nested lists instead of generated.
    """

    operator: str
    levels: Mapping[str, FactorLevel]
    inputs: Mapping[str, Mapping[str, Any]]
    written_numbers: Mapping[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[Candidate], tuple[Any, ...]]:
        """Pickle the fields only: cached properties are computed again in the other process."""
        return Candidate, (self.operator, self.levels, self.inputs, self.written_numbers)

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return int(self.levels["rank"])

    @cached_property
    def _sweep(self) -> Sweep:
        factors = {name: (self.levels[name],) for name in FACTORS if name in self.levels}
        return Sweep(self.operator, CASE_ID_PREFIX, factors, len(factors), self.inputs)

    @cached_property
    def name(self) -> str:
        """Name of the levels, in the order of the factors: `2d-n1-c1-i3-w2-s3`."""
        return self._sweep.name((0,) * len(self._sweep.factors))

    def is_possible(self) -> bool:
        """Check that the output is not empty and that the values exist in the dtype.

        Every window must contain an input cell, and every pad needs enough cells to copy. Geometries without these are
        possible only if the operator has a convention about them.
        """
        row, operator = (0,) * len(self._sweep.factors), OPERATORS[self.operator]
        possible = DISPUTED_GEOMETRIES[operator.geometry] if operator.has_disputed_geometry else None
        disputed = bool(possible and possible(self.levels, self.per_axis("extent"), self.rank))
        return (disputed or self._sweep.is_possible(row)) and self._sweep.is_generated(row)

    @cached_property
    def raw_case(self) -> dict[str, Any]:
        """The case in the format of a catalogue file."""
        raw = {**self._sweep.raw_case(self.name), "source": CASE_SOURCE}
        for name, numbers in self.written_numbers.items():
            raw[name] = {"values": numbers, "dtype": raw[name]["dtype"]}
        # The name of the levels does not contain the numbers, so a digest keeps ids unique.
        unusual = self.written_numbers or {name: spec for name, spec in self.inputs.items() if len(spec) > 1}
        if unusual:
            digest = hashlib.blake2b(repr(sorted(unusual.items())).encode(), digest_size=4).hexdigest()
            raw["id"] = f"{raw['id']}-{digest}"
        return raw

    @cached_property
    def case(self) -> Case:
        """The parsed case. Raises CaseError if the levels describe no case."""
        return parse_case({"operator": self.operator, "source": CASE_SOURCE}, self.raw_case, CASE_ID_PREFIX)

    def is_valid(self) -> bool:
        """Check whether the levels describe a case."""
        try:
            return self.is_possible() and bool(self.case)
        except (CaseError, ValueError):
            return False

    @property
    def per_axis_factors(self) -> list[str]:
        """The factors with a level for each axis; padding that is computed from the extents has none."""
        names = (*NUMBER_PER_AXIS_FACTORS, *PAIR_FACTORS)
        return [name for name in names if name in self.levels and not isinstance(self.levels[name], str)]

    def per_axis(self, factor: str) -> tuple[Any, ...]:
        """Return the level of a factor on each axis: numbers, or pairs (before, after) for padding."""
        level = self.levels[factor]
        if factor in PAIR_FACTORS:
            return level_pairs(level, self.rank) if not isinstance(level, str) else ()
        return level_per_axis(level, self.rank)

    def with_levels(self, **levels: FactorLevel) -> Candidate:
        """Return the candidate with other levels. All inputs are generated again."""
        return Candidate(self.operator, {**self.levels, **levels}, self.inputs)

    def with_levels_on_axis(self, axis: int, **levels: FactorLevel) -> Candidate:
        """Return the candidate with other levels on one axis."""
        every = {name: self.per_axis(name) for name in levels}
        return self.with_levels(
            **{name: (*every[name][:axis], level, *every[name][axis + 1 :]) for name, level in levels.items()}
        )

    def without_axis(self, axis: int) -> Candidate:
        """Return the candidate without one of its spatial axes."""
        every = {name: self.per_axis(name) for name in self.per_axis_factors}
        fewer = {name: levels[:axis] + levels[axis + 1 :] for name, levels in every.items()}
        return self.with_levels(rank=self.rank - 1, **fewer)

    def with_numbers(self, **numbers: Any) -> Candidate:
        """Return the candidate with explicit numbers for some inputs."""
        return Candidate(self.operator, self.levels, self.inputs, {**self.written_numbers, **numbers})

    def non_default_factors(self) -> Iterator[str]:
        """Yield the factors that are not at their simplest level, once per axis that deviates."""
        for factor, level in self.levels.items():
            simplest = SIMPLEST_LEVELS.get(factor, OPERATORS[self.operator].defaults.get(factor))
            if factor == "values":
                yield from [factor] * (level not in WHOLE_NUMBER_VALUES and "x" not in self.written_numbers)
            elif factor in {"extent", "output_size"}:
                continue  # the number of cells in shrink_key includes these
            elif factor in PAIR_FACTORS:
                yield from [factor] * sum(any(pair) for pair in self.per_axis(factor))
                yield from [factor] * isinstance(level, str)
            elif factor in NUMBER_PER_AXIS_FACTORS:
                yield from [factor] * sum(number != simplest for number in self.per_axis(factor))
            elif level != simplest:
                yield factor

    @cached_property
    def shrink_key(self) -> tuple[int, int, int, float, str]:
        """Sort key for shrinking, smallest first.

        Number of non-default factors, number of input cells, sum of all sizes, magnitude of the numbers, name.
        """
        reach = sum(sum(self.per_axis(name)) for name in NUMBER_PER_AXIS_FACTORS if name in self.levels)
        reach += sum(
            sum(map(abs, pair)) for name in PAIR_FACTORS if name in self.levels for pair in self.per_axis(name)
        )
        cells = {name: math.prod(spec.shape) for name, spec in self.case.inputs.items()}
        magnitude = sum(
            _numbers_magnitude(self.written_numbers[name]) if name in self.written_numbers else 2 * cells[name]
            for name in cells
        )
        return (
            sum(1 for _ in self.non_default_factors()),
            sum(cells.values()),
            reach,
            magnitude - len(self.written_numbers) / 2,
            self.name,
        )


def _numbers_magnitude(numbers: Any) -> float:
    """Return the magnitude of nested lists.

    Each number other than 0 counts 1, and up to 0.1 more for its size. NaN counts 1.5.
    """
    if isinstance(numbers, list):
        return sum(map(_numbers_magnitude, numbers))
    return 0.0 if numbers == 0 else 1 + min(abs(numbers), 1e6) / 1e7 if numbers == numbers else 1.5  # noqa: PLR0124 - NaN


DISPUTED_GEOMETRIES: Mapping[Geometry, Callable[[Mapping[str, FactorLevel], Sequence[int], int], bool]] = {
    Geometry.WINDOWS: partial(has_valid_windows, allow_padding_only=True),
    Geometry.PADS: partial(has_valid_pads, far=True),
}
"""Checks for geometries of operators with `has_disputed_geometry`, see `convention_domains`."""
SIMPLEST_LEVELS: Mapping[str, FactorLevel] = {
    "rank": 1, "batch": 1, "channels": 1, "out": 1, "window": 1, "stride": 1, "dtype": "float32", "bias": False,
    "values": "integers",
}  # fmt: skip
"""Simplest level of each factor for which this is not the default of the operator."""
