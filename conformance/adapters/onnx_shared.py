"""ONNX: what the adapters of its runtimes share besides the nodes: which types a call takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.adapter import Code, Unsupported, Verb
from conformance.adapters import onnx_nodes as nodes
from conformance.steps import Step
from conformance.values import DTYPES

FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})
BYTES = frozenset({"int8", "uint8"})
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
Limit = Callable[[str, str], str]
"""Why the node of a kind does not take a type, "" where it does."""


def limited(why_not: Limit) -> Mapping[str, Verb]:
    """Return the verbs that refuse types for which there is a reason; their calls are what questions ask about."""
    return {verb: _limited(verb, answer, why_not) for verb, answer in nodes.VERBS.items()}


def _limited(name: str, verb: Verb, why_not: Limit) -> Verb:
    def answer(step: Step) -> Code:
        written, reason = verb(step), why_not(name, step.dtype)
        if not reason or isinstance(written, Unsupported):
            return written
        return Unsupported(reason, refused=written)

    return answer


def beside_schema(verb: str, dtype: str) -> str:
    """Return why the schema of an operator does not let a type in."""
    return "" if dtype in SCHEMAS[verb] else f"the schema of {nodes.KINDS[verb]} lets in no {dtype}"
