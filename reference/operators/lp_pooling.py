"""Lp pooling: the p-norm of each window."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, PaddingArgument, PerAxis, check_image
from reference.arithmetic.bound import FUNCTION_ULPS, ROUNDING_SLACK, ROUNDOFFS_PER_ULP
from reference.arithmetic.certainty import is_certainty_checked
from reference.arithmetic.errorfree import (
    FLOAT64_DIGITS,
    UNDERFLOW_ERROR,
    FloatPair,
    add_parts,
    all_finite,
    magnitude_exponent,
    to_float64,
    two_product,
    two_sum,
    with_finite_only,
    zero_array,
)
from reference.arithmetic.exact import Exact, UnroundedResult, as_if_exact, round_in_blocks
from reference.arithmetic.norms import certain_norm
from reference.arithmetic.rounding import FLOAT_FORMATS, Position, Positions
from reference.geometry.blocks import Block, split_into_blocks
from reference.geometry.folding import fold_windows
from reference.geometry.windows import Windows, WindowWalk, all_planes_index
from reference.operators.pooling import FLOAT64_BYTES, window_sums
from reference.registry import operator

# Integer powers up to this are computed with products of pairs of floats, others with decimals.
MAX_MULTIPLIED_POWER = 16

# The largest accepted power. With a larger one, all digits of a norm are those of the largest value, and exact powers
# are too slow.
MAX_P = 10**6

SQUARE_POWER = 2

# Number of elements that are raised to a power at once.
POWER_CHUNK_ELEMENTS = 2**15

# Whole numbers up to this are numbers of every floating dtype.
MAX_WHOLE_POWER = 256


@operator
def lp_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
    p: float = 2,
) -> Exact:
    """The p-norm (Σ |xᵢ|^p)^(1/p) of each window's values, for any p from 1 to a million; not divided by anything.

    x: (n, c, *spatial), floating. Returns (n, c, *output), see Windows; never negative, and no −0. NaN gives NaN,
    otherwise an infinity of either sign +inf. Padding adds nothing: a window without a real cell gives 0. No power
    or sum overflows here, the result may. Raises ValueError if the window exceeds the padded input, or for p.
    Source: ONNX LpPool-22, https://onnx.ai/onnx/operators/onnx__LpPool.html
    """
    x = check_image(x, FLOAT_DTYPES)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    power, terms, shape = parse_power(p), windows.counts(False), (*x.shape[:2], *windows.output)

    def cut() -> Iterator[Block]:
        return split_into_blocks(x.shape[:2], windows, FLOAT64_BYTES)

    return round_in_blocks(shape, x.dtype, cut, lambda block: _window_norms(x[block.inputs], block.walk, power), terms)


def _window_norms(x: Array, windows: WindowWalk, power: Fraction) -> UnroundedResult:
    def exactly(position: Position) -> Fraction:
        n, c, *spatial = position
        cells = np.abs(to_float64(x[n, c][windows.inside(spatial)[1]]))
        return certain_norm(cells.ravel().tolist(), power, x.dtype)

    def errors(high: Array) -> tuple[Array, Array]:
        u = FLOAT_FORMATS[x.dtype].unit_roundoff
        with np.errstate(all="ignore"):
            return _error_terms(weighted_log_spread(x, windows, power, u), high, float(power), u)

    def closer(where: Positions) -> FloatPair:
        return _norm_pairs(x, windows, power).at(where)

    with np.errstate(all="ignore"):
        if power == SQUARE_POWER and x.dtype == np.float32:
            pair = _square_norms(x, windows)
            norms = UnroundedResult(pair, exactly, _non_finite_norms(x, windows), errors=errors, refine=closer)
        else:
            norms = UnroundedResult(
                _norm_pairs(x, windows, power), exactly, _non_finite_norms(x, windows), errors=errors
            )
    # Without the check a pair would do, but not every power has one.
    return norms if is_certainty_checked() else as_if_exact(norms.round(x.dtype)[1])


def parse_power(p: Any) -> Fraction:
    """Return p as a rational; raise ValueError or TypeError as lp_pool does."""
    if isinstance(p, (bool, np.bool_)) or not isinstance(p, (int, float, np.integer, np.floating)):
        raise TypeError(f"p {p!r} must be a number")
    if not 1 <= p <= MAX_P:
        raise ValueError(f"p {p!r} must be a number of at least 1 and at most {MAX_P}")
    return Fraction(float(p))


def _non_finite_norms(x: Array, windows: WindowWalk) -> Array | None:
    """Return the non-finite norms, with finite numbers in the other elements; None if all norms are finite."""
    wide = to_float64(x)
    if all_finite(wide):
        return None
    return fold_windows(np.where(np.isfinite(wide), 0.0, np.abs(wide)), windows, np.add, 0.0)


def finite_magnitudes(x: Array) -> Array:
    """Return absolute values as a new float64 array, 0 for non-finite elements."""
    wide = to_float64(np.ascontiguousarray(x))
    return with_finite_only(np.abs(wide, out=wide))


def _norm_pairs(x: Array, windows: WindowWalk, power: Fraction) -> FloatPair:
    """Return the norms of the finite values. The error is infinite if a pair cannot represent the norm."""
    shape, wide, form = (*x.shape[:2], *windows.output), finite_magnitudes(x), FLOAT_FORMATS[x.dtype]
    if power.denominator != 1 or power > MAX_MULTIPLIED_POWER:
        return add_parts([], shape, np.inf)
    p, terms = power.numerator, int(windows.counts(False).max(initial=1))
    if p * form.precision <= FLOAT64_DIGITS and (p == 1 or form.precision < FLOAT64_DIGITS):
        # Exact, and far from the ends of float64's range.
        wide = _integer_powers(wide, p)
        return _power_roots(window_sums(wide, windows, terms), p)
    exponent = magnitude_exponent(wide) or 0
    largest = fold_windows(wide, windows, np.maximum, 0.0)
    low = fold_windows(_raise_to_power(wide, p, -exponent), windows, np.add, 0.0)
    sums = window_sums(wide, windows, terms)
    # Those of the powers, added up; the sum of the low parts rounds too, and they are less than p units of the high.
    error = sums.high * (_power_error(p) + p * terms * 2.0**-105) + np.where(
        largest > 0, terms * 2 * p * UNDERFLOW_ERROR, 0.0
    )
    error = (error + sums.error) * ROUNDING_SLACK
    roots = _power_roots(FloatPair(*two_sum(sums.high, sums.low + low), error), p)
    high, low, error = (np.ldexp(part, exponent) for part in (roots.high, roots.low, roots.error))
    return FloatPair(high, low, error + np.where(high > 0, UNDERFLOW_ERROR, 0.0))


def _square_norms(x: Array, windows: WindowWalk) -> FloatPair:
    """Return 2-norms of float32 values. Their squares are exact in float64; the sum and the root are rounded.

    A sum of n squares passes through n − 1 additions, each off by 2**-53 of it, and the root halves the relative error.
    """
    sums = fold_windows(_integer_powers(finite_magnitudes(x), SQUARE_POWER), windows, np.add, 0.0)
    norms = np.sqrt(sums, out=sums)
    return FloatPair(norms, zero_array(norms.shape), norms * (windows.counts(False).max(initial=1) + 1) * 2.0**-53)


def _integer_powers(base: Array, p: int) -> Array:
    """Return the p-th powers, which may take the place of their base."""
    if p == 1:
        return base
    if p == SQUARE_POWER:
        return np.multiply(base, base, out=base)
    power = base * base
    for _ in range(p - SQUARE_POWER):
        power *= base
    return power


def _raise_to_power(wide: Array, p: int, exponent: int) -> Array:
    """Turn numbers, times 2**exponent, into the high parts of their p-th powers, and return the low parts.

    A few at a time, for it takes ten arrays. Scaled below 1 nothing overflows; what underflows is in the error.
    """
    low = np.empty(wide.size)
    flat = wide.reshape(-1)
    for start in range(0, wide.size, POWER_CHUNK_ELEMENTS):
        some = slice(start, start + POWER_CHUNK_ELEMENTS)
        powers = _real_powers(np.ldexp(flat[some], exponent), p)
        flat[some], low[some] = powers.high, powers.low
    return low.reshape(wide.shape)


def _real_powers(base: Array, p: int) -> FloatPair:
    """Return the p-th powers of float64 numbers from 0 to about 1, each off by at most 2**-1075.

    Every multiplication drops at most 2**-53 of the product h, so that |low| <= p · 2**-53 · h all along, and the two
    roundings of the low part at most 2p · 2**-106 · h each time except the first.
    """
    high, low = base, np.zeros(base.shape)
    for _ in range(p - 1):
        high, dropped = two_product(high, base)
        low = low * base + dropped
    return FloatPair(high, low, high * _power_error(p) + 2 * p * UNDERFLOW_ERROR)


def _power_error(p: int) -> float:
    """Return the relative error of a p-th power, without underflow."""
    return p * (p - 1) * (p - 2) * 2.0**-105


def _power_roots(sums: FloatPair, p: int) -> FloatPair:
    """Return the p-th roots of non-negative pairs: one step of Newton's method from the rounded root.

    From r on, the root of s is r + d − … with d = (s − r^p) / (p r^(p−1)), where the rest of the Taylor series of
    the root is at most (p − 1) d² / r if p d is far below r (that is twice its next term).
    """
    if p == 1:
        return sums
    start = np.sqrt(sums.high) if p == SQUARE_POWER else np.power(sums.high, 1 / p)
    powers, slope = _real_powers(start, p), p * _real_powers(start, p - 1).high
    rest, dropped = two_sum(sums.high, -powers.high)
    step = (rest + ((sums.low - powers.low) + dropped)) / slope
    rounding = (np.abs(rest) + np.abs(sums.low) + np.abs(powers.low)) * 2.0**-50
    error = (sums.error + powers.error + rounding) / slope + np.abs(step) * 2.0**-48 + (p - 1) * step * step / start
    error = np.where(np.abs(step) <= start * 2.0**-30, error * ROUNDING_SLACK, np.inf)
    zero = (sums.high == 0) & (sums.error == 0)
    return FloatPair(*two_sum(start, np.where(zero, 0.0, step)), np.where(zero, 0.0, error))


def weighted_log_spread(x: Array, windows: WindowWalk, power: Fraction, u: float = 0.0) -> Array | float:
    """Return Σ wᵢeᵢ with wᵢ = |xᵢ|^p / Σ |x|^p and eᵢ = p · |ln |xᵢ||, for a p that some format has to round; or 0.

    With a unit roundoff u Σ wᵢ(exp(u eᵢ) − 1) / u instead. Rounded up.
    """
    if power.denominator == 1 and power <= MAX_WHOLE_POWER:
        return 0.0
    wide = finite_magnitudes(x)
    p, shape = float(power), (*wide.shape[:2], *windows.output)
    top, total, spread = fold_windows(wide, windows, np.maximum, 0.0), np.zeros(shape), np.zeros(shape)
    for _, inputs, outputs in windows.cells():
        values = wide[all_planes_index(inputs)]
        weight = np.where(values > 0, np.exp(p * np.log(values / top[all_planes_index(outputs)])), 0.0)
        exponent = p * np.abs(np.log(np.where(values > 0, values, 1.0)))
        total[all_planes_index(outputs)] += weight
        spread[all_planes_index(outputs)] += weight * (np.expm1(u * exponent) / u if u else exponent)
    return np.where(top > 0, spread / total, 0.0) * (ROUNDING_SLACK + p * 2.0**-48)


def _error_terms(spread: Array | float, exact: Array, p: float, u: float) -> tuple[Array, Array]:
    """Return the magnitude and extra of error_bound for y = s^(1/p), s = Σ tᵢ, tᵢ = |xᵢ|^p.

    1. The computed power is tᵢ(1 + εᵢ): pow adds FUNCTION_ULPS, at most f = FUNCTION_ULPS · ROUNDOFFS_PER_ULP unit
       roundoffs, and a p that is rounded to the type by a factor 1 + δ, |δ| <= u, changes the power by a factor
       between exp(±u p |ln |xᵢ||). With uCᵢ = exp(u p |ln |xᵢ||) / (1 − fu) − 1, the factor 1 + εᵢ is at most
       1 + uCᵢ and at least exp(−uCᵢ), as ln z <= z − 1. With wᵢ = tᵢ / s and C = Σ wᵢCᵢ the sum changes by a factor
       from exp(−uC) (Jensen's inequality) to 1 + uC, and its p-th root by one within uC / p of 1. Without the
       rounding of p, C = f / (1 − fu).
    2. n − 1 additions, and a division by the number of cells and a multiplication by it (as some compute an
       average first), are n + 1 factors (1 + δ)^±1. Their product is at most 1 + γ(n + 1) and at least
       exp(−γ(n + 1)), so its p-th root is within γ(n + 1) / p of 1.
    3. The root is a pow: f, and a 1 / p that is rounded, unless p is a power of two, changes it by a factor between
       exp(±u |ln s'| / p), s' being the computed sum, so that |ln s'| / p <= |ln y| + (1 + uC) / p. Together
       1 + ρ with |ρ| <= uR.

    So |y' − y| <= y((1 + uC/p)(1 + uR)(1 + γ(n + 1)/p) − 1): `magnitude` is y(1 + uC/p)(1 + uR) / p and `extra`
    y(C/p + R + uCR/p). C and R are taken at the u of x's own dtype: they grow with u, and no accumulating type is
    coarser. The powers are taken to be normal numbers, as the design requires of every intermediate.
    """
    y = np.where(np.isfinite(exact), exact, 0.0)
    c = _relative_error(spread, u)
    r = _relative_error(0.0 if math.frexp(p)[0] == 1 / 2 else _rounded_exponent(y, p, u, c), u)
    return y * (1 + u * c / p) * (1 + u * r) / p * ROUNDING_SLACK, y * (c / p + r + u * c * r / p) * ROUNDING_SLACK


def _rounded_exponent(y: Array, p: float, u: float, c: Array) -> Array:
    """Return (exp(u |ln s'| / p) − 1) / u, rounded up."""
    logarithm = np.where(y > 0, np.abs(np.log(np.where(y > 0, y, 1.0))), 0.0) + (1 + u * c) / p
    spread: Array = np.expm1(u * logarithm) / u
    return spread


def _relative_error(exponential: Array | float, u: float) -> Array:
    """Return (exp(a) / (1 − fu) − 1) / u from (exp(a) − 1) / u."""
    function = FUNCTION_ULPS * ROUNDOFFS_PER_ULP
    return (function + np.asarray(exponential)) / (1 - function * u)
