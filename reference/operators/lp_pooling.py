"""Lp pooling: the p-norm of each window."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOATS, Array, Padding, PerAxis, image
from reference.arithmetic.bound import FUNCTION_ULPS, ROUNDOFFS_PER_ULP, SLACK
from reference.arithmetic.certainty import certain
from reference.arithmetic.errorfree import (
    DIGITS,
    UNDERFLOW,
    Pair,
    all_finite,
    cleared,
    join,
    magnitude_exponent,
    nothing,
    two_product,
    two_sum,
    widened,
)
from reference.arithmetic.exact import Exact, Unrounded, rounded_in_blocks, uncertain
from reference.arithmetic.norms import certain_norm
from reference.arithmetic.rounding import FORMATS, Position, Positions
from reference.geometry.blocks import Block, blocks
from reference.geometry.folding import fold
from reference.geometry.windows import Walk, Windows, whole
from reference.operators.pooling import FLOAT64_BYTES, window_sums

# Whole powers up to this are multiplied out in pairs; others are left to the decimals.
GREATEST_POWER = 16

# The largest accepted: beyond it a norm is the largest value to every digit, and exact powers take for ever.
GREATEST_P = 10**6

SQUARE = 2

# So many numbers are raised to a power at once.
CHUNK = 2**15

# Whole numbers up to this are numbers of every floating dtype.
GREATEST_WHOLE = 256


def lp_pool(
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: Padding = 0,
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
    x = image(x, FLOATS)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    power, terms, shape = power_of(p), windows.counts(False), (*x.shape[:2], *windows.output)

    def cut() -> Iterator[Block]:
        return blocks(x.shape[:2], windows, FLOAT64_BYTES)

    return rounded_in_blocks(shape, x.dtype, cut, lambda block: _norms(x[block.inputs], block.walk, power), terms)


def _norms(x: Array, windows: Walk, power: Fraction) -> Unrounded:
    def exactly(position: Position) -> Fraction:
        n, c, *spatial = position
        cells = np.abs(widened(x[n, c][windows.inside(spatial)[1]]))
        return certain_norm(cells.ravel().tolist(), power, x.dtype)

    def errors(high: Array) -> tuple[Array, Array]:
        u = FORMATS[x.dtype].unit_roundoff
        with np.errstate(all="ignore"):
            return _error_terms(spread_of(x, windows, power, u), high, float(power), u)

    def closer(where: Positions) -> Pair:
        return _pairs(x, windows, power).at(where)

    with np.errstate(all="ignore"):
        if power == SQUARE and x.dtype == np.float32:
            pair = _square_norms(x, windows)
            norms = Unrounded(pair, exactly, _special(x, windows), errors=errors, closer=closer)
        else:
            norms = Unrounded(_pairs(x, windows, power), exactly, _special(x, windows), errors=errors)
    # Without the check a pair would do, but not every power has one.
    return norms if certain() else uncertain(norms.settled(x.dtype)[1])


def power_of(p: Any) -> Fraction:
    """Return p as a rational; raise ValueError or TypeError as lp_pool does."""
    if isinstance(p, (bool, np.bool_)) or not isinstance(p, (int, float, np.integer, np.floating)):
        raise TypeError(f"p {p!r} must be a number")
    if not 1 <= p <= GREATEST_P:
        raise ValueError(f"p {p!r} must be a number of at least 1 and at most {GREATEST_P}")
    return Fraction(float(p))


def _special(x: Array, windows: Walk) -> Array | None:
    """Return the norms that are not finite, and finite numbers elsewhere; None if all are finite."""
    wide = widened(x)
    if all_finite(wide):
        return None
    return fold(np.where(np.isfinite(wide), 0.0, np.abs(wide)), windows, np.add, 0.0)


def sizes(x: Array) -> Array:
    """Return absolute values as new float64, 0 for what is not finite."""
    wide = widened(np.ascontiguousarray(x))
    return cleared(np.abs(wide, out=wide))


def _pairs(x: Array, windows: Walk, power: Fraction) -> Pair:
    """Return the norms of the finite values; where they cannot be told in pairs the error is infinite."""
    shape, wide, form = (*x.shape[:2], *windows.output), sizes(x), FORMATS[x.dtype]
    if power.denominator != 1 or power > GREATEST_POWER:
        return join([], shape, np.inf)
    p, terms = power.numerator, int(windows.counts(False).max(initial=1))
    if p * form.precision <= DIGITS and (p == 1 or form.precision < DIGITS):
        # Exact, and far from the ends of float64's range.
        wide = _multiplied_out(wide, p)
        return _roots(window_sums(wide, windows, terms), p)
    exponent = magnitude_exponent(wide) or 0
    largest = fold(wide, windows, np.maximum, 0.0)
    low = fold(_raise(wide, p, -exponent), windows, np.add, 0.0)
    sums = window_sums(wide, windows, terms)
    # Those of the powers, added up; the sum of the low parts rounds too, and they are less than p units of the high.
    error = sums.high * (_lost(p) + p * terms * 2.0**-105) + np.where(largest > 0, terms * 2 * p * UNDERFLOW, 0.0)
    error = (error + sums.error) * SLACK
    roots = _roots(Pair(*two_sum(sums.high, sums.low + low), error), p)
    high, low, error = (np.ldexp(part, exponent) for part in (roots.high, roots.low, roots.error))
    return Pair(high, low, error + np.where(high > 0, UNDERFLOW, 0.0))


def _square_norms(x: Array, windows: Walk) -> Pair:
    """Return norms with p = 2 of what was float32, whose squares are exact; the sum and the root are rounded.

    A sum of n squares passes through n − 1 additions, each off by 2**-53 of it, and the root halves what is relative.
    """
    sums = fold(_multiplied_out(sizes(x), SQUARE), windows, np.add, 0.0)
    norms = np.sqrt(sums, out=sums)
    return Pair(norms, nothing(norms.shape), norms * (windows.counts(False).max(initial=1) + 1) * 2.0**-53)


def _multiplied_out(base: Array, p: int) -> Array:
    """Return the p-th powers, which may take the place of their base."""
    if p == 1:
        return base
    if p == SQUARE:
        return np.multiply(base, base, out=base)
    power = base * base
    for _ in range(p - SQUARE):
        power *= base
    return power


def _raise(wide: Array, p: int, exponent: int) -> Array:
    """Turn numbers, times 2**exponent, into the high parts of their p-th powers, and return the low parts.

    A few at a time, for it takes ten arrays. Scaled below 1 nothing overflows; what underflows is in the error.
    """
    low = np.empty(wide.size)
    flat = wide.reshape(-1)
    for start in range(0, wide.size, CHUNK):
        some = slice(start, start + CHUNK)
        powers = _powers(np.ldexp(flat[some], exponent), p)
        flat[some], low[some] = powers.high, powers.low
    return low.reshape(wide.shape)


def _powers(base: Array, p: int) -> Pair:
    """Return the p-th powers of float64 numbers from 0 to about 1, each off by at most 2**-1075.

    Every multiplication drops at most 2**-53 of the product h, so that |low| <= p · 2**-53 · h all along, and the two
    roundings of the low part at most 2p · 2**-106 · h each time, but none with the first.
    """
    high, low = base, np.zeros(base.shape)
    for _ in range(p - 1):
        high, dropped = two_product(high, base)
        low = low * base + dropped
    return Pair(high, low, high * _lost(p) + 2 * p * UNDERFLOW)


def _lost(p: int) -> float:
    """Return what a p-th power is off by, in units of itself, but for underflow."""
    return p * (p - 1) * (p - 2) * 2.0**-105


def _roots(sums: Pair, p: int) -> Pair:
    """Return the p-th roots of non-negative pairs: one step of Newton's method from the rounded root.

    From r on, the root of s is r + d − … with d = (s − r^p) / (p r^(p−1)), where the rest of the Taylor series of
    the root is at most (p − 1) d² / r if p d is far below r (that is twice its next term).
    """
    if p == 1:
        return sums
    start = np.sqrt(sums.high) if p == SQUARE else np.power(sums.high, 1 / p)
    powers, slope = _powers(start, p), p * _powers(start, p - 1).high
    rest, dropped = two_sum(sums.high, -powers.high)
    step = (rest + ((sums.low - powers.low) + dropped)) / slope
    rounding = (np.abs(rest) + np.abs(sums.low) + np.abs(powers.low)) * 2.0**-50
    error = (sums.error + powers.error + rounding) / slope + np.abs(step) * 2.0**-48 + (p - 1) * step * step / start
    error = np.where(np.abs(step) <= start * 2.0**-30, error * SLACK, np.inf)
    zero = (sums.high == 0) & (sums.error == 0)
    return Pair(*two_sum(start, np.where(zero, 0.0, step)), np.where(zero, 0.0, error))


def spread_of(x: Array, windows: Walk, power: Fraction, u: float = 0.0) -> Array | float:
    """Return Σ wᵢeᵢ with wᵢ = |xᵢ|^p / Σ |x|^p and eᵢ = p · |ln |xᵢ||, for a p that some format has to round; or 0.

    With a unit roundoff u Σ wᵢ(exp(u eᵢ) − 1) / u instead. Rounded up.
    """
    if power.denominator == 1 and power <= GREATEST_WHOLE:
        return 0.0
    wide = sizes(x)
    p, shape = float(power), (*wide.shape[:2], *windows.output)
    top, total, spread = fold(wide, windows, np.maximum, 0.0), np.zeros(shape), np.zeros(shape)
    for _, inputs, outputs in windows.cells():
        values = wide[whole(inputs)]
        weight = np.where(values > 0, np.exp(p * np.log(values / top[whole(outputs)])), 0.0)
        exponent = p * np.abs(np.log(np.where(values > 0, values, 1.0)))
        total[whole(outputs)] += weight
        spread[whole(outputs)] += weight * (np.expm1(u * exponent) / u if u else exponent)
    return np.where(top > 0, spread / total, 0.0) * (SLACK + p * 2.0**-48)


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
    c = _relative(spread, u)
    r = _relative(0.0 if math.frexp(p)[0] == 1 / 2 else _rounded_exponent(y, p, u, c), u)
    return y * (1 + u * c / p) * (1 + u * r) / p * SLACK, y * (c / p + r + u * c * r / p) * SLACK


def _rounded_exponent(y: Array, p: float, u: float, c: Array) -> Array:
    """Return (exp(u |ln s'| / p) − 1) / u, rounded up."""
    logarithm = np.where(y > 0, np.abs(np.log(np.where(y > 0, y, 1.0))), 0.0) + (1 + u * c) / p
    spread: Array = np.expm1(u * logarithm) / u
    return spread


def _relative(exponential: Array | float, u: float) -> Array:
    """Return (exp(a) / (1 − fu) − 1) / u from (exp(a) − 1) / u."""
    function = FUNCTION_ULPS * ROUNDOFFS_PER_ULP
    return (function + np.asarray(exponential)) / (1 - function * u)
