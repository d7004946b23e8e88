"""The calls of `tf.nn` in a function that XLA compiles: what it has no translation of, and how the rest is wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.adapters.api.source_text import INDENT
from conformance.adapters.api.surface import Code, GradientWriter, Unsupported
from conformance.adapters.tensorflow import composed as eager
from conformance.adapters.tensorflow import pooling
from conformance.adapters.tensorflow.dtypes import padding_name
from conformance.cases.steps import Step

NO_EXPLICIT_PADDING = Unsupported("XLA does not support pooling with explicit padding")
NO_ARGMAX = Unsupported("No registered 'MaxPoolWithArgmax' OpKernel for XLA_CPU_JIT devices")


def compile_with_xla(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Make the lines one function that XLA compiles."""
    given = ", ".join(names)
    return (
        "@tf.function(jit_compile=True)",
        f"def compiled({given}):",
        *(f"{INDENT}{line}" for line in (*lines, "return x")),
        f"x = compiled({given})",
    )


def compile_gradient_with_xla(differentiate: GradientWriter) -> GradientWriter:
    """Make the lines and how they are differentiated one such function."""
    return lambda lines, names, wanted: compile_with_xla(differentiate(lines, names, wanted), ["grad", *names])


def max_pool(step: Step) -> Code:
    """Write the call, but for padding that it names number by number."""
    text = pooling.max_pool(step)
    return (
        replace(NO_EXPLICIT_PADDING, rejected_call=text)
        if isinstance(text, str) and padding_name(step) is None
        else text
    )


def max_pool_with_argmax(_step: Step) -> Code:
    """Write nothing: there is a call, which XLA does not know."""
    return NO_ARGMAX


def _max_pool_with_indices(step: Step) -> Code:
    """The values by pooling; the first of the stacked places that hold the largest."""
    if step.parameters.get("output") == "indices":
        return eager.stacked_max_indices(step)
    text = max_pool(step)
    return eager.stacked_max_pool_all_dtypes(step) if isinstance(text, Unsupported) else text


FALLBACKS = {
    **eager.FALLBACKS,
    "max_pool_with_indices": _max_pool_with_indices,
    # Only the kernel outside XLA wants fewer axes, and the way round it asks for a length that a graph does not know.
    "softmax_pool": eager.STACKED_WINDOWS.softmax_pool,
}
