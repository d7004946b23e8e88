"""TensorFlow: depthwise and separable calls, and depthwise, separable and causal layers of Keras."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import (
    FLOATING,
    ChainLowering,
    Code,
    Lowering,
    MixedPrecision,
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
from conformance.adapters.tensorflow.dtypes import (
    NO_STRIDED_DILATION,
    PLANE_RANK,
    array_padding_text,
    ones_per_axis,
    padding_name,
)

NOT_DEPTHWISE = Unsupported("depthwise convolutions have one input channel in each group, and VALID or SAME padding")
ONE_STRIDE = Unsupported("depthwise convolutions have one stride for both axes")
NOT_SEPARABLE = Unsupported("separable convolutions are a depthwise one and a convolution with a kernel of one cell")


def depthwise_kernel(step: Step, reshape: str, name: str = "kernel") -> str:
    """Return the kernel with an axis for the input channels and one for the filters of each. name: of the kernel."""
    return f"{reshape}({name}, {tuple_of([*step.window, step.shape[1], step.kernel[0] // step.shape[1]])})"


def depthwise_limit(step: Step) -> Unsupported | None:
    """Return why the step is no depthwise convolution of Keras; None if it is one."""
    is_named = padding_name(step) is not None and step.rank <= PLANE_RANK
    return None if is_depthwise(step) and is_named and not step.bias else NOT_DEPTHWISE


def _plane_arguments(step: Step) -> tuple[str, str, str | None]:
    """Return strides, padding and dilations of `tf.nn.depthwise_conv2d` and `tf.nn.separable_conv2d`."""
    name = padding_name(step)
    dilations = str([*step.dilation]) if step.dilated else None
    return tuple_of([1, *(step.stride or ()), 1]), f'"{name}"' if name else array_padding_text(step), dilations


def depthwise_conv(step: Step) -> Code:
    """Return `tf.nn.depthwise_conv2d`. It accepts a stride together with a dilation, in spite of its documentation."""
    if not is_depthwise(step) or step.bias or step.rank != PLANE_RANK:
        return NOT_DEPTHWISE
    strides, padding, dilations = _plane_arguments(step)
    kernel = depthwise_kernel(step, "tf.reshape")
    return call("tf.nn.depthwise_conv2d", "x", kernel, strides, padding, dilations=dilations)


def separable_limit(first: Step, step: Step) -> Unsupported | None:
    """Return why two convolutions are no separable one; None if they are one."""
    by_channel = first.kernel[1] == 1 and first.shape[1] == first.parameters["groups"] and not first.bias
    ones = ones_per_axis(step)
    by_cell = step.window == step.stride == ones and step.parameters["groups"] == 1 and not step.padded
    return None if by_channel and by_cell and step.rank <= PLANE_RANK and step.dtype in FLOATING else NOT_SEPARABLE


def separable_conv(first: Step, step: Step) -> Code:
    """Return `tf.nn.separable_conv2d`."""
    if separable_limit(first, step) or step.bias or step.rank != PLANE_RANK:
        return NOT_SEPARABLE
    strides, padding, dilations = _plane_arguments(first)
    kernel = depthwise_kernel(first, "tf.reshape", "first_kernel")
    return call("tf.nn.separable_conv2d", "x", kernel, "kernel", strides, padding, dilations=dilations)


def depthwise_conv_channels_first(step: Step) -> Code:
    """Return `tf.nn.depthwise_conv2d` of an array with the channels first, for padding by name."""
    limit = depthwise_limit(step)
    if limit or step.rank != PLANE_RANK:
        return limit or NOT_DEPTHWISE
    if step.dilated and step.stride != ones_per_axis(step):
        return NO_STRIDED_DILATION
    if len({*(step.stride or ())}) != 1:
        return ONE_STRIDE
    strides, dilations = tuple_of([1, 1, *(step.stride or ())]), str([*step.dilation]) if step.dilated else None
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
    if limit:
        return limit
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


def separable_layer(module: str, first: Step, step: Step, **arguments: str | None) -> str | Unsupported:
    """Return the expression of a separable layer, before its weights are set."""
    padding = padding_name(first)
    limit = separable_limit(first, step)
    if limit or padding is None:
        return limit or NOT_SEPARABLE
    return call(
        f"{module}.SeparableConv{step.rank}D",
        str(step.kernel[0]),
        per_axis(first.window),
        strides=stride_argument(first),
        padding=text_unless_default("VALID", padding, '"same"'),
        **arguments,
        dilation_rate=dilation_argument(first),
        depth_multiplier=text_unless_default(1, first.kernel[0] // first.shape[1]),
        use_bias=None if step.bias else "False",
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


def layer_separable(first: Step, step: Step) -> Code:
    """Return a separable layer with the weights of the case."""
    layer = separable_layer("tf.keras.layers", first, step)
    if isinstance(layer, Unsupported):
        return layer
    weights = [depthwise_kernel(first, "tf.reshape", "first_kernel"), "kernel", *["bias"] * step.bias]
    return (f"conv = {layer}", "conv.build(x.shape)", f"conv.set_weights([{', '.join(weights)}])", "x = conv(x)")


DTYPE_POLICY = MixedPrecision(
    lambda lines, dtype: tuple(line.replace("dtype=x.dtype", f'dtype="mixed_{dtype}"') for line in lines)
)
"""The dtype policy of a layer: its weights are float32, and it computes in 16 bits."""
NN_WORDS: Mapping[str, Lowering] = {"conv": depthwise_conv}
NN_CHAIN_WORDS: Mapping[tuple[str, ...], ChainLowering] = {("conv", "conv"): separable_conv}
LAYER_WORDS: Mapping[str, Lowering] = {"conv": layer_conv}
LAYER_CHAIN_WORDS: Mapping[tuple[str, ...], ChainLowering] = {("conv", "conv"): layer_separable}
