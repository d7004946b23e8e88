"""Adapter for LiteRT, formerly TensorFlow Lite: models in its format, run by its interpreter. Channels last.

Surfaces are the three sets of kernels of the interpreter: XNNPACK, which it uses by default where XNNPACK has the
operator, the built-in kernels, and the reference kernels.

Differences from a direct translation:

- Convolutions without a bias get a bias of zeros, which CONV_2D needs.
- An operator of one axis is an operator of two axes, the first of which has one cell.
- L2_POOL_2D is the root of a mean. It is multiplied by the root of the number of cells.
- There are no gradients: the interpreter runs inference only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api import (
    ALL_DTYPES,
    Bfloat16Conversion,
    ModeSelector,
    Surface,
    Unsupported,
    limit_axes,
    unsupported_operators,
)
from conformance.adapters.litert import convolution, padding, pooling, words
from conformance.adapters.litert.graph import GRAPH_SOURCE, graph_lines
from conformance.adapters.litert.options import node, through_plane

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

# Types that have kernels, observed with version 2.3.0.
POOLING_DTYPES = frozenset({"float32", "int8", "uint8", "int16"})
PAD_DTYPES = frozenset({"float16", "bfloat16", "float32", "int8", "uint8", "int16", "int32", "int64", "bool"})
REDUCTION_DTYPES = POOLING_DTYPES | {"int32", "int64"}
FLOAT32 = frozenset({"float32"})
DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOAT32,
    "max_pool": POOLING_DTYPES,
    "adaptive_max_pool": POOLING_DTYPES,
    "avg_pool": POOLING_DTYPES,
    "pad": PAD_DTYPES,
    "relu": FLOAT32,
    "global_max_pool": REDUCTION_DTYPES,
    "global_avg_pool": REDUCTION_DTYPES,
}
UNSUPPORTED_OPERATORS = unsupported_operators(
    {
        "min_pool": "LiteRT has no minimum pooling",
        "lp_pool": "L2_POOL_2D divides the sum of squares by the number of cells",
        "adaptive_max_pool": "LiteRT has no adaptive pooling",
        "adaptive_avg_pool": "LiteRT has no adaptive pooling",
    }
)


def _unsupported_dtypes() -> dict[str, dict[str, Unsupported]]:
    """Return the reason for each operator and dtype without a kernel."""
    operators = {
        "max_pool": "MAX_POOL_2D",
        "avg_pool": "AVERAGE_POOL_2D",
        "pad": "PAD",
        "global_max_pool": "REDUCE_MAX",
        "global_avg_pool": "MEAN",
        "conv": "CONV_2D",
        "conv_transpose": "TRANSPOSE_CONV",
    }
    return {
        operator: {
            dtype: Unsupported(f"{name} has no kernel for {dtype} without quantization")
            for dtype in ALL_DTYPES - DTYPES.get(operator, FLOAT32)
        }
        for operator, name in operators.items()
    }


def _mode(resolver: str) -> ModeSelector:
    """Return a function that selects the kernels of the interpreter."""
    return lambda _case: f"resolver = OpResolverType.{resolver}\n"


FIELDS: dict[str, Any] = dict(
    lowerings={
        "max_pool": pooling.max_pool,
        "avg_pool": pooling.avg_pool,
        "global_max_pool": pooling.global_pool,
        "global_avg_pool": pooling.global_pool,
        "conv": convolution.conv,
        "conv_transpose": convolution.conv_transpose,
        "pad": padding.pad,
        "relu": lambda _step: node("RELU", ["x"]),
        **UNSUPPORTED_OPERATORS,
    },
    fallbacks={
        **limit_axes(
            {
                "max_pool": through_plane(pooling.max_pool),
                "avg_pool": through_plane(pooling.rescaled_avg_pool),
                "lp_pool": through_plane(pooling.lp_pool),
                "adaptive_max_pool": pooling.adaptive_pool,
                "conv": through_plane(convolution.conv_by_group),
                "conv_transpose": through_plane(convolution.composed_transpose),
            }
        ),
        "pad": padding.gathered_pad,
    },
    words=words.WORDS,
    chain_words=words.CHAIN_WORDS,
    building_blocks={
        "pad": padding.pad,
        "negate": lambda _step: node("NEG", ["x"]),
        "scale": lambda _step: node("MUL", ["x", "scale"], "schema.MulOptionsT()"),
        "crop": padding.crop,
        "subsample": padding.subsample,
    },
    to_framework={"x": "np.moveaxis({}, 1, -1)"},
    to_numpy="np.moveaxis(x, -1, 1)",
    channels_last=True,
    dtypes=DTYPES,
    unsupported_dtypes=_unsupported_dtypes(),
    bfloat16=Bfloat16Conversion("{}.view(ml_dtypes.bfloat16)", "{}.astype(ml_dtypes.bfloat16)"),
    wrap_program=graph_lines,
)
SURFACES = (
    Surface("litert", **FIELDS),
    Surface("litert.builtin", **FIELDS, select_mode=_mode("BUILTIN_WITHOUT_DEFAULT_DELEGATES")),
    Surface("litert.reference", **FIELDS, select_mode=_mode("BUILTIN_REF")),
)
