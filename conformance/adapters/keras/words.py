"""Keras: depthwise, separable and causal convolutions, as operations and as layers."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, dilation_argument, stride_argument, tuple_of
from conformance.adapters.keras.engines import Engine
from conformance.adapters.tensorflow.dtypes import padding_name
from conformance.adapters.tensorflow.words import (
    NOT_SEPARABLE,
    causal_layer,
    depthwise_kernel,
    depthwise_layer,
    depthwise_limit,
    separable_layer,
    separable_limit,
)

RESHAPE = "keras.ops.reshape"


def _operation(name: str, step: Step, *kernels: str) -> Code:
    """Return a call of `keras.ops` with the padding, the strides and the dilation of the step."""
    same = '"same"' if padding_name(step) == "SAME" else '"valid"'
    strides, dilation = stride_argument(step), dilation_argument(step)
    return call(f"keras.ops.{name}", "x", *kernels, strides=strides, padding=same, dilation_rate=dilation)


def depthwise_conv(step: Step) -> Code:
    """Return `keras.ops.depthwise_conv`."""
    return depthwise_limit(step) or _operation("depthwise_conv", step, depthwise_kernel(step, RESHAPE))


def separable_conv(first: Step, step: Step) -> Code:
    """Return `keras.ops.separable_conv`."""
    if separable_limit(first, step) or padding_name(first) is None or step.bias:
        return NOT_SEPARABLE
    return _operation("separable_conv", first, depthwise_kernel(first, RESHAPE, "first_kernel"), "kernel")


def _built_layer(engine: Engine, layer: str, step: Step, *weights: str) -> tuple[str, ...]:
    """Return lines that create a layer for the input of a step, set its weights and call it."""
    shape = step.shape if engine.has_channels_first else (step.shape[0], *step.shape[2:], step.shape[1])
    built = (f"conv = {layer}", f"conv.build({tuple_of(shape)})")
    return (*built, f"conv.set_weights([{', '.join(weights)}])", "x = conv(x)")


def layer_conv(engine: Engine, step: Step) -> Code:
    """Return a depthwise or causal layer with the weights of the case."""
    limit = engine.layer_weights_limit(step)
    if limit:
        return limit
    causal = causal_layer("keras.layers", step, data_format=engine.data_format)
    if not isinstance(causal, Unsupported):
        return engine.convolution_limit(step) or _built_layer(engine, causal, step, "kernel", *["bias"] * step.bias)
    layer = depthwise_layer("keras.layers", step, data_format=engine.data_format)
    if isinstance(layer, Unsupported):
        return layer
    return (f"kernel = {depthwise_kernel(step, RESHAPE)}", *_built_layer(engine, layer, step, "kernel"))


def layer_separable(engine: Engine, first: Step, step: Step) -> Code:
    """Return a separable layer with the weights of the case."""
    limit = engine.layer_weights_limit(step)
    layer = separable_layer("keras.layers", first, step, data_format=engine.data_format)
    if limit or isinstance(layer, Unsupported):
        return limit or layer
    lines = _built_layer(engine, layer, first, "first_kernel", "kernel", *["bias"] * step.bias)
    return (f"first_kernel = {depthwise_kernel(first, RESHAPE, 'first_kernel')}", *lines)
