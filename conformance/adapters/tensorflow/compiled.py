"""The calls of `tf.nn` in a function that XLA compiles: what it has no translation of, and how the rest is wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.adapters.api.source_text import INDENT
from conformance.adapters.api.surface import Code, Differentiation, Unsupported
from conformance.adapters.tensorflow import composed as eager
from conformance.adapters.tensorflow import pooling
from conformance.adapters.tensorflow.dtypes import named
from conformance.cases.steps import Step

NO_PADS = Unsupported("XLA does not support pooling with explicit padding")
NO_ARGMAX = Unsupported("No registered 'MaxPoolWithArgmax' OpKernel for XLA_CPU_JIT devices")


def compiled(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Make the lines one function that XLA compiles."""
    given = ", ".join(names)
    return (
        "@tf.function(jit_compile=True)",
        f"def compiled({given}):",
        *(f"{INDENT}{line}" for line in (*lines, "return x")),
        f"x = compiled({given})",
    )


def compiled_with(differentiate: Differentiation) -> Differentiation:
    """Make the lines and how they are differentiated one such function."""
    return lambda lines, names, wanted: compiled(differentiate(lines, names, wanted), ["grad", *names])


def max_pool(step: Step) -> Code:
    """Write the call, but for padding that it names number by number."""
    text = pooling.max_pool(step)
    return replace(NO_PADS, refused=text) if isinstance(text, str) and named(step) is None else text


def with_argmax(_step: Step) -> Code:
    """Write nothing: there is a call, which XLA does not know."""
    return NO_ARGMAX


def _with_indices(step: Step) -> Code:
    """The values by pooling; the first of the stacked places that hold the largest."""
    if step.parameters.get("output") == "indices":
        return eager.stacked_places(step)
    text = max_pool(step)
    return eager.stacked_max_anywhere(step) if isinstance(text, Unsupported) else text


COMPOSED = {
    **eager.COMPOSED,
    "max_pool_with_indices": _with_indices,
    # Only the kernel outside XLA wants fewer axes, and the way round it asks for a length that a graph does not know.
    "softmax_pool": eager.STACKED.softmax_pool,
}
