"""Adapter for MLX on the CPU. Channels last, and kernels with the output channels first.

Differences from direct calls:
- Operators without a layer stack the cells of the windows.
- Functions for convolution have no bias, which is added.
- Transposed convolutions with more padding at one end are sliced, and those with groups are joined.
- Circular padding, and negative pads, index or slice the cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api import (
    ALL_DTYPES,
    BLOCK_OPERATORS,
    FLOATING,
    INTEGERS,
    SELECTION_OPERATORS,
    Bfloat16Conversion,
    Lowering,
    Surface,
    Unsupported,
    unsupported_operators,
)
from conformance.adapters.api.blocks.recipes import BlockRecipe
from conformance.adapters.api.columns.recipes import UnfoldRecipe
from conformance.adapters.api.morphology.recipes import DilationRecipe
from conformance.adapters.api.normalization.recipes import NormalizationRecipe
from conformance.adapters.mlx import convolution, resizing, windows

PACKAGES = ("mlx", "numpy")
DISTRIBUTIONS = {"mlx": "mlx[cpu]"}
SETUP = """\
import mlx.core as mx
import mlx.nn as nn
import numpy as np
"""
RESET = "mx.random.seed(0)\n"
UNSUPPORTED_OPERATORS = unsupported_operators(
    {
        "min_pool": "MLX has no minimum pooling",
        "lp_pool": "MLX has no Lp pooling",
        "softmax_pool": "MLX has no softmax pooling",
        "max_pool_with_indices": "pooling returns no indices",
        "max_unpool": "MLX has no unpooling",
        "adaptive_max_pool": "MLX has no adaptive pooling",
        "adaptive_avg_pool": "MLX has no adaptive pooling",
        "fractional_max_pool": "MLX has no fractional pooling",
        "stochastic_pool": "MLX has no stochastic pooling",
        "stochastic_pool_probabilities": "MLX has no stochastic pooling",
        "unfold": "MLX has no call that copies the cells of windows to channels",
    }
)
NO_FLOAT64 = Unsupported("mx.array converts float64 to float32 unless the call names the dtype")
NO_INTEGER_AVERAGES = Unsupported("averages, powers and quotients of integers are float32")
NO_INTEGER_CONVOLUTION = Unsupported("convolutions take floating-point numbers only")
DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOATING - {"float64"},
    **dict.fromkeys(
        (*SELECTION_OPERATORS, *BLOCK_OPERATORS, "unfold", "pad", "resize", "relu", "negate"), ALL_DTYPES - {"float64"}
    ),
    "dilation2d": (FLOATING | INTEGERS) - {"float64"},
}
UNSUPPORTED_DTYPES = {
    "": {"float64": NO_FLOAT64, **dict.fromkeys((*INTEGERS, "bool"), NO_INTEGER_AVERAGES)},
    **{
        name: {"float64": NO_FLOAT64, **dict.fromkeys((*INTEGERS, "bool"), NO_INTEGER_CONVOLUTION)}
        for name in ("conv", "conv_transpose")
    },
}
DATA = "np.moveaxis({}, 1, -1)"
ARRAYS = {"x": DATA, "kernel": "np.moveaxis({}, (0, 1), (-1, -2))", "bias": "{}", "draws": DATA}
FIELDS: dict[str, Any] = {
    "to_framework": {name: f"mx.array({array})" for name, array in ARRAYS.items()},
    "to_numpy": "np.moveaxis(np.array(x), -1, 1)",
    "gradient_to_numpy": {"bias": "np.array(x)"},
    "channels_last": True,
    "bfloat16": Bfloat16Conversion(
        "{}.view(mx.bfloat16)",
        "{}.astype(mx.bfloat16)",
        # A gradient of a bias has one axis.
        'np.moveaxis(np.array(x.view(mx.uint16)), -1, min(1, x.ndim - 1)).view([("bfloat16", np.uint16)])',
    ),
    "ones_expression": windows.OPERATIONS.ones,
    "dtypes": DTYPES,
    "unsupported_dtypes": UNSUPPORTED_DTYPES,
    "write_gradient": convolution.vjp_gradient,
}
SHARED: Mapping[str, Lowering] = {
    "global_max_pool": windows.global_pool,
    "global_avg_pool": windows.global_pool,
    "pad": windows.pad,
    **UNSUPPORTED_OPERATORS,
}
FALLBACKS: Mapping[str, Lowering] = {
    **windows.FALLBACKS,
    **dict.fromkeys(BLOCK_OPERATORS, BlockRecipe(channels_last=True)),
    "unfold": UnfoldRecipe(windows.COMPOSED, BlockRecipe(channels_last=True)),
    "lrn": NormalizationRecipe("mx.pad({x}, {pads})", True, "x.astype(mx.float32)", "x.astype(mx.{dtype})"),
    "dilation2d": DilationRecipe(windows.COMPOSED),
    "conv": convolution.fallback_conv,
    "conv_transpose": convolution.fallback_transpose,
}
NO_LAYERS = unsupported_operators(
    {
        "max_pool": "mlx.core has no pooling",
        "avg_pool": "mlx.core has no pooling",
        "resize": "mlx.core has no resizing",
    }
)
SURFACES = (
    Surface(
        "mlx.nn",
        {
            "max_pool": windows.max_pool_layer,
            "avg_pool": windows.avg_pool_layer,
            "conv": convolution.conv_layer,
            "conv_transpose": convolution.transpose_layer,
            "resize": resizing.resize,
            "relu": lambda _step: "nn.relu(x)",
            **SHARED,
        },
        fallbacks={**FALLBACKS, "resize": resizing.converted_resize},
        **FIELDS,
    ),
    Surface(
        "mlx.core",
        {
            "conv": convolution.conv,
            "conv_transpose": convolution.transpose,
            "relu": lambda _step: "mx.maximum(x, 0)",
            **NO_LAYERS,
            **SHARED,
        },
        fallbacks=FALLBACKS,
        **FIELDS,
    ),
)
