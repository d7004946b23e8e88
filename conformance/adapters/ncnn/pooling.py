"""ncnn: layers for pooling and padding."""

from __future__ import annotations

import math
from collections.abc import Sequence

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    UnsupportedStep,
    crops,
    exceeds_extent,
    is_framework_same,
    number,
    tuple_of,
)
from conformance.cases.operators import PadMode, Rounding

SUFFIXES = {1: "1D", 2: "", 3: "3D"}
MODES = {PadMode.CONSTANT: 0, PadMode.EDGE: 1, PadMode.REFLECT: 2}
NO_ROUNDING = Unsupported("rounding up never drops a window that starts in the padding after the input")
MAXIMA = ("max_pool", "global_max_pool", "adaptive_max_pool")
OTHER_RANK = Unsupported("each axis has parameters of its own, so numbers of another rank cannot be written")
FULL, VALID, SAME = 0, 1, 2
"""Padding modes: `FULL` rounds the output size up, `VALID` down."""


def per_axis(step: Step, values: Sequence[int], first: int) -> list[str]:
    """Return parameters for each axis, the width first. first: the id of the width; the others follow by 10.

    Raises UnsupportedStep for numbers of another rank: each axis has a parameter of its own.
    """
    if len(values) != step.rank:
        raise UnsupportedStep(OTHER_RANK)
    return [f"{first + 10 * axis}={int(value)}" for axis, value in enumerate(reversed(values))]


def pads(step: Step, first: int) -> list[str]:
    """Return the parameters for both ends of each axis. first: the id of the pad before the width."""
    after = [f"{first + 11 + axis}={int(pair[1])}" for axis, pair in enumerate(reversed(step.padding))]
    return [*per_axis(step, [pair[0] for pair in step.padding], first), *after] if step.padded else []


def layer(name: str, parameters: Sequence[str], weights: Sequence[str] = ()) -> str:
    """Return a network of one layer, computed for each image."""
    arguments = ", ".join((f'"{name}"', f'"{" ".join(parameters)}"', *weights))
    return f"compute(network({arguments}), x)"


def _name(step: Step) -> str:
    return f"Pooling{SUFFIXES[step.rank]}"


def _kind(step: Step) -> str:
    return f"0={0 if step.operator in MAXIMA else 1}"


def _mode(step: Step) -> int | Unsupported:
    """Return the number of the padding mode."""
    if is_framework_same(step):
        return SAME
    rounding = step.parameters.get("rounding", Rounding.FLOOR)
    if rounding == Rounding.FLOOR:
        return VALID
    full = step.with_parameters(rounding=Rounding.FULL.value)
    return FULL if step.stride is None or step.windows.output == full.windows.output else NO_ROUNDING


def _pool(step: Step, *more: str) -> Code:
    if step.dilated:
        return Unsupported("pooling has no dilation")
    mode = _mode(step)
    if isinstance(mode, Unsupported):
        return mode
    # Without a stride, the layer has its default.
    stride = [] if step.stride is None else per_axis(step, step.stride, 2)
    padding = [] if mode == SAME else pads(step, 3)
    return layer(_name(step), [_kind(step), *per_axis(step, step.window, 1), *stride, *padding, f"5={mode}", *more])


def max_pool(step: Step) -> Code:
    """Return the layer, or Unsupported with the reason."""
    return _pool(step)


def avg_pool(step: Step) -> Code:
    """Return the layer, or Unsupported with the reason."""
    if step.parameters["divisor"] is not None:
        return Unsupported("average pooling has no divisor")
    counts = not is_framework_same(step) and step.padded and step.parameters["count_include_pad"]
    return _pool(step, *("6=1",) * bool(counts))


def global_pool(step: Step) -> Code:
    """Return the layer; its result has one axis."""
    return f"{layer(_name(step), [_kind(step), '4=1'])}.reshape{tuple_of((*step.shape[:2], *(1,) * step.rank))}"


def adaptive_pool(step: Step) -> Code:
    """Return the layer."""
    return layer(_name(step), [_kind(step), "7=1", *per_axis(step, step.parameters["output_size"], 8)])


def pad(step: Step) -> Code:
    """Return the layer, or Unsupported with the reason."""
    mode, value = step.parameters["mode"], step.parameters["value"]
    if mode not in MODES:
        return Unsupported(f"Padding has no mode {mode}")
    if not math.isfinite(value):
        return Unsupported("a parameter is a finite number")
    if crops(step):
        return Unsupported("a negative pad at the top crops the other end, and can write outside of the result")
    if len(step.padding) != step.rank:
        return OTHER_RANK
    if exceeds_extent(step, {PadMode.REFLECT: 1}):
        return Unsupported("a reflection beyond the extent reads outside of the input")
    ends = {"top": (0, 1), "left": (2, 3), "front": (7, 8)}
    axes = list(zip(reversed(step.padding), ("left", "top", "front"), strict=False))
    pairs = [f"{identity}={int(end)}" for pair, axis in axes for identity, end in zip(ends[axis], pair, strict=True)]
    return layer("Padding", [*pairs, f"4={MODES[mode]}", *([f"5={number(float(value))}"] if value else [])])
