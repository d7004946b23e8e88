"""`tf.nn` with channels first, as its `data_format` says; kernels stay (*window, in/groups, out)."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api.source_text import (
    call,
    is_framework_same,
    pairs_for_all_axes,
    pairs_of,
    per_axis,
    tuple_of,
)
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.tensorflow import composed as last
from conformance.adapters.tensorflow import pooling
from conformance.adapters.tensorflow.convolution import NO_BIAS, NO_GROUPS_3D, native_convolution, native_transpose
from conformance.adapters.tensorflow.dtypes import (
    NO_STRIDED_DILATION,
    ONEDNN_DTYPES,
    VOLUME_RANK,
    ones_per_axis,
    padding_name,
)
from conformance.cases.steps import Step

DATA_FORMATS = {1: '"NCW"', 2: '"NCHW"', 3: '"NCDHW"'}
ONEDNN_ONLY = Unsupported("channels come first in float32 and bfloat16 only on the CPU, in the kernels of oneDNN")
NO_EXPLICIT_PADDING = Unsupported(
    "Default MaxPoolingOp only supports NHWC on device type CPU: explicit padding is not oneDNN's"
)
NO_POOLING_GRADIENT = Unsupported("Default MaxPoolingGradOp only supports NHWC on device type CPU")


def _with_data_format(step: Step, text: Code) -> Code:
    """Add the format to a call."""
    if isinstance(text, Unsupported) or step.dtype not in ONEDNN_DTYPES:
        return replace(text, rejected_call=None) if isinstance(text, Unsupported) else ONEDNN_ONLY
    assert isinstance(text, str)  # noqa: S101 - one call
    return f"{text[:-1]}, data_format={DATA_FORMATS[step.rank]})"


def max_pool(step: Step) -> Code:
    """Write the call, whose padding is VALID or SAME."""
    text = NO_POOLING_GRADIENT if step.gradient else pooling.max_pool(step)
    return (
        NO_EXPLICIT_PADDING if isinstance(text, str) and padding_name(step) is None else _with_data_format(step, text)
    )


def avg_pool(step: Step) -> Code:
    """Write the call."""
    return _with_data_format(step, pooling.avg_pool(step))


def conv(step: Step) -> Code:
    """Write a convolution as one call; `tf.nn.convolution` takes the numbers of three axes as of two."""
    if step.bias or padding_name(step) is None:
        return NO_BIAS if step.bias else Unsupported("padding is VALID or SAME where channels come first")
    if step.rank != VOLUME_RANK:
        return _with_data_format(step, native_convolution(step))
    if step.parameters["groups"] != 1 or (step.dilated and step.stride != ones_per_axis(step)):
        return NO_GROUPS_3D if step.parameters["groups"] != 1 else NO_STRIDED_DILATION
    strides = per_axis(step.stride) if step.stride != ones_per_axis(step) else None
    dilations = per_axis(step.dilation) if step.dilated else None
    words = {"strides": strides, "padding": f'"{padding_name(step)}"', "dilations": dilations}
    return _with_data_format(step, call("tf.nn.convolution", "x", "kernel", **words))


def conv_transpose(step: Step) -> Code:
    """Write a transposed convolution as one call, which is told the shape of its output."""
    text = native_transpose(step)
    if isinstance(text, str):
        multiplied = [size * by for size, by in zip(step.shape[2:], step.stride or ones_per_axis(step), strict=True)]
        n, c, spatial = step.shape[0], step.channels, multiplied if is_framework_same(step) else step.output[2:]
        text = text.replace(tuple_of([n, *spatial, c]), tuple_of([n, c, *spatial]))
    return _with_data_format(step, text)


def pad(step: Step) -> Code:
    """Write `tf.pad`, channels first."""
    text = last.pad(step)
    if isinstance(text, Unsupported):
        return replace(text, rejected_call=_reverse_pads(step, text.rejected_call))
    return _reverse_pads(step, text) or text


def _reverse_pads(step: Step, text: Code | None) -> str | None:
    """Return a call with its pads in the other order."""
    theirs, ours = (pairs_of(pairs_for_all_axes(step.padding, channels_last=order)) for order in (True, False))
    return text.replace(theirs, ours) if isinstance(text, str) else None


def with_bias(step: Step) -> Code:
    """Write the bias after a convolution."""
    text = conv(replace(step, bias=False))
    if isinstance(text, Unsupported) or not step.bias:
        return text
    return (f"x = {text}", f"x = {_with_data_format(step, 'tf.nn.bias_add(x, bias)')}")
