"""Shrinking: from a recipe that differs to the smallest that differs in the same way.

Each round asks for every simpler recipe one step away, simplest first, and goes on with the first that still differs;
what is simpler is `Recipe.size`. At last the numbers are written out and made zeros and ones as far as they may be. Of
plain numbers fewer may do: they are cut, and those that are left made plainer, until neither helps.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from conformance.cases.arrays import DTYPES
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import first_step
from conformance.catalogue.value_range import PLACES
from conformance.exploration.candidate import ENDS, PER_AXIS, PLAIN, Recipe

Differs = Callable[[Sequence[Recipe]], Sequence[bool]]
"""Whether each of some recipes differs in the way that is looked at."""
AT_ONCE = 24
"""Recipes that are asked about together, where asking takes no time to speak of."""
WRITTEN = 64
"""Cells of an input up to which its numbers are written out."""
ROUNDS = 200


def shrunk(recipe: Recipe, differs: Differs, at_once: int = AT_ONCE) -> Recipe:
    """Return the smallest recipe that was found to differ still, the recipe itself at worst.

    at_once: recipes that are asked about together, though the first that differs is taken.
    """
    recipe = _least(recipe, _simpler, differs, at_once)
    written = _first(iter([_written(recipe)]), differs, 1) if _writable(recipe) else None
    while written:
        recipe = _least(written, _plainer, differs, at_once)
        less = _least(recipe, _cut, differs, at_once)
        written = less if less is not recipe else None
    return recipe


def _least(recipe: Recipe, steps: Callable[[Recipe], Iterator[Recipe]], differs: Differs, at_once: int) -> Recipe:
    """Go from recipe to recipe, each time by the first of the steps that differs, until none does."""
    for _ in range(ROUNDS):
        smaller = _first(steps(recipe), differs, at_once)
        if smaller is None:
            break
        recipe = smaller
    return recipe


def _first(recipes: Iterator[Recipe], differs: Differs, at_once: int) -> Recipe | None:
    """Return the first of the recipes that differs."""
    while some := list(itertools.islice(recipes, at_once)):
        found = next((one for one, true in zip(some, differs(some), strict=True) if true), None)
        if found:
            return found
    return None


def _simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Yield what is sound and smaller, each only once, the smallest first."""
    found = {one.name: one for one in _steps(recipe) if one.sound() and one.size < recipe.size}
    found.pop(recipe.name, None)
    yield from sorted(found.values(), key=lambda one: one.size)


def _steps(recipe: Recipe) -> Iterator[Recipe]:
    """Yield every recipe one step away, whether it has a meaning or not."""
    yield from (_without(recipe, axis) for axis in range(recipe.rank) if recipe.rank > 1)
    for factor, level in recipe.levels.items():
        plain = PLAIN.get(factor, OPERATORS[recipe.operator].defaults.get(factor))
        if factor in PER_AXIS:
            yield from _sizes(recipe, factor)
        elif factor in ENDS:
            yield from _pairs(recipe, factor)
        elif factor == "values":
            yield from (recipe.having(values=word) for word in ("integers", "mantissas") if word != level)
        elif factor == "dtype":
            yield from (recipe.having(dtype=name) for name in ("float32", "float64", "int32") if name != level)
        elif factor != "rank" and level != plain:
            yield recipe.having(**{factor: plain})
            yield from _numbers(recipe, factor)
    yield from _together(recipe)


