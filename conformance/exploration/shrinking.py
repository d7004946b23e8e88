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

from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import case_step
from conformance.catalogue.value_range import POSITION_INPUTS
from conformance.exploration.candidate import NUMBER_PER_AXIS_FACTORS, PAIR_FACTORS, SIMPLEST_LEVELS, Candidate

DiffersCheck = Callable[[Sequence[Candidate]], Sequence[bool]]
"""Whether each of some recipes differs in the way that is looked at."""
SHRINK_BATCH_SIZE = 24
"""Recipes that are asked about together, where asking takes no time to speak of."""
MAX_WRITTEN_CELLS = 64
"""Cells of an input up to which its numbers are written out."""
MAX_SHRINK_ROUNDS = 200


def shrink(candidate: Candidate, differs: DiffersCheck, batch_size: int = SHRINK_BATCH_SIZE) -> Candidate:
    """Return the smallest recipe that was found to differ still, the recipe itself at worst.

    at_once: recipes that are asked about together, though the first that differs is taken.
    """
    candidate = _descend(candidate, _simpler_candidates, differs, batch_size)
    written = (
        _first_differing(iter([_with_numbers_written_out(candidate)]), differs, 1)
        if _can_write_out(candidate)
        else None
    )
    while written:
        candidate = _descend(written, _simpler_numbers, differs, batch_size)
        less = _descend(candidate, _cut_candidates, differs, batch_size)
        written = less if less is not candidate else None
    return candidate


def _descend(
    candidate: Candidate, steps: Callable[[Candidate], Iterator[Candidate]], differs: DiffersCheck, at_once: int
) -> Candidate:
    """Go from recipe to recipe, each time by the first of the steps that differs, until none does."""
    for _ in range(MAX_SHRINK_ROUNDS):
        smaller = _first_differing(steps(candidate), differs, at_once)
        if smaller is None:
            break
        candidate = smaller
    return candidate


def _first_differing(candidates: Iterator[Candidate], differs: DiffersCheck, at_once: int) -> Candidate | None:
    """Return the first of the recipes that differs."""
    while some := list(itertools.islice(candidates, at_once)):
        found = next((one for one, true in zip(some, differs(some), strict=True) if true), None)
        if found:
            return found
    return None


def _simpler_candidates(candidate: Candidate) -> Iterator[Candidate]:
    """Yield what is sound and smaller, each only once, the smallest first."""
    found = {
        one.name: one for one in _shrink_steps(candidate) if one.is_valid() and one.shrink_key < candidate.shrink_key
    }
    found.pop(candidate.name, None)
    yield from sorted(found.values(), key=lambda one: one.shrink_key)


def _shrink_steps(candidate: Candidate) -> Iterator[Candidate]:
    """Yield every recipe one step away, whether it has a meaning or not."""
    yield from (_without_axis(candidate, axis) for axis in range(candidate.rank) if candidate.rank > 1)
    for factor, level in candidate.levels.items():
        plain = SIMPLEST_LEVELS.get(factor, OPERATORS[candidate.operator].defaults.get(factor))
        if factor in NUMBER_PER_AXIS_FACTORS:
            yield from _smaller_sizes(candidate, factor)
        elif factor in PAIR_FACTORS:
            yield from _smaller_padding(candidate, factor)
        elif factor == "values":
            yield from (candidate.with_levels(values=word) for word in ("integers", "mantissas") if word != level)
        elif factor == "dtype":
            yield from (candidate.with_levels(dtype=name) for name in ("float32", "float64", "int32") if name != level)
        elif factor != "rank" and level != plain:
            yield candidate.with_levels(**{factor: plain})
            yield from _smaller_numbers(candidate, factor)
    yield from _joint_reductions(candidate)


