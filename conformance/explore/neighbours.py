"""The neighbours of a recipe: what lies one change away, in every direction."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from conformance.explore.recipes import ENDS, PER_AXIS, Recipe
from conformance.explore.space import Space, bearable

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
