"""`tf.nn` with channels first, selected by `data_format`. Kernels are (*window, in/groups, out) in both layouts."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    axis_letters,
    call,
    dilation_argument,
    is_framework_same,
    pairs_for_all_axes,
    pairs_of,
    stride_argument,
    tuple_of,
)
from conformance.adapters.tensorflow import composed, pooling, words
from conformance.adapters.tensorflow.convolution import NO_BIAS, NO_GROUPS_3D, native_convolution, native_transpose
from conformance.adapters.tensorflow.dtypes import (
    NO_STRIDED_DILATION,
    ONEDNN_DTYPES,
    VOLUME_RANK,
    ones_per_axis,
    padding_name,
)

ONEDNN_ONLY = Unsupported("channels first is supported on the CPU for float32 and bfloat16 only, by oneDNN")
NO_EXPLICIT_PADDING = Unsupported(
    "Default MaxPoolingOp only supports NHWC on device type CPU: oneDNN has no explicit padding"
)
NO_POOLING_GRADIENT = Unsupported("Default MaxPoolingGradOp only supports NHWC on device type CPU")


def _with_data_format(step: Step, text: Code) -> Code:
    """Add the `data_format` argument to a call."""
    # A rejected call is text for channels last and does not apply to this surface.
    if isinstance(text, Unsupported) or step.dtype not in ONEDNN_DTYPES:
        return replace(text, rejected_call=None) if isinstance(text, Unsupported) else ONEDNN_ONLY
    assert isinstance(text, str)  # noqa: S101 - every lowering here is a single call
    return f'{text[:-1]}, data_format="NC{axis_letters(step.rank)}")'


def max_pool(step: Step) -> Code:
    """Return the call, with VALID or SAME padding."""
    # The forward call works, so a model can be run with channels first on a CPU, but not trained.
    text = NO_POOLING_GRADIENT if step.gradient else pooling.max_pool(step)
    return (
        NO_EXPLICIT_PADDING if isinstance(text, str) and padding_name(step) is None else _with_data_format(step, text)
    )


def avg_pool(step: Step) -> Code:
    """Return the call."""
    return _with_data_format(step, pooling.avg_pool(step))


def conv(step: Step) -> Code:
    """Return a convolution as one call.

    In three dimensions it is `tf.nn.convolution`, whose strides and dilations have one number for each spatial axis.
    """
    if step.bias or padding_name(step) is None:
        return NO_BIAS if step.bias else Unsupported("padding is VALID or SAME with channels first")
    if step.rank != VOLUME_RANK:
        return _with_data_format(step, native_convolution(step))
    # In three dimensions, the CPU has no groups, and no call combines strides with dilations.
    if step.parameters["groups"] != 1 or (step.dilated and step.stride != ones_per_axis(step)):
        return NO_GROUPS_3D if step.parameters["groups"] != 1 else NO_STRIDED_DILATION
    same = f'"{padding_name(step)}"'
    keywords = {"strides": stride_argument(step), "padding": same, "dilations": dilation_argument(step)}
    return _with_data_format(step, call("tf.nn.convolution", "x", "kernel", **keywords))


def depthwise_conv(step: Step) -> Code:
    """Return `tf.nn.depthwise_conv2d`."""
    return _with_data_format(step, words.depthwise_conv_channels_first(step))


def conv_transpose(step: Step) -> Code:
    """Return a transposed convolution as one call, with the output shape in channels-first order."""
    text = native_transpose(step)
    if isinstance(text, str):
        # SAME means that the output size is input size times stride.
        scaled = [
            size * stride for size, stride in zip(step.shape[2:], step.stride or ones_per_axis(step), strict=True)
        ]
        n, c, spatial = step.shape[0], step.channels, scaled if is_framework_same(step) else step.output[2:]
        text = text.replace(tuple_of([n, *spatial, c]), tuple_of([n, c, *spatial]))
    return _with_data_format(step, text)


def pad(step: Step) -> Code:
    """Return `tf.pad` with channels first."""
    text = composed.pad(step, composed.MAX_PADDED_AXES + 1)
    if isinstance(text, Unsupported):
        return replace(text, rejected_call=_with_channels_first_pads(step, text.rejected_call))
    return _with_channels_first_pads(step, text) or text


def _with_channels_first_pads(step: Step, text: Code | None) -> str | None:
    """Return a channels-last `tf.pad` call with its pads in channels-first order; None stays None."""
    # The pads are the only part of the call that depends on the layout.
    last, first = (pairs_of(pairs_for_all_axes(step.padding, channels_last=order)) for order in (True, False))
    return text.replace(last, first) if isinstance(text, str) else None


def with_bias(step: Step) -> Code:
    """Return a convolution followed by the bias addition."""
    text = conv(replace(step, bias=False))
    if isinstance(text, Unsupported) or not step.bias:
        return text
    return (f"x = {text}", f"x = {_with_data_format(step, 'tf.nn.bias_add(x, bias)')}")
