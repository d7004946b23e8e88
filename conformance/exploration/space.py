"""The space of an operator: what its sweeps in the catalogue cross, with sizes drawn anew and far wider.

What numbers an operator is tried with, in which dtypes, and what its words are (output-size rules, modes, ties) is what
the catalogue's sweeps say of it; so no question of convention is asked here by accident. Extents, windows, strides,
padding, dilations, channels and groups are drawn: a kind first, each as likely as the others, then a number of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.cases.arrays import DTYPES, HALF
from conformance.cases.generators import GENERATORS, MARKS
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import first_step
from conformance.catalogue.factors import Level
from conformance.catalogue.sweeps import USUAL, Sweep
from conformance.exploration.candidate import Recipe
from conformance.exploration.conventions import Inputs, asked, grounds
from conformance.exploration.rng import Dice
from conformance.exploration.sizes import LONG, sizes

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


@dataclass(frozen=True)
class Space:
    """One operator: its sweeps, and the levels that its words have in any of them."""

    operator: str
    sweeps: Sequence[Sweep]
    words: Mapping[str, Sequence[Level]]
    numbers: Sequence[Numbers]
    ranks: Sequence[int]

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
        words = {name: tuple(dict.fromkeys(levels)) for name, levels in every.items()}
        ranks = sorted({rank for one in own for rank in one.factors["rank"]})
        return cls(operator, own, words, numbers_of(operator, own), ranks)

    def draw(self, dice: Dice) -> Recipe:
        """Return a recipe of the space."""
        for _ in range(TRIES):
            recipe = self._try(dice)
            if recipe and bearable(recipe):
                return recipe
        raise ValueError(f"{self.operator}: nothing sound in {TRIES} draws")

    def vast(self, dice: Dice) -> Recipe | None:
        """Return a recipe that would take the reference long, with whole numbers; None if none was drawn."""
        for _ in range(TRIES // 10):
            recipe = self._try(dice)
            if not recipe or asked(recipe):
                continue
            recipe = self._whole(recipe, dice)
            extent = list(recipe.each("extent"))
            axis = dice.below(recipe.rank)
            extent[axis] *= dice.one_of((16, 64, 256, 1024))
            if extent[axis] > 3 * LONG:
                continue
            larger = recipe.having(extent=tuple(extent), batch=2)
            if larger.sound() and not _many_bins(larger) and MOST_TERMS < terms(larger) <= VAST_TERMS:
                return larger
        return None

    def _whole(self, recipe: Recipe, dice: Dice) -> Recipe:
        """Return the recipe with whole numbers of which sums are exact."""
        whole = [one for one in self.numbers if one.values in WHOLE and one.dtype not in HALF]
        numbers = dice.one_of(whole)
        levels = {**recipe.levels, "values": numbers.values, "dtype": numbers.dtype}
        bias = {"bias": False} if "bias" in levels and "bias" not in numbers.inputs else {}
        return Recipe(self.operator, {**levels, **bias}, numbers.inputs)

    def mutated(self, recipe: Recipe, dice: Dice) -> Recipe:
        """Return the recipe with one or two factors as another draw has them; the same if nothing sound comes of it."""
        for _ in range(TRIES // 10):
            other = self._try(dice)
            if not other or other.rank != recipe.rank or other.inputs != recipe.inputs:
                continue
            names = [name for name in other.levels if name not in {"rank", "values", "dtype"}]
            changed = {name: other.levels[name] for name in (dice.one_of(names) for _ in range(dice.between(1, 2)))}
            neighbour = recipe.having(**changed)
            if bearable(neighbour):
                return neighbour
        return recipe

    def _try(self, dice: Dice) -> Recipe | None:
        """Return what may be a recipe; None where it puts a question without having entered its ground."""
        dice.again()
        levels, inputs = self._plain(dice)
        known = grounds(self.operator)
        ground = dice.one_of(known) if known and dice.chance(4) else None
        if ground:
            levels, inputs = ground.enter((levels, inputs), dice)
        recipe = Recipe(self.operator, levels, inputs)
        return recipe if recipe.sound() and (ground or not asked(recipe)) else None

    def _plain(self, dice: Dice) -> tuple[dict[str, Level], Inputs]:
        numbers, rank = drawn(self.numbers, dice), dice.one_of(self.ranks)
        inputs = dict(numbers.inputs)
        levels: dict[str, Level] = {"rank": rank, "dtype": numbers.dtype, "values": numbers.values}
        for name, known in self.words.items():
            levels[name] = self._word(name, known, dice)
        if "bias" in levels and "bias" not in inputs:
            levels["bias"] = False
        if levels.get("mode", "constant") != "constant":
            levels["value"] = 0
        if "divisor" in OPERATORS[self.operator].defaults:
            levels["divisor"] = dice.kind((None,), (1, 2, 3, 5, 7))
        levels |= sizes(self.operator, rank, dice)
        if levels["values"] in MARKS:
            inputs |= {"x": {**inputs["x"], "at": dice.below(math.prod(levels["extent"]))}}
        return levels, inputs

    def _word(self, name: str, known: Sequence[Level], dice: Dice) -> Level:
        """Return a level of a factor of words: its default, or as often as the dice are bold another one."""
        plain = [level for level in known if level == OPERATORS[self.operator].defaults.get(name, False)]
        rest = [level for level in known if level not in plain]
        return dice.kind(plain, rest) if plain and rest else dice.one_of(known)


def bearable(recipe: Recipe) -> bool:
    """Whether a recipe is sound, and no more than the reference reckons in a fraction of a second."""
    if not recipe.sound():
        return False
    if _many_bins(recipe):
        return False
    return terms(recipe) <= (MOST_CURVED if recipe.operator.startswith(CURVED) else MOST_TERMS)


def _many_bins(recipe: Recipe) -> bool:
    """Whether more bins are asked for than the reference, and programs that slice them one by one, take soon."""
    return recipe.operator.startswith(BINNED) and math.prod(recipe.each("output_size")) > MOST_BINS


def terms(recipe: Recipe) -> int:
    """Return how many terms a case adds or compares."""
    step = first_step(recipe.case)
    inner = max(step.kernel[:2], default=1) if step.kernel else 1
    return max(math.prod(step.output) * max(math.prod(step.window), 1) * inner, math.prod(step.shape))


WHOLE = frozenset({"integers", "distinct", "arange"})
"""Values that a sum of any length adds exactly: the usual ones."""
SELECTING = ("max_pool", "min_pool", "global_max_pool", "adaptive_max_pool", "fractional_max_pool", "max_unpool", "pad")
"""Operators that hand on numbers as they are: the ends of a dtype are none the worse, nor are full mantissas."""
HANDED_ON: Mapping[str, Sequence[str]] = {"w": ("extremes",), "f": ("mantissas", "wide")}
"""What they are tried with besides, by the kind of dtype."""


@dataclass(frozen=True)
class Numbers:
    """Values and dtype as levels, and what each input holds."""

    values: Level
    dtype: Level
    inputs: Inputs


def numbers_of(operator: str, sweeps: Iterable[Sweep]) -> tuple[Numbers, ...]:
    """Return all that the sweeps of an operator try it with, and what it hands on besides; each once."""
    found = {repr(one): one for sweep in sweeps for one in _of(operator, sweep)}
    return tuple(found.values())


def _of(operator: str, sweep: Sweep) -> Iterator[Numbers]:
    inputs = {name: sweep.common[name] for name in OPERATORS[operator].inputs if name in sweep.common}
    for dtype in sweep.factors.get("dtype", (USUAL["dtype"],)):
        kind = {"f": "f", "V": "f", "b": "b"}.get(DTYPES[dtype].kind, "w")
        further = HANDED_ON.get(kind, ()) if operator in SELECTING else ()
        for values in (*sweep.factors.get("values", (USUAL["values"],)), *further):
            if kind in ("f" if values in MARKS else GENERATORS[values].kinds):
                yield Numbers(values, dtype, inputs)


def drawn(known: Sequence[Numbers], dice: Dice) -> Numbers:
    """Return some of the numbers: values first, as often as the dice are bold unusual ones, then a dtype."""
    every = list(dict.fromkeys(one.values for one in known))
    plain = [values for values in every if values in WHOLE]
    values = dice.kind(plain or every, [one for one in every if one not in WHOLE] or every)
    dtype = dice.one_of(list(dict.fromkeys(one.dtype for one in known if one.values == values)))
    return dice.one_of([one for one in known if (one.values, one.dtype) == (values, dtype)])
