"""Adapter for LiteRT, formerly TensorFlow Lite: models in its format, run by its interpreter. Channels last.

Surfaces are the three sets of kernels of the interpreter: XNNPACK, which it uses by default where XNNPACK has the
operator, the built-in kernels, and the reference kernels.

Differences from a direct translation:

- Convolutions without a bias get a bias of zeros, which CONV_2D needs.
- An operator of one axis is an operator of two axes, the first of which has one cell. EXPAND_DIMS and SQUEEZE around
  it change no value, so such a program counts as one call.
- L2_POOL_2D is the root of a mean. It is multiplied by the root of the number of cells.
- There are no gradients: the interpreter runs inference only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from conformance.adapters.api import (
    BLOCK_OPERATORS,
    Bfloat16Conversion,
    Code,
    Lowering,
    ModeSelector,
    Step,
    Surface,
    Unsupported,
    limit_axes,
    unsupported_operators,
)
from conformance.adapters.litert import (
    blocks,
    convolution,
    normalization,
    padding,
    pooling,
    quantization,
    quantized_convolution,
    quantized_pooling,
    resizing,
    words,
)
from conformance.adapters.litert.dtypes import KERNEL_DTYPES, XNNPACK_DTYPES, limit_floats, unsupported_dtypes
from conformance.adapters.litert.graph import GRAPH_SOURCE, graph_lines
from conformance.adapters.litert.options import node, through_plane
from conformance.cases.operators import Requantization, RoundMode

PACKAGES = ("ai_edge_litert", "numpy", "flatbuffers")
THREADS = ""
THREAD_SETTINGS = {"num_threads=1": "num_threads={}"}
SETUP = f"""\
import flatbuffers
import ml_dtypes
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

resolver = OpResolverType.AUTO


{GRAPH_SOURCE}"""
RESET = ""

UNSUPPORTED_OPERATORS = unsupported_operators(
    {
        "min_pool": "LiteRT has no minimum pooling",
        "lp_pool": "L2_POOL_2D divides the sum of squares by the number of cells",
        "adaptive_max_pool": "LiteRT has no adaptive pooling",
        "adaptive_avg_pool": "LiteRT has no adaptive pooling",
    }
)


def _mode(resolver: str) -> ModeSelector:
    """Return a function that selects the kernels of the interpreter."""
    return lambda _case: f"resolver = OpResolverType.{resolver}\n"


def _power(step: Step) -> Code:
    if step.dtype != "float32":
        return Unsupported("POW has no 16-bit numbers")
    return node("POW", ["x", f"np.float32({step.parameters['exponent']})"], "schema.PowOptionsT()")


def _scale(step: Step) -> Code:
    if step.dtype != "float32":
        return Unsupported("MUL rounds its result to 16 bits")
    return node("MUL", ["x", "scale"], "schema.MulOptionsT()")


LOWERINGS: Mapping[str, Lowering] = {
    **limit_axes(
        {
            "max_pool": through_plane(pooling.max_pool),
            "avg_pool": through_plane(pooling.avg_pool),
            "conv": through_plane(convolution.conv),
            "conv_transpose": through_plane(convolution.conv_transpose),
            "quantized_avg_pool": quantized_pooling.avg_pool,
        }
    ),
    "global_max_pool": pooling.global_pool,
    "global_avg_pool": pooling.global_pool,
    "pad": padding.pad,
    **dict.fromkeys(BLOCK_OPERATORS, blocks.blocks),
    "resize": resizing.resize,
    "lrn": normalization.lrn,
    "dequantize": quantization.dequantize,
    "relu": lambda _step: node("RELU", ["x"]),
    **UNSUPPORTED_OPERATORS,
}
FIELDS: dict[str, Any] = {
    "fallbacks": {
        **limit_axes(
            {
                "max_pool": pooling.volume_max_pool,
                "avg_pool": through_plane(pooling.rescaled_avg_pool),
                "lp_pool": through_plane(pooling.lp_pool),
                "adaptive_max_pool": pooling.adaptive_max_pool,
                "adaptive_avg_pool": pooling.pool_of_slices,
                "conv": through_plane(convolution.conv_by_group),
                "conv_transpose": through_plane(convolution.composed_transpose),
            }
        ),
        "pad": padding.gathered_pad,
        "lrn": normalization.fallback,
    },
    "words": words.WORDS,
    "building_blocks": {
        "pad": padding.pad,
        "negate": lambda _step: node("NEG", ["x"]),
        "scale": _scale,
        "power": _power,
        "crop": padding.crop,
        "subsample": padding.subsample,
    },
    "to_framework": {"x": "np.moveaxis({}, 1, -1)"},
    "to_numpy": "np.moveaxis(x, -1, 1)",
    "channels_last": True,
    "bfloat16": Bfloat16Conversion("{}.view(ml_dtypes.bfloat16)", "{}.astype(ml_dtypes.bfloat16)"),
    "wrap_program": graph_lines,
}


def _make_surface(
    name: str,
    dtypes: Mapping[str, frozenset[str]],
    formula: Requantization,
    round_mode: RoundMode,
    mode: ModeSelector | None = None,
    *,
    limit: quantization.QuantizationLimit,
) -> Surface:
    convolve = partial(quantized_convolution.conv, formula, round_mode)
    quantize = partial(quantization.quantize, limit)
    return Surface(
        name,
        {**limit_floats(LOWERINGS, dtypes), **limit_axes({"quantized_conv": convolve}), "quantize": quantize},
        dtypes=dtypes,
        unsupported_dtypes=unsupported_dtypes(dtypes),
        select_mode=mode,
        is_converted=True,
        **FIELDS,
    )


SURFACES = (
    _make_surface(
        "litert", XNNPACK_DTYPES, Requantization.PRODUCT, RoundMode.HALF_EVEN, limit=quantization.xnnpack_limit
    ),
    _make_surface(
        "litert.builtin",
        KERNEL_DTYPES,
        Requantization.FIXED_POINT,
        RoundMode.HALF_UP,
        _mode("BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
        limit=quantization.builtin_limit,
    ),
    _make_surface(
        "litert.reference",
        KERNEL_DTYPES,
        Requantization.FIXED_POINT,
        RoundMode.HALF_AWAY,
        _mode("BUILTIN_REF"),
        limit=quantization.reference_limit,
    ),
)
