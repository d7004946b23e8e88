"""Softmax pooling: an average weighted by the softmax of the window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, DType, PaddingArgument, PerAxis, check_image
from reference.arithmetic.bound import FUNCTION_ULPS, ROUNDING_SLACK, ROUNDOFFS_PER_ULP
from reference.arithmetic.certainty import is_certainty_checked
from reference.arithmetic.errorfree import FloatPair, to_float64, with_finite_only
from reference.arithmetic.exact import Exact, UnroundedResult, as_if_exact, round_in_blocks
from reference.arithmetic.ordering import DtypeOrder
from reference.arithmetic.rounding import FLOAT_FORMATS, Position, rational_to_pair, round_to
from reference.geometry.blocks import split_into_blocks
from reference.geometry.folding import fold_windows
from reference.geometry.windows import SliceTuple, Windows, WindowWalk, all_planes_index
from reference.operators.pooling import FLOAT64_BYTES
from reference.registry import operator

# A value further than this below the largest weighs less than LEAST_WEIGHT; both are beyond what any float64 sees.
NEGLIGIBLE_DISTANCE = 5000
MIN_WEIGHT = Decimal("1e-2171")

# Enough digits for high + low to be full; doubled as often as a rounding needs.
INITIAL_DIGITS = 36

# Rounds to −0 in every dtype.
NEGATIVE_TINY = Fraction(-1, 2**2000)


@operator
def softmax_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """Sum of each window's values, each times its softmax in the window; padding has no weight.

    x: (n, c, *spatial), floating. Returns (n, c, *output), see Windows. A window without a real cell, or with one
    that is not finite, gives NaN, as the formula does in IEEE arithmetic (−inf · 0, inf / inf).
    Raises ValueError if the window exceeds the padded input.
    Source: Zhang et al., "Dive into Deep Learning", section 7.5, exercise; ONNX Softmax-13 for the weights,
    https://onnx.ai/onnx/operators/onnx__Softmax.html
    """
    x = check_image(x, FLOAT_DTYPES)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    return round_in_blocks(
        (*x.shape[:2], *windows.output),
        x.dtype,
        lambda: split_into_blocks(x.shape[:2], windows, FLOAT64_BYTES),
        lambda block: _unrounded_average(SoftmaxWindows(to_float64(x[block.inputs]), block.walk), x.dtype),
        2 * windows.counts(False),
    )


def _unrounded_average(walk: SoftmaxWindows, dtype: DType) -> UnroundedResult:
    pair = window_averages(walk)

    def exactly(position: Position) -> Fraction:
        return certain_average(walk.window(position), dtype)

    def errors(_: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            return _error_terms(walk, pair.high, FLOAT_FORMATS[dtype].unit_roundoff)

    found = UnroundedResult(pair, exactly, walk.non_finite, errors=errors)
    return found if is_certainty_checked() else as_if_exact(found.round(dtype)[1])


@dataclass(frozen=True, eq=False)
class SoftmaxWindows:
    """Every window of x (float64)."""

    x: Array
    windows: WindowWalk

    @cached_property
    def non_finite(self) -> Array:
        """NaN for each window that has no finite result, 0 for each that has one."""
        not_finite = fold_windows(~np.isfinite(self.x), self.windows, np.logical_or, 0)
        return np.where(not_finite | (self.windows.counts(False) == 0), np.nan, 0.0)

    @cached_property
    def finite(self) -> Array:
        """Return x with 0 for every element that is not finite."""
        return with_finite_only(self.x)

    def window(self, position: Position) -> list[float]:
        """Return the real cells of the window at an output position."""
        n, c, *spatial = position
        plane = self.finite[n, c]
        values: list[float] = plane[self.windows.inside(spatial)[1]].ravel().tolist()
        return values

    def cells(self) -> Iterator[tuple[Array, SliceTuple]]:
        """Yield, for each window cell, the values in it and the outputs they belong to."""
        for _, inputs, outputs in self.windows.cells():
            yield self.finite[all_planes_index(inputs)], all_planes_index(outputs)


def window_averages(walk: SoftmaxWindows) -> FloatPair:
    """Return the average of each window, almost exact, and 0 where it is not finite."""
    shape = walk.non_finite.shape
    high, low, error = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for position in map(tuple, np.argwhere(walk.non_finite == 0).tolist()):
        middle, off = decimal_average(walk.window(position), INITIAL_DIGITS)
        high[position], low[position] = rational_to_pair(Fraction(middle))
        error[position] = float(off)
    # What the pair itself and the conversion of the error drop.
    return FloatPair(high, low, error * ROUNDING_SLACK + np.abs(high) * 2.0**-105 + 2.0**-1072)


def decimal_average(values: list[float], digits: int) -> tuple[Decimal, Decimal]:
    """Return Σ xᵢ exp(xᵢ) / Σ exp(xᵢ) of finite values, and a bound on its error, computed with some digits.

    Every operation has a relative error of at most half a unit of its last digit, exp included, and a rounded
    difference max − xᵢ of size a makes one of a times that in its exponential. Negligible values are left out.
    """
    top = Decimal(max(values))
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
    kept = [value for value in map(Decimal, values) if context.subtract(top, value) <= NEGLIGIBLE_DISTANCE]
    total = numerator = size = Decimal(0)
    for value in kept:
        weight = context.exp(context.subtract(value, top))
        term = context.multiply(value, weight)
        total, numerator = context.add(total, weight), context.add(numerator, term)
        size = context.add(size, term.copy_abs())
    steps = 2 * len(kept) + 8 + 2 * int(top - min(kept))
    error = context.multiply(context.divide(size, total), Decimal((0, (1,), 1 - digits)) * steps)
    left_out = (len(values) - len(kept)) * (top.copy_abs() + NEGLIGIBLE_DISTANCE) * MIN_WEIGHT
    return context.divide(numerator, total), context.add(error, left_out)


def certain_average(values: list[float], dtype: DType) -> Fraction:
    """Return a rational that rounds to the dtype like the exact softmax average of finite values.

    One distinct value among those that are not negligible is the result; others move it down by less than any
    rounding sees, but for the sign of a zero. With two or more the search for digits ends: the average is
    transcendental (were it a rational r, Σ (xᵢ − r) exp(xᵢ) = 0 would contradict Lindemann and Weierstrass), hence
    never half-way between two numbers.
    """
    largest = max(values)
    if all(value == largest or Fraction(largest) - Fraction(value) > NEGLIGIBLE_DISTANCE for value in values):
        return Fraction(largest) if largest or min(values) == 0 else NEGATIVE_TINY
    digits = INITIAL_DIGITS
    while True:
        middle, error = (Fraction(number) for number in decimal_average(values, digits))
        ends = (round_to(end, dtype).tobytes() for end in (middle - error, middle + error))
        if next(ends) == next(ends):
            return middle
        digits *= 2


def _error_terms(walk: SoftmaxWindows, exact: Array, u: float) -> tuple[Array, Array]:
    """Return the magnitude and extra of error_bound, with n = 2 · cells.

    y = Σ xᵢeᵢ / Σ eᵢ with eᵢ = exp(xᵢ − m), or exp(xᵢ), or with the quotients pᵢ = eᵢ / Σ e first.

    1. The computed exponential is eᵢ(1 + εᵢ). Its argument is off by the factor 1 + δ, |δ| <= u, so the exponential
       of aᵢ = |xᵢ − m| by a factor between exp(±u aᵢ) (not at all without the subtraction); exp itself adds
       FUNCTION_ULPS, at most f = FUNCTION_ULPS · ROUNDOFFS_PER_ULP unit roundoffs. So |εᵢ| <= u cᵢ with
       cᵢ = ((1 + fu) exp(u aᵢ) − 1) / u. Here cᵢ is taken at the u of x's own dtype: it grows with u, and no
       accumulating type is coarser.
    2. With these weights in place of eᵢ and all else exact, the result y' fulfils
       y' − y = Σ pᵢεᵢ(xᵢ − y) / (1 + Σ pᵢεᵢ), so |y' − y| <= u·T / (1 − uC), T = Σ pᵢcᵢ|xᵢ − y|, C = Σ pᵢcᵢ.
       That is `extra` = T / (1 − uC).
    3. The rest is one product and n − 1 additions above, n − 1 additions below and one division: at most 2n factors
       1 + δ on each term, as in error_bound, for S' = Σ |xᵢ|pᵢ(1 + εᵢ) / (1 + Σ pᵢεᵢ). As |xᵢ| <= |xᵢ − y| + |y|
       and |y| <= S, S' <= (S(1 + uC) + uT) / (1 − uC). That is `magnitude`.

    The exponentials are taken to be normal numbers, as the design requires of every intermediate.
    """
    perturbed = PerturbationSums.compute(walk, exact, u)
    relative = perturbed.relative * u
    left = (1 - relative) / ROUNDING_SLACK
    return (perturbed.size * (1 + relative) + u * perturbed.spread) / left, perturbed.spread / left


@dataclass(frozen=True, eq=False)
class PerturbationSums:
    """What inexact exponentials do to each window's average, as _error_terms has it; float64, shape (n, c, *output).

    top: max xᵢ; total: Σ exp(xᵢ − top); size: Σ pᵢ|xᵢ|; spread: T; relative: C. The last three are rounded up.
    """

    top: Array
    total: Array
    size: Array
    spread: Array
    relative: Array

    @classmethod
    def compute(cls, walk: SoftmaxWindows, average: Array, u: float) -> PerturbationSums:
        """Walk through every window, given its average."""
        largest = DtypeOrder(walk.x.dtype, descending=False)
        top = largest.values(fold_windows(largest.keys(walk.finite), walk.windows, np.maximum, largest.lowest_key))
        total, size, spread, relative = (np.zeros(average.shape) for _ in range(4))
        for values, outputs in walk.cells():
            weight, perturbed = exponential_weights(top[outputs] - values, u)
            total[outputs] += weight
            size[outputs] += weight * np.abs(values)
            spread[outputs] += perturbed * np.abs(values - average[outputs])
            relative[outputs] += perturbed
        total = np.maximum(total, 1.0)
        return cls(top, total, *(part / total * ROUNDING_SLACK for part in (size, spread, relative)))


def exponential_weights(distance: Array, u: float) -> tuple[Array, Array]:
    """Return e = exp(−distance), and e·c with the c of _error_terms; float64."""
    function = FUNCTION_ULPS * ROUNDOFFS_PER_ULP
    # exp(−1000) is 0 in float64, so a larger distance makes no difference.
    distance = np.minimum(distance, 1000.0)
    weight = np.exp(-distance)
    return weight, weight * (function + (1 + function * u) * np.expm1(u * distance) / u)
