"""Gradient of Lp pooling."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, PaddingArgument, PerAxis, check_image
from reference.arithmetic.bound import FUNCTION_ULPS, ROUNDING_SLACK, ROUNDOFFS_PER_ULP
from reference.arithmetic.decimal_sums import DecimalSums, units_in_last_place, unlimited_context, windows_with_gradient
from reference.arithmetic.errorfree import to_float64
from reference.arithmetic.exact import Exact
from reference.arithmetic.rounding import FLOAT_FORMATS, Position
from reference.arithmetic.sums import exact_products
from reference.geometry.windows import Windows, all_planes_index
from reference.operators.lp_pooling import parse_power, weighted_log_spread
from reference.operators.pooling_grad import check_gradient
from reference.registry import operator

# Decimal digits after which a sum that may be half-way between two numbers is tested for an exact tie.
MAX_PROOF_DIGITS = 300

# Largest integer p that is_exact_sum() decides.
MAX_PROVED_POWER = 64
# Decimal digits. For p that is_exact_sum() does not decide, agreement to this many digits counts as equality.
TIE_CHECK_DIGITS = 2000

# Initial number of decimal digits, enough for high + low after logarithms and roots. It is doubled as often as needed.
INITIAL_DIGITS = 42


@operator
def lp_pool_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
    p: float = 2,
) -> Exact:
    """Add to each cell g·sign(x)·(|x| / y)^(p − 1) of each window: its gradient and norm y, the cell's value.

    grad: (n, c, *output), of the dtype of x: (n, c, *spatial), floating. Returns (n, c, *spatial). Where the norm is
    0 the gradient is 0, the smallest subgradient; sign(0) is 0. For p = 1 the term is g·sign(x),
    independent of the other cells of the window. For p > 1 infinities and NaN follow the formula: a window with a NaN
    gives NaN,
    one with an infinity NaN to infinities and g·0 to the other cells, a g that is not finite g·sign(x), which is NaN
    at 0. Where p is not whole, or above MAX_PROVED_POWER, a sum counts as half-way between two numbers, or as 0, if
    that is so for TIE_DIGITS digits.
    Raises ValueError if grad has not the output's shape, or for what lp_pool refuses.
    Source: the derivative of (Σ |xᵢ|^p)^(1/p); see lp_pool. PyTorch raises x, not |x|, to the power p.
    """
    x = check_image(x, FLOAT_DTYPES)
    windows = Windows.of(x.shape[2:], window, stride, padding, dilation, rounding)
    power = parse_power(p)
    grad = check_gradient(grad, x, (*x.shape[:2], *windows.output))
    if power == 1:
        signs = np.sign(to_float64(x)).astype(x.dtype)
        return exact_products(grad, signs, lambda g, sign: _signed_gradient(g, sign, windows))
    return _gradient_above_one(grad, x, windows, power)


def _gradient_above_one(grad: Array, x: Array, windows: Windows, power: Fraction) -> Exact:
    """Return the gradient for p > 1."""
    g, wide = to_float64(grad), to_float64(x)
    top = _window_maxima(wide, windows)
    regular = np.isfinite(g) & np.isfinite(top)
    special = None if regular.all() else _non_finite_sums(g, wide, top, windows)
    g = np.where(regular, g, 0.0)
    with np.errstate(all="ignore"):
        magnitude, extra = _error_terms(g, wide, top, windows, power, FLOAT_FORMATS[x.dtype].unit_roundoff)
    sums, terms = _term_sum(g, wide, windows, power), windows.coverage()
    return sums.rounded(x.dtype, special=special, terms=terms, magnitude=magnitude, extra=extra)


def _signed_gradient(grad: Array, signs: Array, windows: Windows) -> Array:
    total = np.zeros(signs.shape, grad.dtype)
    for _, inputs, outputs in windows.cells():
        total[all_planes_index(inputs)] += grad[all_planes_index(outputs)] * signs[all_planes_index(inputs)]
    return total


def _window_maxima(wide: Array, windows: Windows) -> Array:
    """Return the greatest absolute value of each window, NaN if there is one, 0 if there is nothing."""
    top = np.zeros((*wide.shape[:2], *windows.output))
    for _, inputs, outputs in windows.cells():
        target = top[all_planes_index(outputs)]
        np.maximum(target, np.abs(wide[all_planes_index(inputs)]), out=target)
    return top


def _non_finite_sums(grad: Array, wide: Array, top: Array, windows: Windows) -> Array:
    """Return the sums that are not finite, and 0 elsewhere."""
    total = np.zeros(wide.shape)
    with np.errstate(all="ignore"):
        for _, inputs, outputs in windows.cells():
            x, greatest = wide[all_planes_index(inputs)], top[all_planes_index(outputs)]
            # inf / inf is NaN, and anything else over inf is 0.
            slope = np.where(np.isfinite(greatest), np.sign(x), x / greatest)
            term = grad[all_planes_index(outputs)] * slope
            total[all_planes_index(inputs)] += np.where(np.isfinite(term), 0.0, term)
    return total


@dataclass(frozen=True)
class LpTerm:
    """What one window gives to one of its cells: g·sign(x)·(|x| / y)^(p − 1).

    grad: g·sign(x); value: |x|, not 0; values: all absolute values of the window that are not 0, in ascending order.
    """

    grad: float
    value: float
    values: tuple[float, ...]


def _terms_by_cell(grad: Array, wide: Array, windows: Windows) -> dict[Position, list[LpTerm]]:
    found: dict[Position, list[LpTerm]] = defaultdict(list)
    for g, values in windows_with_gradient(wide, grad, windows):
        sizes = tuple(sorted(abs(value) for value in values.values() if value))
        for cell, value in values.items():
            if value:
                found[cell].append(LpTerm(math.copysign(1.0, value) * g, abs(value), sizes))
    return found


def _term_sum(grad: Array, wide: Array, windows: Windows, power: Fraction) -> DecimalSums[LpTerm]:
    """Return the sum of each cell's terms; grad is 0 for windows with values that are not finite."""
    p = Decimal(float(power))

    @cache
    def logarithm(values: tuple[float, ...], digits: int) -> Decimal:
        return _log_norm_ratio(values, p, digits)

    def total(terms: list[LpTerm], digits: int) -> tuple[Decimal, Decimal]:
        """Return the sum of some terms, and a bound on its error, computed with some digits.

        A term is g·exp((p − 1)(t − l)), t = ln(|x| / max) and l = ln(y / max) with |t| < 1,500 and l <= ln n for n
        values. By norm() l is off by at most ε (1 + (6 · digits + 3n + 4) / p), and t by ε (1 + |t|), ε one unit of
        the last digit. So the exponent is off by ε (p (3n + 3,100) + 6 · digits + 3n + 4) at most, products
        included, and the term by twice that share of itself.
        """
        context, middle, size = unlimited_context(digits), Decimal(0), Decimal(0)
        for term in terms:
            distance = context.subtract(_log_ratio(term.value, term.values[-1], digits), logarithm(term.values, digits))
            share = context.exp(context.multiply(context.subtract(p, Decimal(1)), distance))
            part = context.multiply(Decimal(term.grad), share)
            middle, size = context.add(middle, part), context.add(size, part.copy_abs())
        largest = max(len(term.values) for term in terms)
        steps = (int(power) + 1) * (6 * largest + 6200) + 12 * digits + 6 * largest + 8 + len(terms)
        return middle, units_in_last_place(context.multiply(size, Decimal(steps)), digits)

    def is_tie(terms: list[LpTerm], number: Fraction, digits: int) -> bool:
        return _is_tie(terms, number, power, digits)

    return DecimalSums(
        wide.shape, _terms_by_cell(grad, wide, windows), total, is_tie, INITIAL_DIGITS + len(str(int(power)))
    )


