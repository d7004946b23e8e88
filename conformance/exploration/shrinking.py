"""Shrink a candidate that differs to the smallest one that differs in the same way.

Each round evaluates all simpler candidates one step away, simplest first (`Candidate.shrink_key`), and continues with
the first one that still differs. Then the inputs are written out as explicit numbers, and numbers are replaced by zeros
and ones. With simple numbers fewer cells may be enough, so cells are removed and the remaining numbers simplified until
neither changes the candidate.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import case_step
from conformance.exploration.candidate import NUMBER_PER_AXIS_FACTORS, PAIR_FACTORS, SIMPLEST_LEVELS, Candidate

DiffersCheck = Callable[[Sequence[Candidate]], Sequence[bool]]
"""Returns for each candidate whether it differs with the symptom being shrunk."""
SHRINK_BATCH_SIZE = 24
"""Number of candidates evaluated together. A batch uses all workers, although only the first that differs counts."""
MAX_WRITTEN_CELLS = 1024
"""Maximum number of cells of an input whose numbers are written out."""
MAX_SINGLE_NUMBERS = 64
"""Maximum number of cells of an input whose numbers are replaced one by one; in a larger one, blocks are replaced."""
MAX_SHRINK_ROUNDS = 200
"""Maximum number of successful steps of one kind."""


def shrink(candidate: Candidate, differs: DiffersCheck, batch_size: int = SHRINK_BATCH_SIZE) -> Candidate:
    """Return the smallest candidate found that still differs, or the candidate itself.

    batch_size: number of candidates evaluated together. The first one that differs is used.
    """
    candidate = _descend(candidate, _simpler_candidates, differs, batch_size)
    written = (
        _first_differing(iter([_with_numbers_written_out(candidate)]), differs, 1)
        if _can_write_out(candidate)
        else None
    )
    while written:
        candidate = _descend(written, _simpler_numbers, differs, batch_size)
        cut = _descend(candidate, _cut_candidates, differs, batch_size)
        written = cut if cut is not candidate else None
    return candidate


def _descend(
    candidate: Candidate, steps: Callable[[Candidate], Iterator[Candidate]], differs: DiffersCheck, batch_size: int
) -> Candidate:
    """Take the first step that still differs, repeatedly, until no step differs."""
    for _ in range(MAX_SHRINK_ROUNDS):
        smaller = _first_differing(steps(candidate), differs, batch_size)
        if smaller is None:
            break
        candidate = smaller
    return candidate


def _first_differing(candidates: Iterator[Candidate], differs: DiffersCheck, batch_size: int) -> Candidate | None:
    """Return the first candidate that differs; None if there is none."""
    while batch := list(itertools.islice(candidates, batch_size)):
        first = next((one for one, differing in zip(batch, differs(batch), strict=True) if differing), None)
        if first:
            return first
    return None


def _simpler_candidates(candidate: Candidate) -> Iterator[Candidate]:
    """Yield the valid, smaller candidates one step away, without duplicates, smallest first."""
    by_name = {
        one.name: one for one in _shrink_steps(candidate) if one.is_valid() and one.shrink_key < candidate.shrink_key
    }
    by_name.pop(candidate.name, None)  # written numbers are not part of a name
    yield from sorted(by_name.values(), key=lambda one: one.shrink_key)


def _shrink_steps(candidate: Candidate) -> Iterator[Candidate]:
    """Yield every candidate one step away; some are invalid or larger."""
    yield from _simpler_calls(candidate)
    yield from (candidate.without_axis(axis) for axis in range(candidate.rank) if candidate.rank > 1)
    for factor, level in candidate.levels.items():
        simplest = SIMPLEST_LEVELS.get(factor, OPERATORS[candidate.operator].defaults.get(factor))
        if factor in NUMBER_PER_AXIS_FACTORS:
            yield from _smaller_sizes(candidate, factor)
        elif factor in PAIR_FACTORS:
            yield from _smaller_padding(candidate, factor)
        elif factor == "values":
            yield from (candidate.with_levels(values=word) for word in ("integers", "mantissas") if word != level)
        elif factor == "dtype":
            yield from (candidate.with_levels(dtype=name) for name in ("float32", "float64", "int32") if name != level)
        elif factor != "rank" and level != simplest:
            yield candidate.with_levels(**{factor: simplest})
            yield from _smaller_numbers(candidate, factor)
    yield from _joint_reductions(candidate)


def _simpler_calls(candidate: Candidate) -> Iterator[Candidate]:
    """Yield candidates without the following operator, and with a violation nearer to its boundary."""
    bare = replace(candidate, written_numbers={})
    if candidate.array_use:
        yield replace(bare, array_use="")
    if candidate.has_words:
        yield replace(bare, has_words=False)
    if candidate.following:
        yield replace(bare, following=None)
        for window in range(1, candidate.following.window):
            yield replace(bare, following=replace(candidate.following, window=window))
    if candidate.violation:
        for amount in (0, candidate.violation.amount // 2):
            yield replace(bare, violation=replace(candidate.violation, amount=amount))
        yield replace(bare, violation=replace(candidate.violation, axis=0))


def _smaller_numbers(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    """Yield smaller integers for a factor: 2, half of it, and one less."""
    level = candidate.levels[factor]
    if isinstance(level, int) and not isinstance(level, bool) and level > 1:
        yield from (
            # Two less has the same parity.
            candidate.with_levels(**{factor: number})
            for number in {2, 3, level // 2, level - 2, level - 1}
            if 0 < number < level
        )


def _smaller_sizes(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    """Yield smaller sizes on one axis, and the simplest size on all axes."""
    simplest = SIMPLEST_LEVELS.get(factor, 1)
    values = candidate.per_axis(factor)
    yield candidate.with_levels(**{factor: (simplest,) * candidate.rank})
    if "window" in candidate.levels and factor == "stride":  # the default stride of pooling
        yield candidate.with_levels(stride=candidate.per_axis("window"))
    for axis, value in enumerate(values):
        for smaller in sorted({simplest, 1, 2, 3, value // 2, value - value // 4, value - 2, value - 1}):
            if simplest <= smaller < value:
                yield candidate.with_levels_on_axis(axis, **{factor: smaller})


def _smaller_padding(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    """Yield the candidate without padding, and with less padding at one end of an axis."""
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
        # Negative pads crop: they shrink towards 0 too.
        for smaller in {0, int(math.copysign(abs(value) // 2, value)), int(math.copysign(abs(value) - 1, value))}:
            if abs(smaller) < abs(value):
                pair = (smaller, pairs[axis][1]) if end == 0 else (pairs[axis][0], smaller)
                yield candidate.with_levels_on_axis(axis, **{factor: pair})


def _joint_reductions(candidate: Candidate) -> Iterator[Candidate]:
    """Yield candidates with two sizes reduced together, such as window and extent, or window and stride.

    If only one of them is reduced, the candidate may be invalid or no longer differ.
    """
    sizes = {name: candidate.per_axis(name) for name in NUMBER_PER_AXIS_FACTORS if name in candidate.levels}
    for factors in itertools.combinations(sizes, 2):
        for axis in range(candidate.rank):
            for smaller in (
                {name: sizes[name][axis] // 2 for name in factors},
                {name: sizes[name][axis] - 1 for name in factors},
            ):
                if all(size >= SIMPLEST_LEVELS.get(name, 1) for name, size in smaller.items()):
                    yield candidate.with_levels_on_axis(axis, **smaller)
    for factor in PAIR_FACTORS:
        if factor in candidate.levels:
            yield from _extent_and_pad(candidate, factor)
    if "padding" in candidate.levels:
        yield from _padding_as_input(candidate)
    if {"channels", "groups"} <= candidate.levels.keys():
        yield candidate.with_levels(channels=1, out=1)


def _extent_and_pad(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    """Yield candidates with an extent and a pad of its axis reduced by the same number."""
    pairs, extent = candidate.per_axis(factor), candidate.per_axis("extent")
    for axis, pair in enumerate(pairs):
        for end, pad in enumerate(pair):
            for fewer in {1, extent[axis] // 2, extent[axis] - 1}:
                if 0 < fewer < extent[axis] and fewer <= abs(pad):
                    reduced = int(math.copysign(abs(pad) - fewer, pad))
                    changed = (reduced, pair[1]) if end == 0 else (pair[0], reduced)
                    yield candidate.with_levels_on_axis(axis, **{"extent": extent[axis] - fewer, factor: changed})


def _padding_as_input(candidate: Candidate) -> Iterator[Candidate]:
    """Yield candidates with input cells instead of padding, at one end of an axis or at both."""
    extent, pairs = candidate.per_axis("extent"), candidate.per_axis("padding")
    if not pairs:  # same_upper or same_lower: no pad is needed if the input is as large as the window
        reach = tuple(map(max, extent, case_step(candidate.valid.case).window))
        yield candidate.with_levels(padding=((0, 0),) * candidate.rank, extent=reach)
    for axis, (before, after) in enumerate(pairs):
        for pair in ((0, after), (before, 0), (0, 0)):
            larger = extent[axis] + before + after - sum(pair)
            yield candidate.with_levels_on_axis(axis, padding=pair, extent=larger)


def _can_write_out(candidate: Candidate) -> bool:
    return all(math.prod(spec.shape) <= MAX_WRITTEN_CELLS for spec in candidate.valid.case.inputs.values())


def _with_numbers_written_out(candidate: Candidate) -> Candidate:
    """Return the candidate with all inputs as explicit numbers, before a violation changes an input."""
    inputs = candidate.valid.case.inputs
    return candidate.with_numbers(**{name: _nested_list(spec.make()) for name, spec in inputs.items()})


def _nested_list(array: object) -> object:
    """Return an array as nested lists of numbers that convert back to its dtype exactly."""
    values = np.asarray(array)
    if NUMPY_DTYPES[values.dtype.name].kind in "fV":
        return values.astype(np.float64).tolist()
    return values.astype(int).tolist() if values.dtype == bool else values.tolist()


def _simpler_numbers(candidate: Candidate) -> Iterator[Candidate]:
    """Yield candidates with simpler numbers: all zeros, all ones, then single numbers replaced."""
    for name in candidate.written_numbers:
        for one in _number_replacements(candidate, name):
            if one.is_valid() and one.shrink_key < candidate.shrink_key:
                yield one


def _cut_candidates(candidate: Candidate) -> Iterator[Candidate]:
    """Yield smaller candidates that use a part of the explicit numbers, smallest first."""
    steps = {step.name: step for step in _shrink_steps(candidate) if step.is_valid()}
    parts = (
        one
        for step in steps.values()
        for last in (False, True)
        if (one := _part_of_numbers(candidate, step, last=last))
    )
    by_id = {one.case.id: one for one in parts if one.is_valid() and one.shrink_key < candidate.shrink_key}
    yield from sorted(by_id.values(), key=lambda one: one.shrink_key)


def _part_of_numbers(candidate: Candidate, step: Candidate, *, last: bool) -> Candidate | None:
    """Return a step with the first or last explicit numbers of the candidate.

    None if there are too few numbers, or if the step changes the dtype or the values.
    """
    if any(step.levels[name] != candidate.levels[name] for name in ("dtype", "values")):
        return None
    parts = {}
    for name, spec in step.case.inputs.items():
        array = np.array(candidate.written_numbers.get(name, []), object)
        if array.size == math.prod(spec.shape):  # the step may have removed an axis of one cell
            parts[name] = array.reshape(spec.shape).tolist()
        elif array.ndim != len(spec.shape) or any(map(operator.lt, array.shape, spec.shape)):
            return None
        else:
            sizes = zip(array.shape, spec.shape, strict=True)
            parts[name] = array[tuple(slice(old - new, None) if last else slice(new) for old, new in sizes)].tolist()
    if "indices" in parts:  # a smaller output does not have the last positions
        outputs = math.prod(step.per_axis("output_size"))
        parts["indices"] = np.minimum(np.array(parts["indices"], np.int64), outputs - 1).tolist()
    return step.with_numbers(**parts)


def _block_replacements(candidate: Candidate, name: str, values: np.ndarray[Any, Any]) -> Iterator[Candidate]:
    """Yield candidates with a block of numbers replaced by zeros: halves first, down to a sixteenth."""
    for parts in (2, 4, 8, 16):
        width = -(-values.size // parts)
        for start in range(0, values.size, width):
            changed = values.copy()
            changed.flat[start : start + width] = 0
            if not np.array_equal(changed, values):
                yield candidate.with_numbers(**{name: changed.tolist()})


def _number_replacements(candidate: Candidate, name: str) -> Iterator[Candidate]:
    dtype = NUMPY_DTYPES[candidate.case.inputs[name].dtype]
    integer = dtype.kind not in "fV"
    values = np.array(candidate.written_numbers[name], dtype if dtype.kind in "iu" else None)
    for number in (0, 1):
        yield candidate.with_numbers(**{name: np.full_like(values, number).tolist()})
    if values.size > MAX_SINGLE_NUMBERS:
        yield from _block_replacements(candidate, name, values)
        return
    for index in np.ndindex(values.shape):
        for number in (0, 1, 0 if integer or not np.isfinite(values[index]) else np.trunc(values[index])):
            if values[index] != number:
                changed = values.copy()
                changed[index] = number
                yield candidate.with_numbers(**{name: changed.tolist()})
