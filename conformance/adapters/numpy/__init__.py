"""The built-in backend: plain loops over the cells of each window, for a suite without any framework.

It shares nothing with the reference but the geometry's output size, and changes nothing: every parameter is native,
gradients are loops too, and whatever is added is added in the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from conformance.adapters.api.surface import Code, Surface, Unsupported, Verb, Words
from conformance.adapters.numpy.padding_convolution import (
    conv,
    conv_gradient,
    pad,
    pad_gradient,
    unpool,
    unpool_gradient,
)
from conformance.adapters.numpy.pooling import pool, pool_gradient, probabilities, probabilities_gradient
from conformance.cases.arrays import DTYPES as ALL_DTYPES
from conformance.cases.operators import FORWARD, GRADIENT, OPERATORS
from conformance.cases.steps import Step

PACKAGES = ("numpy", "ml_dtypes")
THREADS = ""
SETUP = """\
import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
"""
RESET = ""
FLOATING = frozenset({"bfloat16", "float16", "float32", "float64"})
WHOLE = frozenset(name for name, dtype in ALL_DTYPES.items() if dtype.kind in "iu")
ANY = FLOATING | WHOLE | {"bool"}
SELECTING = (
    "max_pool",
    "min_pool",
    "max_pool_with_indices",
    "max_unpool",
    "global_max_pool",
    "adaptive_max_pool",
    "fractional_max_pool",
    "pad",
)
SUMMING = ("avg_pool", "global_avg_pool", "adaptive_avg_pool", "conv", "conv_transpose")
NO_DEFAULTS = Unsupported("plain loops have no defaults and check no parameters")
PLACED: Mapping[str, tuple[Verb, Verb]] = {
    "pad": (pad, pad_gradient),
    "max_unpool": (unpool, unpool_gradient),
    "conv": (conv, conv_gradient),
    "conv_transpose": (conv, conv_gradient),
    "stochastic_pool_probabilities": (probabilities, probabilities_gradient),
}


def _sound(verb: Verb, step: Step) -> Code:
    """Loops check nothing, so what has no meaning is not asked of them."""
    if OPERATORS[step.verb].defaults.keys() - step.parameters.keys() - {"output"}:
        return NO_DEFAULTS
    try:
        sound = min(step.output[2:]) >= 0
    except (TypeError, ValueError):
        sound = False
    return verb(step) if sound else NO_DEFAULTS


def _verbs() -> Iterator[tuple[str, Verb]]:
    for name in FORWARD:
        forward, gradient = PLACED.get(name, (pool, pool_gradient))
        yield name, partial(_sound, forward)
        yield name + GRADIENT, partial(_sound, gradient)
    yield "relu", lambda _step: "np.maximum(x, 0)"


SURFACES = (
    Surface(
        "numpy.loops",
        dict(_verbs()),
        dtypes={
            "": FLOATING,
            **dict.fromkeys(SUMMING, FLOATING | WHOLE),
            **dict.fromkeys(SELECTING, ANY),
            # What an int8 average of a sum that overflows may be, the question about it knows in float64 only.
            "avg_pool": FLOATING | WHOLE - {"int8"},
        },
        words=Words("{}.view(ml_dtypes.bfloat16)", "{}.astype(ml_dtypes.bfloat16)"),
        checks=False,
    ),
)
