"""Apache MXNet: padding in every mode.

`mnp.pad` of MXNet 1.9.1 always pads with zeros, differentiates constant padding only, and does not write the gradient
of elements that it crops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    call,
    crops,
    number,
    pairs_for_all_axes,
    pairs_of,
    quoted,
    text_unless_default,
    too_many_axes,
    tuple_of,
)
from conformance.adapters.mxnet.calls import ArrayApi
from conformance.cases.operators import PadMode

CONSTANT_MODE = "constant"
# mnp.full(shape, 2**63 - 1) is -2**63: the number is converted through float64.
MAX_EXACT_INTEGER = 2**53
READS_OUT_OF_BOUNDS = Unsupported("mnp.pad reads out of bounds where a reflection is cropped")
NO_WRAP = "mnp.pad has no mode wrap"


def pad(step: Step) -> Code:
    """Return the call, or the reason why it is unsupported."""
    mode = step.parameters["mode"]
    value = text_unless_default(0, step.parameters["value"]) if mode == CONSTANT_MODE else None
    text = call(
        "mnp.pad",
        "x",
        _pairs_text(step),
        mode=text_unless_default(CONSTANT_MODE, mode, quoted(mode)),
        constant_values=value,
    )
    if mode == PadMode.WRAP:
        return Unsupported(NO_WRAP, rejected_call=text)
    # mnp.pad and mnp.where take at most five axes, with batch and channels: "ndim=6too large".
    limit = too_many_axes(step)
    if limit:
        return limit
    if crops(step):
        unwritten = Unsupported("mnp.pad does not write the gradient of elements that it crops", rejected_call=text)
        return unwritten if mode == CONSTANT_MODE else READS_OUT_OF_BOUNDS
    return text


def _pairs_text(step: Step) -> str:
    return pairs_of(pairs_for_all_axes(step.padding, channels_last=False))


def wrapped_pad(step: Step) -> Code:
    """Return padding in mode wrap as cyclic indexing of each axis."""
    if step.parameters["mode"] != PadMode.WRAP or crops(step):
        return Unsupported("cyclic indexing implements mode wrap only")
    # One `take` for each axis; its own mode wrap applies the modulo to the indices.
    text = "x"
    for axis, ((before, after), size) in enumerate(zip(step.padding, step.shape[2:], strict=True), 2):
        if before or after:
            text += f'.take(mnp.arange({-before}, {size + after}), axis={axis}, mode="wrap")'
    return text


def differentiable_pad(step: Step) -> Code:
    """Return explicit padding as an expression with a correct gradient.

    For constant values other than 0 it selects from an array filled with the value. With a scalar in its place,
    mnp.where passes the gradient to the wrong operand.
    """
    value = step.parameters.get("value", 0)
    mode = step.parameters["mode"]
    if mode == PadMode.WRAP:
        return wrapped_pad(step)
    if mode != CONSTANT_MODE or value == 0 or crops(step) or too_many_axes(step):
        return pad(step)
    # mnp.pad of MXNet 1.9.1 lacks a `return` in its constant branch and always pads with 0. A mask of padded ones
    # selects the original cells. An array replaces the scalar because of apache/mxnet#17893, which 1.9.1 still has.
    pairs, filled = _pairs_text(step), full_array(step, "mnp")
    return f"mnp.where(mnp.pad(mnp.ones_like(x), {pairs}), mnp.pad(x, {pairs}), {filled})"


def full_array(step: Step, arrays: str) -> str:
    """Return an array filled with the padding value, of the shape of the padded array."""
    value = step.parameters["value"]
    if abs(value) > MAX_EXACT_INTEGER and value != -math.inf:
        # MXNet converts a scalar to float64, which cannot represent the greatest int64.
        return f"{arrays}.array(np.full({tuple_of(step.output)}, {number(value)}), dtype=x.dtype)"
    return f"{arrays}.full({tuple_of(step.output)}, {number(value)}, dtype=x.dtype)"


NP_API = ArrayApi(
    "mnp",
    "npx",
    "npx.pooling",
    "npx.convolution",
    "npx.deconvolution",
    differentiable_pad,
    to_framework=".as_nd_ndarray()",
    to_numpy=".as_np_ndarray()",
)


def differentiable_line(line: str) -> str:
    """Return the line, or for modes that mnp.pad does not differentiate, indexing with padded flat indices."""
    # The constant mode has a gradient of its own, and programs write no `mode` for it.
    start = "x = mnp.pad(x, "
    if not line.startswith(start) or "mode=" not in line:
        return line
    return f"x = x.reshape(-1).take(mnp.pad(mnp.arange(x.size).reshape(x.shape), {line.removeprefix(start)})"


def surround(step: Step, pads: Sequence[tuple[int, int]], value: float, api: ArrayApi = NP_API) -> Code:
    """Return x padded with a constant value, or x where all pads are 0."""
    if not any(any(pair) for pair in pads):
        return "x"
    return api.pad(Step("pad", step.shape, step.dtype, {"mode": CONSTANT_MODE, "pads": tuple(pads), "value": value}))
