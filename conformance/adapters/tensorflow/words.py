"""TensorFlow: `tf.nn.depthwise_conv2d`, and depthwise and causal layers of Keras."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import (
    Code,
    Lowering,
    Step,
    Unsupported,
    call,
    dilation_argument,
    is_causal,
    is_depthwise,
    per_axis,
    stride_argument,
    text_unless_default,
    tuple_of,
)
from conformance.adapters.tensorflow.convolution import keras_layer_text
from conformance.adapters.tensorflow.dtypes import NO_STRIDED_DILATION, PLANE_RANK, ones_per_axis, padding_name

NOT_DEPTHWISE = Unsupported("depthwise convolutions have one input channel in each group, and VALID or SAME padding")
ONE_STRIDE = Unsupported("depthwise convolutions have one stride for both axes")


def depthwise_kernel(step: Step, reshape: str) -> str:
    """Return the kernel with an axis for the input channels and one for the filters of each."""
    return f"{reshape}(kernel, {tuple_of([*step.window, step.shape[1], step.kernel[0] // step.shape[1]])})"


def depthwise_limit(step: Step) -> Unsupported | None:
    """Return why the step is no depthwise convolution of one call; None if it is one."""
    if not is_depthwise(step) or step.bias or padding_name(step) is None:
        return NOT_DEPTHWISE
    if step.dilated and step.stride != ones_per_axis(step):
        return NO_STRIDED_DILATION
    return ONE_STRIDE if len({*(step.stride or ())}) != 1 else None


def depthwise_conv(step: Step, *, channels_last: bool = True) -> Code:
    """Return `tf.nn.depthwise_conv2d`, whose strides have a number for each axis of the array."""
    limit = depthwise_limit(step)
    if limit or step.rank != PLANE_RANK:
        return limit or NOT_DEPTHWISE
    spatial = step.stride or ()
    strides = tuple_of([1, *spatial, 1] if channels_last else [1, 1, *spatial])
    dilations = str([*step.dilation]) if step.dilated else None
    kernel = depthwise_kernel(step, "tf.reshape")
    return call("tf.nn.depthwise_conv2d", "x", kernel, strides, f'"{padding_name(step)}"', dilations=dilations)


def causal_layer(module: str, step: Step, **arguments: str | None) -> str | Unsupported:
    """Return the expression of a causal layer, before its weights are set."""
    if not is_causal(step) or step.parameters["groups"] != 1:
        return Unsupported("causal padding covers the reach of the kernel before one axis")
    if step.dilated and step.stride != ones_per_axis(step):
        return NO_STRIDED_DILATION
    name, padding = f"{module}.Conv1D", '"causal"'
    return keras_layer_text(name, step, step.kernel[0], default_initializer=True, padding=padding, **arguments)


def depthwise_layer(module: str, step: Step, **arguments: str | None) -> str | Unsupported:
    """Return the expression of a depthwise layer, before its weights are set."""
    limit = depthwise_limit(step)
    if limit or step.rank > PLANE_RANK:
        return limit or NOT_DEPTHWISE
    return call(
        f"{module}.DepthwiseConv{step.rank}D",
        per_axis(step.window),
        strides=stride_argument(step),
        padding=text_unless_default("VALID", padding_name(step), '"same"'),
        depth_multiplier=text_unless_default(1, step.kernel[0] // step.shape[1]),
        dilation_rate=dilation_argument(step),
        use_bias="False",
        **arguments,
        dtype="x.dtype",
    )


def layer_conv(step: Step) -> Code:
    """Return a depthwise or causal layer with the weights of the case."""
    causal = causal_layer("tf.keras.layers", step)
    if not isinstance(causal, Unsupported):
        weights = "[kernel, bias]" if step.bias else "[kernel]"
        return (f"conv = {causal}", "conv.build(x.shape)", f"conv.set_weights({weights})", "x = conv(x)")
    layer = depthwise_layer("tf.keras.layers", step)
    if isinstance(layer, Unsupported):
        return layer
    weights = f"[{depthwise_kernel(step, 'tf.reshape')}]"
    return (f"conv = {layer}", "conv.build(x.shape)", f"conv.set_weights({weights})", "x = conv(x)")


NN_WORDS: Mapping[str, Lowering] = {"conv": depthwise_conv}
LAYER_WORDS: Mapping[str, Lowering] = {"conv": layer_conv}
