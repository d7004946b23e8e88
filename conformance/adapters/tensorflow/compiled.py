"""`tf.nn` inside a `tf.function`: compiled by XLA, and as a graph for inputs of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.adapters.api import (
    FLOATING,
    Code,
    GradientWriter,
    Sizes,
    Step,
    Surface,
    Unsupported,
    calls_with_other_sizes,
    function_lines,
    too_many_axes,
)
from conformance.adapters.api.resizing.rules import CROP, has_plain_kernel
from conformance.adapters.tensorflow import columns, composed, pooling, resizing
from conformance.adapters.tensorflow.dtypes import padding_name
from conformance.cases.operators import ResizeMode

NO_EXPLICIT_PADDING = Unsupported("XLA does not support pooling with explicit padding")
# The messages are those of XLA.
NO_ARGMAX = Unsupported("No registered 'MaxPoolWithArgmax' OpKernel for XLA_CPU_JIT devices")

NO_RESIZE_KERNEL = Unsupported(
    "No registered 'ScaleAndTranslate', 'ResizeArea' or 'ResizeBicubic' OpKernel for XLA_CPU_JIT devices"
)
NO_PATCHES = Unsupported("No registered 'ExtractImagePatches' OpKernel for XLA_CPU_JIT devices, for this dtype")
PATCH_DTYPES = FLOATING | {"int32"}
NO_CROP_KERNEL = Unsupported("No registered 'CropAndResize' OpKernel for XLA_CPU_JIT devices")


def resize(step: Step) -> Code:
    """Return the call, for the modes that XLA has."""
    is_cubic = step.parameters["mode"] == ResizeMode.CUBIC
    if step.parameters.get("coordinates") == CROP:
        return NO_CROP_KERNEL
    return NO_RESIZE_KERNEL if is_cubic or not has_plain_kernel(step) else resizing.resize(step)


def unfold(step: Step) -> Code:
    """Return the call, for the dtypes that XLA has."""
    text = columns.unfold(step)
    return text if isinstance(text, Unsupported) or step.dtype in PATCH_DTYPES else NO_PATCHES


def compile_with_xla(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return the lines as one function that XLA compiles."""
    # Without jit_compile, a tf.function is a graph of the same kernels that separate calls use.
    return function_lines("@tf.function(jit_compile=True)", "compiled", lines, names)


def compile_gradient_with_xla(write_gradient: GradientWriter) -> GradientWriter:
    """Return a gradient writer whose lines are one function that XLA compiles."""
    return lambda lines, names, input_name: compile_with_xla(write_gradient(lines, names, input_name), ["grad", *names])


def dynamic_surface(surface: Surface, sizes: Sizes) -> Surface:
    """Return the surface with graphs whose inputs have no fixed extents, run with other sizes first."""
    sizes = {name: one.channels_last() if name in {"x", "grad", "draws"} else one for name, one in sizes.items()}

    def build_graph(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        used = {name: one for name, one in sizes.items() if name in names}
        specs = ", ".join(
            f"tf.TensorSpec({list(used[name].dimensions()) if name in used else f'{name}.shape'}, {name}.dtype)"
            for name in names
        )
        *definition, call = function_lines(f"@tf.function(input_signature=[{specs}])", "graph", lines, names)
        return (*definition, *calls_with_other_sizes(used, names, "graph({})", "tf.ones({shape}, {name}.dtype)"), call)

    write_gradient = surface.write_gradient

    def gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
        assert write_gradient  # noqa: S101 - the surface has one
        return build_graph(write_gradient(lines, names, input_name), ["grad", *names])

    return replace(surface, wrap_program=build_graph, write_gradient=gradient)


def max_pool(step: Step) -> Code:
    """Return the call, unless its padding is explicit."""
    text = pooling.max_pool(step)
    return (
        replace(NO_EXPLICIT_PADDING, rejected_call=text)
        if isinstance(text, str) and padding_name(step) is None
        else text
    )


def max_pool_with_argmax(_step: Step) -> Code:
    """Return unsupported: the call exists, but XLA cannot compile it."""
    return NO_ARGMAX


def _max_pool_with_indices(step: Step) -> Code:
    """Return the maxima by pooling, or the first position in each window at which the stacked values are largest."""
    if step.parameters.get("output") == "indices":
        return composed.stacked_max_indices(step)
    text = too_many_axes(step) or max_pool(step)
    return composed.stacked_max_pool_all_dtypes(step) if isinstance(text, Unsupported) else text


FALLBACKS = {
    **composed.FALLBACKS,
    "max_pool_with_indices": _max_pool_with_indices,
    "softmax_pool": composed.GRAPH_COMPOSED.softmax_pool,
}
