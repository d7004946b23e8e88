"""Keras 3: convolutions, of `keras.ops` and of layers that get the case's weights; one text for every engine.

What the calls lack is written around them: groups of a transposed convolution by splitting the channels, holes as zeros
in the kernel, other cropping than valid and same by slicing what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.adapters.api.source_text import call, per_axis, slices, tuple_of, unless
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.keras.engines import FLOATING, Engine
from conformance.adapters.keras.padding import constant
from conformance.adapters.tensorflow.convolution import (
    IMPLIED_GROUPS,
    LAYER_PADDING,
    layer_cropping,
    part,
    with_zeros_between,
)
from conformance.adapters.tensorflow.dtypes import HOLES_AND_STRIDE, named, ones
from conformance.cases.steps import Step, pad_step

Spelling = Callable[[Engine, Step, str, str], Code]
"""How a surface writes a transposed convolution without bias: the step, and the names of its input and its kernel."""
NO_BIAS = Unsupported("the convolutions of keras.ops have no bias")


def _strides(step: Step) -> str | None:
    return per_axis(step.stride) if step.stride != ones(step) else None


def _holes(step: Step) -> str | None:
    return per_axis(step.dilation) if step.dilated else None


def _both(step: Step) -> bool:
    """Whether windows with holes are strided, which layers refuse."""
    return step.dilated and step.stride != ones(step)


def ops_conv(engine: Engine, step: Step) -> Code:
    """Return the call, or why there is none."""
    padding = named(step)
    if step.bias or padding is None:
        return NO_BIAS if step.bias else LAYER_PADDING
    groups, left = divmod(step.shape[1], step.kernel[1])
    if left == 0 and groups != step.parameters["groups"]:
        return IMPLIED_GROUPS
    same = unless("VALID", padding, '"same"')
    text = call("keras.ops.conv", "x", "kernel", strides=_strides(step), padding=same, dilation_rate=_holes(step))
    refusal = engine.convolves(step)
    return replace(refusal, refused=text) if refusal else text


def biased(engine: Engine, step: Step) -> Code:
    """Return the call, and the bias added."""
    answer = ops_conv(engine, replace(step, bias=False))
    if isinstance(answer, Unsupported) or not step.bias:
        return answer
    return engine.whole(f"x = {answer} + bias", names=("x", "kernel", "bias"))


def _layer(engine: Engine, name: str, step: Step, filters: int, **words: str | None) -> str:
    # The usual one draws no integers, and JAX compiles it for every shape.
    usual = step.dtype in FLOATING and not engine.compiled
    return call(
        f"keras.layers.{name}",
        str(filters),
        per_axis(step.window),
        strides=_strides(step),
        **{"padding": words.pop("padding"), "output_padding": words.pop("output_padding", None)},
        dilation_rate=_holes(step),
        groups=words.pop("groups", None),
        use_bias=None if step.bias else "False",
        kernel_initializer=None if usual else '"zeros"',
        data_format=engine.layout,
        dtype="x.dtype",
    )


def _built(engine: Engine, layer: str, step: Step) -> tuple[str, ...]:
    shape = step.shape if engine.first else (step.shape[0], *step.shape[2:], step.shape[1])
    return (f"conv = {layer}", f"conv.build({tuple_of(shape)})")


def _weighted(engine: Engine, layer: str, step: Step) -> tuple[str, ...]:
    weights = "[kernel, bias]" if step.bias else "[kernel]"
    return (*_built(engine, layer, step), f"conv.set_weights({weights})", "x = conv(x)")


def layer_conv(engine: Engine, step: Step) -> Code:
    """Return the layer, given the weights."""
    padding = named(step)
    if padding is None:
        return LAYER_PADDING
    if _both(step):
        return HOLES_AND_STRIDE
    groups = unless(1, step.parameters["groups"])
    layer = _layer(
        engine, f"Conv{step.rank}D", step, step.kernel[0], padding=unless("VALID", padding, '"same"'), groups=groups
    )
    return engine.weights(step) or engine.convolves(step) or _weighted(engine, layer, step)


def _transposed(engine: Engine, step: Step) -> dict[str, str | None] | Unsupported:
    """Return how the output is cropped, or why there is no such call."""
    if step.parameters["groups"] != 1:
        return Unsupported("transposed convolutions have no groups in Keras")
    return engine.transposes(step) or layer_cropping(step)


def ops_transpose(engine: Engine, step: Step) -> Code:
    """Return the call, or why there is none."""
    return NO_BIAS if step.bias else _spelt(engine, step, "x", "kernel")


def _spelt(engine: Engine, step: Step, x: str, kernel: str) -> Code:
    words = _transposed(engine, step)
    if isinstance(words, Unsupported):
        return words
    return call("keras.ops.conv_transpose", x, kernel, strides=_strides(step), **words, dilation_rate=_holes(step))


def layer_transpose(engine: Engine, step: Step) -> Code:
    """Return the layer, given the weights."""
    words = HOLES_AND_STRIDE if _both(step) else _transposed(engine, step)
    if isinstance(words, Unsupported):
        return words
    layer = _layer(engine, f"Conv{step.rank}DTranspose", step, step.kernel[1], **words)
    return engine.weights(step) or _weighted(engine, layer, step)


def _handed(engine: Engine, step: Step, x: str, kernel: str) -> Code:
    words = HOLES_AND_STRIDE if _both(step) else engine.weights(step) or _transposed(engine, step)
    return words if isinstance(words, Unsupported) else f"conv.stateless_call([{kernel}], [], {x})[0]"


def _whole(step: Step) -> Step:
    nothing = {"padding": ((0, 0),) * step.rank, "output_padding": (0,) * step.rank}
    return replace(step.with_parameters(**nothing), bias=False)


def composed_transpose(engine: Engine, step: Step) -> Code:
    """Write groups, holes, cropping and bias around the call."""
    answer = _cropped(engine, step, _spelt)
    return answer if isinstance(answer, Unsupported) else engine.whole(*answer, names=_names(step))


def composed_layer(engine: Engine, step: Step) -> Code:
    """Write groups, holes, cropping and bias around a layer, which computes with the weights that it is handed."""
    answer = _cropped(engine, step, _handed)
    if isinstance(answer, Unsupported):
        return answer
    laid = _laid_out(engine, step, _handed)
    words = _transposed(engine, laid)
    if isinstance(words, Unsupported):
        return words
    made = _built(engine, _layer(engine, f"Conv{step.rank}DTranspose", laid, laid.kernel[1], **words), laid)
    return (*made, *engine.whole(*answer, names=_names(step)))


def _names(step: Step) -> tuple[str, ...]:
    return ("x", "kernel", "bias") if step.bias else ("x", "kernel")


def _laid_out(engine: Engine, step: Step, spell: Spelling) -> Step:
    """Return the convolution of one group that the call can do: holes become zeros where it has none."""
    whole = part(_whole(step))
    lacks = step.dilated and isinstance(spell(engine, whole, "x", "kernel"), Unsupported)
    return with_zeros_between(whole) if lacks else whole


def _cropped(engine: Engine, step: Step, spell: Spelling) -> tuple[str, ...] | Unsupported:
    """Write all that a transposed convolution lays out, then what of it is the output, then the bias."""
    one, groups = _laid_out(engine, step, spell), step.parameters["groups"]
    names = ("x", "kernel") if groups == 1 else ("part", "weights")
    text = spell(engine, one, *names)
    if isinstance(text, Unsupported):
        return text
    if groups != 1:
        split = ", ".join(f"keras.ops.split({name}, {groups}, axis=-1)" for name in ("x", "kernel"))
        text = f"keras.ops.concatenate([{text} for part, weights in zip({split})], axis=-1)"
    holes = (_zeros_between(step),) if one.dilation != step.dilation else ()
    return (*holes, f"x = {text}", *_kept(step, one.output[2:]), *("x = x + bias",) * step.bias)


def _kept(step: Step, laid: tuple[int, ...]) -> tuple[str, ...]:
    """Write which cells stay, and zeros after them where the output goes on."""
    stops = [before + size for (before, _), size in zip(step.padding, step.output[2:], strict=True)]
    bounds = [
        f"{max(before, 0) or ''}:{'' if stop >= size else stop}"
        for (before, _), stop, size in zip(step.padding, stops, laid, strict=True)
    ]
    pads = tuple((0, max(stop - size, 0)) for stop, size in zip(stops, laid, strict=True))
    crop = (f"x = x{slices(bounds, channels_last=True)}",) if any(bound != ":" for bound in bounds) else ()
    return (*crop, f"x = {constant(pad_step(step, pads, 0))}") if any(after for _, after in pads) else crop


def _zeros_between(step: Step) -> str:
    """Write a kernel with holes as one with zeros."""
    whole = with_zeros_between(step)
    every = ", ".join(f"0:{extent}:{hole}" for extent, hole in zip(whole.window, step.dilation, strict=True))
    places = f"np.moveaxis(np.mgrid[{every},], 0, -1)" if step.rank == 1 else f"np.moveaxis(np.mgrid[{every}], 0, -1)"
    shape = tuple_of([*whole.window, step.kernel[1], step.kernel[0]])
    return f"kernel = keras.ops.scatter({places}, kernel, {shape})"