def _log_norm_ratio(values: tuple[float, ...], p: Decimal, digits: int) -> Decimal:
    """Return ln(y / max x) for the p-norm y of positive values in ascending order."""
    context, total = unlimited_context(digits), Decimal(0)
    for value in values:
        exponent = context.multiply(p, _log_ratio(value, values[-1], digits))
        total = context.add(total, context.exp(exponent) if exponent >= -3 * digits else Decimal(0))
    return context.divide(context.ln(total), p)


def _log_ratio(value: float, top: float, digits: int) -> Decimal:
    """Return ln(value / top)."""
    context = unlimited_context(digits)
    return context.ln(context.divide(Decimal(value), Decimal(top)))


def _is_tie(terms: list[LpTerm], number: Fraction, power: Fraction, digits: int) -> bool:
    if power.denominator == 1 and power <= MAX_PROVED_POWER:
        return digits >= MAX_PROOF_DIGITS and is_exact_sum(terms, number, power.numerator)
    return digits >= TIE_CHECK_DIGITS


def is_exact_sum(terms: list[LpTerm], number: Fraction, p: int) -> bool:
    """Return whether one cell's terms add up to a rational exactly, for an integer p.

    With s = y^p = Σ |xᵢ|^p, rational, a term is g|x|^(p − 1) / s times the p-th root of s. Such roots are linearly
    independent over the rationals, unless the quotient of two is rational (Mordell, as in norms.is_norm()): those are
    brought together, and each coefficient must vanish.
    """
    coefficients = {Fraction(1): -number}
    for term in terms:
        size = sum((Fraction(value) ** p for value in term.values), Fraction(0))
        part = Fraction(term.grad) * Fraction(term.value) ** (p - 1) / size
        roots = ((known, rational_root(size / known, p)) for known in coefficients)
        known, root = next(((known, root) for known, root in roots if root is not None), (size, Fraction(1)))
        coefficients[known] = coefficients.get(known, Fraction(0)) + part * root
    return not any(coefficients.values())


