"""ONNX: what the adapters of its runtimes share besides the nodes: which types a call takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.windows import BYTE_INTEGERS, FLOATING, NodeLimit
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.steps import Step

SIGNED_INTEGERS = frozenset({"int8", "int16", "int32", "int64"})
INTEGERS = SIGNED_INTEGERS | {f"u{name}" for name in SIGNED_INTEGERS}
ALL_DTYPES = frozenset(NUMPY_DTYPES)
# What the schemas of opset 26 let in.
SCHEMA_DTYPES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(nodes.NODE_LOWERINGS, FLOATING),
    "max_pool": FLOATING | BYTE_INTEGERS,
    "max_pool_with_indices": FLOATING | BYTE_INTEGERS,
    "pad": ALL_DTYPES,
    "relu": FLOATING | SIGNED_INTEGERS,
}
# Types that some node or composition takes.
SUPPORTED_DTYPES: Mapping[str, frozenset[str]] = {
    "": FLOATING,
    **dict.fromkeys(("max_pool", "min_pool", "max_unpool", "global_max_pool", "pad"), ALL_DTYPES),
    **dict.fromkeys(("avg_pool", "global_avg_pool", "max_pool_with_indices"), ALL_DTYPES - {"bool"}),
    "relu": FLOATING | SIGNED_INTEGERS,
}
ANY_CALL = ""  # what stands for the node in a refusal, where questions are put to it all the same


def limited_lowerings(limit: NodeLimit) -> Mapping[str, Lowering]:
    """Return the verbs of all nodes, as far as nothing is known to refuse them."""
    return {name: partial(_lower_within_limit, verb, limit) for name, verb in nodes.NODE_LOWERINGS.items()}


def _lower_within_limit(lowering: Lowering, limit: NodeLimit, step: Step) -> Code:
    written, refusal = lowering(step), limit(step)
    if refusal is None or isinstance(written, Unsupported):
        return written
    return replace(refusal, rejected_call=written) if refusal.rejected_call is not None else refusal


def unsupported_by_schema(step: Step) -> Unsupported | None:
    """Return what the schema of an operator does not let in; questions are put to the call all the same."""
    if step.dtype in SCHEMA_DTYPES[step.operator]:
        return None
    return Unsupported(
        f"the schema of {nodes.NODE_TYPES[step.operator]} lets in no {step.dtype}", rejected_call=ANY_CALL
    )


def unsupported_output_padding(step: Step) -> Unsupported | None:
    """Return what both runtimes refuse: more output padding than the stride, though the holes are larger.

    The schema says "less than the corresponding stride/dilation dimension".
    """
    pairs = zip(step.parameters.get("output_padding", ()), step.stride or (), strict=False)
    if any(more >= stride for more, stride in pairs):
        return Unsupported(
            "output_padding must be smaller than the stride, whatever the dilation is", rejected_call=ANY_CALL
        )
    return None


def dtypes_without(refuses: Mapping[str, Mapping[str, Unsupported]]) -> Mapping[str, frozenset[str]]:
    """Return the types that are taken, but for those that are refused."""
    verbs = {"": FLOATING, **dict.fromkeys(refuses, FLOATING), **SUPPORTED_DTYPES}
    return {verb: types - refuses[""].keys() - refuses.get(verb, {}).keys() for verb, types in verbs.items()}
