"""Pooling calls of TensorFlow.js."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conformance.adapters.api import Code, Lowering, Step, Unsupported, is_framework_same, named_padding
from conformance.adapters.api.javascript import call, list_of, pairs_of, per_axis
from conformance.cases.operators import PaddingWord, Rounding

PLANE_RANK, VOLUME_RANK = 2, 3
SAME = '"same"'
NEEDS_STRIDES = Unsupported("the call requires strides")
ROUNDS_DOWN = Unsupported(
    'with "ceil" the kernel still rounds the output size down, and the rest of the result is uninitialized memory'
)
PADDING_EXCEEDS_WINDOW = Unsupported(
    "the kernel takes no padding as large as the window, and the result is uninitialized memory"
)
MAX_SIZE = 2**31 - 1
LARGE_SIZE = Unsupported("the kernel takes sizes of 32 bits")
READS_OUTSIDE = Unsupported("the kernel checks no arguments: it reads outside of its memory, or never returns")
NO_STRIDED_DILATION = Unsupported("the call supports a stride or a dilation, not both")
ROUNDS_UP_FULLY = Unsupported("the output size is rounded up also where a window starts in the padding after x")
NO_UNEVEN_VOLUME = Unsupported("pooling of three axes takes one number as padding")
NOT_COUNTED = Unsupported("tf.avgPool never counts padding, and has no divisor")


def padding_text(step: Step, pairs: Sequence[tuple[int, int]], *, needs_number: bool = False) -> str | None:
    """Return padding as a word, a number or pairs for all axes; None if the call takes none of these.

    pairs: those of a step of one axis have the axis with one cell, too.
    """
    if is_framework_same(step):
        return SAME
    if not any(any(pair) for pair in pairs) and not needs_number:
        return '"valid"'
    sides = {side for pair in pairs for side in pair}
    # With a number, calls of two axes compute the output size of both axes with the window and the stride of the first.
    if len(sides) == 1 and (step.rank == VOLUME_RANK or _has_equal_axes(step)):
        return str(int(sides.pop()))
    if step.rank != VOLUME_RANK:
        return pairs_of([(0, 0), *pairs, (0, 0)])
    return named_padding(step, {PaddingWord.SAME_UPPER: "same"})


def _has_equal_axes(step: Step) -> bool:
    """Whether window, stride and dilation are the same for all axes."""
    return step.rank > 1 and all(len(set(sizes)) == 1 for sizes in (step.window, step.stride or (), step.dilation))


def _through_plane(step: Step) -> Step:
    """Return a step of one axis as a step of two axes, the first of which has one cell."""
    if step.rank != 1:
        return step
    parameters: dict[str, Any] = {
        "window": (1, *step.window),
        "stride": (1, *(step.stride or ())),
        "dilation": (1, *step.dilation),
    }
    if not is_framework_same(step):
        parameters["padding"] = ((0, 0), *step.padding)
    return replace(step, shape=(*step.shape[:2], 1, *step.shape[2:]), parameters={**step.parameters, **parameters})


def _limit(step: Step) -> Unsupported | None:
    """Return why no call supports the step, None if one does."""
    if step.stride is None:
        return NEEDS_STRIDES
    if step.rank == VOLUME_RANK and step.dtype != "float32":
        return Unsupported(f"tf.maxPool3d returns float32 for {step.dtype}")
    if max(step.dilation) > MAX_SIZE:
        return Unsupported("a dilation beyond 32 bits takes a loop of as many steps")
    return ROUNDS_UP_FULLY if _drops_windows(step) else None


def _pool(kind: str, step: Step) -> Code:
    """Return the call of a pooling, for data of one axis with an axis of one cell added and removed."""
    limit = _limit(step)
    if limit:
        return limit
    rounding = None if step.parameters.get("rounding", Rounding.FLOOR) == Rounding.FLOOR else '"ceil"'
    plane = _through_plane(step)
    x = "tf.expandDims(x, 1)" if step.rank == 1 else "x"
    pads = padding_text(plane, () if is_framework_same(step) else plane.padding, needs_number=rounding is not None)
    if pads is None:
        return NO_UNEVEN_VOLUME
    window, stride = per_axis(plane.window, plane.rank), per_axis(plane.stride or (), plane.rank)
    if not step.dilated:
        name = f"tf.{kind}Pool{'3d' if step.rank == VOLUME_RANK else ''}"
        text = call(name, x, window, stride, pads, rounding)
    elif step.rank == VOLUME_RANK or pads != '"valid"' or rounding:
        return Unsupported("dilated pooling has no padding, no rounding up, and at most two axes")
    elif any(one != 1 for one in step.stride or ()):
        return NO_STRIDED_DILATION
    else:
        text = call("tf.pool", x, list_of(plane.window), f'"{kind}"', pads, list_of(plane.dilation), stride)
    return f"tf.squeeze({text}, [1])" if step.rank == 1 else text


def _drops_windows(step: Step) -> bool:
    """Whether the output size is rounded up, but not where the last window starts in the padding."""
    full = Rounding.FULL.value
    is_ceil = step.parameters.get("rounding") == Rounding.CEIL
    return is_ceil and step.windows.output != step.with_parameters(rounding=full).windows.output


def max_pool(step: Step) -> Code:
    """Return `tf.maxPool`, `tf.maxPool3d`, or `tf.pool` for dilated windows."""
    return _pool("max", step)


def avg_pool(step: Step) -> Code:
    """Return `tf.avgPool`, `tf.avgPool3d`, or `tf.pool` for dilated windows."""
    counts_padding = not is_framework_same(step) and step.padded and step.parameters.get("count_include_pad")
    return NOT_COUNTED if counts_padding or step.parameters.get("divisor") is not None else _pool("avg", step)


def max_pool_with_argmax(step: Step) -> Code:
    """Return the values of `tf.maxPoolWithArgmax`."""
    is_floor = step.parameters.get("rounding", Rounding.FLOOR) == Rounding.FLOOR
    if (
        step.rank != PLANE_RANK
        or step.dilated
        or is_framework_same(step)
        or step.padded
        or not is_floor
        or step.stride is None
    ):
        return Unsupported("the call supports two axes, and no padding by numbers, dilation or rounding up")
    text = call(
        "tf.maxPoolWithArgmax", "x", per_axis(step.window, step.rank), per_axis(step.stride, step.rank), '"valid"'
    )
    if step.gradient:
        return Unsupported("tf.maxPoolWithArgmax has no gradient")
    if step.parameters.get("output") == "indices":
        return Unsupported("indices are int32, and count the channels too")
    return f"{text}.result"


def checked(lowering: Lowering, step: Step) -> Code:
    """Return the code of a pooling call whose kernel checks no arguments, and always rounds the output size down."""
    if step.stride is not None and not is_framework_same(step) and _reads_outside(step):
        return READS_OUTSIDE
    axes = () if is_framework_same(step) else zip(step.padding, step.window, step.dilation, strict=False)
    if step.rank < VOLUME_RANK and any(max(pair) > (window - 1) * dilation for pair, window, dilation in axes):
        return PADDING_EXCEEDS_WINDOW
    if max((*step.window, *(step.stride or ()))) > MAX_SIZE:
        return LARGE_SIZE
    is_floor = step.parameters.get("rounding", Rounding.FLOOR) == Rounding.FLOOR
    return lowering(step) if is_floor or step.rank == VOLUME_RANK else ROUNDS_DOWN


def _reads_outside(step: Step) -> bool:
    """Whether a stride is not positive, padding is negative, or a window exceeds the padded input."""
    axes = zip(step.shape[2:], step.window, step.stride or (), step.padding, step.dilation, strict=False)
    return any(
        stride < 1 or min(before, after) < 0 or (window - 1) * dilation + 1 > size + before + after
        for size, window, stride, (before, after), dilation in axes
    )


def global_pool(name: str, step: Step) -> Code:
    """Return a reduction of all spatial axes."""
    return call(f"tf.{name}", "x", list_of(range(1, step.rank + 1)), "true")
