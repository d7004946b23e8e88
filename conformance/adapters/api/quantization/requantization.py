"""Requantization: the formulas of quantized convolution that are equal for the numbers of a step."""

from __future__ import annotations

import math
from collections.abc import Mapping

from conformance.adapters.api.quantization.formulas import listed
from conformance.adapters.api.surface import Unsupported
from conformance.cases.operators import Requantization, RoundMode
from conformance.cases.steps import Step

LEAST_EXACT_FACTOR = 2.0**-14
"""With a power of two from this on as a factor, a sum with the zero point is exact in float32 unless it is limited."""
SIMPLEST_OF_POWERS_OF_TWO: Mapping[Requantization, Requantization] = {
    Requantization.RECIPROCAL: Requantization.PRODUCT,
    Requantization.EXACT: Requantization.PRODUCT,
    Requantization.STEPWISE: Requantization.FUSED,
    Requantization.FLOAT64: Requantization.FUSED,
}
"""Formulas with the same result if all scales are powers of two: every product is exact."""
SIMPLEST_WITHOUT_ZERO_POINT: Mapping[Requantization, Requantization] = {
    Requantization.FUSED: Requantization.PRODUCT,
    Requantization.FLOAT64: Requantization.EXACT,
}
"""Formulas with the same result if the zero point of y is 0."""


def unsupported_requantization(
    step: Step, own: Requantization, name: str, own_mode: RoundMode = RoundMode.HALF_EVEN
) -> Unsupported | None:
    """Return the reason if a call with a formula and a rounding rule cannot compute the step."""
    given = step.parameters
    if given.get("round_mode", own_mode) != own_mode:
        return Unsupported(f"{name} has the rounding rule {own_mode}")
    return None if has_requantization(step, own) else Unsupported(f"{name} computes the formula {own}")


def has_requantization(step: Step, own: Requantization) -> bool:
    """Whether a formula gives the result of the formula of the step for every x. True if the step omits it."""
    given = step.parameters.get("requantization")
    return given is None or _simplest(Requantization(given), step) is _simplest(own, step)


def has_powers_of_two(step: Step) -> bool:
    """Whether all scales are powers of two, and their quotient is not below LEAST_EXACT_FACTOR."""
    x_scale, y_scale = (float(step.parameters[name]) for name in ("x_scale", "y_scale"))
    of_weights = [float(scale) for scale in listed(step.parameters["w_scale"])]
    return all(math.frexp(scale)[0] == 0.5 for scale in (x_scale, y_scale, *of_weights)) and (  # noqa: PLR2004 - 2 ** n
        min(of_weights) * x_scale / y_scale >= LEAST_EXACT_FACTOR
    )


def _simplest(formula: Requantization, step: Step) -> Requantization:
    if has_powers_of_two(step):
        formula = SIMPLEST_OF_POWERS_OF_TWO.get(formula, formula)
    if not step.parameters.get("y_zero_point"):
        formula = SIMPLEST_WITHOUT_ZERO_POINT.get(formula, formula)
    return formula
