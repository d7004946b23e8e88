"""Local response normalization and its gradient as Python loops."""

from __future__ import annotations

from conformance.adapters.api import INDENT, Code, Step, number
from conformance.cases.operators import ExtraChannel


def _base_lines(step: Step) -> tuple[str, ...]:
    """Return lines that assign to `base` the sum of each window, times a factor, plus a constant, in float64."""
    given = step.parameters
    size = given["local_size"]
    before = size // 2 if given["extra_channel"] == ExtraChannel.BEFORE else (size - 1) // 2
    divisor = f" / {size}" if given["alpha_over_size"] else ""
    return (
        "wide = x.astype(np.float64)",
        f"factor = {number(given['alpha'])}{divisor}",
        "base = np.empty_like(wide)",
        "for c in range(x.shape[1]):",
        f"{INDENT}first, last = max(c - {before}, 0), c + {size - before}",
        f"{INDENT}base[:, c] = {number(given['k'])} + factor * (wide[:, first:last] ** 2).sum(1)",
    )


def lrn(step: Step) -> Code:
    """Return lines that divide each value by a power of the sum of its window."""
    power = number(step.parameters["beta"])
    return (*_base_lines(step), f"x = (wide / base ** {power}).astype(x.dtype)")


def lrn_gradient(step: Step) -> Code:
    """Return lines that add the gradients of each channel to those of all channels in its window."""
    power = number(step.parameters["beta"])
    return (
        *_base_lines(step),
        "g = grad.astype(np.float64)",
        f"slope = g / base ** {power}",
        f"inner = 2 * factor * {power} * g * wide / base ** ({power} + 1)",
        *_base_lines(step)[3:5],
        f"{INDENT}slope[:, first:last] -= wide[:, first:last] * inner[:, c:c + 1]",
        "x = slope.astype(x.dtype)",
    )
