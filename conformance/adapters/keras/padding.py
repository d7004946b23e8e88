"""Keras 3: padding, of `keras.ops` and of layers."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api.source_text import all_axes, call, padded_cells, pairs_of, unless
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.keras.engines import Engine
from conformance.adapters.tensorflow.dtypes import SPATIAL, padding_layer
from conformance.cases.steps import Step

CONSTANT = "constant"
CANNOT_CROP = Unsupported("keras.ops.pad is documented to add cells, not to take them away")


def constant(step: Step, *, first: bool = False) -> str:
    """Return `keras.ops.pad` with one value; first: whether channels come first."""
    pads = pairs_of(all_axes(step.padding, channels_last=not first))
    text = "True" if step.dtype == "bool" else None
    return call("keras.ops.pad", "x", pads, constant_values=unless(0, step.parameters["value"], text))


def pad(engine: Engine, step: Step) -> Code:
    """Return `keras.ops.pad` in the modes that the engine has."""
    mode = step.parameters["mode"]
    crops = any(min(pair) < 0 for pair in step.padding)
    if mode == CONSTANT:
        text = constant(step, first=engine.first)
        return replace(CANNOT_CROP, refused=text) if crops else text
    if crops:
        return CANNOT_CROP
    if mode not in engine.modes:
        return Unsupported(f"keras.ops.pad has no mode {mode} on this engine")
    if step.rank == SPATIAL and not engine.spaces:
        return Unsupported("padding in other modes than constant goes along two axes")
    pads = pairs_of(all_axes(step.padding, channels_last=not engine.first))
    text = call("keras.ops.pad", "x", pads, f'"{engine.modes[mode]}"')
    lacking = _lacking(engine, step)
    return Unsupported(lacking, refused=text) if lacking else text


def _lacking(engine: Engine, step: Step) -> str:
    """Return why the engine refuses pads in a mode that it has, "" if it does not."""
    mode = step.parameters["mode"]
    sizes = zip(step.shape[2:], step.padding, strict=True)
    if mode in engine.reach and any(max(pair) > size - engine.reach[mode] for size, pair in sizes):
        return f"there are no more cells to repeat in mode {mode} on this engine"
    if engine.first and not engine.spaces and step.rank > 1 and not any(step.padding[0]):
        return "the last axis of four is not padded alone on this engine"
    return ""


def chosen(engine: Engine, step: Step) -> Code:
    """Take the cells of each axis by their indices, in the modes and at the distances that padding lacks."""
    mode = step.parameters["mode"]
    if mode == CONSTANT:
        return Unsupported("a constant stands in no cell")
    axes = list(zip(step.padding, step.shape[2:], strict=True))
    if any(size + min(before, 0) + min(after, 0) < 1 for (before, after), size in axes):
        return Unsupported("an axis without cells has none to repeat")
    lines = tuple(
        f"x = keras.ops.take(x, {padded_cells(mode, size, *pair)}, axis={axis})"
        for axis, (pair, size) in enumerate(axes, 2 if engine.first else 1)
        if any(pair)
    )
    return engine.whole(*lines) if lines else "x"


def layer(engine: Engine, step: Step) -> Code:
    """Return the layer that writes zeros, or crops."""
    if engine.first and step.rank == 1 and any(min(pair) < 0 for pair in step.padding):
        return Unsupported("Cropping1D has no data_format")
    return padding_layer("keras.layers", step, data_format=engine.layout)


def around_layers(engine: Engine, step: Step) -> Code:
    """Return the layer that pads, or the operations where no layer does."""
    for answer in (layer(engine, step), pad(engine, step)):
        if not isinstance(answer, Unsupported):
            return answer
    return chosen(engine, step)
