"""Gradient of softmax pooling."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, PaddingArgument, PerAxis, check_image
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.decimal_sums import DecimalSums, units_in_last_place, unlimited_context, windows_with_gradient
from reference.arithmetic.errorfree import to_float64
from reference.arithmetic.exact import Exact
from reference.arithmetic.rounding import FLOAT_FORMATS, Position
from reference.geometry.windows import Windows, all_planes_index
from reference.operators.pooling_grad import check_gradient
from reference.operators.softmax_pooling import (
    INITIAL_DIGITS,
    NEGLIGIBLE_DISTANCE,
    PerturbationSums,
    SoftmaxWindows,
    exponential_weights,
    window_averages,
)
from reference.registry import operator

# Digits after which a sum that may be a rational is tested for being exactly that rational.
MAX_PROOF_DIGITS = 8 * INITIAL_DIGITS

# A prime and a number below it without any bond to inputs: see is_constant().
MERSENNE_521 = 2**521 - 1
RANDOM_BASE = int(Fraction("3.14159265358979323846264338327950288419716939937510582097494459") * 2**400)


@operator
def softmax_pool_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    window: PerAxis,
    *,
    stride: PerAxis | None = None,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    rounding: str = "floor",
) -> Exact:
    """Add to each cell g·p·(1 + x − y) of each window: its gradient, the cell's softmax and value, its average.

    grad: (n, c, *output), of the dtype of x: (n, c, *spatial), floating. Every real cell of a window is NaN if its
    gradient or one of its values is not finite. Values more than NEGLIGIBLE below the largest of a window take no
    part in it: exp(−5000) is far below what any float sees. An exact zero is +0. Returns (n, c, *spatial).
    Raises ValueError if grad has not the output's shape, or for what softmax_pool refuses.
    Source: the derivative of Σ xᵢ exp(xᵢ) / Σ exp(xᵢ); see softmax_pool.
    """
    x = check_image(x, FLOAT_DTYPES)
    walk = SoftmaxWindows(to_float64(x), Windows.of(x.shape[2:], window, stride, padding, dilation, rounding))
    grad = to_float64(check_gradient(grad, x, walk.non_finite.shape))
    bad = np.isnan(walk.non_finite) | ~np.isfinite(grad)
    grad = np.where(bad, 0.0, grad)
    with np.errstate(all="ignore"):
        terms, magnitude, extra = _error_terms(walk, np.abs(grad), FLOAT_FORMATS[x.dtype].unit_roundoff)
    special = np.where(_cells_in_windows(walk, bad), np.nan, 0.0)
    return _term_sum(walk, grad).rounded(x.dtype, special=special, terms=terms, magnitude=magnitude, extra=extra)


def _cells_in_windows(walk: SoftmaxWindows, chosen: Array) -> Array:
    """Return which cells are in one of the chosen windows."""
    covered = np.zeros(walk.x.shape, bool)
    for _, inputs, outputs in walk.windows.cells():
        covered[all_planes_index(inputs)] |= chosen[all_planes_index(outputs)]
    return covered


@dataclass(frozen=True)
class SoftmaxTerm:
    """The gradient of one window for one of its cells: g·p·(1 + x − y), without negligible values."""

    grad: float
    value: float
    values: tuple[float, ...]


def _terms_by_cell(walk: SoftmaxWindows, grad: Array) -> dict[Position, list[SoftmaxTerm]]:
    found: dict[Position, list[SoftmaxTerm]] = defaultdict(list)
    for g, values in windows_with_gradient(walk.finite, grad, walk.windows):
        top = Fraction(max(values.values(), default=0.0))
        kept = {cell: value for cell, value in values.items() if top - Fraction(value) <= NEGLIGIBLE_DISTANCE}
        listed = tuple(sorted(kept.values()))
        for cell, value in kept.items():
            found[cell].append(SoftmaxTerm(g, value, listed))
    return found


def _term_sum(walk: SoftmaxWindows, grad: Array) -> DecimalSums[SoftmaxTerm]:
    """Return the sum of each cell's terms. walk: the windows of x; grad: their gradients, finite float64."""
    solved = cache(_DecimalSoftmax.compute)

    def total(terms: list[SoftmaxTerm], digits: int) -> tuple[Decimal, Decimal]:
        """Return the sum of some terms, and a bound on its error, computed with some digits.

        See average(): with differences dᵢ = xᵢ − max, each of relative error ε, ε half a unit of the last digit,
        p is off by at most (2A + m + 4)ε·p and the average of the d by (2A + 2m + 8)ε·Σ p|d| for m values that span
        A. So a term is off by at most half of (8A + 6m + 40)ε·|g|p(1 + |d| + Σ p|d|), sums of terms by as many ε
        of that as there are terms. The factor 2 covers the products of errors.
        """
        context = unlimited_context(digits)
        middle = error = Decimal(0)
        for term in terms:
            known = solved(term.values, digits)
            share = known.weight_of(term)
            middle = context.add(middle, context.multiply(share, known.slope_of(term)))
            steps = context.multiply(known.magnitude_of(term), Decimal(known.steps + len(terms)))
            error = context.add(error, context.multiply(share.copy_abs(), steps))
        return middle, units_in_last_place(error, digits)

    return DecimalSums(walk.x.shape, _terms_by_cell(walk, grad), total, _is_tie, INITIAL_DIGITS)


