"""Convolutions of `keras.ops`, and convolution layers with the weights of the case, for every engine."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from conformance.adapters.api import (
    FLOATING,
    ChannelsLastComposition,
    Code,
    Step,
    Unsupported,
    call,
    dilation_argument,
    groups_argument,
    stride_argument,
    text_unless_default,
    tuple_of,
    uncropped_group,
)
from conformance.adapters.keras.engines import Engine
from conformance.adapters.tensorflow.convolution import (
    GROUPS_FROM_SHAPES,
    LAYER_PADDING_ONLY,
    infers_other_groups,
    keras_layer_text,
    layer_crop_arguments,
)
from conformance.adapters.tensorflow.dtypes import NO_STRIDED_DILATION, ones_per_axis, padding_name

COMPOSITION = ChannelsLastComposition(
    scatter="keras.ops.scatter",
    split="keras.ops.split({name}, {groups}, axis=-1)",
    concatenate="keras.ops.concatenate({parts}, axis=-1)",
    pad="keras.ops.pad",
    biased="x + bias",
)
NO_BIAS = Unsupported("the convolutions of keras.ops have no bias")


def _has_stride_and_dilation(step: Step) -> bool:
    """Whether the step has both a stride and a dilation above 1, which layers reject."""
    return step.dilated and step.stride != ones_per_axis(step)


def ops_convolution(engine: Engine, step: Step) -> Code:
    """Return `keras.ops.conv`."""
    padding = padding_name(step)
    if step.bias or padding is None:
        return NO_BIAS if step.bias else LAYER_PADDING_ONLY
    if infers_other_groups(step):
        return GROUPS_FROM_SHAPES
    same, dilation = text_unless_default("VALID", padding, '"same"'), dilation_argument(step)
    text = call("keras.ops.conv", "x", "kernel", strides=stride_argument(step), padding=same, dilation_rate=dilation)
    # A convention case runs the call in spite of the limit, to observe the answer of the engine.
    limit = engine.convolution_limit(step)
    return replace(limit, rejected_call=text) if limit else text


def biased_convolution(engine: Engine, step: Step) -> Code:
    """Return `keras.ops.conv` followed by the bias addition."""
    text = ops_convolution(engine, replace(step, bias=False))
    if isinstance(text, Unsupported) or not step.bias:
        return text
    return engine.as_one_function(f"x = {text} + bias", names=("x", "kernel", "bias"))


def _layer_text(engine: Engine, name: str, step: Step, filters: int, **arguments: str | None) -> str:
    # The default initializer does not support integers, and JAX compiles it for every shape.
    has_default = step.dtype in FLOATING and not engine.compiles_functions
    arguments = {**arguments, "data_format": engine.data_format}
    return keras_layer_text(f"keras.layers.{name}", step, filters, default_initializer=has_default, **arguments)


def _built_layer_lines(engine: Engine, layer: str, step: Step) -> tuple[str, ...]:
    """Return lines that create a layer and its variables."""
    # build() takes the shape of the data in the layout of the layer.
    shape = step.shape if engine.has_channels_first else (step.shape[0], *step.shape[2:], step.shape[1])
    return (f"conv = {layer}", f"conv.build({tuple_of(shape)})")


def _weighted_layer_lines(engine: Engine, layer: str, step: Step) -> tuple[str, ...]:
    """Return lines that create a layer, set its weights and call it."""
    weights = "[kernel, bias]" if step.bias else "[kernel]"
    return (*_built_layer_lines(engine, layer, step), f"conv.set_weights({weights})", "x = conv(x)")


def layer_convolution(engine: Engine, step: Step) -> Code:
    """Return a convolution layer with the weights of the case."""
    padding = padding_name(step)
    if padding is None:
        return LAYER_PADDING_ONLY
    if _has_stride_and_dilation(step):
        return NO_STRIDED_DILATION
    same = text_unless_default("VALID", padding, '"same"')
    name, groups = f"Conv{step.rank}D", groups_argument(step)
    layer = _layer_text(engine, name, step, step.kernel[0], padding=same, groups=groups)
    limit = engine.layer_weights_limit(step) or engine.convolution_limit(step)
    # Stride and dilation are checked first: Keras rejects both on every engine when the layer is created.
    return limit or _weighted_layer_lines(engine, layer, step)


def _transposed_cropping(engine: Engine, step: Step) -> dict[str, str | None] | Unsupported:
    """Return the padding arguments of a transposed convolution."""
    if step.parameters["groups"] != 1:
        return Unsupported("transposed convolutions have no groups in Keras")
    return engine.transposed_limit(step) or layer_crop_arguments(step)


def ops_transpose(engine: Engine, step: Step) -> Code:
    """Return `keras.ops.conv_transpose`."""
    return NO_BIAS if step.bias else _ops_transposed_text(engine, step, "x", "kernel")


def _ops_transposed_text(engine: Engine, step: Step, x: str, kernel: str) -> Code:
    cropping = _transposed_cropping(engine, step)
    if isinstance(cropping, Unsupported):
        return cropping
    strides, dilation = stride_argument(step), dilation_argument(step)
    return call("keras.ops.conv_transpose", x, kernel, strides=strides, **cropping, dilation_rate=dilation)


def layer_transpose(engine: Engine, step: Step) -> Code:
    """Return a transposed convolution layer with the weights of the case."""
    cropping = NO_STRIDED_DILATION if _has_stride_and_dilation(step) else _transposed_cropping(engine, step)
    if isinstance(cropping, Unsupported):
        return cropping
    layer = _layer_text(engine, f"Conv{step.rank}DTranspose", step, step.kernel[1], **cropping)
    return engine.layer_weights_limit(step) or _weighted_layer_lines(engine, layer, step)


def _stateless_layer_text(engine: Engine, step: Step, x: str, kernel: str) -> Code:
    cropping = (
        NO_STRIDED_DILATION
        if _has_stride_and_dilation(step)
        else engine.layer_weights_limit(step) or _transposed_cropping(engine, step)
    )
    return cropping if isinstance(cropping, Unsupported) else f"conv.stateless_call([{kernel}], [], {x})[0]"


def composed_transpose(engine: Engine, step: Step) -> Code:
    """Return a transposed convolution with groups, dilation, cropping and bias as separate operations where needed."""
    lines = COMPOSITION.transposed_lines(step, partial(_ops_transposed_text, engine))
    return lines if isinstance(lines, Unsupported) else engine.as_one_function(*lines, names=_operand_names(step))


def composed_layer(engine: Engine, step: Step) -> Code:
    """Return a stateless layer call for each group, with dilation, cropping and bias as separate operations."""
    # A stateless call takes the weights as an argument, so one layer serves every group.
    write_call = partial(_stateless_layer_text, engine)
    lines = COMPOSITION.transposed_lines(step, write_call)
    if isinstance(lines, Unsupported):
        return lines
    group = uncropped_group(step, write_call)
    cropping = _transposed_cropping(engine, group)
    if isinstance(cropping, Unsupported):
        return cropping
    layer = _layer_text(engine, f"Conv{step.rank}DTranspose", group, group.kernel[1], **cropping)
    return (*_built_layer_lines(engine, layer, group), *engine.as_one_function(*lines, names=_operand_names(step)))


def _operand_names(step: Step) -> tuple[str, ...]:
    return ("x", "kernel", "bias") if step.bias else ("x", "kernel")