def rational_root(number: Fraction, degree: int) -> Fraction | None:
    """Return the root of a positive rational, or None if it is irrational."""
    root = Fraction(_integer_root(number.numerator, degree), _integer_root(number.denominator, degree))
    return root if root**degree == number else None


def _integer_root(number: int, degree: int) -> int:
    """Return the root of a positive integer, rounded down, by Newton's method from above."""
    root = 1 << -(-number.bit_length() // degree)
    while True:
        lower = ((degree - 1) * root + number // root ** (degree - 1)) // degree
        if lower >= root:
            return root
        root = lower


def _error_terms(  # noqa: PLR0917  (all that a term depends on)
    grad: Array, wide: Array, top: Array, windows: Windows, power: Fraction, u: float
) -> tuple[Array, Array]:
    """Return the magnitude and extra of error_bound for terms g·(|x| / y)^(p − 1), or g·|x|^(p − 1)·s^(1/p − 1).

    1. As in _error_terms() of lp_pooling a pow adds f unit roundoffs, and the sum s of m powers m + 1 and C. An
       exponent that is off by v adds v|ln x| for a base x: p is off by at most p, p − 1 by 2p − 1, 1 / p by 1 / p,
       1 / p − 1 by 1, in units of u; both are exact if p is a power of two. In the first form y is off by
       (C + m + 1) / p + f + |ln y|, the quotient by 1 more, all that times p − 1 in the power, which adds
       f + (2p − 1)|ln (|x| / y)|. In the second s^(1/p − 1) is off by (1 − 1/p)(C + m + 1) + f + p|ln y|, and
       |x|^(p − 1) by f + (2p − 1)|ln |x||. There are at most 8 further products and quotients (g, p, 1 / p, the
       number of cells and its reciprocal). Both forms are bounded by
       E = (p − 1)(C + m + 1) / p + (p + 1) f + (p − 1) + 8 + 3p(|ln |x|| + |ln y|).
    2. A product of factors 1 + δ, |δ| <= ku, k <= f, is between exp(±1.05 Σ ku), as fu <= 1/32. So a term t is off
       by at most t(exp(1.05 uE) − 1), which is u·`extra`, and `magnitude` is t exp(1.05 uE); n counts the windows.
    """
    p, function = float(power), FUNCTION_ULPS * ROUNDOFFS_PER_ULP
    sizes, exact = np.abs(wide), math.frexp(p)[0] == 1 / 2
    y = _window_norms(sizes, top, windows, p)
    spread = 0.0 if exact else weighted_log_spread(sizes, windows, power)
    fixed = (p - 1) * (function + spread + windows.counts(False) + 1) / p + (p + 1) * function + p + 7
    magnitude, extra = np.zeros(wide.shape), np.zeros(wide.shape)
    for _, inputs, outputs in windows.cells():
        cell, place = all_planes_index(inputs), all_planes_index(outputs)
        x, norm = sizes[cell], y[place]
        term = np.where((x > 0) & np.isfinite(norm), (x / norm) ** (p - 1) * np.abs(grad[place]), 0.0)
        logarithms = 0.0 if exact else 3 * p * (np.abs(np.log(x)) + np.abs(np.log(norm)))
        exponent = np.where(term > 0, 1.05 * u * (fixed[place] + logarithms), 0.0)
        magnitude[cell] += term * np.exp(exponent)
        extra[cell] += term * np.expm1(exponent) / u
    return magnitude * (ROUNDING_SLACK + p * 2.0**-40), extra * (ROUNDING_SLACK + p * 2.0**-40)


def _window_norms(sizes: Array, top: Array, windows: Windows, p: float) -> Array:
    total = np.zeros(top.shape)
    for _, inputs, outputs in windows.cells():
        total[all_planes_index(outputs)] += (sizes[all_planes_index(inputs)] / top[all_planes_index(outputs)]) ** p
    return top * total ** (1 / p)
