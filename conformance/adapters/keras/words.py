"""Keras: depthwise and causal convolutions, as operations and as layers."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, dilation_argument, stride_argument, tuple_of
from conformance.adapters.keras.engines import Engine
from conformance.adapters.tensorflow.dtypes import PLANE_RANK, padding_name
from conformance.adapters.tensorflow.words import (
    NOT_DEPTHWISE,
    causal_layer,
    depthwise_kernel,
    depthwise_layer,
    depthwise_limit,
)


def depthwise_conv(engine: Engine, step: Step) -> Code:
    """Return `keras.ops.depthwise_conv`."""
    limit = depthwise_limit(step) or engine.convolution_limit(step)
    if limit or step.rank > PLANE_RANK:
        return limit or NOT_DEPTHWISE
    same = '"same"' if padding_name(step) == "SAME" else '"valid"'
    kernel = depthwise_kernel(step, "keras.ops.reshape")
    strides, dilation = stride_argument(step), dilation_argument(step)
    return call("keras.ops.depthwise_conv", "x", kernel, strides=strides, padding=same, dilation_rate=dilation)


def layer_conv(engine: Engine, step: Step) -> Code:
    """Return a depthwise or causal layer with the weights of the case."""
    limit = engine.layer_weights_limit(step) or engine.convolution_limit(step)
    if limit:
        return limit
    layer: str | Unsupported = causal_layer("keras.layers", step, data_format=engine.data_format)
    reshaped: tuple[str, ...] = ()
    if isinstance(layer, Unsupported):
        layer = depthwise_layer("keras.layers", step, data_format=engine.data_format)
        reshaped = (f"kernel = {depthwise_kernel(step, 'keras.ops.reshape')}",)
    if isinstance(layer, Unsupported):
        return layer
    shape = step.shape if engine.has_channels_first else (step.shape[0], *step.shape[2:], step.shape[1])
    weights = "[kernel, bias]" if step.bias else "[kernel]"
    built = (f"conv = {layer}", f"conv.build({tuple_of(shape)})")
    return (*reshaped, *built, f"conv.set_weights({weights})", "x = conv(x)")
