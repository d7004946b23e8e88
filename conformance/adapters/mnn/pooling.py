"""MNN: pooling of two axes, reductions of whole planes, and padding."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    call,
    crops,
    exceeds_extent,
    is_framework_same,
    named_padding,
    pairs_for_all_axes,
    slices,
    spatial_axes,
    too_many_axes,
    tuple_of,
)
from conformance.cases.operators import PaddingWord, PadMode, Rounding

PLANE_RANK = 2
CAFFE, SAME, VALID = "F.CAFFE", "F.SAME", "F.VALID"
NEEDS_STRIDE = Unsupported("the call requires a stride")
ONE_PADDING = Unsupported("calls have one padding for both ends of an axis")
ROUNDS_UP = Unsupported("with padding, and with F.CAFFE, the output size is rounded up")
MODES = {PadMode.CONSTANT: None, PadMode.REFLECT: "F.REFLECT", PadMode.SYMMETRIC: "F.SYMMETRIC"}


def width_first(step: Step, values: Sequence[int], fill: int) -> str:
    """Return numbers for two axes, the width first. fill: the number of the row that a single axis becomes part of."""
    return tuple_of((*reversed(values), *(fill,) * (step.rank == 1)))


def as_plane(step: Step, name: str) -> str:
    """Return the array with a height of 1 if the step has one axis."""
    return f"F.unsqueeze({name}, [2])" if step.rank == 1 else name


def without_row(step: Step, text: str) -> str:
    """Return the expression without the height of 1 that `as_plane` adds."""
    return f"F.squeeze({text}, [2])" if step.rank == 1 else text


def named_mode(step: Step) -> str | None:
    """Return the padding mode that needs no numbers, or None."""
    if is_framework_same(step):
        return SAME
    name = named_padding(step, {PaddingWord.VALID: VALID, PaddingWord.SAME_UPPER: SAME})
    return name and name.strip('"')


def _padding(step: Step) -> tuple[str | None, ...] | Unsupported:
    """Return the padding mode and the pads; None stands for an argument that has the default."""
    named = named_mode(step)
    if named is not None:
        return () if named == VALID else (named,)
    if step.symmetric is None:
        return ONE_PADDING
    if step.windows.output != step.with_parameters(rounding=Rounding.FULL.value).windows.output:
        return ROUNDS_UP
    return CAFFE, *((width_first(step, step.symmetric, 0),) if step.padded else ())


def _pool(name: str, step: Step) -> Code:
    if step.stride is None:
        return NEEDS_STRIDE
    if step.dilated:
        return Unsupported("pooling has no dilation")
    padding = too_many_axes(step, PLANE_RANK) or _padding(step)
    if isinstance(padding, Unsupported):
        return padding
    sizes = width_first(step, step.window, 1), width_first(step, step.stride, 1)
    return without_row(step, call(f"F.{name}", as_plane(step, "x"), *sizes, *padding))


def cropped_pool(step: Step) -> Code:
    """Return a call with as much padding at both ends, and a slice without the windows that it has more."""
    if step.stride is None or step.dilated or is_framework_same(step) or crops(step):
        return ROUNDS_UP
    # Windows more before the first one: the padding before the axis grows by as many strides.
    more = [
        max(0, -((before - after) // stride)) for (before, after), stride in zip(step.padding, step.stride, strict=True)
    ]
    padding = tuple(
        before + count * stride for (before, _), count, stride in zip(step.padding, more, step.stride, strict=True)
    )
    if step.operator == "avg_pool" and step.symmetric is None:
        return Unsupported("the divisor counts the padding at both ends")
    full = step.with_parameters(padding=tuple((pad, pad) for pad in padding), rounding=Rounding.FULL.value)
    code = max_pool(full) if step.operator == "max_pool" else avg_pool(full)
    bounds = [f"{count or ''}:{count + size}" for count, size in zip(more, step.windows.output, strict=True)]
    return code if isinstance(code, Unsupported) else f"{code}{slices(bounds, channels_last=False)}"


def max_pool(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    return _pool("max_pool", step)


def avg_pool(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    if step.parameters["divisor"] is not None:
        return Unsupported("average pooling has no divisor")
    is_same = step.stride is not None and named_mode(step) == SAME
    # F.SAME never counts padding, F.CAFFE always does.
    if not is_framework_same(step) and step.padded and step.parameters["count_include_pad"] is is_same:
        return Unsupported("padding counts in an average with F.CAFFE only, and always")
    return _pool("avg_pool", step)


def global_max_pool(step: Step) -> Code:
    """Return the reduction of whole planes."""
    return call("F.reduce_max", "x", str([*spatial_axes(step)]), "True")


def global_avg_pool(step: Step) -> Code:
    """Return the reduction of whole planes."""
    return call("F.reduce_mean", "x", str([*spatial_axes(step)]), "True")


def pad(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    mode = step.parameters["mode"]
    if mode not in MODES:
        return Unsupported(f"F.pad has no mode {mode}")
    if crops(step):
        return Unsupported("with negative pads, the call writes outside of the result")
    if step.parameters["value"]:
        return Unsupported("F.pad writes zeros only")
    pairs = [[int(before), int(after)] for before, after in pairs_for_all_axes(step.padding, channels_last=False)]
    text = call("F.pad", "x", str(pairs), MODES[mode])
    if exceeds_extent(step, {PadMode.REFLECT: 1, PadMode.SYMMETRIC: 0}):
        return Unsupported('"padding size is too large, result is undefined!"')
    return text
