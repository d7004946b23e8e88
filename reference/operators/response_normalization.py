"""Local response normalization: each value divided by a power of the sum of squares of neighbouring channels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, DType, check_choice, check_image, parse_integer
from reference.arithmetic.bound import FUNCTION_ULPS, ROUNDING_SLACK, ROUNDOFFS_PER_ULP
from reference.arithmetic.decimal_sums import DecimalSums, units_in_last_place, unlimited_context
from reference.arithmetic.errorfree import FloatPair, to_float64, with_finite_only, zero_array
from reference.arithmetic.exact import Exact, round_result
from reference.arithmetic.norms import power_of_two_root
from reference.arithmetic.rounding import FLOAT_FORMATS, Position, Positions, rational_to_pair
from reference.operators.pooling_grad import check_gradient
from reference.registry import operator

EXTRA_CHANNELS = ("before", "after")
"""Sides on which the window of an even number of channels has one channel more."""

# With a larger exponent the powers of ordinary numbers leave the range of float64.
MAX_BETA = 100

# Enough digits for high + low to be full after a logarithm; doubled as often as a rounding needs.
INITIAL_DIGITS = 42

# Unit roundoff of float64.
FLOAT64_ROUNDOFF = 2.0**-53

# Products and powers of float32 numbers and parameters within these limits stay in the range of float64.
SAFE_PARAMETERS = (1e-60, 1e60)
MAX_SAFE_LOGARITHM = 500

# Every product of factors 1 + δ with |δ| <= ku, ku <= 1/32, is between exp(±SECOND_ORDER Σ ku).
SECOND_ORDER = 1.05

# One unit in the last place of exp, log and pow, in unit roundoffs.
FUNCTION_ROUNDOFFS = FUNCTION_ULPS * ROUNDOFFS_PER_ULP


@operator
def lrn(
    x: npt.ArrayLike,
    local_size: int,
    *,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1,
    alpha_over_size: bool = True,
    extra_channel: str = "after",
) -> Exact:
    """Each value x divided by (k + a·Σ x²)^beta, the sum over a window of `local_size` channels around its own.

    x: (n, c, *spatial), floating. a is alpha / local_size, or alpha without alpha_over_size. An odd window has as many
    channels before as after; an even one has one more on the side `extra_channel`. Channels beyond the first and the
    last one add 0. Returns (n, c, *spatial). No square, sum or power overflows here. NaN, infinities and a sum of 0
    follow the formula in IEEE arithmetic: an infinity makes the others of its windows 0 and itself NaN, if beta is
    positive. Raises ValueError for local_size below 1, alpha or k below 0, and beta beyond ±MAX_BETA.
    Sources: Krizhevsky, Sutskever and Hinton, "ImageNet Classification with Deep Convolutional Neural Networks",
    section 3.3; ONNX LRN-13, https://onnx.ai/onnx/operators/onnx__LRN.html
    """
    x = check_image(x, FLOAT_DTYPES)
    formula = Formula.of(local_size, alpha, beta, k, alpha_over_size, extra_channel)
    denominators = Denominators(to_float64(x), formula)
    with np.errstate(all="ignore"):
        special = _special_quotients(denominators)
        fixed = ~denominators.is_regular
        given = np.where(fixed & np.isfinite(special), special, 0.0)
        special = np.where(fixed & ~np.isfinite(special), special, 0.0)
        magnitude, extra = _quotient_errors(denominators, FLOAT_FORMATS[x.dtype].unit_roundoff)
        pair = _quotient_pair(denominators, given)

    def quotient(position: Position) -> list[PowerTerm]:
        return [PowerTerm(Fraction(denominators.finite[position]), denominators.exactly(position))]

    terms = Terms(denominators.is_regular, quotient)
    exact = _round_terms(terms, formula, x.dtype, pair, given, special, np.ones((), np.int64), magnitude, extra)
    # A quotient has the sign of x, also where it is 0 or rounds to 0.
    signed = np.where(np.isnan(exact.value), exact.value, np.copysign(exact.value, x))
    return replace(exact, value=signed)


@operator
def lrn_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    local_size: int,
    *,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1,
    alpha_over_size: bool = True,
    extra_channel: str = "after",
) -> Exact:
    """Return g·D^−beta − 2a·beta·x·Σ g'·x'·D'^(−beta − 1), the sum over the channels whose windows contain this one.

    D = k + a·Σ x² is the base of lrn, and g', x', D' are those of the other channel. grad: (n, c, *spatial), of the
    dtype of x, floating. NaN, infinities and a D of 0 follow this formula in IEEE arithmetic. An exact zero is +0. n:
    the windows, and the first term. Returns (n, c, *spatial). Raises ValueError if grad has not the shape of x, or for
    what lrn refuses.
    Source: the derivative of x·(k + a·Σ x²)^−beta; see lrn
    """
    x = check_image(x, FLOAT_DTYPES)
    formula = Formula.of(local_size, alpha, beta, k, alpha_over_size, extra_channel)
    wide, g = to_float64(x), to_float64(check_gradient(grad, x, x.shape))
    denominators = Denominators(wide, formula)
    regular = denominators.is_regular & np.isfinite(g)
    with np.errstate(all="ignore"):
        special = _special_gradients(denominators, g, regular)
        g = np.where(regular, g, 0.0)
        magnitude, extra = _gradient_errors(denominators, g, FLOAT_FORMATS[x.dtype].unit_roundoff)
        pair = _gradient_pair(denominators, g)

    def slopes(position: Position) -> list[PowerTerm]:
        return [*_gradient_terms(denominators, g, position)]

    terms = Terms(np.isfinite(special), slopes)
    count = formula.reversed_windows.sums(np.ones(x.shape, np.int64)) + 1
    return _round_terms(
        terms, formula, x.dtype, pair, np.zeros(x.shape), np.where(np.isfinite(special), 0.0, special), count,
        magnitude, extra,
    )  # fmt: skip


@dataclass(frozen=True)
class ChannelWindows:
    """Windows of channels: the number of channels before and after their own."""

    before: int
    after: int

    def sums(self, x: Array) -> Array:
        """Return the sum of each window along axis 1. Channels that do not exist add nothing."""
        total, channels = np.zeros_like(x), x.shape[1]
        for shift in range(-min(self.before, channels), min(self.after, channels) + 1):
            first, last = max(0, -shift), min(channels, channels - shift)
            if first < last:
                total[:, first:last] += x[:, first + shift : last + shift]
        return total

    def of(self, channel: int, channels: int) -> range:
        """Return the channels of the window of a channel."""
        return range(max(channel - self.before, 0), min(channel + self.after + 1, channels))


@dataclass(frozen=True)
class Formula:
    """The parameters of lrn. scale: a; power: beta; bias: k, all exact."""

    windows: ChannelWindows
    size: int
    scale: Fraction
    power: Fraction
    bias: Fraction

    @classmethod
    def of(  # noqa: PLR0917  (the order of the operator)
        cls, local_size: object, alpha: object, beta: object, k: object, alpha_over_size: object, extra_channel: object
    ) -> Formula:
        """Parse the parameters. Raises ValueError or TypeError as lrn does."""
        size = parse_integer("local_size", local_size, 1)
        side = check_choice("extra_channel", extra_channel, EXTRA_CHANNELS)
        if not isinstance(alpha_over_size, (bool, np.bool_)):
            raise TypeError(f"alpha_over_size {alpha_over_size!r} must be true or false")
        short, long = (size - 1) // 2, size // 2
        windows = ChannelWindows(long, short) if side == "before" else ChannelWindows(short, long)
        scale, bias = _parse_number("alpha", alpha, 0), _parse_number("k", k, 0)
        power = _parse_number("beta", beta, -MAX_BETA)
        if power > MAX_BETA:
            raise ValueError(f"beta {beta!r} must be at most {MAX_BETA}")
        return cls(windows, size, scale / size if alpha_over_size else scale, power, bias)

    @property
    def reversed_windows(self) -> ChannelWindows:
        """The channels whose windows contain a channel."""
        return ChannelWindows(self.windows.after, self.windows.before)

    @property
    def is_safe(self) -> bool:
        """Whether float64 computes with the parameters without overflow and underflow."""
        low, high = SAFE_PARAMETERS
        return all(number == 0 or low <= number <= high for number in (self.scale, self.bias))


def _parse_number(name: str, value: object, least: float) -> Fraction:
    """Return a finite number of at least `least` as a rational."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} {value!r} must be a number")
    if not math.isfinite(value):
        raise ValueError(f"{name} {value!r} must be finite")
    if value < least:
        raise ValueError(f"{name} {value!r} must be at least {least}")
    return Fraction(int(value)) if isinstance(value, (int, np.integer)) else Fraction(float(value))


