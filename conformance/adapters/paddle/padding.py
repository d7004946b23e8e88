"""PaddlePaddle: padding in every mode."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api import (
    FLOATING,
    REPLICATE_AND_CIRCULAR_NAMES,
    Code,
    Step,
    Unsupported,
    call,
    crops,
    exceeds_extent,
    flat_pads,
    number,
    text_unless_default,
    too_many_axes,
    tuple_of,
)
from conformance.adapters.paddle.calls import no_kernel
from conformance.cases.operators import PadMode

NO_SYMMETRIC = Unsupported("PaddlePaddle has no symmetric padding")
PAD_DTYPES = frozenset({"float32", "float64", "int32", "int64"})


def functional_pad(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    mode = step.parameters["mode"]
    if mode != PadMode.CONSTANT:
        return _call_in_mode(
            step, call("F.pad", "x", flat_pads(step), mode=f'"{REPLICATE_AND_CIRCULAR_NAMES.get(mode)}"')
        )
    value = text_unless_default(0, step.parameters["value"])
    # A list for the spatial axes alone is read only for one to three of them, and starts with the last axis. A list for
    # all axes of the array starts with the first one.
    pads = (
        tuple_of([0] * 4 + [end for pair in step.padding for end in pair]) if too_many_axes(step) else flat_pads(step)
    )
    return if_kernel(step, call("F.pad", "x", pads, value=value))


def layer_pad(step: Step) -> Code:
    """Return the layer, or Unsupported with the reason."""
    mode = step.parameters["mode"]
    limit = too_many_axes(step)
    if limit:
        return limit
    if mode == PadMode.CONSTANT:
        value = step.parameters["value"]
        name, arguments = ("Constant", [number(value)]) if value else ("Zero", [])
        return if_kernel(step, call(f"nn.{name}Pad{step.rank}D", flat_pads(step), *arguments) + "(x)")
    word = f'"{REPLICATE_AND_CIRCULAR_NAMES.get(mode)}"'
    return _call_in_mode(step, call(f"nn.Pad{step.rank}D", flat_pads(step), mode=word) + "(x)")


def if_kernel(step: Step, text: str) -> Code:
    """Return a call of padding, or the reason why it has no kernel for the dtype."""
    if step.dtype in PAD_DTYPES:
        return text
    # Conventions about 16-bit floats ask how a call computes; those about integers also whether it rejects them.
    unsupported = no_kernel("padding", step.dtype)
    return unsupported if step.dtype in FLOATING else replace(unsupported, rejected_call=text)


def _call_in_mode(step: Step, text: str) -> Code:
    mode = step.parameters["mode"]
    if mode == PadMode.SYMMETRIC:
        return NO_SYMMETRIC
    limit = too_many_axes(step)
    if limit:
        return limit
    if crops(step):
        return Unsupported("the call mirrors before it crops", rejected_call=text)
    if exceeds_extent(step, {PadMode.REFLECT: 1}):
        return Unsupported("pads in mode reflect must be less than the extent", rejected_call=text)
    return if_kernel(step, text)