@dataclass(frozen=True)
class _DecimalSoftmax:
    """What the terms of one window have in common, as decimals: Σ exp(dᵢ), Σ p d and Σ p|d|, with dᵢ = xᵢ − max."""

    context: Context
    top: Decimal
    total: Decimal
    mean: Decimal
    size: Decimal
    steps: int

    @classmethod
    def compute(cls, values: tuple[float, ...], digits: int) -> _DecimalSoftmax:
        """Compute with some digits, from values in ascending order."""
        context, top = unlimited_context(digits), Decimal(values[-1])
        total = numerator = Decimal(0)
        for value in values:
            distance = context.subtract(Decimal(value), top)
            weight = context.exp(distance)
            total = context.add(total, weight)
            numerator = context.add(numerator, context.multiply(weight, distance))
        mean = context.divide(numerator, total)
        steps = 8 * (int(top - Decimal(values[0])) + 1) + 6 * len(values) + 40
        # No difference is positive.
        return cls(context, top, total, mean, mean.copy_abs(), steps)

    def weight_of(self, term: SoftmaxTerm) -> Decimal:
        """Return g·p."""
        weight = self.context.exp(self.context.subtract(Decimal(term.value), self.top))
        return self.context.divide(self.context.multiply(Decimal(term.grad), weight), self.total)

    def slope_of(self, term: SoftmaxTerm) -> Decimal:
        """Return 1 + x − y."""
        distance = self.context.subtract(Decimal(term.value), self.top)
        return self.context.subtract(self.context.add(Decimal(1), distance), self.mean)

    def magnitude_of(self, term: SoftmaxTerm) -> Decimal:
        """Return 1 + |d| + Σ p|d|."""
        distance = self.context.subtract(self.top, Decimal(term.value))
        return self.context.add(self.context.add(Decimal(1), distance), self.size)


def _is_tie(terms: list[SoftmaxTerm], number: Fraction, digits: int) -> bool:
    return digits >= MAX_PROOF_DIGITS and is_exact_sum(terms, number)


def is_exact_sum(terms: list[SoftmaxTerm], rational: Fraction) -> bool:
    """Return whether one cell's terms g·p·(1 + x − y) add up to this rational.

    Floats are whole multiples of one 2**-k. With z = exp(t / 2**k) and t = 1 every softmax is a rational function of
    z with rational coefficients, and since p(1 + x − y) = (1 + d/dt) p, so is the sum: (1 + d/dt) W, W = Σ g·p. As e
    is transcendental, the sum is a rational r only if (1 + d/dt) W = r for all t, so W = r + C exp(−t), and C = 0
    since W is bounded for t → −∞. So W is constant. Then r is what W tends to on either side: p tends to 0, but for
    the smallest value (t → −∞) or the largest (t → ∞) of the window, where it tends to 1 / number of its equals.
    Shifted windows of evenly spaced values do this: 1 / (1 + z) + z / (1 + z) = 1.
    """
    limits = (
        sum((Fraction(t.grad) / t.values.count(t.value) for t in terms if t.value == t.values[end]), Fraction(0))
        for end in (0, -1)
    )
    return all(limit == rational for limit in limits) and is_constant_sum(terms, rational)