def _numbers(recipe: Recipe, factor: str) -> Iterator[Recipe]:
    """Yield lesser whole numbers of a factor: half of it, and one less."""
    level = recipe.levels[factor]
    if isinstance(level, int) and not isinstance(level, bool) and level > 1:
        yield from (recipe.having(**{factor: number}) for number in {2, level // 2, level - 1} if number < level)


def _without(recipe: Recipe, axis: int) -> Recipe:
    """Return the recipe without one of its spatial axes."""
    changed = {name: _but(recipe.each(name), axis) for name in PER_AXIS if name in recipe.levels}
    changed |= {
        name: _but(recipe.each(name), axis) for name in ENDS if not isinstance(recipe.levels.get(name, ""), str)
    }
    return recipe.having(rank=recipe.rank - 1, **changed)


def _but(values: tuple[object, ...], axis: int) -> tuple[object, ...]:
    return values[:axis] + values[axis + 1 :]


def _sizes(recipe: Recipe, factor: str) -> Iterator[Recipe]:
    """Yield lesser sizes on one axis, and the plain one on all."""
    plain = PLAIN.get(factor, 1)
    values = recipe.each(factor)
    yield recipe.having(**{factor: (plain,) * recipe.rank})
    if "window" in recipe.levels and factor == "stride":
        yield recipe.having(stride=recipe.each("window"))
    for axis, value in enumerate(values):
        for lesser in sorted({plain, 1, 2, 3, value // 2, value - value // 4, value - 2, value - 1}):
            if plain <= lesser < value:
                yield recipe.having(**{factor: (*values[:axis], lesser, *values[axis + 1 :])})


def _pairs(recipe: Recipe, factor: str) -> Iterator[Recipe]:
    """Yield less padding: none, none at one end, less at one end."""
    nothing = ((0, 0),) * recipe.rank
    yield recipe.having(**{factor: nothing})
    if isinstance(recipe.levels[factor], str):
        yield from (recipe.having(**{factor: pads}) for pads in (((1, 1),) * recipe.rank, ((0, 1),) * recipe.rank))
        return
    pairs = recipe.each(factor)
    for axis, end in itertools.product(range(recipe.rank), (0, 1)):
        value = pairs[axis][end]
        for lesser in {0, int(math.copysign(abs(value) // 2, value)), int(math.copysign(abs(value) - 1, value))}:
            if abs(lesser) < abs(value):
                pair = (lesser, pairs[axis][1]) if end == 0 else (pairs[axis][0], lesser)
                yield recipe.having(**{factor: (*pairs[:axis], pair, *pairs[axis + 1 :])})


def _half(size: int) -> int:
    return size // 2


def _one_less(size: int) -> int:
    return size - 1


def _together(recipe: Recipe) -> Iterator[Recipe]:
    """Yield what is smaller only if two sizes go down at once: a window and the extent, the stride or the padding."""
    for factor, other in itertools.combinations([name for name in PER_AXIS if name in recipe.levels], 2):
        for axis in range(recipe.rank):
            for less in (_half, _one_less):
                one, two = list(recipe.each(factor)), list(recipe.each(other))
                one[axis], two[axis] = less(one[axis]), less(two[axis])
                if min(one[axis] - PLAIN.get(factor, 1), two[axis] - PLAIN.get(other, 1)) >= 0:
                    yield recipe.having(**{factor: tuple(one), other: tuple(two)})
    if "padding" in recipe.levels:
        yield from _filled(recipe)
    if {"channels", "groups"} <= recipe.levels.keys():
        yield recipe.having(channels=1, out=1)


def _filled(recipe: Recipe) -> Iterator[Recipe]:
    """Yield the recipe with cells of the input in place of padding: at one end of an axis, and at both."""
    extent, pairs = recipe.each("extent"), recipe.each("padding")
    if not pairs:  # a word: the input reaches as far as the window does
        reach = tuple(map(max, extent, first_step(recipe.case).window))
        yield recipe.having(padding=((0, 0),) * recipe.rank, extent=reach)
    for axis, (before, after) in enumerate(pairs):
        for pair in ((0, after), (before, 0), (0, 0)):
            larger = extent[axis] + before + after - sum(pair)
            padding = (*pairs[:axis], pair, *pairs[axis + 1 :])
            yield recipe.having(padding=padding, extent=(*extent[:axis], larger, *extent[axis + 1 :]))


def _writable(recipe: Recipe) -> bool:
    return all(math.prod(spec.shape) <= WRITTEN for spec in recipe.case.inputs.values())


def _written(recipe: Recipe) -> Recipe:
    """Return the recipe with all its numbers written out."""
    return recipe.holding(**{name: _listed(spec.make()) for name, spec in recipe.case.inputs.items()})


def _listed(array: object) -> object:
    """Return an array as nested lists of numbers that its dtype reads back."""
    values = np.asarray(array)
    if DTYPES[values.dtype.name].kind in "fV":
        return values.astype(np.float64).tolist()
    return values.astype(int).tolist() if values.dtype == bool else values.tolist()


def _plainer(recipe: Recipe) -> Iterator[Recipe]:
    """Yield plainer numbers: all zeros, all ones, then one number after the other."""
    steps = (one for name in recipe.numbers for one in _replaced(recipe, name))
    smaller = (one for one in steps if one.sound() and one.size < recipe.size)
    yield from smaller


def _cut(recipe: Recipe) -> Iterator[Recipe]:
    """Yield what is smaller and goes on with a part of the numbers that are written out, the smallest first."""
    if not PLACES.isdisjoint(recipe.numbers):  # in less cells there may be no such place
        return
    steps = {step.name: step for step in _steps(recipe) if step.sound()}
    parts = (one for step in steps.values() for last in (False, True) if (one := _part(recipe, step, last=last)))
    found = {one.case.id: one for one in parts if one.sound() and one.size < recipe.size}
    yield from sorted(found.values(), key=lambda one: one.size)


def _part(recipe: Recipe, step: Recipe, *, last: bool) -> Recipe | None:
    """Return a step with the first or last of the recipe's numbers, None if those are too few or of another kind."""
    if any(step.levels[name] != recipe.levels[name] for name in ("dtype", "values")):
        return None
    parts = {}
    for name, spec in step.case.inputs.items():
        array = np.array(recipe.numbers.get(name, []), object)
        if array.size == math.prod(spec.shape):  # it may have lost an axis of one cell
            parts[name] = array.reshape(spec.shape).tolist()
        elif array.ndim != len(spec.shape) or any(map(operator.lt, array.shape, spec.shape)):
            return None
        else:
            ends = zip(array.shape, spec.shape, strict=True)
            parts[name] = array[tuple(slice(old - new, None) if last else slice(new) for old, new in ends)].tolist()
    return step.holding(**parts)


def _replaced(recipe: Recipe, name: str) -> Iterator[Recipe]:
    dtype = DTYPES[recipe.case.inputs[name].dtype]
    whole = dtype.kind not in "fV"
    values = np.array(recipe.numbers[name], dtype if dtype.kind in "iu" else None)
    for number in (0, 1):
        yield recipe.holding(**{name: np.full_like(values, number).tolist()})
    for place in np.ndindex(values.shape):
        for number in (0, 1, 0 if whole or not np.isfinite(values[place]) else np.trunc(values[place])):
            if values[place] != number:
                changed = values.copy()
                changed[place] = number
                yield recipe.holding(**{name: changed.tolist()})
