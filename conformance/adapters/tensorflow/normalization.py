"""TensorFlow: `tf.nn.local_response_normalization` of planes, with alpha as it is and an odd window 2 * radius + 1."""

from __future__ import annotations

import math

from conformance.adapters.api import Code, Step, Unsupported, call, number
from conformance.adapters.api.normalization.recipes import (
    ONLY_ODD,
    PLANE_RANK,
    NormalizationRecipe,
    alpha_text,
    is_even,
    number_of,
)

KERNEL_DTYPES = frozenset({"float32", "float16"})
NO_DOUBLE = Unsupported("\"Value for attr 'T' of double is not in the list of allowed values: half, bfloat16, float\"")
NO_BFLOAT16 = Unsupported('bfloat16 has no kernel for the CPU: "Could not find device for node"')
NO_RANK = Unsupported('"in must be 4-dimensional"')
RECIPE = NormalizationRecipe("tf.pad({x}, {pads})", True, "tf.cast(x, tf.float32)", "tf.cast(x, tf.{dtype})")


def _text(step: Step) -> str:
    # The size 0 has no radius: -1 is the nearest call that must be rejected.
    return call(
        "tf.nn.local_response_normalization",
        "x",
        depth_radius=number((step.parameters["local_size"] - 1) // 2),
        bias=number_of(step, "k"),
        alpha=alpha_text(step, divides=False),
        beta=number_of(step, "beta"),
    )


def _unsupported(step: Step) -> Unsupported | None:
    if is_even(step):
        return ONLY_ODD
    if step.dtype not in KERNEL_DTYPES:
        return NO_BFLOAT16 if step.dtype == "bfloat16" else NO_DOUBLE
    return None


def lrn(step: Step) -> Code:
    """Return the call."""
    return _unsupported(step) or (_text(step) if step.rank == PLANE_RANK else NO_RANK)


def fallback(step: Step) -> Code:
    """Return the call for an input with one axis for all cells, or the formula for windows that the call has not."""
    if _unsupported(step):
        return RECIPE(step)
    batch, channels, *extents = step.shape
    return (
        f"x = tf.reshape(x, {[batch, 1, math.prod(extents), channels]})",
        f"x = {_text(step)}",
        f"x = tf.reshape(x, {[batch, *extents, channels]})",
    )
