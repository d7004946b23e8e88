"""Uniform draws, the simplest alternative to exploring: every parameter is uniform in its range and independent.

These draws have no kinds of sizes and no special values. The ranges are those in which most bugs show, which favours
this search. With sizes up to 70,000, as exploring draws them, few draws would be small enough.
"""

from dataclasses import dataclass
from typing import Any

from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.operators import OPERATORS, Arithmetic
from conformance.exploration.candidate import Candidate
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace, is_affordable

MAX_ATTEMPTS = 5000
"""Maximum number of draws until one is valid and affordable."""
RANGES = {
    "batch": (1, 4), "channels": (1, 32), "out": (1, 32), "groups": (1, 4), "extent": (1, 32), "window": (1, 7),
    "stride": (1, 7), "dilation": (1, 4), "output_size": (1, 32), "output_padding": (0, 6), "divisor": (1, 9),
}  # fmt: skip
"""Minimum and maximum of each size."""
SIGNED = {"values": "integers", "low": -9, "high": 9}


@dataclass(frozen=True)
class Uniform:
    """The space of an operator with words, dtypes and inputs from the sweeps, and uniform sizes and numbers."""

    space: OperatorSpace

    @property
    def operator(self) -> str:
        """The operator whose space it is."""
        return self.space.operator

    def draw(self, rng: Rng) -> Candidate:
        """Return the first valid draw."""
        for _ in range(MAX_ATTEMPTS):
            candidate = self._try(rng)
            if is_affordable(candidate):
                return candidate
        raise ValueError(f"{self.operator}: no valid candidate in {MAX_ATTEMPTS} draws")

    def _try(self, rng: Rng) -> Candidate:
        known, numbers = OPERATORS[self.operator], rng.choice(self.space.value_choices)
        rank, dtype = (
            rng.choice(self.space.ranks),
            rng.choice(sorted({str(one.dtype) for one in self.space.value_choices})),
        )
        inputs = {**numbers.inputs, "x": SIGNED}
        levels: dict[str, Any] = {"rank": rank, "dtype": dtype, "values": self._values(dtype, rng)}
        levels |= {name: rng.choice(words) for name, words in self.space.word_levels.items()}
        levels["bias"] = "bias" in inputs and bool(levels.get("bias", rng.randrange(2)))
        if levels.get("mode", "constant") != "constant":
            levels["value"] = 0
        factors = {*known.defaults, *(("window", "out", "groups") if "kernel" in known.inputs else ())}
        for name, (least, most) in RANGES.items():
            if name in {"batch", "channels", "out", "groups", "divisor"}:
                levels |= {name: rng.randint(least, most)} if name in factors or name in {"batch", "channels"} else {}
            elif name == "extent" or name in factors:
                levels[name] = tuple(rng.randint(least, most) for _ in range(rank))
        if "divisor" in factors and rng.one_in(2):
            levels["divisor"] = None
        if "padding" in factors:
            levels["padding"] = tuple((rng.randint(0, 6), rng.randint(0, 6)) for _ in range(rank))
        if "pads" in factors:
            levels["pads"] = tuple((rng.randint(-8, 8), rng.randint(-8, 8)) for _ in range(rank))
        if "bias" not in known.inputs:
            del levels["bias"]
        return Candidate(self.operator, levels, inputs)

    def _values(self, dtype: str, rng: Rng) -> str:
        """Return `integers`, or `mantissas` if the operator is explored with full mantissas."""
        known = OPERATORS[self.operator]
        selects = known.arithmetic is Arithmetic.SELECTION and not known.is_gradient and not known.outputs
        full = selects or any(one.values == "mantissas" for one in self.space.value_choices)
        return rng.choice(("integers", "mantissas")) if full and NUMPY_DTYPES[dtype].kind in "fV" else "integers"