@dataclass(frozen=True, eq=False)
class Denominators:
    """The bases D = k + a·Σ x² of the powers. x: (n, c, *spatial), float64."""

    x: Array
    formula: Formula

    @cached_property
    def finite(self) -> Array:
        """Return x with 0 for every element that is not finite."""
        return with_finite_only(self.x)

    @cached_property
    def is_regular(self) -> Array:
        """Whether all numbers of the window are finite, and D is not 0."""
        windows, formula = self.formula.windows, self.formula
        is_finite = windows.sums((~np.isfinite(self.x)).astype(np.int64)) == 0
        if formula.bias:
            return is_finite
        has_square = windows.sums((self.finite != 0).astype(np.int64)) > 0
        positive: Array = is_finite & has_square & (formula.scale > 0)
        return positive

    @cached_property
    def bases(self) -> Array:
        """D of the regular elements, rounded, and 1 for the others."""
        formula = self.formula
        sums = formula.windows.sums(self.finite * self.finite)
        return np.where(self.is_regular, float(formula.bias) + float(formula.scale) * sums, 1.0)

    @cached_property
    def logarithms(self) -> Array:
        """|ln D|."""
        return np.abs(np.log(self.bases))

    @cached_property
    def signs(self) -> Array:
        """D of the elements that are not regular, in IEEE arithmetic, and 1 for the others."""
        squares = np.where(np.isfinite(self.x), 0.0, self.x * self.x)
        formula = self.formula
        # The finite squares are left out: next to an infinity or NaN they make no difference.
        bases = float(formula.bias) + float(formula.scale) * formula.windows.sums(squares)
        return np.where(self.is_regular, 1.0, bases)

    def exactly(self, position: Position) -> Fraction:
        """Return D at a position."""
        batch, channel, *cell = position
        window = self.formula.windows.of(channel, self.x.shape[1])
        squares = (Fraction(float(self.finite[(batch, other, *cell)])) ** 2 for other in window)
        return self.formula.bias + self.formula.scale * sum(squares, Fraction(0))