def is_constant_sum(terms: list[SoftmaxTerm], constant: Fraction) -> bool:
    """Return whether Σ g·p is this constant as a function of z, from its value at one z modulo a prime.

    If it is, the answer is always yes. If it is not, a yes is a coincidence of 521 bits, after one of PROOF_DIGITS.
    """
    numbers = [Fraction(value) for term in terms for value in term.values]
    scale = max(number.denominator for number in numbers)

    def power(exponent: Fraction) -> int:
        return pow(RANDOM_BASE, int(exponent * scale), MERSENNE_521)

    total = 0
    for term in terms:
        below = sum(power(Fraction(value) - Fraction(term.value)) for value in term.values)
        total += _modulo_prime(Fraction(term.grad)) * pow(below, -1, MERSENNE_521)
    return (total - _modulo_prime(constant)) % MERSENNE_521 == 0


def _modulo_prime(number: Fraction) -> int:
    return number.numerator * pow(number.denominator, -1, MERSENNE_521)


def _error_terms(walk: SoftmaxWindows, grad: Array, u: float) -> tuple[Array, Array, Array]:
    """Return the terms, magnitude and extra of error_bound.

    A term is g·p(1 + x − y), or g·p + p·(g·x − Σ g·xᵢpᵢ), or g·e(1 + x)/E − g·Ne/E² with N = Σ xᵢeᵢ, E = Σ eᵢ.

    1. In each way every product passes through at most 3m + 7 roundings for a window of m cells (N, E twice, five
       products or quotients, two sums) and as many more as the cell has windows. That is n + 3.
    2. As in softmax pooling the exponentials are eᵢ(1 + εᵢ), |εᵢ| <= u·cᵢ. So p is off by the factor 1 ± κ,
       κ = u(c + C) / (1 − uC), and y by uT / (1 − uC). A term is off by at most u·`extra` with
       extra = |g|p(κ/u·|1 + x − y| + (1 + κ)T / (1 − uC)).
    3. The rest is relative to S' = Σ |g|p(1 + κ)(1 + |x| + M'), M' = (M(1 + uC) + uT) / (1 − uC), M = Σ |xᵢ|pᵢ.

    The exponentials are taken to be normal numbers, as the design requires of every intermediate.
    """
    average = window_averages(walk).high
    known = PerturbationSums.compute(walk, average, u)
    counts = np.broadcast_to(walk.windows.counts(False), average.shape)
    left = (1 - known.relative * u) / ROUNDING_SLACK
    moved = known.spread / left
    size = 1 + (known.size * (1 + known.relative * u) + u * known.spread) / left
    covering, largest = (np.zeros(walk.x.shape, np.int64) for _ in range(2))
    magnitude, extra = (np.zeros(walk.x.shape) for _ in range(2))
    for (_, inputs, outputs), (x, _) in zip(walk.windows.cells(), walk.cells(), strict=True):
        cell, place = all_planes_index(inputs), all_planes_index(outputs)
        weight, perturbed = (part / known.total[place] for part in exponential_weights(known.top[place] - x, u))
        lost = (perturbed + weight * known.relative[place]) / left[place]
        total = (weight + u * lost) * grad[place]
        magnitude[cell] += total * (np.abs(x) + size[place])
        extra[cell] += lost * grad[place] * np.abs(1 + x - average[place]) + total * moved[place]
        covering[cell] += 1
        largest[cell] = np.maximum(largest[cell], counts[place])
    return covering + 3 * largest + 4, magnitude * ROUNDING_SLACK, extra * ROUNDING_SLACK
