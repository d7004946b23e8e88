"""A recipe is a case that is yet to be written: an operator and a level for every factor, as the row of a sweep is."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS
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
NUMBER_PER_AXIS_FACTORS = ("extent", "window", "stride", "dilation", "output_size", "output_padding")
PAIR_FACTORS = ("padding", "pads")


@dataclass(frozen=True)
class Candidate:
    """What a case is made of.

    levels: of each factor of the operator, one for each spatial axis where it has such; inputs: what each input holds,
    as a sweep says it; numbers: inputs that are written out, as nested lists, instead of generated.
    """

    operator: str
    levels: Mapping[str, FactorLevel]
    inputs: Mapping[str, Mapping[str, Any]]
    written_numbers: Mapping[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[Candidate], tuple[Any, ...]]:
        """Leave behind what follows from the rest when it goes to another process."""
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
        """What the levels are called, in the order of the factors: `2d-n1-c1-i3-w2-s3`."""
        return self._sweep.name((0,) * len(self._sweep.factors))

    def is_possible(self) -> bool:
        """Whether there is output everywhere, and numbers of the dtype.

        In every window there is a cell of the input, and beside every pad enough of them, unless a question is about
        what happens where there are none.
        """
        row, asking = (0,) * len(self._sweep.factors), GEOMETRIES_WITH_CONVENTION.get(self.operator)
        asks = bool(asking and asking(self.levels, self.per_axis("extent"), self.rank))
        return (asks or self._sweep.is_possible(row)) and self._sweep.is_generated(row)

    @cached_property
    def raw_case(self) -> dict[str, Any]:
        """The case as a catalogue file has it; what its inputs hold is part of what it is called, but for the usual."""
        raw = {**self._sweep.raw_case(self.name), "source": CASE_SOURCE}
        for name, numbers in self.written_numbers.items():
            raw[name] = {"values": numbers, "dtype": raw[name]["dtype"]}
        held = self.written_numbers or {name: spec for name, spec in self.inputs.items() if len(spec) > 1}
        if held:
            digest = hashlib.blake2b(repr(sorted(held.items())).encode(), digest_size=4).hexdigest()
            raw["id"] = f"{raw['id']}-{digest}"
        return raw

    @cached_property
    def case(self) -> Case:
        """The case itself. Raises Faulty for levels without a meaning."""
        return parse_case({"operator": self.operator, "source": CASE_SOURCE}, self.raw_case, CASE_ID_PREFIX)

    def is_valid(self) -> bool:
        """Whether it is a case at all."""
        try:
            return self.is_possible() and bool(self.case)
        except (CaseError, ValueError):
            return False

    def per_axis(self, factor: str) -> tuple[Any, ...]:
        """Return the level of a factor on each axis: numbers, or (before, after) of what has ends."""
        level = self.levels[factor]
        if factor in PAIR_FACTORS:
            return level_pairs(level, self.rank) if not isinstance(level, str) else ()
        return level_per_axis(level, self.rank)

    def with_levels(self, **levels: FactorLevel) -> Candidate:
        """Return the recipe with other levels; numbers that are written out are generated again."""
        return Candidate(self.operator, {**self.levels, **levels}, self.inputs)

    def with_numbers(self, **numbers: Any) -> Candidate:
        """Return the recipe with inputs written out."""
        return Candidate(self.operator, self.levels, self.inputs, {**self.written_numbers, **numbers})

    def non_default_factors(self) -> Iterator[str]:
        """Yield each factor that is not as plain as it could be, once for each of its parts."""
        for factor, level in self.levels.items():
            plain = SIMPLEST_LEVELS.get(factor, OPERATORS[self.operator].defaults.get(factor))
            if factor == "values":
                yield from [factor] * (level not in {"integers", "distinct"} and "x" not in self.written_numbers)
            elif factor in {"extent", "output_size"}:
                continue
            elif factor in PAIR_FACTORS:
                yield from [factor] * sum(any(pair) for pair in self.per_axis(factor))
                yield from [factor] * isinstance(level, str)
            elif factor in NUMBER_PER_AXIS_FACTORS:
                yield from [factor] * sum(number != plain for number in self.per_axis(factor))
            elif level != plain:
                yield factor

    @cached_property
    def shrink_key(self) -> tuple[int, int, int, float, str]:
        """How large it is, to be made smaller: what is away from plain, cells, how far it reaches, what is in them."""
        reach = sum(sum(self.per_axis(name)) for name in NUMBER_PER_AXIS_FACTORS if name in self.levels)
        reach += sum(
            sum(map(abs, pair)) for name in PAIR_FACTORS if name in self.levels for pair in self.per_axis(name)
        )
        cells = {name: math.prod(spec.shape) for name, spec in self.case.inputs.items()}
        held = sum(
            _numbers_magnitude(self.written_numbers[name]) if name in self.written_numbers else 2 * cells[name]
            for name in cells
        )
        return (
            sum(1 for _ in self.non_default_factors()),
            sum(cells.values()),
            reach,
            held - len(self.written_numbers) / 2,
            self.name,
        )


def _numbers_magnitude(numbers: Any) -> float:
    """Return how much stands in nested lists: 1 for each number that is not 0, and a little for how large it is."""
    if isinstance(numbers, list):
        return sum(map(_numbers_magnitude, numbers))
    return 0.0 if numbers == 0 else 1 + min(abs(numbers), 1e6) / 1e7 if numbers == numbers else 1.5  # noqa: PLR0124 - NaN


INDEXED_SELECTION_OPERATORS = ("max_pool", "min_pool", "max_pool_with_indices")
GEOMETRIES_WITH_CONVENTION: Mapping[str, Callable[[Mapping[str, FactorLevel], Sequence[int], int], bool]] = {
    **dict.fromkeys(
        (*INDEXED_SELECTION_OPERATORS, *(f"{name}_grad" for name in INDEXED_SELECTION_OPERATORS), "avg_pool"),
        partial(has_valid_windows, allow_padding_only=True),
    ),
    **dict.fromkeys(("pad", "pad_grad"), partial(has_valid_pads, far=True)),
}
"""Which further geometries an operator has a question about, see `questions`."""
SIMPLEST_LEVELS: Mapping[str, FactorLevel] = {
    "rank": 1, "batch": 1, "channels": 1, "out": 1, "groups": 1, "window": 1, "stride": 1, "dilation": 1,
    "output_padding": 0, "rounding": "floor", "dtype": "float32", "bias": False, "values": "integers", "p": 2,
}  # fmt: skip
"""The plainest level of a factor, where it is not the operator's default."""