def _special_quotients(denominators: Denominators) -> Array:
    """Return the quotients of the elements that are not regular, in IEEE arithmetic."""
    quotients: Array = denominators.x / np.power(denominators.signs, float(denominators.formula.power))
    return quotients


def _special_gradients(denominators: Denominators, grad: Array, regular: Array) -> Array:
    """Return the gradients that are not finite in IEEE arithmetic, and finite numbers in the other elements.

    Finite factors are reduced to their signs, so that a product is not finite only where it must not be.
    """
    if regular.all():
        return np.zeros(grad.shape)
    formula = denominators.formula
    x, g = (np.where(np.isfinite(numbers), np.sign(numbers), numbers) for numbers in (denominators.x, grad))
    power, base = float(formula.power), denominators.signs
    slope = np.where(regular, 0.0, g * x * np.power(base, -power - 1))
    factor = np.sign(float(2 * formula.scale * formula.power))
    special: Array = g * np.power(base, -power) - factor * x * formula.reversed_windows.sums(slope)
    return special


def _quotient_pair(denominators: Denominators, given: Array) -> FloatPair:
    """Return the quotients in float64, with the error of float64 arithmetic. given: those that are not regular."""
    magnitude, extra = _quotient_errors(denominators, FLOAT64_ROUNDOFF)
    values = denominators.finite * np.power(denominators.bases, -float(denominators.formula.power))
    error = (4 * magnitude + extra) * FLOAT64_ROUNDOFF * ROUNDING_SLACK
    regular = denominators.is_regular
    high = np.where(regular, values, given)
    return FloatPair(high, zero_array(high.shape), np.where(regular, _if_safe(denominators, error), 0.0))


def _gradient_pair(denominators: Denominators, grad: Array) -> FloatPair:
    """Return the gradients in float64, with the error of float64 arithmetic."""
    formula, x, bases = denominators.formula, denominators.finite, denominators.bases
    powers = np.power(bases, -float(formula.power))
    windows = formula.reversed_windows
    slopes = windows.sums(grad * x * powers / bases)
    values = grad * powers - float(2 * formula.scale * formula.power) * x * slopes
    magnitude, extra = _gradient_errors(denominators, grad, FLOAT64_ROUNDOFF)
    terms = windows.sums(np.ones(x.shape)) + 1
    error = ((terms + 3) * magnitude + extra) * FLOAT64_ROUNDOFF * SECOND_ORDER
    safe = windows.sums(_if_safe(denominators, np.zeros(x.shape)))
    return FloatPair(values, zero_array(values.shape), error + safe)


def _if_safe(denominators: Denominators, error: Array) -> Array:
    """Return an error of float64 arithmetic, and infinity where a power may leave the range of float64."""
    formula = denominators.formula
    exponent = (abs(float(formula.power)) + 1) * denominators.logarithms
    is_safe = formula.is_safe & (exponent <= MAX_SAFE_LOGARITHM)
    return np.where(is_safe, error, np.inf)


