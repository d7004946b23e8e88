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
from conformance.cases.parameters import Faulty
from conformance.cases.parsing import expand
from conformance.catalogue.factors import FACTORS, Level, along, pads, pairs, walks
from conformance.catalogue.sweeps import Sweep

ID = "explored"
SOURCE = "found by exploring"
PER_AXIS = ("extent", "window", "stride", "dilation", "output_size", "output_padding")
ENDS = ("padding", "pads")


@dataclass(frozen=True)
class Recipe:
    """What a case is made of.

    levels: of each factor of the operator, one for each spatial axis where it has such; inputs: what each input holds,
    as a sweep says it; numbers: inputs that are written out, as nested lists, instead of generated.
    """

    operator: str
    levels: Mapping[str, Level]
    inputs: Mapping[str, Mapping[str, Any]]
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[Recipe], tuple[Any, ...]]:
        """Leave behind what follows from the rest when it goes to another process."""
        return Recipe, (self.operator, self.levels, self.inputs, self.numbers)

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return int(self.levels["rank"])

    @cached_property
    def _sweep(self) -> Sweep:
        factors = {name: (self.levels[name],) for name in FACTORS if name in self.levels}
        return Sweep(self.operator, ID, factors, len(factors), self.inputs)

    @cached_property
    def name(self) -> str:
        """What the levels are called, in the order of the factors: `2d-n1-c1-i3-w2-s3`."""
        return self._sweep.name((0,) * len(self._sweep.factors))

    def possible(self) -> bool:
        """Whether there is output everywhere, and numbers of the dtype.

        In every window there is a cell of the input, and beside every pad enough of them, unless a question is about
        what happens where there are none.
        """
        row, asking = (0,) * len(self._sweep.factors), ASKING.get(self.operator)
        asks = bool(asking and asking(self.levels, self.each("extent"), self.rank))
        return (asks or self._sweep.possible(row)) and self._sweep.makes(row)

    @cached_property
    def raw(self) -> dict[str, Any]:
        """The case as a catalogue file has it; what its inputs hold is part of what it is called, but for the usual."""
        raw = {**self._sweep.case(self.name), "source": SOURCE}
        for name, numbers in self.numbers.items():
            raw[name] = {"values": numbers, "dtype": raw[name]["dtype"]}
        held = self.numbers or {name: spec for name, spec in self.inputs.items() if len(spec) > 1}
        if held:
            digest = hashlib.blake2b(repr(sorted(held.items())).encode(), digest_size=4).hexdigest()
            raw["id"] = f"{raw['id']}-{digest}"
        return raw

    @cached_property
    def case(self) -> Case:
        """The case itself. Raises Faulty for levels without a meaning."""
        return expand({"operator": self.operator, "source": SOURCE}, self.raw, ID)

    def sound(self) -> bool:
        """Whether it is a case at all."""
        try:
            return self.possible() and bool(self.case)
        except (Faulty, ValueError):
            return False

    def each(self, factor: str) -> tuple[Any, ...]:
        """Return the level of a factor on each axis: numbers, or (before, after) of what has ends."""
        level = self.levels[factor]
        if factor in ENDS:
            return pairs(level, self.rank) if not isinstance(level, str) else ()
        return along(level, self.rank)

    def having(self, **levels: Level) -> Recipe:
        """Return the recipe with other levels; numbers that are written out are generated again."""
        return Recipe(self.operator, {**self.levels, **levels}, self.inputs)

    def holding(self, **numbers: Any) -> Recipe:
        """Return the recipe with inputs written out."""
        return Recipe(self.operator, self.levels, self.inputs, {**self.numbers, **numbers})

    def away(self) -> Iterator[str]:
        """Yield each factor that is not as plain as it could be, once for each of its parts."""
        for factor, level in self.levels.items():
            plain = PLAIN.get(factor, OPERATORS[self.operator].defaults.get(factor))
            if factor == "values":
                yield from [factor] * (level not in {"integers", "distinct"} and "x" not in self.numbers)
            elif factor in {"extent", "output_size"}:
                continue
            elif factor in ENDS:
                yield from [factor] * sum(any(pair) for pair in self.each(factor))
                yield from [factor] * isinstance(level, str)
            elif factor in PER_AXIS:
                yield from [factor] * sum(number != plain for number in self.each(factor))
            elif level != plain:
                yield factor

    @cached_property
    def size(self) -> tuple[int, int, int, float, str]:
        """How large it is, to be made smaller: what is away from plain, cells, how far it reaches, what is in them."""
        reach = sum(sum(self.each(name)) for name in PER_AXIS if name in self.levels)
        reach += sum(sum(map(abs, pair)) for name in ENDS if name in self.levels for pair in self.each(name))
        cells = {name: math.prod(spec.shape) for name, spec in self.case.inputs.items()}
        held = sum(_magnitude(self.numbers[name]) if name in self.numbers else 2 * cells[name] for name in cells)
        return sum(1 for _ in self.away()), sum(cells.values()), reach, held - len(self.numbers) / 2, self.name


def _magnitude(numbers: Any) -> float:
    """Return how much stands in nested lists: 1 for each number that is not 0, and a little for how large it is."""
    if isinstance(numbers, list):
        return sum(map(_magnitude, numbers))
    return 0.0 if numbers == 0 else 1 + min(abs(numbers), 1e6) / 1e7 if numbers == numbers else 1.5  # noqa: PLR0124 - NaN


SELECTING = ("max_pool", "min_pool", "max_pool_with_indices")
ASKING: Mapping[str, Callable[[Mapping[str, Level], Sequence[int], int], bool]] = {
    **dict.fromkeys((*SELECTING, *(f"{name}_grad" for name in SELECTING), "avg_pool"), partial(walks, bare=True)),
    **dict.fromkeys(("pad", "pad_grad"), partial(pads, far=True)),
}
"""Which further geometries an operator has a question about, see `questions`."""
PLAIN: Mapping[str, Level] = {
    "rank": 1, "batch": 1, "channels": 1, "out": 1, "groups": 1, "window": 1, "stride": 1, "dilation": 1,
    "output_padding": 0, "rounding": "floor", "dtype": "float32", "bias": False, "values": "integers", "p": 2,
}  # fmt: skip
"""The plainest level of a factor, where it is not the operator's default."""
