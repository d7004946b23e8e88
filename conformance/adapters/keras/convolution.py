"""Convolutions of `keras.ops`, and convolution layers with the weights of the case, for every engine.

Parameters that a call does not support are composed: groups of a transposed convolution by splitting the channels,
dilation by a kernel with zeros between its cells, and cropping other than valid and same by slicing the output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.adapters.api.source_text import call, per_axis, slices, text_unless_default, tuple_of
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.keras.engines import FLOATING, Engine
from conformance.adapters.keras.padding import constant_pad
from conformance.adapters.tensorflow.convolution import (
    GROUPS_FROM_SHAPES,
    LAYER_PADDING_ONLY,
    layer_crop_arguments,
    single_group,
    with_dilated_kernel,
)
from conformance.adapters.tensorflow.dtypes import NO_STRIDED_DILATION, ones_per_axis, padding_name
from conformance.cases.steps import Step, pad_step

TransposedConvolutionWriter = Callable[[Engine, Step, str, str], Code]
"""Writes a transposed convolution without bias, from the engine, the step and the names of its input and its kernel."""
NO_BIAS = Unsupported("the convolutions of keras.ops have no bias")


def _strides_text(step: Step) -> str | None:
    return per_axis(step.stride) if step.stride != ones_per_axis(step) else None


def _dilation_text(step: Step) -> str | None:
    return per_axis(step.dilation) if step.dilated else None


def _has_stride_and_dilation(step: Step) -> bool:
    """Whether the step has both a stride and a dilation above 1, which layers reject."""
    return step.dilated and step.stride != ones_per_axis(step)


def ops_convolution(engine: Engine, step: Step) -> Code:
    """Return `keras.ops.conv`."""
    padding = padding_name(step)
    if step.bias or padding is None:
        return NO_BIAS if step.bias else LAYER_PADDING_ONLY
    groups, remainder = divmod(step.shape[1], step.kernel[1])
    if remainder == 0 and groups != step.parameters["groups"]:
        return GROUPS_FROM_SHAPES
    same = text_unless_default("VALID", padding, '"same"')
    text = call(
        "keras.ops.conv", "x", "kernel", strides=_strides_text(step), padding=same, dilation_rate=_dilation_text(step)
    )
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
    default_initializer = step.dtype in FLOATING and not engine.compiles_functions
    return call(
        f"keras.layers.{name}",
        str(filters),
        per_axis(step.window),
        strides=_strides_text(step),
        # In the order of the signature: padding and output_padding come before dilation_rate.
        **{"padding": arguments.pop("padding"), "output_padding": arguments.pop("output_padding", None)},
        dilation_rate=_dilation_text(step),
        groups=arguments.pop("groups", None),
        use_bias=None if step.bias else "False",
        kernel_initializer=None if default_initializer else '"zeros"',
        data_format=engine.data_format,
        dtype="x.dtype",
    )


def _built_layer_lines(engine: Engine, layer: str, step: Step) -> tuple[str, ...]:
    """Return lines that create a layer and its variables."""
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
    groups = text_unless_default(1, step.parameters["groups"])
    layer = _layer_text(
        engine,
        f"Conv{step.rank}D",
        step,
        step.kernel[0],
        padding=text_unless_default("VALID", padding, '"same"'),
        groups=groups,
    )
    return (
        engine.layer_weights_limit(step) or engine.convolution_limit(step) or _weighted_layer_lines(engine, layer, step)
    )


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
    strides, dilation = _strides_text(step), _dilation_text(step)
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
    lines = _crop_and_add_bias(engine, step, _ops_transposed_text)
    return lines if isinstance(lines, Unsupported) else engine.as_one_function(*lines, names=_operand_names(step))


def composed_layer(engine: Engine, step: Step) -> Code:
    """Return a stateless layer call for each group, with dilation, cropping and bias as separate operations."""
    lines = _crop_and_add_bias(engine, step, _stateless_layer_text)
    if isinstance(lines, Unsupported):
        return lines
    group = _uncropped_group(engine, step, _stateless_layer_text)
    cropping = _transposed_cropping(engine, group)
    if isinstance(cropping, Unsupported):
        return cropping
    layer = _layer_text(engine, f"Conv{step.rank}DTranspose", group, group.kernel[1], **cropping)
    return (*_built_layer_lines(engine, layer, group), *engine.as_one_function(*lines, names=_operand_names(step)))


def _operand_names(step: Step) -> tuple[str, ...]:
    return ("x", "kernel", "bias") if step.bias else ("x", "kernel")


def _uncropped_group(engine: Engine, step: Step, write_call: TransposedConvolutionWriter) -> Step:
    """Return the step of one group without cropping, with zeros in the kernel if the call does not support dilation."""
    group = single_group(step.with_parameters(padding=((0, 0),) * step.rank, output_padding=(0,) * step.rank))
    unsupported = step.dilated and isinstance(write_call(engine, group, "x", "kernel"), Unsupported)
    return with_dilated_kernel(group) if unsupported else group


def _crop_and_add_bias(
    engine: Engine, step: Step, write_call: TransposedConvolutionWriter
) -> tuple[str, ...] | Unsupported:
    """Return an uncropped transposed convolution, then the slicing of the output, then the bias addition."""
    group, groups = _uncropped_group(engine, step, write_call), step.parameters["groups"]
    names = ("x", "kernel") if groups == 1 else ("part", "weights")
    text = write_call(engine, group, *names)
    if isinstance(text, Unsupported):
        return text
    if groups != 1:
        split = ", ".join(f"keras.ops.split({name}, {groups}, axis=-1)" for name in ("x", "kernel"))
        text = f"keras.ops.concatenate([{text} for part, weights in zip({split})], axis=-1)"
    dilation = (_dilated_kernel_line(step),) if group.dilation != step.dilation else ()
    return (*dilation, f"x = {text}", *_crop_lines(step, group.output[2:]), *("x = x + bias",) * step.bias)


def _crop_lines(step: Step, full_size: tuple[int, ...]) -> tuple[str, ...]:
    """Return lines that slice the output from the full one, and append zeros where it is longer."""
    stops = [before + size for (before, _), size in zip(step.padding, step.output[2:], strict=True)]
    bounds = [
        f"{max(before, 0) or ''}:{'' if stop >= size else stop}"
        for (before, _), stop, size in zip(step.padding, stops, full_size, strict=True)
    ]
    pads = tuple((0, max(stop - size, 0)) for stop, size in zip(stops, full_size, strict=True))
    crop = (f"x = x{slices(bounds, channels_last=True)}",) if any(bound != ":" for bound in bounds) else ()
    return (*crop, f"x = {constant_pad(pad_step(step, pads, 0))}") if any(after for _, after in pads) else crop


def _dilated_kernel_line(step: Step) -> str:
    """Return the line that writes zeros between the cells of the kernel."""
    extents = with_dilated_kernel(step).window
    ranges = ", ".join(f"0:{extent}:{dilation}" for extent, dilation in zip(extents, step.dilation, strict=True))
    places = f"np.moveaxis(np.mgrid[{ranges},], 0, -1)" if step.rank == 1 else f"np.moveaxis(np.mgrid[{ranges}], 0, -1)"
    shape = tuple_of([*extents, step.kernel[1], step.kernel[0]])
    return f"kernel = keras.ops.scatter({places}, kernel, {shape})"
