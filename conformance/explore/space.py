"""The space of an operator: what its sweeps in the catalogue cross, with sizes drawn anew and far wider.

What numbers an operator is tried with, in which dtypes, and what its words are (output-size rules, modes, ties) is what
the catalogue's sweeps say of it; so no question of convention is asked here by accident. Extents, windows, strides,
padding, dilations, channels and groups are drawn: a kind first, each as likely as the others, then a number of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.explore.dice import Dice
from conformance.explore.recipes import Recipe
from conformance.factors import Level
from conformance.operators import OPERATORS
from conformance.steps import first_step
from conformance.sweeps import USUAL, Sweep
from conformance.values import DTYPES, HALF

WIDTHS = (15, 16, 17, 31, 32, 33, 63, 64, 65)
"""Extents and channels about the widths of vector instructions."""
LONG = 65_536
"""Cells on an axis that 16 bits do not count."""
MOST_TERMS = 400_000
"""Of one case, for the reference and the slowest framework to bear: output cells x window x channels."""
VAST_TERMS = 8_000_000
"""Of a case that is held to laws alone."""
MOST_CURVED = 8_000
"""Of what the reference evaluates to certainty, powers and exponentials; and of gradients that it reckons by cells."""
CURVED = ("lp_pool", "softmax_pool", "stochastic_pool", "global_max_pool_grad", "global_avg_pool_grad")
MOST_BINS = 150
"""Cells of an output that is reckoned bin by bin."""
BINNED = ("adaptive", "fractional")
TRIES = 400
"""Draws of which one must be sound."""
WORDS = ("rounding", "count_include_pad", "mode", "ties", "output", "bias", "p", "value")
"""Factors whose levels are those that stand in any sweep of the operator."""
FURTHER: Mapping[str, Sequence[Level]] = {"p": (1.5,)}
"""Levels that no sweep has, and that mean the same to everybody."""
SELECTING = ("max_pool", "min_pool", "global_max_pool", "adaptive_max_pool", "pad")
"""Operators that hand on whole numbers as they are: the least and the largest of a dtype are none the worse."""
PLENTY = (257, 300, 512, 700, 1030)
"""Cells of a window that 8 or 16 bits do not add well."""


@dataclass(frozen=True)
class Space:
    """One operator: its sweeps, and the levels that its words have in any of them."""

    operator: str
    sweeps: Sequence[Sweep]
    words: Mapping[str, Sequence[Level]] = field(default_factory=dict)

    @classmethod
    def of(cls, operator: str, sweeps: Iterable[Sweep]) -> Space:
        """Return the space that the sweeps of an operator span. Raises ValueError if it has none."""
        own = [one for one in sweeps if one.operator == operator]
        if not own:
            raise ValueError(f"{operator}: no sweep of the catalogue says what it is tried with")
        usual = OPERATORS[operator].defaults
        found = {name: dict.fromkeys(level for one in own for level in one.factors.get(name, ())) for name in WORDS}
        words = {name: (*levels, *FURTHER.get(name, ())) for name, levels in found.items() if levels}
        # What a sweep leaves out is the default to it, which another one need not name.
        every = {name: (usual[name], *levels) if name in usual else levels for name, levels in words.items()}
        return cls(operator, own, {name: tuple(dict.fromkeys(levels)) for name, levels in every.items()})

    def draw(self, dice: Dice) -> Recipe:
        """Return a recipe of the space."""
        for _ in range(TRIES):
            recipe = self._try(dice)
            if bearable(recipe):
                return recipe
        raise ValueError(f"{self.operator}: nothing sound in {TRIES} draws")

    def vast(self, dice: Dice) -> Recipe | None:
        """Return a recipe that would take the reference long, with whole numbers; None if none was drawn."""
        for _ in range(TRIES // 10):
            recipe = self._try(dice)
            whole = recipe.levels["values"] in {"integers", "distinct"} and recipe.levels["dtype"] not in HALF
            if not whole or not recipe.sound():
                continue
            extent = list(recipe.each("extent"))
            axis = dice.below(recipe.rank)
            extent[axis] *= dice.one_of((16, 64, 256, 1024))
            if extent[axis] > 3 * LONG:
                continue
            larger = recipe.having(extent=tuple(extent), batch=2)
            if larger.sound() and MOST_TERMS < terms(larger) <= VAST_TERMS:
                return larger
        return None

    def mutated(self, recipe: Recipe, dice: Dice) -> Recipe:
        """Return the recipe with one or two factors as another draw has them; the same if nothing sound comes of it."""
        for _ in range(TRIES // 10):
            other = self._try(dice)
            if other.rank != recipe.rank or other.inputs != recipe.inputs:
                continue
            names = [name for name in other.levels if name not in {"rank", "values", "dtype"}]
            changed = {name: other.levels[name] for name in (dice.one_of(names) for _ in range(dice.between(1, 2)))}
            neighbour = recipe.having(**changed)
            if bearable(neighbour):
                return neighbour
        return recipe

    def _try(self, dice: Dice) -> Recipe:
        sweep = dice.one_of(self.sweeps)
        inputs = {name: sweep.common[name] for name in OPERATORS[self.operator].inputs if name in sweep.common}
        rank = dice.one_of(sweep.factors["rank"])
        levels: dict[str, Level] = {"rank": rank}
        for name in ("values", "dtype"):
            levels[name] = dice.one_of(sweep.factors.get(name, (USUAL[name],)))
        if self.operator in SELECTING and DTYPES[levels["dtype"]].kind in "iu" and dice.chance(4):
            levels["values"] = "extremes"
        for name, known in self.words.items():
            levels[name] = dice.one_of(sweep.factors.get(name, known))
        if "bias" in levels and "bias" not in inputs:
            levels["bias"] = False
        if levels.get("mode", "constant") != "constant":
            levels["value"] = 0
        if "divisor" in OPERATORS[self.operator].defaults:
            levels["divisor"] = dice.one_of((None, None, 1, 2, 3, 5, 7))
        return Recipe(self.operator, {**levels, **_sizes(self.operator, rank, dice)}, inputs)


def bearable(recipe: Recipe) -> bool:
    """Whether a recipe is sound, and no more than the reference reckons in a fraction of a second."""
    if not recipe.sound():
        return False
    if recipe.operator.startswith(BINNED) and math.prod(recipe.each("output_size")) > MOST_BINS:
        return False
    return terms(recipe) <= (MOST_CURVED if recipe.operator.startswith(CURVED) else MOST_TERMS)


def terms(recipe: Recipe) -> int:
    """Return how many terms a case adds or compares."""
    step = first_step(recipe.case)
    inner = max(step.kernel[:2], default=1) if step.kernel else 1
    return max(math.prod(step.output) * max(math.prod(step.window), 1) * inner, math.prod(step.shape))


def _sizes(operator: str, rank: int, dice: Dice) -> dict[str, Level]:
    """Draw all that has a size."""
    known = OPERATORS[operator]
    weights, forward = "kernel" in known.inputs, known.forward
    extent = _extents(rank, dice)
    vast = max(extent) > WIDTHS[-1]
    levels: dict[str, Level] = {
        "extent": extent,
        "batch": 1 if vast else dice.one_of((1, 1, 2, 3)),
        "channels": 1 if vast and max(extent) > PLENTY[-1] else dice.one_of((1, 1, 2, 3, dice.one_of((8, *WIDTHS)))),
    }
    if weights:
        levels["out"] = dice.one_of((1, 1, 2, 3, dice.one_of((8, *WIDTHS))))
        levels["groups"] = dice.one_of((1, 1, 2, 3))
    window = _along(rank, dice, lambda axis: _window(extent[axis], dice))
    if weights or "window" in known.defaults:
        levels["window"] = window
    if "stride" in known.defaults:
        levels["stride"] = _along(rank, dice, lambda axis: _stride(window[axis], dice))
    if "dilation" in known.defaults:
        levels["dilation"] = _along(rank, dice, lambda _axis: dice.one_of((1, 1, 1, 2, 3, dice.between(2, 6))))
    if "padding" in known.defaults:
        levels["padding"] = _padding(window, dice)
    return levels | _outputs(forward, extent, levels, dice)


def _outputs(forward: str, extent: tuple[int, ...], levels: Mapping[str, Any], dice: Dice) -> dict[str, Level]:
    """Draw what says how far an output goes."""
    rank = len(extent)
    if forward == "pad":
        return {"pads": tuple((_end(size, dice), _end(size, dice)) for size in extent)}
    if forward == "conv_transpose":
        usual = dice.chance(2)
        return {"output_padding": tuple(0 if usual else dice.below(levels["stride"][axis] + 1) for axis in range(rank))}
    if forward == "max_unpool":
        return {"output_size": tuple(dice.between(size, 3 * size) for size in extent)}
    if forward == "fractional_max_pool":
        return {"output_size": tuple(dice.between(1, max(size - 1, 1)) for size in extent)}
    if forward.startswith("adaptive"):
        return {
            "output_size": tuple(
                dice.one_of((1, size, dice.between(1, size + 2), dice.between(1, 9 * size))) for size in extent
            )
        }
    return {}


def _along(rank: int, dice: Dice, draw: Callable[[int], int]) -> tuple[int, ...]:
    """Draw for each axis; as often as not, the first for all."""
    first = draw(0)
    return (first,) * rank if dice.chance(2) else (first, *(draw(axis) for axis in range(1, rank)))


def _extents(rank: int, dice: Dice) -> tuple[int, ...]:
    """Draw small extents, and one that may be of another kind."""
    kind = dice.one_of(("small", "middle", "middle", "width", "plenty", "long"))
    usual = [dice.between(1, 4 if kind == "small" else 9) for _ in range(rank)]
    usual = [min(size, 5) if rank > 2 else size for size in usual]  # noqa: PLR2004 - axes
    axis = dice.below(rank)
    if kind == "width":
        usual[axis] = dice.one_of(WIDTHS)
    elif kind == "plenty":
        usual[axis] = dice.one_of(PLENTY)
    elif kind == "long":
        usual = [1] * rank if dice.chance(2) else [min(size, 2) for size in usual]
        usual[axis] = LONG + dice.below(5000)
    elif kind == "middle":
        usual[axis] = dice.between(5, 13)
    return tuple(usual)


def _window(extent: int, dice: Dice) -> int:
    most = max(extent, 1)
    return dice.one_of((1, 2, 2, 3, 3, 4, dice.between(1, 7), min(most, dice.one_of(PLENTY)), min(most, 9)))


def _stride(window: int, dice: Dice) -> int:
    return dice.one_of((1, 1, 2, 3, window, window + 1, window + dice.between(1, 3), dice.between(1, 6)))


def _padding(window: tuple[int, ...], dice: Dice) -> Level:
    kind = dice.one_of(("none", "none", "alike", "alike", "before", "after", "any", "any", "same_upper", "same_lower"))
    if kind.startswith("same"):
        return kind
    most = [min(size, 6) for size in window]
    pairs = []
    for size in most:
        first, second = dice.between(0, size), dice.between(0, size)
        ends = {"none": (0, 0), "alike": (first, first), "before": (first, 0), "after": (0, first)}
        pairs.append(ends.get(kind, (first, second)))
    return tuple(pairs)


def _end(extent: int, dice: Dice) -> int:
    size = min(extent, 9)
    return dice.one_of((0, 0, 1, dice.between(0, size), size, -1, -dice.between(0, size)))
