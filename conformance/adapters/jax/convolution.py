"""Convolutions of `jax.lax`, channels first."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api.source_text import (
    call,
    is_framework_same,
    number,
    text_unless_default,
    tuple_of,
    uses_framework_defaults,
)
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.jax.windows import jit_lines, padding_text
from conformance.cases.steps import PerAxisPairs, Step

SPATIAL_LETTERS = "DHW"
NO_BIAS = Unsupported("lax convolutions have no bias")
NO_OUTPUT_PADDING = Unsupported("padding alone says how far the output goes")
TOO_MANY_AXES = Unsupported("axes beyond three have no names here")


def dilation_text(step: Step) -> str | None:
    """Return the dilation, None where there are no holes."""
    return tuple_of(step.dilation) if step.dilated else None


def _convolution_lines(step: Step, *lines: str) -> Code:
    """Return lines that convolve, and add the bias if there is one, as one function."""
    added = f"x = x + bias.reshape(1, -1{', 1' * step.rank})"
    names = ("x", "kernel", "bias") if step.bias else ("x", "kernel")
    return jit_lines(*lines, *(added,) * step.bias, names=names, called="convolve")


def lax_conv(step: Step) -> Code:
    """Return the call."""
    if step.bias:
        return NO_BIAS
    groups = text_unless_default(1, step.parameters["groups"])
    arguments = (tuple_of(step.stride or ()), padding_text(step.padding, step))
    return call(
        "lax.conv_general_dilated",
        "x",
        "kernel",
        *arguments,
        rhs_dilation=dilation_text(step),
        feature_group_count=groups,
    )


def biased_conv(step: Step) -> Code:
    """Return the call, and the bias added."""
    return _convolution_lines(step, f"x = {lax_conv(replace(step, bias=False))}")


def _adjoint_padding(step: Step) -> PerAxisPairs:
    """Return the padding of the convolution whose adjoint it is, shorter by the output padding."""
    further = zip(step.padding, step.parameters["output_padding"], strict=True)
    return tuple((before, after - more) for (before, after), more in further)


def transposed_padding(step: Step) -> PerAxisPairs:
    """Return the padding around the input with its holes: what the kernel reaches, less the padding of the output."""
    axes = zip(step.window, step.dilation, _adjoint_padding(step), strict=True)
    return tuple((d * (w - 1) - before, d * (w - 1) - after) for w, d, (before, after) in axes)


def unsupported_orientation(step: Step) -> Unsupported | None:
    """Return why a question cannot be put to a call that names no orientation of its kernel, None where it can."""
    if any(step.parameters["output_padding"]):
        return Unsupported("transposed convolution has no output padding")
    return (
        None
        if is_framework_same(step) or not step.padded
        else Unsupported("the padding is around the input with holes")
    )


def lax_transpose(step: Step) -> Code:
    """Return the call; only with consistent padding its numbers are those of the convolution."""
    if step.bias:
        return NO_BIAS
    if step.parameters["groups"] != 1:
        return Unsupported("lax.conv_transpose has no groups")
    if min(step.parameters["output_padding"]) < 0:
        return NO_OUTPUT_PADDING
    if step.rank > len(SPATIAL_LETTERS):
        return TOO_MANY_AXES
    names = SPATIAL_LETTERS[-step.rank :]
    if uses_framework_defaults(step):
        return unsupported_orientation(step) or call(
            "lax.conv_transpose",
            "x",
            "kernel",
            tuple_of(step.stride or ()),
            padding_text(step.padding, step),
            dimension_numbers=str((f"NC{names}", f"IO{names}", f"NC{names}")).replace("'", '"'),
        )
    return call(
        "lax.conv_transpose",
        "x",
        "kernel",
        tuple_of(step.stride or ()),
        str(_adjoint_padding(step)),
        rhs_dilation=dilation_text(step),
        dimension_numbers=str((f"NC{names}", f"OI{names}", f"NC{names}")).replace("'", '"'),
        transpose_kernel="True",
        use_consistent_padding="True",
    )


def composed_transpose(step: Step) -> Code:
    """Return the convolution of the input with holes; its kernel is turned round and its groups put in order."""
    if step.parameters["groups"] == 1:
        answer = lax_transpose(replace(step, bias=False))
        return answer if isinstance(answer, Unsupported) else _convolution_lines(step, f"x = {answer}")
    groups, (channels, outputs), window = int(step.parameters["groups"]), step.kernel[:2], step.window
    parts = tuple_of((groups, channels // groups, outputs, *window))
    whole = tuple_of((groups * outputs, channels // groups, *window))
    turned = f"jnp.flip(kernel, {tuple_of(range(2, 2 + step.rank))}).reshape{parts}"
    convolved = call(
        "lax.conv_general_dilated",
        "x",
        "turned",
        tuple_of((1,) * step.rank),
        str(transposed_padding(step)),
        lhs_dilation=tuple_of(step.stride or ()),
        rhs_dilation=dilation_text(step),
        feature_group_count=number(groups),
    )
    return _convolution_lines(step, f"turned = {turned}.swapaxes(1, 2).reshape{whole}", f"x = {convolved}")