def _power_error(denominators: Denominators, power: float, u: float) -> Array:
    """Return the relative error of D^power in units of u, to first order, for the window of each element.

    1. D' = D(1 + θ): no term is negative. Each passes through its square, n − 1 additions, the addition of k, and at
       most five factors 1 + δ of a (alpha, its division by the size or a rounded reciprocal of it and a product with
       that, the product with the sum) or one of k. With m = n + 6 factors the power is off by |power|·m.
    2. The power is pow, or exp(power · ln D'), or products and quotients of roots. The exponent is rounded, ln and its
       product add f + 1 units, f = FUNCTION_ROUNDOFFS, so the exponent of e is off by |power|·|ln D'|·(f + 2), where
       |ln D'| <= |ln D| + 1.05·mu. exp or pow adds f, and a root as many.
    """
    count = denominators.formula.size + 6
    steps = min(count, denominators.x.shape[1] + 6)
    logarithms = denominators.logarithms + SECOND_ORDER * steps * u
    error: Array = abs(power) * (steps + logarithms * (FUNCTION_ROUNDOFFS + 2)) + 2 * FUNCTION_ROUNDOFFS
    return error


def _quotient_errors(denominators: Denominators, u: float) -> tuple[Array, Array]:
    """Return the magnitude and extra of error_bound for one term x / D^beta or x·D^−beta.

    With _power_error and at most four further factors, E units in all, it is within exp(±1.05·uE) of the exact one.
    """
    power = float(denominators.formula.power)
    size = np.abs(denominators.finite) * np.power(denominators.bases, -power)
    return _perturbed(size, _power_error(denominators, power, u) + 4, u)


def _gradient_errors(denominators: Denominators, grad: Array, u: float) -> tuple[Array, Array]:
    """Return the magnitude and extra of error_bound for the terms of a gradient.

    A term is g·D^−beta, or one of the sum, which is computed as 2a·beta·x·g'·x'·D'^(−beta − 1), or with the factors
    D'^(−2·beta) and D'^(beta − 1), the derivative of a quotient, so with powers that add up to at most 3|beta| + 1 and
    three functions. There are at most 16 further factors 1 + δ: products, quotients and parameters. Both kinds of
    terms are within exp(±1.05·uE) of the exact ones for E = _power_error(3|beta| + 1) + 4f + 16.
    """
    formula, x = denominators.formula, np.abs(denominators.finite)
    power = float(formula.power)
    steps = _power_error(denominators, 3 * abs(power) + 1, u) + 4 * FUNCTION_ROUNDOFFS + 16
    powers = np.abs(grad) * np.power(denominators.bases, -power)
    own, own_extra = _perturbed(powers, steps, u)
    others, others_extra = _perturbed(powers * x / denominators.bases, steps, u)
    factor = abs(float(2 * formula.scale * formula.power)) * x * ROUNDING_SLACK
    windows = formula.reversed_windows
    return own + factor * windows.sums(others), own_extra + factor * windows.sums(others_extra)


def _perturbed(size: Array, steps: Array, u: float) -> tuple[Array, Array]:
    """Return a bound on a perturbed size, and on its perturbation in units of u."""
    exponent = np.where(size > 0, SECOND_ORDER * u * steps, 0.0)
    return size * np.exp(exponent) * ROUNDING_SLACK, size * np.expm1(exponent) / u * ROUNDING_SLACK


@dataclass(frozen=True)
class PowerTerm:
    """The number coefficient · base^−beta, with a positive base."""

    coefficient: Fraction
    base: Fraction


@dataclass(frozen=True, eq=False)
class Terms(Mapping[Position, "list[PowerTerm]"]):
    """The terms of the elements in some places, computed on access."""

    places: Array
    compute: Callable[[Position], list[PowerTerm]]

    def __getitem__(self, position: Position) -> list[PowerTerm]:
        return self.compute(position)

    def __iter__(self) -> Iterator[Position]:
        return map(tuple, np.argwhere(self.places).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(self.places))


def _gradient_terms(denominators: Denominators, grad: Array, position: Position) -> Iterator[PowerTerm]:
    """Yield the terms of a gradient that are not 0, from the gradients of regular elements."""
    batch, channel, *cell = position
    formula, x = denominators.formula, denominators.finite
    factor = -2 * formula.scale * formula.power * Fraction(float(x[position]))
    if grad[position]:
        yield PowerTerm(Fraction(float(grad[position])), denominators.exactly(position))
    for other in formula.reversed_windows.of(channel, x.shape[1]) if factor else ():
        place = (batch, other, *cell)
        product = Fraction(float(grad[place])) * Fraction(float(x[place]))
        if product:
            base = denominators.exactly(place)
            yield PowerTerm(factor * product / base, base)


