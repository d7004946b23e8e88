"""Pooling: the largest, the smallest and the average value of each window."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from reference.arguments import (
    BOOL_DTYPE,
    FLOAT_DTYPES,
    INTEGER_DTYPES,
    Array,
    PaddingArgument,
    PerAxis,
    check_image,
    parse_integer,
)
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.certainty import is_certainty_checked
from reference.arithmetic.errorfree import (
    FLOAT64_DIGITS,
    MAX_SAFE_EXPONENT,
    FloatPair,
    add_parts,
    all_finite,
    divide_pair,
    divide_sums,
    exact_sum,
    is_zero_array,
    iterate_slices,
    magnitude_exponent,
    power_of_two_above,
    to_float64,
    with_finite_only,
)
from reference.arithmetic.exact import Exact, UnroundedResult, as_if_exact, round_in_blocks, selection_result
from reference.arithmetic.ordering import DtypeOrder
from reference.arithmetic.rounding import Position, Positions
from reference.geometry.blocks import Block, split_into_blocks
from reference.geometry.folding import fold_windows
from reference.geometry.windows import Windows, WindowWalk
from reference.registry import operator

ORDERED_DTYPES = (*FLOAT_DTYPES, *INTEGER_DTYPES, BOOL_DTYPE)
AVERAGED_DTYPES = (*FLOAT_DTYPES, *INTEGER_DTYPES)

# Maximum number of slices, and their maximum width in bits. An uncertain element is recomputed, so these numbers affect
# only the speed.
MAX_AVERAGE_SLICES = 8
MAX_AVERAGE_SLICE_WIDTH = 50

# float64 represents this and every smaller non-negative integer exactly.
MAX_DIVISOR = 2**53 - 1

# Sums of floats are taken, and those of integers divided, in 64 bits.
FLOAT64_BYTES = 8


@operator
def max_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """Largest value in each window; padding never wins, NaN always does.

    x: (n, c, *spatial), floating, integer or bool. Returns (n, c, *output), see Windows. A window without a real
    cell gives −inf, the least integer or False. +0 is larger than −0.
    Raises ValueError if the window exceeds the padded input.
    Source: ONNX MaxPool-22, https://onnx.ai/onnx/operators/onnx__MaxPool.html
    """
    x = check_image(x, ORDERED_DTYPES)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return select_windows(x, windows, DtypeOrder(x.dtype, descending=False))


@operator
def min_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """Smallest value in each window; padding never wins, NaN always does.

    As max_pool, the other way round: a window without a real cell gives +inf, the greatest integer or True.
    Source: −max_pool(−x), ONNX MaxPool-22, https://onnx.ai/onnx/operators/onnx__MaxPool.html
    """
    x = check_image(x, ORDERED_DTYPES)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return select_windows(x, windows, DtypeOrder(x.dtype, descending=True))


def select_windows(x: Array, windows: WindowWalk, order: DtypeOrder) -> Exact:
    """Return the greatest value of each window in some order: (n, c, *spatial) to (n, c, *output)."""
    value = np.empty((*x.shape[:2], *windows.output), x.dtype)
    for block in split_into_blocks(x.shape[:2], windows, x.dtype.itemsize):
        order.select(x[block.inputs], block.walk, value[block.outputs])
    return selection_result(value, lambda: windows.counts(False))


@operator
def avg_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
    count_include_pad: bool = False,
    divisor: int | None = None,
) -> Exact:
    """Sum of each window's values divided by their number.

    x: (n, c, *spatial), floating or integer. count_include_pad: whether padding counts in the number; cells past
    the padded input never do. divisor: divide by this instead. A window without a real cell gives 0 / number, which
    is NaN where the number is 0 (integers: 0). Integer sums wrap in their dtype, then are divided toward zero.
    Returns (n, c, *output), see Windows. Raises ValueError if the window exceeds the padded input.
    Source: ONNX AveragePool-22, https://onnx.ai/onnx/operators/onnx__AveragePool.html
    """
    x = check_image(x, AVERAGED_DTYPES)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return average_windows(x, windows, window_divisors(windows, count_include_pad, divisor))


def window_divisors(windows: Windows, count_include_pad: bool, divisor: int | None) -> Array:
    """Return what each window's sum is divided by: int64, shape `output`; 0 where there is nothing to count."""
    if not isinstance(count_include_pad, (bool, np.bool_)):
        raise TypeError(f"count_include_pad {count_include_pad!r} must be True or False")
    if divisor is not None:
        return np.full(windows.output, parse_integer("divisor", divisor, 1), np.int64)
    cells = math.prod(windows.window)
    if count_include_pad and cells > MAX_DIVISOR:
        raise ValueError(f"window {windows.window} has {cells} cells: at most {MAX_DIVISOR} can be counted")
    return windows.counts(bool(count_include_pad))


