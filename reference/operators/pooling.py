"""Pooling: the largest, the smallest and the average value of each window."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from reference.arguments import BOOL, FLOATS, INTEGERS, Array, Padding, PerAxis, image, integer
from reference.arithmetic.bound import SLACK
from reference.arithmetic.certainty import certain
from reference.arithmetic.errorfree import (
    DIGITS,
    GREATEST_EXPONENT,
    Pair,
    all_finite,
    cleared,
    cutting,
    divide,
    divide_once,
    exact_sum,
    is_nothing,
    join,
    limit,
    magnitude_exponent,
    widened,
)
from reference.arithmetic.exact import Exact, Unrounded, rounded_in_blocks, selected, uncertain
from reference.arithmetic.ordering import Order
from reference.arithmetic.rounding import Position, Positions
from reference.geometry.blocks import Block, blocks
from reference.geometry.folding import fold
from reference.geometry.windows import Walk, Windows

ORDERED = (*FLOATS, *INTEGERS, BOOL)
AVERAGED = (*FLOATS, *INTEGERS)

# Beyond these an element is certain or recomputed, so the number bears on speed alone.
MAX_SLICES = 8
MAX_WIDTH = 50

# float64 holds this and every smaller whole number.
GREATEST_DIVISOR = 2**53 - 1

# Sums of floats are taken, and those of integers divided, in 64 bits.
FLOAT64_BYTES = 8


def max_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """Largest value in each window; padding never wins, NaN always does.

    x: (n, c, *spatial), floating, integer or bool. Returns (n, c, *output), see Windows. A window without a real
    cell gives −inf, the least integer or False. +0 is larger than −0.
    Raises ValueError if the window exceeds the padded input.
    Source: ONNX MaxPool-22, https://onnx.ai/onnx/operators/onnx__MaxPool.html
    """
    x = image(x, ORDERED)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return select(x, windows, Order(x.dtype, descending=False))


def min_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """Smallest value in each window; padding never wins, NaN always does.

    As max_pool, the other way round: a window without a real cell gives +inf, the greatest integer or True.
    Source: −max_pool(−x), ONNX MaxPool-22, https://onnx.ai/onnx/operators/onnx__MaxPool.html
    """
    x = image(x, ORDERED)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return select(x, windows, Order(x.dtype, descending=True))


def select(x: Array, windows: Walk, order: Order) -> Exact:
    """Return the greatest value of each window in some order: (n, c, *spatial) to (n, c, *output)."""
    value = np.empty((*x.shape[:2], *windows.output), x.dtype)
    for block in blocks(x.shape[:2], windows, x.dtype.itemsize):
        order.select(x[block.inputs], block.walk, value[block.outputs])
    return selected(value, lambda: windows.counts(False))


def avg_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: Padding = 0,
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
    x = image(x, AVERAGED)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return average(x, windows, divisors_of(windows, count_include_pad, divisor))


def divisors_of(windows: Windows, count_include_pad: bool, divisor: int | None) -> Array:
    """Return what each window's sum is divided by: int64, shape `output`; 0 where there is nothing to count."""
    if not isinstance(count_include_pad, (bool, np.bool_)):
        raise TypeError(f"count_include_pad {count_include_pad!r} must be True or False")
    if divisor is not None:
        return np.full(windows.output, integer("divisor", divisor, 1), np.int64)
    cells = math.prod(windows.window)
    if count_include_pad and cells > GREATEST_DIVISOR:
        raise ValueError(f"window {windows.window} has {cells} cells: at most {GREATEST_DIVISOR} can be counted")
    return windows.counts(bool(count_include_pad))