def _smaller_numbers(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    """Yield lesser whole numbers of a factor: half of it, and one less."""
    level = candidate.levels[factor]
    if isinstance(level, int) and not isinstance(level, bool) and level > 1:
        yield from (
            candidate.with_levels(**{factor: number}) for number in {2, level // 2, level - 1} if number < level
        )


def _without_axis(candidate: Candidate, axis: int) -> Candidate:
    """Return the recipe without one of its spatial axes."""
    changed = {
        name: _without_position(candidate.per_axis(name), axis)
        for name in NUMBER_PER_AXIS_FACTORS
        if name in candidate.levels
    }
    changed |= {
        name: _without_position(candidate.per_axis(name), axis)
        for name in PAIR_FACTORS
        if not isinstance(candidate.levels.get(name, ""), str)
    }
    return candidate.with_levels(rank=candidate.rank - 1, **changed)


def _without_position(values: tuple[object, ...], axis: int) -> tuple[object, ...]:
    return values[:axis] + values[axis + 1 :]


def _smaller_sizes(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    """Yield lesser sizes on one axis, and the plain one on all."""
    plain = SIMPLEST_LEVELS.get(factor, 1)
    values = candidate.per_axis(factor)
    yield candidate.with_levels(**{factor: (plain,) * candidate.rank})
    if "window" in candidate.levels and factor == "stride":
        yield candidate.with_levels(stride=candidate.per_axis("window"))
    for axis, value in enumerate(values):
        for lesser in sorted({plain, 1, 2, 3, value // 2, value - value // 4, value - 2, value - 1}):
            if plain <= lesser < value:
                yield candidate.with_levels(**{factor: (*values[:axis], lesser, *values[axis + 1 :])})


def _smaller_padding(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    """Yield less padding: none, none at one end, less at one end."""
    nothing = ((0, 0),) * candidate.rank
    yield candidate.with_levels(**{factor: nothing})
    if isinstance(candidate.levels[factor], str):
        yield from (
            candidate.with_levels(**{factor: pads}) for pads in (((1, 1),) * candidate.rank, ((0, 1),) * candidate.rank)
        )
        return
    pairs = candidate.per_axis(factor)
    for axis, end in itertools.product(range(candidate.rank), (0, 1)):
        value = pairs[axis][end]
        for lesser in {0, int(math.copysign(abs(value) // 2, value)), int(math.copysign(abs(value) - 1, value))}:
            if abs(lesser) < abs(value):
                pair = (lesser, pairs[axis][1]) if end == 0 else (pairs[axis][0], lesser)
                yield candidate.with_levels(**{factor: (*pairs[:axis], pair, *pairs[axis + 1 :])})


def _halve(size: int) -> int:
    return size // 2


def _decrement(size: int) -> int:
    return size - 1


def _joint_reductions(candidate: Candidate) -> Iterator[Candidate]:
    """Yield what is smaller only if two sizes go down at once: a window and the extent, the stride or the padding."""
    for factor, other in itertools.combinations(
        [name for name in NUMBER_PER_AXIS_FACTORS if name in candidate.levels], 2
    ):
        for axis in range(candidate.rank):
            for less in (_halve, _decrement):
                one, two = list(candidate.per_axis(factor)), list(candidate.per_axis(other))
                one[axis], two[axis] = less(one[axis]), less(two[axis])
                if min(one[axis] - SIMPLEST_LEVELS.get(factor, 1), two[axis] - SIMPLEST_LEVELS.get(other, 1)) >= 0:
                    yield candidate.with_levels(**{factor: tuple(one), other: tuple(two)})
    if "padding" in candidate.levels:
        yield from _padding_as_input(candidate)
    if {"channels", "groups"} <= candidate.levels.keys():
        yield candidate.with_levels(channels=1, out=1)


def _padding_as_input(candidate: Candidate) -> Iterator[Candidate]:
    """Yield the recipe with cells of the input in place of padding: at one end of an axis, and at both."""
    extent, pairs = candidate.per_axis("extent"), candidate.per_axis("padding")
    if not pairs:  # a word: the input reaches as far as the window does
        reach = tuple(map(max, extent, case_step(candidate.case).window))
        yield candidate.with_levels(padding=((0, 0),) * candidate.rank, extent=reach)
    for axis, (before, after) in enumerate(pairs):
        for pair in ((0, after), (before, 0), (0, 0)):
            larger = extent[axis] + before + after - sum(pair)
            padding = (*pairs[:axis], pair, *pairs[axis + 1 :])
            yield candidate.with_levels(padding=padding, extent=(*extent[:axis], larger, *extent[axis + 1 :]))


def _can_write_out(candidate: Candidate) -> bool:
    return all(math.prod(spec.shape) <= MAX_WRITTEN_CELLS for spec in candidate.case.inputs.values())


def _with_numbers_written_out(candidate: Candidate) -> Candidate:
    """Return the recipe with all its numbers written out."""
    return candidate.with_numbers(**{name: _nested_list(spec.make()) for name, spec in candidate.case.inputs.items()})


def _nested_list(array: object) -> object:
    """Return an array as nested lists of numbers that its dtype reads back."""
    values = np.asarray(array)
    if NUMPY_DTYPES[values.dtype.name].kind in "fV":
        return values.astype(np.float64).tolist()
    return values.astype(int).tolist() if values.dtype == bool else values.tolist()


def _simpler_numbers(candidate: Candidate) -> Iterator[Candidate]:
    """Yield plainer numbers: all zeros, all ones, then one number after the other."""
    steps = (one for name in candidate.written_numbers for one in _number_replacements(candidate, name))
    smaller = (one for one in steps if one.is_valid() and one.shrink_key < candidate.shrink_key)
    yield from smaller


def _cut_candidates(candidate: Candidate) -> Iterator[Candidate]:
    """Yield what is smaller and goes on with a part of the numbers that are written out, the smallest first."""
    if not POSITION_INPUTS.isdisjoint(candidate.written_numbers):  # in less cells there may be no such place
        return
    steps = {step.name: step for step in _shrink_steps(candidate) if step.is_valid()}
    parts = (
        one
        for step in steps.values()
        for last in (False, True)
        if (one := _part_of_numbers(candidate, step, last=last))
    )
    found = {one.case.id: one for one in parts if one.is_valid() and one.shrink_key < candidate.shrink_key}
    yield from sorted(found.values(), key=lambda one: one.shrink_key)


def _part_of_numbers(candidate: Candidate, step: Candidate, *, last: bool) -> Candidate | None:
    """Return a step with the first or last of the recipe's numbers, None if those are too few or of another kind."""
    if any(step.levels[name] != candidate.levels[name] for name in ("dtype", "values")):
        return None
    parts = {}
    for name, spec in step.case.inputs.items():
        array = np.array(candidate.written_numbers.get(name, []), object)
        if array.size == math.prod(spec.shape):  # it may have lost an axis of one cell
            parts[name] = array.reshape(spec.shape).tolist()
        elif array.ndim != len(spec.shape) or any(map(operator.lt, array.shape, spec.shape)):
            return None
        else:
            ends = zip(array.shape, spec.shape, strict=True)
            parts[name] = array[tuple(slice(old - new, None) if last else slice(new) for old, new in ends)].tolist()
    return step.with_numbers(**parts)


def _number_replacements(candidate: Candidate, name: str) -> Iterator[Candidate]:
    dtype = NUMPY_DTYPES[candidate.case.inputs[name].dtype]
    whole = dtype.kind not in "fV"
    values = np.array(candidate.written_numbers[name], dtype if dtype.kind in "iu" else None)
    for number in (0, 1):
        yield candidate.with_numbers(**{name: np.full_like(values, number).tolist()})
    for place in np.ndindex(values.shape):
        for number in (0, 1, 0 if whole or not np.isfinite(values[place]) else np.trunc(values[place])):
            if values[place] != number:
                changed = values.copy()
                changed[place] = number
                yield candidate.with_numbers(**{name: changed.tolist()})
