"""LiteRT: dtypes that have kernels, without quantization. Observed with version 2.3.0."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import ALL_DTYPES, BLOCK_OPERATORS, FLOATING, Lowering, Unsupported
from conformance.adapters.api.quantization.formulas import (
    QUANTIZE_DTYPES,
    QUANTIZED_CONVOLUTION_DTYPES,
    QUANTIZED_POOLING_DTYPES,
)

POOLING_DTYPES = frozenset({"float32", "int8", "uint8", "int16"})
REDUCTION_DTYPES = POOLING_DTYPES | {"int32", "int64"}
BLOCK_DTYPES = frozenset({"float32", "int8", "uint8", "int32", "int64"})
RESIZE_DTYPES = frozenset({"float32", "int8", "uint8", "int16"})
PAD_DTYPES = REDUCTION_DTYPES | {"float16", "bfloat16", "bool"}
FLOAT32 = frozenset({"float32"})
KERNEL_DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOAT32,
    **dict.fromkeys(("max_pool", "adaptive_max_pool", "avg_pool"), POOLING_DTYPES),
    **dict.fromkeys(("global_max_pool", "global_avg_pool"), REDUCTION_DTYPES),
    "pad": PAD_DTYPES,
    **dict.fromkeys(BLOCK_OPERATORS, BLOCK_DTYPES),
    "resize": RESIZE_DTYPES,
    **QUANTIZE_DTYPES,
    **QUANTIZED_CONVOLUTION_DTYPES,
    **QUANTIZED_POOLING_DTYPES,
}
FLOAT16_OPERATORS = ("avg_pool", "global_max_pool", "global_avg_pool", "relu")
"""Operators that XNNPACK computes in float16, unlike the other kernels."""
XNNPACK_DTYPES = {
    **KERNEL_DTYPES,
    **{operator: KERNEL_DTYPES.get(operator, FLOAT32) | {"float16"} for operator in FLOAT16_OPERATORS},
}
NODE_NAMES: Mapping[str, str] = {
    "max_pool": "MAX_POOL_2D",
    "avg_pool": "AVERAGE_POOL_2D",
    "global_max_pool": "REDUCE_MAX",
    "global_avg_pool": "MEAN",
    "conv": "CONV_2D",
    "conv_transpose": "TRANSPOSE_CONV",
    "pad": "PAD",
    "depth_to_space": "DEPTH_TO_SPACE",
    "space_to_depth": "SPACE_TO_DEPTH",
    "resize": "RESIZE_NEAREST_NEIGHBOR",
    "relu": "RELU",
}


def unsupported_dtypes(supported: Mapping[str, frozenset[str]]) -> dict[str, dict[str, Unsupported]]:
    """Return the reason for each operator and dtype without a kernel."""
    return {
        operator: {
            dtype: Unsupported(f"{name} has no kernel for {dtype} without quantization")
            for dtype in ALL_DTYPES - supported.get(operator, supported[""])
        }
        for operator, name in NODE_NAMES.items()
    }


def limit_floats(lowerings: Mapping[str, Lowering], supported: Mapping[str, frozenset[str]]) -> dict[str, Lowering]:
    """Return lowerings that write no call for floating-point dtypes without a kernel.

    Conventions ask for the rejection of integers only: for another floating-point dtype it is no answer.
    """
    return {operator: _limited(operator, lowering, supported) for operator, lowering in lowerings.items()}


def _limited(operator: str, lowering: Lowering, supported: Mapping[str, frozenset[str]]) -> Lowering:
    missing = FLOATING - supported.get(operator, supported[""])
    return lambda step: Unsupported("no kernel") if step.dtype in missing else lowering(step)
