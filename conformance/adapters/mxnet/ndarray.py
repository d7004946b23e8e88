"""Apache MXNet: lowerings specific to `mxnet.nd`. It has the operators of mxnet.npx, but another padding call.

`mxnet.nd` and `mxnet.np` arrays work in one process. `npx.set_np()` changes one thing for `mxnet.nd`: without it, a
size of 0 means "unknown"; with it, empty arrays happen to work. The adapter runs no case with empty arrays here.
"""

from __future__ import annotations

from conformance.adapters.api import (
    Code,
    Lowering,
    Step,
    Unsupported,
    call,
    crops,
    exceeds_extent,
    number,
    padded_indices_text,
    quoted,
    slices,
    text_unless_default,
    too_many_axes,
)
from conformance.adapters.mxnet.calls import FLOATING, ArrayApi
from conformance.adapters.mxnet.padding import CONSTANT_MODE, full_array
from conformance.cases.operators import PadMode

# mx.nd.pad takes two or three spatial axes only.
ROW_RANK, PLANE_RANK, VOLUME_RANK = 1, 2, 3
NO_EMPTY_ARRAYS = Unsupported(
    '"`0` shapes are unsupported in the `mxnet.nd` interface"', "https://github.com/apache/mxnet/issues/19684"
)


def nonempty_arrays_only(lowering: Lowering) -> Lowering:
    """Return the lowering, restricted to arrays that are not empty."""
    return lambda step: NO_EMPTY_ARRAYS if 0 in step.shape else lowering(step)


def native_pad(step: Step) -> Code:
    """Return the call, or the reason why it is unsupported."""
    text = _pad_call(step)
    if step.rank not in {PLANE_RANK, VOLUME_RANK}:
        # No rejected call: for 1-D data it would fail because of the rank, not because of the parameters.
        return Unsupported("mx.nd.pad supports 2-D and 3-D data only")
    if step.parameters["mode"] not in {CONSTANT_MODE, PadMode.EDGE, PadMode.REFLECT}:
        return Unsupported("mx.nd.pad has no such mode", rejected_call=text)
    if step.dtype not in FLOATING:
        return Unsupported("mx.nd.pad takes floating point numbers only", rejected_call=text)
    if crops(step):
        return Unsupported("mx.nd.pad does not write the gradient of elements that it crops", rejected_call=text)
    if exceeds_extent(step, {"reflect": 1}):
        return Unsupported("mx.nd.pad reflects by less than the input size only", rejected_call=text)
    return text


def _pad_call(step: Step, operand: str = "x", axes: int = 2) -> str:
    """Return the call; axes: number of leading axes that are not padded."""
    mode = step.parameters["mode"]
    # One flat list, the first axis first, unlike the pairs of mnp.pad.
    widths = [0, 0] * axes + [width for pair in step.padding for width in pair]
    value = text_unless_default(0, step.parameters["value"]) if mode == CONSTANT_MODE else None
    return call(
        "mx.nd.pad", operand, mode=quoted(mode), pad_width=f"({', '.join(map(number, widths))})", constant_value=value
    )


def surround(step: Step) -> Code:
    """Return explicit padding in any mode and dtype."""
    answer = native_pad(step)
    return gathered_pad(step) if isinstance(answer, Unsupported) else answer


def gathered_pad(step: Step) -> Code:
    """Return padding for parameters that the call does not take.

    Modes other than constant index each axis. Constant padding of 1-D floating-point data adds an axis and pads in 2-D.
    Constant padding of integers writes x into an array that is filled with the value.
    """
    mode = step.parameters["mode"]
    if crops(step):
        return Unsupported("padding does not crop")
    if mode != CONSTANT_MODE:
        pairs = enumerate(zip(step.padding, step.shape[2:], strict=True), 2)
        indexed = ((axis, padded_indices_text(mode, size, *pair)) for axis, (pair, size) in pairs if any(pair))
        return "x" + "".join(f".take(mx.nd.array({indices}), axis={axis})" for axis, indices in indexed)
    if step.dtype in FLOATING:
        return f"{_pad_call(step, 'x.expand_dims(2)', 3)}.squeeze(2)" if step.rank == ROW_RANK else native_pad(step)
    if too_many_axes(step):
        return native_pad(step)
    # No mx.nd.where with a mask: integers have no pad that could make the mask.
    bounds = [f"{before}:{before + size}" for (before, _), size in zip(step.padding, step.shape[2:], strict=True)]
    lines = (f"y = {full_array(step, 'mx.nd')}", f"y{slices(bounds, channels_last=False)} = x", "x = y")
    # MXNet cannot assign to a slice of a bool array.
    return ('x = x.astype("uint8")', *lines, 'x = x.astype("bool")') if step.dtype == "bool" else lines


ND_API = ArrayApi(
    "mx.nd",
    "mx.nd",
    "mx.nd.Pooling",
    "mx.nd.Convolution",
    "mx.nd.Deconvolution",
    surround,
    elementwise="*",
    add="mx.nd.broadcast_add({x}, {other})",
)
