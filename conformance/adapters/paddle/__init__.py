"""Adapter for PaddlePaddle. The layout is channels first, as in the suite.

Differences from direct calls:
- Pooling with dilation stacks the cells of the windows. So does the output-size rule `ceil` where a last window would
  start in the padding.
- Lp norms with a power that is not even are computed from absolute values.
- Layers with weights get the weights of the case.
- Symmetric padding, and reflection beyond the extent, index the cells.
- Integers, and 16-bit floats where the CPU has no kernel for them, are computed in a wider dtype that represents them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from conformance.adapters.api import (
    BLOCK_OPERATORS,
    COLUMN_OPERATORS,
    FLOATS,
    SELECTION_OPERATORS,
    Lowering,
    Step,
    Surface,
    indexed_pad,
    limit_axes,
)
from conformance.adapters.api.morphology.recipes import DilationRecipe
from conformance.adapters.api.resizing import affine_grids
from conformance.adapters.paddle import (
    blocks,
    columns,
    convolution as weights,
    deform_conv,
    grid_sampling,
    normalization,
    padding,
    pooling,
    resizing,
    windows,
    words as named,
)
from conformance.adapters.paddle.calls import (
    ARRAY_DTYPES,
    POOLING_DTYPES,
    WIDER_DTYPES,
    CallWriter,
    functional_call,
    in_wider_dtype,
    layer_call,
    unsupported_dtypes,
)

PACKAGES = ("paddle", "numpy")
DISTRIBUTIONS = {"paddle": "paddlepaddle"}
THREADS = """\
import os

