"""Pooling: the largest, the smallest and the average value of each window."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from .arguments import BOOL, FLOATS, INTEGERS, Array, Padding, PerAxis, image, integer
from .bound import SLACK
from .errorfree import DIGITS, GREATEST_EXPONENT, Pair, cut, divide, join, magnitude_exponent, widened
from .exact import Exact, rounded, selected
from .folding import fold
from .ordering import Order
from .rounding import Position
from .windows import Windows

ORDERED = (*FLOATS, *INTEGERS, BOOL)
AVERAGED = (*FLOATS, *INTEGERS)

# Beyond these an element is certain or recomputed, so the number bears on speed alone.
MAX_SLICES = 8
MAX_WIDTH = 50


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
    return _select(x, windows, Order(x.dtype, descending=False))


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
    return _select(x, windows, Order(x.dtype, descending=True))


def _select(x: Array, windows: Windows, order: Order) -> Exact:
    keys = fold(order.keys(x), windows, np.maximum, order.bottom)
    return selected(order.values(keys), windows.counts(False))


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
    if not isinstance(count_include_pad, (bool, np.bool_)):
        raise TypeError(f"count_include_pad {count_include_pad!r} must be True or False")
    if divisor is None:
        divisors = windows.counts(bool(count_include_pad))
    else:
        divisors = np.full(windows.output, integer("divisor", divisor, 1), np.int64)
    if x.dtype not in FLOATS:
        return selected(_integer_average(x, windows, divisors), windows.counts(False))
    return _average(x, windows, divisors)


def _integer_average(x: Array, windows: Windows, divisors: Array) -> Array:
    totals = fold(x, windows, np.add, 0)
    wide = np.uint64 if x.dtype.kind == "u" else np.int64
    totals, divisors = totals.astype(wide), np.maximum(divisors, 1).astype(wide)
    quotients = totals // divisors
    toward_zero = (totals < 0) & (quotients * divisors != totals)
    averages: Array = (quotients + toward_zero.astype(wide)).astype(x.dtype)
    return averages


def _average(x: Array, windows: Windows, divisors: Array) -> Exact:
    wide = widened(x)
    numbers = np.maximum(divisors, 1).astype(np.float64)
    special = _special(wide, windows, divisors)
    if special is not None:
        wide = np.where(np.isfinite(wide), wide, 0.0)
    terms = windows.counts(False)
    with np.errstate(all="ignore"):
        pair = divide(_sums(wide, windows, int(terms.max(initial=1))), numbers)
        magnitude = fold(np.abs(wide), windows, np.add, 0.0) / numbers * (SLACK + terms * 2.0**-52)

    def exactly(position: Position) -> Fraction:
        n, c, *spatial = position
        plane = wide[n, c]
        cells = plane[windows.inside(spatial)[1]].ravel().tolist()
        return sum(map(Fraction, cells), Fraction(0)) / int(numbers[tuple(spatial)])

    return rounded(pair, x.dtype, exactly, special=special, terms=terms, magnitude=magnitude)


def _special(wide: Array, windows: Windows, divisors: Array) -> Array | None:
    """Return the averages that are not finite, and finite numbers elsewhere; None if all averages are finite."""
    finite = np.isfinite(wide)
    if finite.all() and divisors.all():
        return None
    with np.errstate(all="ignore"):
        return np.where(divisors == 0, np.nan, fold(np.where(finite, 0.0, wide), windows, np.add, 0.0))


def _sums(wide: Array, windows: Windows, terms: int) -> Pair:
    """Add exactly: cut the values into slices short enough that any order of adding them is exact."""
    if (magnitude_exponent(wide) or 0) > GREATEST_EXPONENT:
        return join([], (*wide.shape[:2], *windows.output), np.inf)
    slices, rest = cut(wide, min(DIGITS - terms.bit_length(), MAX_WIDTH), MAX_SLICES)
    parts = [fold(part, windows, np.add, 0.0) for part in slices]
    return join(parts, (*wide.shape[:2], *windows.output), terms * rest)
