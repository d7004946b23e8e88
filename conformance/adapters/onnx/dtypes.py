"""ONNX: dtypes that nodes and compositions take, shared by the adapters of its runtimes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api import ALL_DTYPES, BLOCK_OPERATORS, FLOATING, Code, Lowering, Step, Unsupported
from conformance.adapters.api.quantization.formulas import (
    CONV_INTEGER_DTYPES,
    QUANTIZE_DTYPES,
    QUANTIZED_CONVOLUTION_DTYPES,
)
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.windows import BYTE_INTEGERS, NodeLimit
from conformance.adapters.onnx.words import NODE_WORDS

SIGNED_INTEGERS = frozenset({"int8", "int16", "int32", "int64"})
# Types that the schemas of opset 26 allow.
SCHEMA_DTYPES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(nodes.NODE_LOWERINGS, FLOATING),
    # MaxPool takes int8 and uint8 since opset 12, for quantized models.
    "max_pool": FLOATING | BYTE_INTEGERS,
    "max_pool_with_indices": FLOATING | BYTE_INTEGERS,
    "pad": ALL_DTYPES,
    "resize": ALL_DTYPES,
    **QUANTIZE_DTYPES,
    **QUANTIZED_CONVOLUTION_DTYPES,
    **CONV_INTEGER_DTYPES,
    **dict.fromkeys(BLOCK_OPERATORS, ALL_DTYPES),
    "fold": ALL_DTYPES,
    "relu": FLOATING | SIGNED_INTEGERS,
}
# Types that a node or a composition takes.
SUPPORTED_DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOATING,
    **dict.fromkeys(("max_pool", "min_pool", "max_unpool", "global_max_pool", "pad", "resize"), ALL_DTYPES),
    **dict.fromkeys(BLOCK_OPERATORS, ALL_DTYPES),
    **QUANTIZE_DTYPES,
    **QUANTIZED_CONVOLUTION_DTYPES,
    **CONV_INTEGER_DTYPES,
    # A sum of bool has no meaning in the suite, and ArgMax takes no bool.
    **dict.fromkeys(("avg_pool", "global_avg_pool", "max_pool_with_indices", "fold"), ALL_DTYPES - {"bool"}),
    "relu": FLOATING | SIGNED_INTEGERS,
}
ANY_CALL = ""
"""Placeholder of a rejected call: _lower_within_limit replaces it by the node."""


def limited_lowerings(limit: NodeLimit, own: Mapping[str, Lowering] | None = None) -> Mapping[str, Lowering]:
    """Return the lowerings of all nodes; each is unsupported where the limit gives a reason.

    own: lowerings that replace those of the ONNX adapter.
    """
    lowerings = {**nodes.NODE_LOWERINGS, **(own or {})}
    return {name: partial(_lower_within_limit, lowering, limit) for name, lowering in lowerings.items()}


def limited_words(limit: NodeLimit) -> Mapping[str, Lowering]:
    """Return the nodes with words of the framework; each is unsupported where the limit gives a reason."""
    return {name: partial(_lower_within_limit, lowering, limit) for name, lowering in NODE_WORDS.items()}


def _lower_within_limit(lowering: Lowering, limit: NodeLimit, step: Step) -> Code:
    # The node's own reason comes first: where the node cannot be written, no runtime can reject it.
    code, unsupported = lowering(step), limit(step)
    if unsupported is None or isinstance(code, Unsupported):
        return code
    return replace(unsupported, rejected_call=code) if unsupported.rejected_call is not None else unsupported


def unsupported_by_schema(step: Step) -> Unsupported | None:
    """Return the reason if the schema does not allow the dtype; convention cases still run the call."""
    if step.dtype in SCHEMA_DTYPES[step.operator]:
        return None
    return Unsupported(
        f"the schema of {nodes.NODE_TYPES[step.operator]} does not allow {step.dtype}", rejected_call=ANY_CALL
    )


def unsupported_output_padding(step: Step) -> Unsupported | None:
    """Return the reason if output padding is not below the stride, which both runtimes reject.

    The schema requires it to be "less than the corresponding stride/dilation dimension".
    """
    pairs = zip(step.parameters.get("output_padding", ()), step.stride or (), strict=False)
    if any(extra >= stride for extra, stride in pairs):
        return Unsupported(
            "output_padding must be smaller than the stride, even if the dilation is larger", rejected_call=ANY_CALL
        )
    return None


def dtypes_without(unsupported: Mapping[str, Mapping[str, Unsupported]]) -> Mapping[str, frozenset[str]]:
    """Return SUPPORTED_DTYPES without the unsupported ones, by operator; "" applies to all operators."""
    supported = {"": FLOATING, **dict.fromkeys(unsupported, FLOATING), **SUPPORTED_DTYPES}
    return {
        operator: dtypes - unsupported.get("", {}).keys() - unsupported.get(operator, {}).keys()
        for operator, dtypes in supported.items()
    }