os.environ["OMP_NUM_THREADS"] = "1"
"""
THREAD_SETTINGS = {'os.environ["OMP_NUM_THREADS"] = "1"': 'os.environ["OMP_NUM_THREADS"] = "{}"'}
# MKL multiplies matrices, oneDNN is off by default.
INSTRUCTION_VARIABLES = {"MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
SETUP = """\
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
"""
RESET = """\
paddle.set_default_dtype("float32")
paddle.seed(0)
"""
# float16 has no addition, and amax has no integers of 8 and 16 bits.
SUM_DTYPES = FLOATS | {"int32", "int64"}
DTYPES: Mapping[str, frozenset[str]] = {
    "": POOLING_DTYPES,
    **dict.fromkeys((*SELECTION_OPERATORS, *BLOCK_OPERATORS, "unfold", "pad"), ARRAY_DTYPES),
    **dict.fromkeys(("fold", "lrn"), FLOATS),
    "dilation2d": SUM_DTYPES,
    "resize": resizing.NEAREST_DTYPES,
    "grid_sample": grid_sampling.DTYPES,
    "affine_grid": grid_sampling.DTYPES,
    "deform_conv": deform_conv.DTYPES,
    **dict.fromkeys(("conv", "conv_transpose", "relu"), FLOATS),
    "negate": POOLING_DTYPES | {"int64"},
}
UNSUPPORTED_DTYPES = {
    "": unsupported_dtypes("pooling", except_dtypes=POOLING_DTYPES),
    **dict.fromkeys((*SELECTION_OPERATORS, "pad"), unsupported_dtypes("pooling", except_dtypes=ARRAY_DTYPES)),
    **dict.fromkeys(BLOCK_OPERATORS, unsupported_dtypes("pixel_shuffle", except_dtypes=ARRAY_DTYPES)),
    "unfold": unsupported_dtypes("unfold", except_dtypes=ARRAY_DTYPES),
    "fold": unsupported_dtypes("fold", except_dtypes=FLOATS),
    "lrn": unsupported_dtypes("local_response_norm", except_dtypes=FLOATS),
    "dilation2d": unsupported_dtypes("the maximum of sums", except_dtypes=SUM_DTYPES),
    "resize": unsupported_dtypes("interpolate", except_dtypes=resizing.NEAREST_DTYPES),
    "grid_sample": unsupported_dtypes("grid_sample", except_dtypes=grid_sampling.DTYPES),
    "affine_grid": unsupported_dtypes("affine_grid", except_dtypes=grid_sampling.DTYPES),
    "deform_conv": unsupported_dtypes("deform_conv2d", except_dtypes=deform_conv.DTYPES),
    "conv": unsupported_dtypes("convolution", except_dtypes=FLOATS),
    "conv_transpose": unsupported_dtypes("transposed convolution", except_dtypes=FLOATS),
}


def _lowerings(
    write_call: CallWriter, conv: Lowering, transpose: Lowering, pad: Lowering, relu: str
) -> Mapping[str, Lowering]:
    adaptive = partial(pooling.adaptive_pool, write_call)
    windowed: Mapping[str, Lowering] = {
        "max_pool": partial(pooling.max_pool, write_call),
        "avg_pool": partial(pooling.avg_pool, write_call),
        "lp_pool": partial(pooling.lp_pool, write_call),
        "max_pool_with_indices": partial(pooling.indexed_max_pool, write_call),
        "max_unpool": partial(pooling.max_unpool, write_call),
        "global_max_pool": adaptive,
        "global_avg_pool": adaptive,
        "adaptive_max_pool": adaptive,
        "adaptive_avg_pool": adaptive,
        "fractional_max_pool": pooling.fractional_max_pool,
        "conv": conv,
        "conv_transpose": transpose,
    }
    return {**limit_axes(windowed), "pad": pad, "relu": lambda _step: relu}


def _pad_in_wider_dtype(pad: Lowering, step: Step) -> Any:
    """Return padding by indexing, or in a wider dtype for dtypes without a kernel."""
    code = indexed_pad(step)
    return in_wider_dtype(WIDER_DTYPES, pad, step) if step.parameters["mode"] == "constant" else code


def _fallbacks(write_call: CallWriter, transpose: Lowering, pad: Lowering) -> Mapping[str, Lowering]:
    windowed: Mapping[str, Lowering] = {
        "max_pool": partial(pooling.fallback_max_pool, write_call),
        "min_pool": partial(pooling.integer_min_pool, write_call),
        "max_pool_with_indices": partial(pooling.fallback_indexed_max_pool, write_call),
        "max_unpool": partial(pooling.fallback_max_unpool, write_call),
        "conv_transpose": transpose,
    }
    return {
        **limit_axes(windowed),
        "avg_pool": partial(pooling.fallback_avg_pool, write_call),
        "lp_pool": pooling.fallback_lp_pool,
        "global_max_pool": partial(pooling.fallback_global_pool, "max"),
        "global_avg_pool": partial(pooling.fallback_global_pool, "mean"),
        "adaptive_max_pool": partial(pooling.fallback_adaptive_pool, "max"),
        "adaptive_avg_pool": partial(pooling.fallback_adaptive_pool, "mean"),
        "softmax_pool": partial(pooling.in_float32, "softmax_pool"),
        "stochastic_pool": partial(pooling.in_float32, "stochastic_pool"),
        "stochastic_pool_probabilities": partial(pooling.in_float32, "stochastic_pool_probabilities"),
        **dict.fromkeys(BLOCK_OPERATORS, blocks.RECIPE),
        "unfold": columns.RECIPE,
        "dilation2d": DilationRecipe(windows.COMPOSED, "max"),
        "pad": partial(_pad_in_wider_dtype, pad),
    }


FIELDS: dict[str, Any] = {
    "to_framework": dict.fromkeys(("x", "kernel", "bias", "draws", "grid", "offset", "mask"), "paddle.to_tensor({})"),
    "to_numpy": "x.numpy()",
    "ones_expression": windows.OPERATIONS.ones,
    "takes_flat_pads": True,
    "dtypes": DTYPES,
    "unsupported_dtypes": UNSUPPORTED_DTYPES,
}


def _surface(name: str, write_call: CallWriter, pads: tuple[Lowering, Lowering], relu: str, *, layer: bool) -> Surface:
    pad, named_pad = pads
    conv = partial(weights.convolution, layer=layer)
    transpose = partial(weights.transposed_convolution, layer=layer)
    return Surface(
        name,
        {
            **_lowerings(write_call, conv, transpose, pad, relu),
            **dict.fromkeys(BLOCK_OPERATORS, partial(blocks.blocks, layer=layer)),
            **dict.fromkeys(COLUMN_OPERATORS, partial(columns.columns, layer=layer)),
            **limit_axes({"resize": partial(resizing.resize, layer=layer)}),
            "grid_sample": grid_sampling.grid_sample,
            "affine_grid": affine_grids.functional_call,
            "deform_conv": partial(deform_conv.deform_conv, layer=layer),
            "lrn": partial(normalization.lrn, layer=layer),
        },
        fallbacks={
            **_fallbacks(write_call, partial(transpose, folded=True), pad),
            "lrn": partial(normalization.fallback, layer=layer),
        },
        words=named.words(write_call, named_pad, layer=layer),
        drawn={"fractional_max_pool": partial(pooling.drawn_fractional_max_pool, write_call)},
        write_gradient=weights.layer_autograd_gradient if layer else weights.autograd_gradient,
        **FIELDS,
    )


SURFACES = (
    _surface("paddle.nn", layer_call, (padding.layer_pad, named.layer_pad), "nn.ReLU()(x)", layer=True),
    _surface(
        "paddle.nn.functional",
        functional_call,
        (padding.functional_pad, named.functional_pad),
        "F.relu(x)",
        layer=False,
    ),
)
