"""Adapter for the built-in backend: Python loops over the elements of each window. It needs no framework.

The only code shared with the reference is the computation of output sizes. Every parameter is native, gradients are
loops too, and sums are computed in the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from conformance.adapters.api import (
    ALL_DTYPES,
    BLOCK_OPERATORS,
    FLOATING,
    INTEGERS,
    SELECTION_OPERATORS,
    Bfloat16Conversion,
    Code,
    Lowering,
    Step,
    Surface,
    Unsupported,
)
from conformance.adapters.api.quantization.formulas import (
    CONV_INTEGER_DTYPES,
    QUANTIZE_DTYPES,
    QUANTIZED_CONVOLUTION_DTYPES,
    QUANTIZED_POOLING_DTYPES,
)
from conformance.adapters.numpy.affine_grids import affine_grid, affine_grid_gradient
from conformance.adapters.numpy.blocks import (
    depth_to_space,
    depth_to_space_gradient,
    space_to_depth,
    space_to_depth_gradient,
)
from conformance.adapters.numpy.deform_conv import deform_conv, deform_conv_gradient
from conformance.adapters.numpy.grid_sampling import grid_sample, grid_sample_gradient
from conformance.adapters.numpy.morphology import dilation2d, dilation2d_gradient
from conformance.adapters.numpy.normalization import lrn, lrn_gradient
from conformance.adapters.numpy.padding_convolution import (
    conv,
    conv_gradient,
    max_unpool,
    max_unpool_gradient,
    pad,
    pad_gradient,
)
from conformance.adapters.numpy.pooling import (
    REDUCTIONS,
    stochastic_pool_probabilities,
    stochastic_pool_probabilities_gradient,
    window_pool,
    window_pool_gradient,
)
from conformance.adapters.numpy.quantization import dequantize, quantize, quantized_avg_pool
from conformance.adapters.numpy.quantized_convolution import conv_integer, quantized_conv
from conformance.adapters.numpy.resizing import resize, resize_gradient
from conformance.adapters.numpy.unfolding import fold, fold_gradient, unfold, unfold_gradient
from conformance.cases.operators import GRADIENT_SUFFIX, OPERATORS

PACKAGES = ("numpy", "ml_dtypes")
THREADS = ""
SETUP = """\
import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
"""
RESET = ""
SUMMING_OPERATORS = ("avg_pool", "global_avg_pool", "adaptive_avg_pool", "conv", "conv_transpose", "fold", "dilation2d")
NO_DEFAULTS = Unsupported("the loops have no defaults and check no parameters")
PLACEMENT_LOWERINGS: Mapping[str, tuple[Lowering, Lowering]] = {
    "pad": (pad, pad_gradient),
    "resize": (resize, resize_gradient),
    "grid_sample": (grid_sample, grid_sample_gradient),
    "affine_grid": (affine_grid, affine_grid_gradient),
    "depth_to_space": (depth_to_space, depth_to_space_gradient),
    "space_to_depth": (space_to_depth, space_to_depth_gradient),
    "unfold": (unfold, unfold_gradient),
    "fold": (fold, fold_gradient),
    "lrn": (lrn, lrn_gradient),
    "dilation2d": (dilation2d, dilation2d_gradient),
    "max_unpool": (max_unpool, max_unpool_gradient),
    "conv": (conv, conv_gradient),
    "conv_transpose": (conv, conv_gradient),
    "deform_conv": (deform_conv, deform_conv_gradient),
    "stochastic_pool_probabilities": (stochastic_pool_probabilities, stochastic_pool_probabilities_gradient),
}

QUANTIZED_LOWERINGS: Mapping[str, Lowering] = {
    "quantize": quantize,
    "dequantize": dequantize,
    "quantized_avg_pool": quantized_avg_pool,
    "quantized_conv": quantized_conv,
    "conv_integer": conv_integer,
}


def _lower_if_valid(lowering: Lowering, step: Step) -> Code:
    """Return the lowering's code if all parameters are given and valid; the loops themselves check nothing."""
    if OPERATORS[step.operator].defaults.keys() - step.parameters.keys() - {"output"}:
        return NO_DEFAULTS
    try:  # computing the output size raises an error for parameters of the wrong length
        valid = min(step.output[2:]) >= 0
    except (TypeError, ValueError):
        valid = False
    return lowering(step) if valid else NO_DEFAULTS


def _lowerings() -> Iterator[tuple[str, Lowering]]:
    pooling = dict.fromkeys(REDUCTIONS, (window_pool, window_pool_gradient))
    for name, (forward, gradient) in {**pooling, **PLACEMENT_LOWERINGS}.items():
        yield name, partial(_lower_if_valid, forward)
        yield name + GRADIENT_SUFFIX, partial(_lower_if_valid, gradient)
    yield from {name: partial(_lower_if_valid, one) for name, one in QUANTIZED_LOWERINGS.items()}.items()
    yield "relu", lambda _step: "np.maximum(x, 0)"


SURFACES = (
    Surface(
        "numpy.loops",
        dict(_lowerings()),
        dtypes={
            "": FLOATING,
            **dict.fromkeys(SUMMING_OPERATORS, FLOATING | INTEGERS),
            **dict.fromkeys((*SELECTION_OPERATORS, "fractional_max_pool", "pad", "resize", "unfold"), ALL_DTYPES),
            **dict.fromkeys(BLOCK_OPERATORS, ALL_DTYPES),
            **QUANTIZE_DTYPES,
            **QUANTIZED_POOLING_DTYPES,
            **QUANTIZED_CONVOLUTION_DTYPES,
            **CONV_INTEGER_DTYPES,
            # No int8: the backend declares no answer to the convention about int8 averages whose sum overflows.
            "avg_pool": FLOATING | INTEGERS - {"int8"},
        },
        bfloat16=Bfloat16Conversion("{}.view(ml_dtypes.bfloat16)", "{}.astype(ml_dtypes.bfloat16)"),
        validates=False,
    ),
)
