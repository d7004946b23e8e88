"""Gradient of local response normalization."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, check_image
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.errorfree import FloatPair, to_float64, zero_array
from reference.arithmetic.exact import Exact
from reference.arithmetic.power_sums import PowerTerm, Terms, round_terms
from reference.arithmetic.rounding import FLOAT_FORMATS, Position
from reference.operators.normalization.response_normalization import (
    FLOAT64_ROUNDOFF,
    FUNCTION_ROUNDOFFS,
    SECOND_ORDER,
    Denominators,
    Formula,
    if_safe,
    perturbed,
    power_error,
)
from reference.operators.pooling_grad import check_gradient
from reference.registry import operator


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
    special = np.where(np.isfinite(special), 0.0, special)
    return round_terms(terms, formula.power, x.dtype, pair, np.zeros(x.shape), special, count, magnitude, extra)


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
    safe = windows.sums(if_safe(denominators, np.zeros(x.shape)))
    return FloatPair(values, zero_array(values.shape), error + safe)


def _gradient_errors(denominators: Denominators, grad: Array, u: float) -> tuple[Array, Array]:
    """Return the magnitude and extra of error_bound for the terms of a gradient.

    A term is g·D^−beta, or one of the sum, which is computed as 2a·beta·x·g'·x'·D'^(−beta − 1), or with the factors
    D'^(−2·beta) and D'^(beta − 1), the derivative of a quotient, so with powers that add up to at most 3|beta| + 1 and
    three functions. There are at most 16 further factors 1 + δ: products, quotients and parameters. Both kinds of
    terms are within exp(±1.05·uE) of the exact ones for E = power_error(3|beta| + 1) + 4f + 16.
    """
    formula, x = denominators.formula, np.abs(denominators.finite)
    power = float(formula.power)
    steps = power_error(denominators, 3 * abs(power) + 1, u) + 4 * FUNCTION_ROUNDOFFS + 16
    powers = np.abs(grad) * np.power(denominators.bases, -power)
    own, own_extra = perturbed(powers, steps, u)
    others, others_extra = perturbed(powers * x / denominators.bases, steps, u)
    factor = abs(float(2 * formula.scale * formula.power)) * x * ROUNDING_SLACK
    windows = formula.reversed_windows
    return own + factor * windows.sums(others), own_extra + factor * windows.sums(others_extra)


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
