"""Padding with `keras.ops` and with Keras layers."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    call,
    crops,
    exceeds_extent,
    indexed_pad,
    pairs_for_all_axes,
    pairs_of,
    text_unless_default,
    too_many_axes,
)
from conformance.adapters.keras.engines import Engine
from conformance.adapters.tensorflow.dtypes import PLANE_RANK, padding_layer

CONSTANT_MODE = "constant"
CANNOT_CROP = Unsupported("keras.ops.pad is documented to add cells, not to remove them")


def constant_pad(step: Step, *, channels_last: bool = True) -> str:
    """Return `keras.ops.pad` in constant mode."""
    pads = pairs_of(pairs_for_all_axes(step.padding, channels_last=channels_last))
    # A number would make the padding of a bool array an integer.
    text = "True" if step.dtype == "bool" else None
    return call("keras.ops.pad", "x", pads, constant_values=text_unless_default(0, step.parameters["value"], text))


def pad(engine: Engine, step: Step) -> Code:
    """Return `keras.ops.pad`, if the engine supports the mode."""
    mode = step.parameters["mode"]
    if mode == CONSTANT_MODE:
        text = constant_pad(step, channels_last=not engine.has_channels_first)
        if crops(step):
            return replace(CANNOT_CROP, rejected_call=text)
        return too_many_axes(step, engine.max_constant_axes) or text
    if crops(step):
        return CANNOT_CROP
    if mode not in engine.padding_modes:
        return Unsupported(f"keras.ops.pad has no mode {mode} on this engine")
    limit = too_many_axes(step, engine.max_padded_axes)
    if limit:
        return limit
    pads = pairs_of(pairs_for_all_axes(step.padding, channels_last=not engine.has_channels_first))
    text = call("keras.ops.pad", "x", pads, f'"{engine.padding_modes[mode]}"')
    reason = _unsupported_amount(engine, step)
    return Unsupported(reason, rejected_call=text) if reason else text


def _unsupported_amount(engine: Engine, step: Step) -> str:
    """Return why the engine rejects the amounts of padding in a mode that it supports; "" if it accepts them."""
    if exceeds_extent(step, engine.padding_margins):
        return f"mode {step.parameters['mode']} on this engine cannot add more cells than the input has"
    # Keras passes to PyTorch the pads of the last axes only, as far as the first axis that has any, and PyTorch
    # rejects two pads for four axes.
    if engine.has_channels_first and step.rank == engine.max_padded_axes == PLANE_RANK and not any(step.padding[0]):
        return "this engine cannot pad the last of four axes alone"
    return ""


def gathered_pad(engine: Engine, step: Step) -> Code:
    """Return a gather along each axis, for modes and amounts of padding that `keras.ops.pad` does not support."""
    first = 2 if engine.has_channels_first else 1
    code = indexed_pad(step, lambda cells, axis: (f"x = keras.ops.take(x, {cells}, axis={axis})",), first_axis=first)
    return engine.as_one_function(*code) if isinstance(code, tuple) else code


def zero_padding_layer(engine: Engine, step: Step) -> Code:
    """Return a layer that pads with zeros, or one that crops."""
    if engine.has_channels_first and step.rank == 1 and crops(step):
        return Unsupported("Cropping1D has no data_format")
    return padding_layer("keras.layers", step, data_format=engine.data_format)


def padding_layer_or_ops(engine: Engine, step: Step) -> Code:
    """Return a padding layer, or operations if no layer supports the step."""
    # A gather comes last: it works for every mode, but is the least like what users write.
    for code in (zero_padding_layer(engine, step), pad(engine, step)):
        if not isinstance(code, Unsupported):
            return code
    return gathered_pad(engine, step)
