"""TensorFlow.js: `tf.localResponseNormalization`, with alpha as it is and an odd window 2 * depthRadius + 1."""

from __future__ import annotations

import math

from conformance.adapters.api import Code, Step, Unsupported, number
from conformance.adapters.api.javascript import call, list_of
from conformance.adapters.api.normalization.recipes import ONLY_ODD, PLANE_RANK, alpha_text, is_even, number_of

NO_RANK = Unsupported("tf.localResponseNormalization takes planes")


def _text(step: Step) -> str:
    # The size 0 has no radius: -1 is the nearest call that must be rejected.
    radius = number((step.parameters["local_size"] - 1) // 2)
    numbers = [number_of(step, "k"), alpha_text(step, divides=False), number_of(step, "beta")]
    while numbers and numbers[-1] is None:
        numbers.pop()
    arguments = ("undefined" if text is None else text for text in numbers)
    return call("tf.localResponseNormalization", "x", radius, *arguments)


def lrn(step: Step) -> Code:
    """Return the call."""
    if is_even(step):
        return ONLY_ODD
    return _text(step) if step.rank == PLANE_RANK else NO_RANK


def fallback(step: Step) -> Code:
    """Return the call for an input with one row for all cells."""
    if is_even(step):
        return ONLY_ODD
    batch, channels, *extents = step.shape
    return (
        f"x = tf.reshape(x, {list_of([batch, 1, math.prod(extents), channels])})",
        f"x = {_text(step)}",
        f"x = tf.reshape(x, {list_of([batch, *extents, channels])})",
    )
