"""Draw the numbers of a candidate: ties, windows of zeros, several special values, and numbers that overflow.

The inputs of the sweeps are safe integers. Small inputs are also written out as explicit numbers of one of these kinds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.case import ArrayUse
from conformance.cases.generators import SpecialValue
from conformance.cases.operators import INPUTS, OPERATORS, Arithmetic, Geometry
from conformance.exploration.candidate import Candidate, FollowingPool
from conformance.exploration.rng import Rng
from reports.results.vocabulary import Word

MAX_DRAWN_CELLS = 400
"""Maximum number of cells of an input whose numbers are drawn one by one."""
LARGE_NUMBERS: Mapping[str, Sequence[float]] = {
    "float16": (300, 7500, 30_000, 60_000),
    "bfloat16": (100, 300, 1024, 32_768),
    "float32": (100, 300, 10_000, 1_000_000),
    "float64": (100, 800, 10_000, 1_000_000_000),
}
"""Numbers whose sums, powers or exponentials leave the range of a dtype, although the result does not."""
WORDED_GEOMETRIES = frozenset({Geometry.WINDOWS, Geometry.TRANSPOSED, Geometry.PADS})
"""Geometries whose padding has names, such as `same`. Only calls without a gradient are written with them."""
INDEX_DTYPES = ("int32", "int32", "int16", "uint8", "uint64")
"""Other dtypes of indices than int64."""
SHARES = (0, 0.25, 0.5, 0.75, 0.96875)
"""Samples and draws. The first is the boundary of their range."""
FOLLOWING_OPERATORS = ("max_pool", "avg_pool", "min_pool")
FOLLOWED_OPERATORS = frozenset({"max_pool", "min_pool", "pad", "conv"})
"""Operators with exact results whose output is also read by a pooling: compilers fuse these."""


class NumberKind(Word):
    """The numbers of x."""

    TIED = "tied"  # 0, 1 and 2
    SPARSE = "sparse"  # mostly zeros
    EQUAL = "equal"  # one number
    NEGATIVE = "negative"
    LARGE = "large"
    UPPER = "upper"  # the upper half of the range of an integer dtype
    SPECIAL = "special"  # several special values
    BLOCK = "block"  # a row of one special value, or of zeros


def draw_numbers(candidate: Candidate, specials: Sequence[str], rng: Rng) -> Candidate:
    """Return the candidate with explicit numbers for its small inputs.

    specials: special values whose meaning is settled for the operator.
    """
    written = {}
    for name, spec in candidate.case.inputs.items():
        if math.prod(spec.shape) > MAX_DRAWN_CELLS or 0 in spec.shape:
            continue
        draw = DRAWS.get(name)
        if draw and (name == "x" or rng.one_in(2)):
            written[name] = draw(candidate, spec.shape, spec.dtype, specials, rng)
    return candidate.with_numbers(**written) if "x" in written else candidate


def nested(numbers: Sequence[Any], shape: Sequence[int]) -> Any:
    """Return numbers as nested lists of a shape."""
    array = np.empty(len(numbers), object)
    array[:] = list(numbers)
    return array.reshape(tuple(shape)).tolist()


def _draw_x(candidate: Candidate, shape: Sequence[int], dtype: str, specials: Sequence[str], rng: Rng) -> Any:
    operator, kind = OPERATORS[candidate.operator], NUMPY_DTYPES[dtype].kind
    is_signed = kind in "ifV" and operator.arithmetic is not Arithmetic.PROBABILITIES
    kinds = [NumberKind.TIED, NumberKind.SPARSE, NumberKind.EQUAL, NumberKind.LARGE]
    kinds += [NumberKind.NEGATIVE] * is_signed + [NumberKind.UPPER] * (kind in "iu")
    kinds += [NumberKind.SPECIAL, NumberKind.SPECIAL, NumberKind.BLOCK] * (bool(specials) and kind in "fV")
    return nested(_numbers(rng.choice(kinds), math.prod(shape), dtype, specials, rng, signed=is_signed), shape)


def _numbers(
    kind: NumberKind, count: int, dtype: str, specials: Sequence[str], rng: Rng, *, signed: bool
) -> Sequence[Any]:
    integers = [rng.randint(-9 if signed else 0, 9) for _ in range(count)]
    if NUMPY_DTYPES[dtype].kind == "b":
        return [number % 2 for number in integers]
    if kind in INTEGER_KINDS:
        return INTEGER_KINDS[kind](integers, rng)
    if kind is NumberKind.LARGE:
        return _large_numbers(count, dtype, rng, signed=signed)
    if kind is NumberKind.UPPER:
        most = int(np.iinfo(NUMPY_DTYPES[dtype]).max)
        return [most - rng.randrange(most // 2) for _ in range(count)]
    values = [float(_special(word, dtype)) for word in specials]
    if kind is NumberKind.BLOCK:
        start, value = rng.randrange(count), rng.choice(values)
        return [*integers[:start], *[value] * (rng.randint(1, 4)), *integers[start:]][:count]
    # All of them, or at most two: the more there are, the fewer windows have a certain pair alone.
    values = values if rng.one_in(3) else [rng.choice(values), rng.choice(values)]
    return [rng.choice(values) if rng.one_in(3) else number for number in integers]


INTEGER_KINDS: Mapping[NumberKind, Callable[[Sequence[int], Rng], Sequence[int]]] = {
    NumberKind.TIED: lambda integers, _rng: [abs(number) % 3 for number in integers],
    NumberKind.SPARSE: lambda integers, rng: [number if rng.one_in(4) else 0 for number in integers],
    NumberKind.EQUAL: lambda integers, _rng: list(integers[:1]) * len(integers),
    NumberKind.NEGATIVE: lambda integers, _rng: [-1 - abs(number) for number in integers],
}
"""Numbers of kinds that are made from random integers."""


def _special(word: str, dtype: str) -> Any:
    return SpecialValue(word).number(NUMPY_DTYPES[dtype])


def _large_numbers(count: int, dtype: str, rng: Rng, *, signed: bool) -> Sequence[Any]:
    if dtype in LARGE_NUMBERS:
        largest = rng.choice(LARGE_NUMBERS[dtype])
        choices = (largest, largest, largest / 2, -largest if signed else largest)
        return [rng.choice(choices) for _ in range(count)]
    info = np.iinfo(NUMPY_DTYPES[dtype])
    return [int(info.max) - rng.randrange(3) if rng.one_in(2) else rng.randrange(9) for _ in range(count)]


def _draw_kernel(_candidate: Candidate, shape: Sequence[int], *_: Any) -> Any:
    rng = _[-1]
    return nested([rng.choice((0, 0, 1, -1, 2)) for _ in range(math.prod(shape))], shape)


def _draw_shares(_candidate: Candidate, shape: Sequence[int], *_: Any) -> Any:
    rng = _[-1]
    return nested([rng.choice(SHARES) for _ in range(math.prod(shape))], shape)


def _draw_indices(candidate: Candidate, shape: Sequence[int], *_: Any) -> Any:
    """Return indices of which some are equal."""
    rng, outputs = _[-1], math.prod(candidate.per_axis("output_size"))
    return nested([rng.randrange(outputs) for _ in range(math.prod(shape))], shape)


DRAWS: Mapping[str, Callable[..., Any]] = {
    "x": _draw_x,
    "kernel": _draw_kernel,
    "indices": _draw_indices,
    "samples": _draw_shares,
    "draws": _draw_shares,
}
"""The draw of the numbers of each input: (candidate, shape, dtype, special values, generator)."""


def draw_following(candidate: Candidate, rng: Rng) -> Candidate:
    """Return the candidate with whole numbers, and with a pooling that reads its output."""
    pool = FollowingPool(rng.choice(FOLLOWING_OPERATORS), rng.choice((1, 2, 2, 3)))
    return replace(candidate.with_levels(values="integers", dtype="float32"), following=pool)


def with_index_dtype(inputs: Mapping[str, Mapping[str, Any]], rng: Rng) -> Mapping[str, Mapping[str, Any]]:
    """Return input options where indices may have another integer dtype."""
    positions = [name for name in inputs if INPUTS[name].dtype]
    if not positions or not rng.one_in(3):
        return inputs
    return {**inputs, **{name: {**inputs[name], "dtype": rng.choice(INDEX_DTYPES)} for name in positions}}


def draw_array_use(candidate: Candidate, rng: Rng) -> Candidate:
    """Return the candidate with arrays that the program passes in another way, such as strided."""
    # One process evaluates many candidates, so hardly any call with NumPy arrays is its first.
    uses = (replace(candidate, array_use=use.value) for use in ArrayUse if use != ArrayUse.NUMPY_TWICE)
    return rng.choice([one for one in uses if one.has_possible_arrays])


def may_have_words(candidate: Candidate) -> bool:
    """Whether frameworks have own words for parameters of the call, such as padding by name."""
    described = OPERATORS[candidate.operator]
    return described.geometry in WORDED_GEOMETRIES and not described.is_gradient
