"""What one would write first: every parameter uniform in its range, independent of all others and on every axis anew.

It knows no kinds of sizes and no special numbers. Its ranges are those in which most faults lie, to its advantage:
sizes up to 70,000, which exploring draws too, would leave hardly a draw that is small enough.
"""

from dataclasses import dataclass
from typing import Any

from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.operators import OPERATORS
from conformance.exploration.candidate import Candidate
from conformance.exploration.rng import Rng
from conformance.exploration.space import SELECTION_OPERATORS, OperatorSpace, is_affordable

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

    space: OperatorSpace

    @property
    def operator(self) -> str:
        """The operator whose space it is."""
        return self.space.operator

    def draw(self, dice: Rng) -> Candidate:
        """Return the first sound draw."""
        for _ in range(TRIES):
            recipe = self._try(dice)
            if is_affordable(recipe):
                return recipe
        raise ValueError(f"{self.operator}: nothing sound in {TRIES} draws")

    def _try(self, dice: Rng) -> Candidate:
        known, numbers = OPERATORS[self.operator], dice.choice(self.space.value_choices)
        rank, dtype = (
            dice.choice(self.space.ranks),
            dice.choice(sorted({str(one.dtype) for one in self.space.value_choices})),
        )
        inputs = {**numbers.inputs, "x": SIGNED}
        levels: dict[str, Any] = {"rank": rank, "dtype": dtype, "values": self._values(dtype, dice)}
        levels |= {name: dice.choice(words) for name, words in self.space.word_levels.items()}
        levels["bias"] = "bias" in inputs and bool(levels.get("bias", dice.randrange(2)))
        if levels.get("mode", "constant") != "constant":
            levels["value"] = 0
        walk = {*known.defaults, *(("window", "out", "groups") if "kernel" in known.inputs else ())}
        for name, (least, most) in RANGES.items():
            if name in {"batch", "channels", "out", "groups", "divisor"}:
                levels |= {name: dice.randint(least, most)} if name in walk or name in {"batch", "channels"} else {}
            elif name == "extent" or name in walk:
                levels[name] = tuple(dice.randint(least, most) for _ in range(rank))
        if "divisor" in walk and dice.one_in(2):
            levels["divisor"] = None
        if "padding" in walk:
            levels["padding"] = tuple((dice.randint(0, 6), dice.randint(0, 6)) for _ in range(rank))
        if "pads" in walk:
            levels["pads"] = tuple((dice.randint(-8, 8), dice.randint(-8, 8)) for _ in range(rank))
        if "bias" not in known.inputs:
            del levels["bias"]
        return Candidate(self.operator, levels, inputs)

    def _values(self, dtype: str, dice: Rng) -> str:
        """Return whole numbers, or full mantissas where the operator is tried with such."""
        full = self.operator in SELECTION_OPERATORS or any(
            one.values == "mantissas" for one in self.space.value_choices
        )
        return dice.choice(("integers", "mantissas")) if full and NUMPY_DTYPES[dtype].kind in "fV" else "integers"
