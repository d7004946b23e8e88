"""Local response normalization: each value divided by a power of the sum of squares of neighbouring channels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, check_choice, check_image, parse_integer
from reference.arithmetic.bound import FUNCTION_ULPS, ROUNDING_SLACK, ROUNDOFFS_PER_ULP
from reference.arithmetic.errorfree import FloatPair, to_float64, with_finite_only, zero_array
from reference.arithmetic.exact import Exact
from reference.arithmetic.power_sums import PowerTerm, Terms, round_terms
from reference.arithmetic.rounding import FLOAT_FORMATS, Position
from reference.registry import operator

EXTRA_CHANNELS = ("before", "after")
"""Sides on which the window of an even number of channels has one channel more."""

# With a larger exponent the powers of ordinary numbers leave the range of float64.
MAX_BETA = 100

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
    exact = round_terms(terms, formula.power, x.dtype, pair, given, special, np.ones((), np.int64), magnitude, extra)
    # A quotient has the sign of x, also where it is 0 or rounds to 0.
    signed = np.where(np.isnan(exact.value), exact.value, np.copysign(exact.value, x))
    return replace(exact, value=signed)


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
        has_square = windows.sums((self.finite != 0).astype(np.int64)) > 0
        positive: Array = is_finite & (has_square & (formula.scale > 0) | bool(formula.bias))
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
        places = ((batch, other, *cell) for other in window)
        squares = (Fraction(float(self.finite[place])) ** 2 for place in places)
        return self.formula.bias + self.formula.scale * sum(squares, Fraction(0))


def _special_quotients(denominators: Denominators) -> Array:
    """Return the quotients of the elements that are not regular, in IEEE arithmetic."""
    quotients: Array = denominators.x / np.power(denominators.signs, float(denominators.formula.power))
    return quotients


def _quotient_pair(denominators: Denominators, given: Array) -> FloatPair:
    """Return the quotients in float64, with the error of float64 arithmetic. given: those that are not regular."""
    magnitude, extra = _quotient_errors(denominators, FLOAT64_ROUNDOFF)
    values = denominators.finite * np.power(denominators.bases, -float(denominators.formula.power))
    error = (4 * magnitude + extra) * FLOAT64_ROUNDOFF * ROUNDING_SLACK
    regular = denominators.is_regular
    high = np.where(regular, values, given)
    return FloatPair(high, zero_array(high.shape), np.where(regular, if_safe(denominators, error), 0.0))


def if_safe(denominators: Denominators, error: Array) -> Array:
    """Return an error of float64 arithmetic, and infinity where a power may leave the range of float64."""
    formula = denominators.formula
    exponent = (abs(float(formula.power)) + 1) * denominators.logarithms
    is_safe = formula.is_safe & (exponent <= MAX_SAFE_LOGARITHM)
    return np.where(is_safe, error, np.inf)


def power_error(denominators: Denominators, power: float, u: float) -> Array:
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

    With power_error and at most four further factors, E units in all, it is within exp(±1.05·uE) of the exact one.
    """
    power = float(denominators.formula.power)
    size = np.abs(denominators.finite) * np.power(denominators.bases, -power)
    return perturbed(size, power_error(denominators, power, u) + 4, u)


def perturbed(size: Array, steps: Array, u: float) -> tuple[Array, Array]:
    """Return a bound on a perturbed size, and on its perturbation in units of u."""
    exponent = np.where(size > 0, SECOND_ORDER * u * steps, 0.0)
    return size * np.exp(exponent) * ROUNDING_SLACK, size * np.expm1(exponent) / u * ROUNDING_SLACK
