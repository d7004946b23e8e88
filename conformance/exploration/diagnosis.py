"""From a case that differs to the smallest that differs in the same way, and to what its neighbours do."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from conformance.exploration.candidate import ENDS, PER_AXIS, Recipe
from conformance.exploration.evaluation import Lab, Seen, Tried
from conformance.exploration.oracles import FEARED, feared, tried
from conformance.exploration.shrinking import AT_ONCE, shrunk
from conformance.exploration.space import Space, bearable

ASKED = 4000
"""Recipes that may be asked about to shrink one."""
TIMES = 5
"""How often the smallest is tried again, to see whether it was that at all."""
ENOUGH = dict(zip(FEARED, (60, 20), strict=True))
"""How many may be found on the way that end a process, and that hang: those take all the time that a program has."""


@dataclass(frozen=True)
class Suspect:
    """A recipe, the surface on which it differs, and in which way; number: of the case that showed it."""

    recipe: Recipe
    surface: str
    way: str
    number: int


@dataclass(frozen=True)
class Trace:
    """Where a suspect leads: the smallest recipe, what all surfaces made of it, what the suspect's made around it."""

    smallest: Recipe
    there: Sequence[Seen]
    near: Sequence[Tried] = ()


def traced(lab: Lab, suspect: Suspect, space: Space, known: Collection[str] = ()) -> Trace:
    """Shrink a suspect, and look around the smallest unless that is a case whose id is known."""
    surface, way = suspect.surface, suspect.way
    asking = _Asking(lab, surface, way)
    smallest = shrunk(suspect.recipe, asking, 1 if feared(way) else AT_ONCE)
    there = _there(lab, suspect, smallest)
    if smallest.case.id in known:
        return Trace(smallest, there.seen)
    near = around(smallest, space)[: allowed(way) // 2]
    return Trace(smallest, there.seen, tried(lab, way, near, [surface]))


def _there(lab: Lab, suspect: Suspect, smallest: Recipe) -> Tried:
    """Try the smallest once more, and what is not the same every time until it shows."""
    for _ in range(TIMES):
        (there,) = tried(lab, suspect.way, [smallest])
        here = there.on(suspect.surface)
        if here and here.new and here.way == suspect.way:
            break
    return there


def allowed(way: str) -> int:
    """Return how many that differ in a way may be found to shrink one; half as many may be tried around it."""
    return ENOUGH.get(feared(way), ASKED)


class _Asking:
    """Whether recipes differ on a surface in a way; it stops asking when it has asked, or found, enough."""

    def __init__(self, lab: Lab, surface: str, way: str) -> None:
        self.lab, self.surface, self.way = lab, surface, way
        self.left, self.found = ASKED, 0

    def __call__(self, recipes: Sequence[Recipe]) -> list[bool]:
        some = recipes[: self.left if self.found < allowed(self.way) else 0]
        self.left -= len(some)
        seen = [one.on(self.surface) for one in tried(self.lab, self.way, some, [self.surface])] if some else []
        differ = [bool(one and one.new and one.way == self.way) for one in seen]
        self.found += sum(differ)
        return differ + [False] * (len(recipes) - len(some))


MOST = 150
"""Neighbours that are looked at; evenly chosen where there are more."""
BUMPS = (1, 2, 5, 16)


def around(recipe: Recipe, space: Space) -> list[Recipe]:
    """Return sound recipes one change away from one, its numbers generated; each once, always the same ones."""
    plain = recipe.having()
    found = {one.name: one for one in itertools.chain([plain], _changes(plain, space)) if bearable(one)}
    every = list(found.values())
    step = max(1, -(-len(every) // MOST))
    return every[::step]


def _changes(recipe: Recipe, space: Space) -> Iterator[Recipe]:
    for factor, level in recipe.levels.items():
        if factor == "rank":
            yield from _further_axis(recipe)
        elif factor in PER_AXIS:
            yield from _per_axis(recipe, factor)
        elif factor in ENDS:
            yield from _padded(recipe, factor)
        elif isinstance(level, int) and not isinstance(level, bool):
            yield from (recipe.having(**{factor: level + more}) for more in (-1, *BUMPS) if level + more > 0)
        elif factor != "bias" or "bias" in recipe.inputs:
            yield from (recipe.having(**{factor: other}) for other in _others(factor, space) if other != level)


def _others(factor: str, space: Space) -> list[object]:
    """Return the levels that a factor has in the space."""
    if factor in space.words:
        return list(space.words[factor])
    if factor == "divisor":
        return [None, 1, 3]
    return list(dict.fromkeys(level for sweep in space.sweeps for level in sweep.factors.get(factor, ())))


def _further_axis(recipe: Recipe) -> Iterator[Recipe]:
    """Yield the recipe with one axis more, like the last or of a single cell, and with each axis left out."""
    names = [name for name in (*PER_AXIS, *ENDS) if not isinstance(recipe.levels.get(name, ""), str)]
    doubled = {name: (*recipe.each(name), recipe.each(name)[-1]) for name in names}
    single = {name: (*recipe.each(name), _single(name)) for name in names}
    if recipe.rank < 3:  # noqa: PLR2004 - axes that a framework has
        yield recipe.having(rank=recipe.rank + 1, **doubled)
        yield recipe.having(rank=recipe.rank + 1, **single)
        yield recipe.having(rank=recipe.rank + 1, **{name: (_single(name), *recipe.each(name)) for name in names})
    for axis in range(recipe.rank if recipe.rank > 1 else 0):
        less = {name: (*recipe.each(name)[:axis], *recipe.each(name)[axis + 1 :]) for name in names}
        yield recipe.having(rank=recipe.rank - 1, **less)


def _single(name: str) -> object:
    return (0, 0) if name in ENDS else 0 if name == "output_padding" else 1


def _per_axis(recipe: Recipe, factor: str) -> Iterator[Recipe]:
    values = recipe.each(factor)
    for axis, value in enumerate(values):
        for other in sorted({1, value - 1, *(value + more for more in BUMPS), 2 * value, value // 2}):
            if other != value and other >= 0:
                yield recipe.having(**{factor: (*values[:axis], other, *values[axis + 1 :])})
    for other in (values[0] - 1, values[0] + 1):
        yield recipe.having(**{factor: (other,) * recipe.rank})


def _padded(recipe: Recipe, factor: str) -> Iterator[Recipe]:
    yield from (recipe.having(**{factor: word}) for word in ("same_upper", "same_lower") if factor == "padding")
    pairs = recipe.each(factor) or ((0, 0),) * recipe.rank
    yield recipe.having(**{factor: pairs})
    yield recipe.having(**{factor: tuple((after, before) for before, after in pairs)})
    for axis, (before, after) in enumerate(pairs):
        for pair in (
            (before + 1, after),
            (before, after + 1),
            (before + 1, after + 1),
            (0, after),
            (before, 0),
            (0, 0),
        ):
            yield recipe.having(**{factor: (*pairs[:axis], pair, *pairs[axis + 1 :])})
