"""Convolutions of `jax.lax`, channels first."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api import (
    Code,
    PerAxisPairs,
    Step,
    Unsupported,
    axis_letters,
    call,
    groups_argument,
    is_framework_same,
    number,
    tuple_of,
    uses_framework_defaults,
)
from conformance.adapters.jax.windows import jit_lines, padding_text

MAX_RANK = 3
NO_BIAS = Unsupported("lax convolutions have no bias")
# A negative output padding would be a crop at the end, which padding expresses already.
NO_OUTPUT_PADDING = Unsupported("the output size is determined by padding alone, not by output_padding")
TOO_MANY_AXES = Unsupported("more than three spatial axes are not supported")


def dilation_text(step: Step) -> str | None:
    """Return the dilation as text, or None if it is 1."""
    # Unlike other frameworks, XLA takes no single number for all axes.
    return tuple_of(step.dilation) if step.dilated else None


def _convolution_lines(step: Step, *lines: str) -> Code:
    """Return a compiled function of lines that convolve, and of the bias addition if there is a bias."""
    # The bias is broadcast over the spatial axes: channels first, so it needs trailing axes of 1.
    add_bias = f"x = x + bias.reshape(1, -1{', 1' * step.rank})"
    names = ("x", "kernel", "bias") if step.bias else ("x", "kernel")
    return jit_lines(*lines, *(add_bias,) * step.bias, names=names, called="convolve")


def lax_conv(step: Step) -> Code:
    """Return `lax.conv_general_dilated`."""
    if step.bias:
        return NO_BIAS
    arguments = (tuple_of(step.stride or ()), padding_text(step.padding, step))
    return call(
        "lax.conv_general_dilated",
        "x",
        "kernel",
        *arguments,
        rhs_dilation=dilation_text(step),
        feature_group_count=groups_argument(step),
    )


def biased_conv(step: Step) -> Code:
    """Return the convolution followed by the bias addition."""
    return _convolution_lines(step, f"x = {lax_conv(replace(step, bias=False))}")


def _adjoint_padding(step: Step) -> PerAxisPairs:
    """Return the padding of the forward convolution, with the output padding subtracted from the end."""
    axes = zip(step.padding, step.parameters["output_padding"], strict=True)
    return tuple((before, after - added) for (before, after), added in axes)


def transposed_padding(step: Step) -> PerAxisPairs:
    """Return the padding of the dilated input: the reach of the kernel minus the padding of the forward convolution."""
    # The gradient of a convolution that pads by p pads by reach - 1 - p: padding more reads less of the border.
    axes = zip(step.window, step.dilation, _adjoint_padding(step), strict=True)
    return tuple((d * (w - 1) - before, d * (w - 1) - after) for w, d, (before, after) in axes)


def unsupported_with_defaults(step: Step) -> Unsupported | None:
    """Return why a call with the default orientation of the kernel does not support the step; None if it does.

    Convention cases write such calls.
    """
    if any(step.parameters["output_padding"]):
        return Unsupported("transposed convolution has no output padding")
    return (
        None if is_framework_same(step) or not step.padded else Unsupported("the padding applies to the dilated input")
    )


def lax_transpose(step: Step) -> Code:
    """Return `lax.conv_transpose`.

    With `use_consistent_padding`, explicit padding means the padding of the forward convolution, as in the catalogue.
    """
    if step.bias:
        return NO_BIAS
    if step.parameters["groups"] != 1:
        return Unsupported("lax.conv_transpose has no groups")
    # The reference accepts output padding of any size; for XLA it is padding of the dilated input.
    if min(step.parameters["output_padding"]) < 0:
        return NO_OUTPUT_PADDING
    if step.rank > MAX_RANK:
        return TOO_MANY_AXES
    stride = tuple_of(step.stride or ())
    if uses_framework_defaults(step):
        padding, names = padding_text(step.padding, step), _dimension_numbers(step, "IO")
        return unsupported_with_defaults(step) or call(
            "lax.conv_transpose", "x", "kernel", stride, padding, dimension_numbers=names
        )
    return call(
        "lax.conv_transpose",
        "x",
        "kernel",
        stride,
        str(_adjoint_padding(step)),
        rhs_dilation=dilation_text(step),
        # transpose_kernel flips the spatial axes of the kernel and swaps its channel axes, hence "OI" instead of "IO".
        dimension_numbers=_dimension_numbers(step, "OI"),
        transpose_kernel="True",
        use_consistent_padding="True",
    )


def _dimension_numbers(step: Step, kernel_channels: str) -> str:
    """Return the axes of input, kernel and output. By default, lax.conv_transpose expects channels last."""
    names = axis_letters(step.rank)
    return f'("NC{names}", "{kernel_channels}{names}", "NC{names}")'


def composed_transpose(step: Step) -> Code:
    """Return the call with the bias addition, or for groups a convolution of the dilated input.

    The convolution needs a kernel that is flipped along the spatial axes, with input and output channels swapped.
    """
    if step.parameters["groups"] == 1:
        text = lax_transpose(replace(step, bias=False))
        return text if isinstance(text, Unsupported) else _convolution_lines(step, f"x = {text}")
    groups, (channels, outputs), window = int(step.parameters["groups"]), step.kernel[:2], step.window
    split = tuple_of((groups, channels // groups, outputs, *window))
    merged = tuple_of((groups * outputs, channels // groups, *window))
    # lax.conv_general_dilated has groups, lax.conv_transpose does not. lhs_dilation inserts stride - 1 zeros between
    # the cells of the input.
    flipped = f"jnp.flip(kernel, {tuple_of(range(2, 2 + step.rank))}).reshape{split}"
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
    return _convolution_lines(step, f"turned = {flipped}.swapaxes(1, 2).reshape{merged}", f"x = {convolved}")
