"""ONNX: what the adapters of its runtimes share besides the nodes: which types a call takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api.surface import Code, Unsupported, Verb
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.windows import BYTES, FLOATING, Limit
from conformance.cases.arrays import DTYPES
from conformance.cases.steps import Step

SIGNED = frozenset({"int8", "int16", "int32", "int64"})
WHOLE = SIGNED | {f"u{name}" for name in SIGNED}
EVERYTHING = frozenset(DTYPES)
# What the schemas of opset 26 let in.
SCHEMAS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(nodes.VERBS, FLOATING),
    "max_pool": FLOATING | BYTES,
    "max_pool_with_indices": FLOATING | BYTES,
    "pad": EVERYTHING,
    "relu": FLOATING | SIGNED,
}
# Types that some node or composition takes.
TAKEN: Mapping[str, frozenset[str]] = {
    "": FLOATING,
    **dict.fromkeys(("max_pool", "min_pool", "max_unpool", "global_max_pool", "pad"), EVERYTHING),
    **dict.fromkeys(("avg_pool", "global_avg_pool", "max_pool_with_indices"), EVERYTHING - {"bool"}),
    "relu": FLOATING | SIGNED,
}
ASKED = ""  # what stands for the node in a refusal, where questions are put to it all the same


def limited(limit: Limit) -> Mapping[str, Verb]:
    """Return the verbs of all nodes, as far as nothing is known to refuse them."""
    return {name: partial(_limited, verb, limit) for name, verb in nodes.VERBS.items()}


def _limited(verb: Verb, limit: Limit, step: Step) -> Code:
    written, refusal = verb(step), limit(step)
    if refusal is None or isinstance(written, Unsupported):
        return written
    return replace(refusal, refused=written) if refusal.refused is not None else refusal


def beside_schema(step: Step) -> Unsupported | None:
    """Return what the schema of an operator does not let in; questions are put to the call all the same."""
    if step.dtype in SCHEMAS[step.verb]:
        return None
    return Unsupported(f"the schema of {nodes.KINDS[step.verb]} lets in no {step.dtype}", refused=ASKED)


def large_output(step: Step) -> Unsupported | None:
    """Return what both runtimes refuse: more output padding than the stride, though the holes are larger.

    The schema says "less than the corresponding stride/dilation dimension".
    """
    pairs = zip(step.parameters.get("output_padding", ()), step.stride or (), strict=False)
    if any(more >= stride for more, stride in pairs):
        return Unsupported("output_padding must be smaller than the stride, whatever the dilation is", refused=ASKED)
    return None


def without(refuses: Mapping[str, Mapping[str, Unsupported]]) -> Mapping[str, frozenset[str]]:
    """Return the types that are taken, but for those that are refused."""
    verbs = {"": FLOATING, **dict.fromkeys(refuses, FLOATING), **TAKEN}
    return {verb: types - refuses[""].keys() - refuses.get(verb, {}).keys() for verb, types in verbs.items()}
