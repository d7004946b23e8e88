"""What one would write first: every parameter uniform in its range, independent of all others and on every axis anew.

It knows no kinds of sizes and no special numbers. Its ranges are those in which most faults lie, to its advantage:
sizes up to 70,000, which exploring draws too, would leave hardly a draw that is small enough.
"""

from dataclasses import dataclass
from typing import Any

from conformance.cases.arrays import DTYPES
from conformance.cases.operators import OPERATORS
from conformance.exploration.candidate import Recipe
from conformance.exploration.rng import Dice
from conformance.exploration.space import SELECTING, Space, bearable

TRIES = 5000
RANGES = {
    "batch": (1, 4), "channels": (1, 32), "out": (1, 32), "groups": (1, 4), "extent": (1, 32), "window": (1, 7),
    "stride": (1, 7), "dilation": (1, 4), "output_size": (1, 32), "output_padding": (0, 6), "divisor": (1, 9),
}  # fmt: skip
"""The least and the largest of each size."""
SIGNED = {"values": "integers", "low": -9, "high": 9}


@dataclass(frozen=True)
class Uniform:
    """The space of an operator as the sweeps have its words, dtypes and inputs; sizes and numbers are uniform."""

    space: Space

    @property
    def operator(self) -> str:
        """The operator whose space it is."""
        return self.space.operator

    def draw(self, dice: Dice) -> Recipe:
        """Return the first sound draw."""
        for _ in range(TRIES):
            recipe = self._try(dice)
            if bearable(recipe):
                return recipe
        raise ValueError(f"{self.operator}: nothing sound in {TRIES} draws")

    def _try(self, dice: Dice) -> Recipe:
        known, numbers = OPERATORS[self.operator], dice.one_of(self.space.numbers)
        rank, dtype = dice.one_of(self.space.ranks), dice.one_of(sorted({str(one.dtype) for one in self.space.numbers}))
        inputs = {**numbers.inputs, "x": SIGNED}
        levels: dict[str, Any] = {"rank": rank, "dtype": dtype, "values": self._values(dtype, dice)}
        levels |= {name: dice.one_of(words) for name, words in self.space.words.items()}
        levels["bias"] = "bias" in inputs and bool(levels.get("bias", dice.below(2)))
        if levels.get("mode", "constant") != "constant":
            levels["value"] = 0
        walk = {*known.defaults, *(("window", "out", "groups") if "kernel" in known.inputs else ())}
        for name, (least, most) in RANGES.items():
            if name in {"batch", "channels", "out", "groups", "divisor"}:
                levels |= {name: dice.between(least, most)} if name in walk or name in {"batch", "channels"} else {}
            elif name == "extent" or name in walk:
                levels[name] = tuple(dice.between(least, most) for _ in range(rank))
        if "divisor" in walk and dice.chance(2):
            levels["divisor"] = None
        if "padding" in walk:
            levels["padding"] = tuple((dice.between(0, 6), dice.between(0, 6)) for _ in range(rank))
        if "pads" in walk:
            levels["pads"] = tuple((dice.between(-8, 8), dice.between(-8, 8)) for _ in range(rank))
        if "bias" not in known.inputs:
            del levels["bias"]
        return Recipe(self.operator, levels, inputs)

    def _values(self, dtype: str, dice: Dice) -> str:
        """Return whole numbers, or full mantissas where the operator is tried with such."""
        full = self.operator in SELECTING or any(one.values == "mantissas" for one in self.space.numbers)
        return dice.one_of(("integers", "mantissas")) if full and DTYPES[dtype].kind in "fV" else "integers"
