"""TensorFlow: fractional pooling, whose bins are drawn at random for a seed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from conformance.adapters.api import Code, Step, Unsupported, call
from conformance.cases.case import DRAWN_KEY, SEED_KEY, DrawnRegions

RANK = 2
RATIO_STEP = Fraction(1, 1000)


def fractional_pool(name: str, step: Step) -> Code:
    """Return two calls with the same seed, joined along the batch. name: the name of the function, max or avg."""
    if step.rank != RANK:
        return Unsupported("fractional pooling supports two axes")
    drawn = DrawnRegions(step.parameters[DRAWN_KEY])
    ratios = map(_ratio_text, step.shape[2:], step.parameters["output_size"])
    text = call(
        f"tf.nn.fractional_{name}_pool",
        "x",
        f"[1.0, {', '.join(ratios)}, 1.0]",
        pseudo_random="True" if drawn.is_pseudorandom else None,
        overlapping="True" if drawn.overlap else None,
        seed=str(step.parameters[SEED_KEY]),
    )
    return f"first = {text}[0]", f"x = tf.concat([first, {text}[0]], axis=0)"


def _ratio_text(extent: int, bins: int) -> str:
    """Return the largest multiple of 1/1000 for which the kernel, which rounds it to float32, computes the bins."""
    ratio = Fraction(extent, bins) // RATIO_STEP * RATIO_STEP
    while extent // Fraction(float(np.float32(float(ratio)))) < bins:
        ratio -= RATIO_STEP
    return str(float(ratio))