def average(x: Array, windows: Walk, divisors: Array) -> Exact:
    """Divide the sum of each window's real cells by a number: (n, c, *spatial) and (*output) to (n, c, *output)."""
    shape = (*x.shape[:2], *windows.output)
    if x.dtype in FLOATS:
        terms = windows.counts(False)

        def compute(block: Block) -> Unrounded:
            here = block.outputs[2:]
            return _average(x[block.inputs], block.walk, divisors[here], terms[here])

        return rounded_in_blocks(shape, x.dtype, lambda: blocks(x.shape[:2], windows, FLOAT64_BYTES), compute, terms)
    value = np.empty(shape, x.dtype)
    for block in blocks(x.shape[:2], windows, FLOAT64_BYTES):
        value[block.outputs] = _integer_average(x[block.inputs], block.walk, divisors[block.outputs[2:]])
    return selected(value, lambda: windows.counts(False))


def _integer_average(x: Array, windows: Walk, divisors: Array) -> Array:
    totals = fold(x, windows, np.add, 0)
    wide = np.uint64 if x.dtype.kind == "u" else np.int64
    totals, divisors = totals.astype(wide), np.maximum(divisors, 1).astype(wide)
    quotients = totals // divisors
    toward_zero = (totals < 0) & (quotients * divisors != totals)
    averages: Array = (quotients + toward_zero.astype(wide)).astype(x.dtype)
    return averages


def _average(x: Array, windows: Walk, divisors: Array, terms: Array) -> Unrounded:
    wide = widened(x)
    if not certain():
        return _uncertain_average(wide, windows, divisors)
    numbers = np.maximum(divisors, 1).astype(np.float64)
    special = _special(wide, windows, divisors)
    if special is not None:
        wide = cleared(wide)

    def magnitude() -> Array:
        with np.errstate(over="ignore"):
            sizes: Array = fold(np.abs(cleared(widened(x))), windows, np.add, 0.0)
            sizes /= numbers
            sizes *= SLACK + terms * 2.0**-52
        return sizes

    def closer(where: Positions) -> Pair:
        return divide(sums.at(where), np.broadcast_to(numbers, sums.high.shape)[where])

    def exactly(position: Position) -> Fraction:
        n, c, *spatial = position
        cells = widened(x[n, c][windows.inside(spatial)[1]])
        return exact_sum(cells.ravel().tolist()) / int(numbers[tuple(spatial)])

    with np.errstate(all="ignore"):
        sums = window_sums(wide, windows, int(terms.max(initial=1)))
        if x.dtype == np.float32 and is_nothing(sums.low) and is_nothing(sums.error):
            return Unrounded(divide_once(sums.high, numbers), exactly, special, magnitude, closer=closer)
        return Unrounded(divide(sums, numbers), exactly, special, magnitude)


def _uncertain_average(wide: Array, windows: Walk, divisors: Array) -> Unrounded:
    sums = fold(wide, windows, np.add, 0.0)
    sums /= divisors
    return uncertain(sums)


def _special(wide: Array, windows: Walk, divisors: Array) -> Array | None:
    """Return the averages that are not finite, and finite numbers elsewhere; None if all averages are finite."""
    if all_finite(wide) and divisors.all():
        return None
    finite = np.isfinite(wide)
    return np.where(divisors == 0, np.nan, fold(np.where(finite, 0.0, wide), windows, np.add, 0.0))


def window_sums(wide: Array, windows: Walk, terms: int) -> Pair:
    """Add exactly: cut the values into slices short enough that any order of adding them is exact.

    wide: finite float64, of no use afterwards.
    """
    shape, rest = (*wide.shape[:2], *windows.output), wide
    if (magnitude_exponent(wide) or 0) > GREATEST_EXPONENT:
        return join([], shape, np.inf)

    def folded() -> Iterator[Array]:
        nonlocal rest
        width = min(DIGITS - terms.bit_length(), MAX_WIDTH)
        for part, rest in cutting(wide, width, MAX_SLICES, consume=True):  # noqa: B007  (what the last one leaves)
            yield fold(part, windows, np.add, 0.0)

    pair = join(folded(), shape)
    lost = terms * limit(rest)
    return replace(pair, error=pair.error + lost) if lost else pair
