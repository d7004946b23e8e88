"""Keras 3: convolutions, of `keras.ops` and of layers that get the case's weights; one text for every engine.

What the calls lack is written around them: groups of a transposed convolution by splitting the channels, holes as zeros
in the kernel, other cropping than valid and same by slicing what comes out.
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
"""How a surface writes a transposed convolution without bias: the step, and the names of its input and its kernel."""
NO_BIAS = Unsupported("the convolutions of keras.ops have no bias")


def _strides_text(step: Step) -> str | None:
    return per_axis(step.stride) if step.stride != ones_per_axis(step) else None


def _dilation_text(step: Step) -> str | None:
    return per_axis(step.dilation) if step.dilated else None


def _has_stride_and_dilation(step: Step) -> bool:
    """Whether windows with holes are strided, which layers refuse."""
    return step.dilated and step.stride != ones_per_axis(step)


def ops_convolution(engine: Engine, step: Step) -> Code:
    """Return the call, or why there is none."""
    padding = padding_name(step)
    if step.bias or padding is None:
        return NO_BIAS if step.bias else LAYER_PADDING_ONLY
    groups, left = divmod(step.shape[1], step.kernel[1])
    if left == 0 and groups != step.parameters["groups"]:
        return GROUPS_FROM_SHAPES
    same = text_unless_default("VALID", padding, '"same"')
    text = call(
        "keras.ops.conv", "x", "kernel", strides=_strides_text(step), padding=same, dilation_rate=_dilation_text(step)
    )
    refusal = engine.convolution_limit(step)
    return replace(refusal, rejected_call=text) if refusal else text


def biased_convolution(engine: Engine, step: Step) -> Code:
    """Return the call, and the bias added."""
    answer = ops_convolution(engine, replace(step, bias=False))
    if isinstance(answer, Unsupported) or not step.bias:
        return answer
    return engine.as_one_function(f"x = {answer} + bias", names=("x", "kernel", "bias"))


def _layer_text(engine: Engine, name: str, step: Step, filters: int, **words: str | None) -> str:
    # The usual one draws no integers, and JAX compiles it for every shape.
    usual = step.dtype in FLOATING and not engine.compiles_functions
    return call(
        f"keras.layers.{name}",
        str(filters),
        per_axis(step.window),
        strides=_strides_text(step),
        **{"padding": words.pop("padding"), "output_padding": words.pop("output_padding", None)},
        dilation_rate=_dilation_text(step),
        groups=words.pop("groups", None),
        use_bias=None if step.bias else "False",
        kernel_initializer=None if usual else '"zeros"',
        data_format=engine.layout,
        dtype="x.dtype",
    )


def _layer_with_weights(engine: Engine, layer: str, step: Step) -> tuple[str, ...]:
    shape = step.shape if engine.has_channels_first else (step.shape[0], *step.shape[2:], step.shape[1])
    return (f"conv = {layer}", f"conv.build({tuple_of(shape)})")


def _weighted_layer_lines(engine: Engine, layer: str, step: Step) -> tuple[str, ...]:
    weights = "[kernel, bias]" if step.bias else "[kernel]"
    return (*_layer_with_weights(engine, layer, step), f"conv.set_weights({weights})", "x = conv(x)")


def layer_convolution(engine: Engine, step: Step) -> Code:
    """Return the layer, given the weights."""
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
    """Return how the output is cropped, or why there is no such call."""
    if step.parameters["groups"] != 1:
        return Unsupported("transposed convolutions have no groups in Keras")
    return engine.transposed_limit(step) or layer_crop_arguments(step)


def ops_transpose(engine: Engine, step: Step) -> Code:
    """Return the call, or why there is none."""
    return NO_BIAS if step.bias else _ops_transposed_text(engine, step, "x", "kernel")


def _ops_transposed_text(engine: Engine, step: Step, x: str, kernel: str) -> Code:
    words = _transposed_cropping(engine, step)
    if isinstance(words, Unsupported):
        return words
    return call(
        "keras.ops.conv_transpose", x, kernel, strides=_strides_text(step), **words, dilation_rate=_dilation_text(step)
    )


def layer_transpose(engine: Engine, step: Step) -> Code:
    """Return the layer, given the weights."""
    words = NO_STRIDED_DILATION if _has_stride_and_dilation(step) else _transposed_cropping(engine, step)
    if isinstance(words, Unsupported):
        return words
    layer = _layer_text(engine, f"Conv{step.rank}DTranspose", step, step.kernel[1], **words)
    return engine.layer_weights_limit(step) or _weighted_layer_lines(engine, layer, step)


def _stateless_layer_text(engine: Engine, step: Step, x: str, kernel: str) -> Code:
    words = (
        NO_STRIDED_DILATION
        if _has_stride_and_dilation(step)
        else engine.layer_weights_limit(step) or _transposed_cropping(engine, step)
    )
    return words if isinstance(words, Unsupported) else f"conv.stateless_call([{kernel}], [], {x})[0]"


def _uncropped_output(step: Step) -> Step:
    nothing = {"padding": ((0, 0),) * step.rank, "output_padding": (0,) * step.rank}
    return replace(step.with_parameters(**nothing), bias=False)


def composed_transpose(engine: Engine, step: Step) -> Code:
    """Write groups, holes, cropping and bias around the call."""
    answer = _crop_and_add_bias(engine, step, _ops_transposed_text)
    return answer if isinstance(answer, Unsupported) else engine.as_one_function(*answer, names=_operand_names(step))


def composed_layer(engine: Engine, step: Step) -> Code:
    """Write groups, holes, cropping and bias around a layer, which computes with the weights that it is handed."""
    answer = _crop_and_add_bias(engine, step, _stateless_layer_text)
    if isinstance(answer, Unsupported):
        return answer
    laid = _uncropped_convolution(engine, step, _stateless_layer_text)
    words = _transposed_cropping(engine, laid)
    if isinstance(words, Unsupported):
        return words
    made = _layer_with_weights(
        engine, _layer_text(engine, f"Conv{step.rank}DTranspose", laid, laid.kernel[1], **words), laid
    )
    return (*made, *engine.as_one_function(*answer, names=_operand_names(step)))


def _operand_names(step: Step) -> tuple[str, ...]:
    return ("x", "kernel", "bias") if step.bias else ("x", "kernel")


def _uncropped_convolution(engine: Engine, step: Step, write_call: TransposedConvolutionWriter) -> Step:
    """Return the convolution of one group that the call can do: holes become zeros where it has none."""
    whole = single_group(_uncropped_output(step))
    lacks = step.dilated and isinstance(write_call(engine, whole, "x", "kernel"), Unsupported)
    return with_dilated_kernel(whole) if lacks else whole


def _crop_and_add_bias(
    engine: Engine, step: Step, write_call: TransposedConvolutionWriter
) -> tuple[str, ...] | Unsupported:
    """Write all that a transposed convolution lays out, then what of it is the output, then the bias."""
    one, groups = _uncropped_convolution(engine, step, write_call), step.parameters["groups"]
    names = ("x", "kernel") if groups == 1 else ("part", "weights")
    text = write_call(engine, one, *names)
    if isinstance(text, Unsupported):
        return text
    if groups != 1:
        split = ", ".join(f"keras.ops.split({name}, {groups}, axis=-1)" for name in ("x", "kernel"))
        text = f"keras.ops.concatenate([{text} for part, weights in zip({split})], axis=-1)"
    holes = (_dilate_kernel_lines(step),) if one.dilation != step.dilation else ()
    return (*holes, f"x = {text}", *_retained_slices(step, one.output[2:]), *("x = x + bias",) * step.bias)


def _retained_slices(step: Step, laid: tuple[int, ...]) -> tuple[str, ...]:
    """Write which cells stay, and zeros after them where the output goes on."""
    stops = [before + size for (before, _), size in zip(step.padding, step.output[2:], strict=True)]
    bounds = [
        f"{max(before, 0) or ''}:{'' if stop >= size else stop}"
        for (before, _), stop, size in zip(step.padding, stops, laid, strict=True)
    ]
    pads = tuple((0, max(stop - size, 0)) for stop, size in zip(stops, laid, strict=True))
    crop = (f"x = x{slices(bounds, channels_last=True)}",) if any(bound != ":" for bound in bounds) else ()
    return (*crop, f"x = {constant_pad(pad_step(step, pads, 0))}") if any(after for _, after in pads) else crop


def _dilate_kernel_lines(step: Step) -> str:
    """Write a kernel with holes as one with zeros."""
    whole = with_dilated_kernel(step)
    every = ", ".join(f"0:{extent}:{hole}" for extent, hole in zip(whole.window, step.dilation, strict=True))
    places = f"np.moveaxis(np.mgrid[{every},], 0, -1)" if step.rank == 1 else f"np.moveaxis(np.mgrid[{every}], 0, -1)"
    shape = tuple_of([*whole.window, step.kernel[1], step.kernel[0]])
    return f"kernel = keras.ops.scatter({places}, kernel, {shape})"