def _round_terms(  # noqa: PLR0917  (all that a result depends on)
    terms: Terms,
    formula: Formula,
    dtype: DType,
    pair: FloatPair,
    given: Array,
    special: Array,
    count: Array,
    magnitude: Array,
    extra: Array,
) -> Exact:
    """Return sums of terms, rounded. pair: the sums in float64; given: those of no terms."""
    sums = DecimalSums(
        special.shape,
        terms,
        lambda some, digits: _decimal_total(some, formula.power, digits),
        lambda some, number, _digits: is_exact_sum(some, number, formula.power),
        INITIAL_DIGITS,
    )
    if dtype == np.float64:
        decimals = sums.almost_exact()
        pair = FloatPair(decimals.high + given, decimals.low, decimals.error)

    def closer(where: Positions) -> FloatPair:
        return _decimals_at(sums, where, pair)

    has_special = not np.isfinite(special).all()
    return round_result(
        pair,
        dtype,
        lambda position: sums.certain_rational(position, dtype),
        special=special if has_special else None,
        terms=count,
        magnitude=magnitude,
        extra=extra,
        closer=None if dtype == np.float64 else closer,
    )


def _decimals_at(sums: DecimalSums[PowerTerm], where: Positions, pair: FloatPair) -> FloatPair:
    """Return some elements with the error of decimals. Those without an error stay as they are."""
    near = pair.at(where)
    high, low, error = (np.array(part) for part in (near.high, near.low, near.error))
    for number, position in enumerate(zip(*(axis.tolist() for axis in where), strict=True)):
        if error[number]:
            middle, off = sums.total(sums.terms[position], sums.digits)
            high[number], low[number] = rational_to_pair(Fraction(middle))
            error[number] = float(off) * ROUNDING_SLACK + abs(high[number]) * 2.0**-105 + 2.0**-1070
    return FloatPair(high, low, error)


def _decimal_total(terms: list[PowerTerm], power: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Return the sum of some terms, and a bound on its error, computed with some digits.

    A term is c·exp(−beta · ln D). With ε one unit of the last digit, D is off by ε/2, ln D by ε(1 + |ln D|)/2, the
    exponent by ε·|beta|(1 + 2|ln D|)/2, its exponential by one ε/2 more, and the product with the rounded c by two:
    at most ε(|beta|(1 + 2|ln D|) + 4)/2 of the term, and each addition by ε/2 of the sum of absolute values. Twice
    that covers the products of errors.
    """
    context, beta = unlimited_context(digits), _decimal(power, digits)
    middle, error = Decimal(0), Decimal(0)
    for term in terms:
        logarithm = context.ln(_decimal(term.base, digits))
        # A minus sign would round to the digits of the context of the thread.
        share = context.exp(context.multiply(beta, logarithm).copy_negate())
        part = context.multiply(_decimal(term.coefficient, digits), share)
        steps = abs(power) * (1 + 2 * math.ceil(abs(logarithm))) + 6 + len(terms)
        middle, error = context.add(middle, part), context.add(error, context.multiply(part.copy_abs(), Decimal(math.ceil(steps))))
    return middle, units_in_last_place(error, digits)


def _decimal(number: Fraction, digits: int) -> Decimal:
    """Return a rational, rounded to some digits."""
    context: Context = unlimited_context(digits)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def is_exact_sum(terms: list[PowerTerm], number: Fraction, power: Fraction) -> bool:
    """Return whether terms c·D^−beta add up to a rational exactly.

    beta = b / q in lowest terms, q a power of two. D^−beta is a q-th root of a rational. Such roots are linearly
    independent over the rationals, unless the quotient of two is rational (Mordell, as in norms.is_exact_norm): those
    are brought together, and each coefficient must vanish. As b and q have no common factor, the quotient is rational
    if the quotient of the bases has a rational q-th root r, and it is r^−b.
    """
    coefficients = {Fraction(1): -number}
    for term in terms:
        roots = ((known, power_of_two_root(term.base / known, power.denominator)) for known in coefficients)
        known, root = next(((known, root) for known, root in roots if root is not None), (term.base, Fraction(1)))
        share = term.coefficient * root**-power.numerator
        coefficients[known] = coefficients.get(known, Fraction(0)) + share
    return not any(coefficients.values())