def average_windows(x: Array, windows: WindowWalk, divisors: Array) -> Exact:
    """Divide the sum of each window's real cells by a number: (n, c, *spatial) and (*output) to (n, c, *output)."""
    shape = (*x.shape[:2], *windows.output)
    if x.dtype in FLOAT_DTYPES:
        terms = windows.counts(False)

        def compute(block: Block) -> UnroundedResult:
            here = block.outputs[2:]
            return _float_average(x[block.inputs], block.walk, divisors[here], terms[here])

        return round_in_blocks(
            shape, x.dtype, lambda: split_into_blocks(x.shape[:2], windows, FLOAT64_BYTES), compute, terms
        )
    value = np.empty(shape, x.dtype)
    for block in split_into_blocks(x.shape[:2], windows, FLOAT64_BYTES):
        value[block.outputs] = _integer_average(x[block.inputs], block.walk, divisors[block.outputs[2:]])
    return selection_result(value, lambda: windows.counts(False))


def _integer_average(x: Array, windows: WindowWalk, divisors: Array) -> Array:
    totals = fold_windows(x, windows, np.add, 0)
    wide = np.uint64 if x.dtype.kind == "u" else np.int64
    totals, divisors = totals.astype(wide), np.maximum(divisors, 1).astype(wide)
    quotients = totals // divisors
    toward_zero = (totals < 0) & (quotients * divisors != totals)
    averages: Array = (quotients + toward_zero.astype(wide)).astype(x.dtype)
    return averages


def _float_average(x: Array, windows: WindowWalk, divisors: Array, terms: Array) -> UnroundedResult:
    wide = to_float64(x)
    if not is_certainty_checked():
        return _unchecked_average(wide, windows, divisors)
    numbers = np.maximum(divisors, 1).astype(np.float64)
    special = _non_finite_averages(wide, windows, divisors)
    if special is not None:
        wide = with_finite_only(wide)

    def magnitude() -> Array:
        with np.errstate(over="ignore"):
            sizes: Array = fold_windows(np.abs(with_finite_only(to_float64(x))), windows, np.add, 0.0)
            sizes /= numbers
            sizes *= ROUNDING_SLACK + terms * 2.0**-52
        return sizes

    def closer(where: Positions) -> FloatPair:
        return divide_pair(sums.at(where), np.broadcast_to(numbers, sums.high.shape)[where])

    def exactly(position: Position) -> Fraction:
        n, c, *spatial = position
        cells = to_float64(x[n, c][windows.inside(spatial)[1]])
        return exact_sum(cells.ravel().tolist()) / int(numbers[tuple(spatial)])

    with np.errstate(all="ignore"):
        sums = window_sums(wide, windows, int(terms.max(initial=1)))
        if x.dtype == np.float32 and is_zero_array(sums.low) and is_zero_array(sums.error):
            return UnroundedResult(divide_sums(sums.high, numbers), exactly, special, magnitude, refine=closer)
        return UnroundedResult(divide_pair(sums, numbers), exactly, special, magnitude)


def _unchecked_average(wide: Array, windows: WindowWalk, divisors: Array) -> UnroundedResult:
    sums = fold_windows(wide, windows, np.add, 0.0)
    sums /= divisors
    return as_if_exact(sums)


def _non_finite_averages(wide: Array, windows: WindowWalk, divisors: Array) -> Array | None:
    """Return the non-finite averages, with finite numbers in the other elements; None if all averages are finite."""
    if all_finite(wide) and divisors.all():
        return None
    finite = np.isfinite(wide)
    return np.where(divisors == 0, np.nan, fold_windows(np.where(finite, 0.0, wide), windows, np.add, 0.0))


def window_sums(wide: Array, windows: WindowWalk, terms: int) -> FloatPair:
    """Add exactly: cut the values into slices short enough that any order of adding them is exact.

    wide: finite float64, of no use afterwards.
    """
    shape, rest = (*wide.shape[:2], *windows.output), wide
    if (magnitude_exponent(wide) or 0) > MAX_SAFE_EXPONENT:
        return add_parts([], shape, np.inf)

    def folded() -> Iterator[Array]:
        nonlocal rest
        width = min(FLOAT64_DIGITS - terms.bit_length(), MAX_AVERAGE_SLICE_WIDTH)
        for part, rest in iterate_slices(wide, width, MAX_AVERAGE_SLICES, consume=True):  # noqa: B007  (what the last one leaves)
            yield fold_windows(part, windows, np.add, 0.0)

    pair = add_parts(folded(), shape)
    lost = terms * power_of_two_above(rest)
    return replace(pair, error=pair.error + lost) if lost else pair
