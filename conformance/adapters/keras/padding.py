"""Keras 3: padding, of `keras.ops` and of layers."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api.source_text import (
    call,
    padded_indices_text,
    pairs_for_all_axes,
    pairs_of,
    text_unless_default,
)
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.keras.engines import Engine
from conformance.adapters.tensorflow.dtypes import VOLUME_RANK, padding_layer
from conformance.cases.steps import Step

CONSTANT_MODE = "constant"
CANNOT_CROP = Unsupported("keras.ops.pad is documented to add cells, not to take them away")


def constant_pad(step: Step, *, first: bool = False) -> str:
    """Return `keras.ops.pad` with one value; first: whether channels come first."""
    pads = pairs_of(pairs_for_all_axes(step.padding, channels_last=not first))
    text = "True" if step.dtype == "bool" else None
    return call("keras.ops.pad", "x", pads, constant_values=text_unless_default(0, step.parameters["value"], text))


def pad(engine: Engine, step: Step) -> Code:
    """Return `keras.ops.pad` in the modes that the engine has."""
    mode = step.parameters["mode"]
    crops = any(min(pair) < 0 for pair in step.padding)
    if mode == CONSTANT_MODE:
        text = constant_pad(step, first=engine.has_channels_first)
        return replace(CANNOT_CROP, rejected_call=text) if crops else text
    if crops:
        return CANNOT_CROP
    if mode not in engine.padding_modes:
        return Unsupported(f"keras.ops.pad has no mode {mode} on this engine")
    if step.rank == VOLUME_RANK and not engine.supports_space_to_batch:
        return Unsupported("padding in other modes than constant goes along two axes")
    pads = pairs_of(pairs_for_all_axes(step.padding, channels_last=not engine.has_channels_first))
    text = call("keras.ops.pad", "x", pads, f'"{engine.padding_modes[mode]}"')
    lacking = _unsupported_mode(engine, step)
    return Unsupported(lacking, rejected_call=text) if lacking else text


def _unsupported_mode(engine: Engine, step: Step) -> str:
    """Return why the engine refuses pads in a mode that it has, "" if it does not."""
    mode = step.parameters["mode"]
    sizes = zip(step.shape[2:], step.padding, strict=True)
    if mode in engine.max_padding_by_mode and any(
        max(pair) > size - engine.max_padding_by_mode[mode] for size, pair in sizes
    ):
        return f"there are no more cells to repeat in mode {mode} on this engine"
    if engine.has_channels_first and not engine.supports_space_to_batch and step.rank > 1 and not any(step.padding[0]):
        return "the last axis of four is not padded alone on this engine"
    return ""


def indexed_pad(engine: Engine, step: Step) -> Code:
    """Take the cells of each axis by their indices, in the modes and at the distances that padding lacks."""
    mode = step.parameters["mode"]
    if mode == CONSTANT_MODE:
        return Unsupported("a constant stands in no cell")
    axes = list(zip(step.padding, step.shape[2:], strict=True))
    if any(size + min(before, 0) + min(after, 0) < 1 for (before, after), size in axes):
        return Unsupported("an axis without cells has none to repeat")
    lines = tuple(
        f"x = keras.ops.take(x, {padded_indices_text(mode, size, *pair)}, axis={axis})"
        for axis, (pair, size) in enumerate(axes, 2 if engine.has_channels_first else 1)
        if any(pair)
    )
    return engine.as_one_function(*lines) if lines else "x"


def zero_padding_layer(engine: Engine, step: Step) -> Code:
    """Return the layer that writes zeros, or crops."""
    if engine.has_channels_first and step.rank == 1 and any(min(pair) < 0 for pair in step.padding):
        return Unsupported("Cropping1D has no data_format")
    return padding_layer("keras.layers", step, data_format=engine.layout)


def padding_layer_or_ops(engine: Engine, step: Step) -> Code:
    """Return the layer that pads, or the operations where no layer does."""
    for answer in (zero_padding_layer(engine, step), pad(engine, step)):
        if not isinstance(answer, Unsupported):
            return answer
    return indexed_pad(engine, step)
