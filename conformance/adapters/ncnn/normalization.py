"""ncnn: the layer LRN of planes, which divides alpha by the size; an even window has its extra channel before."""

from __future__ import annotations

import math

from conformance.adapters.api import Code, Step, Unsupported, number
from conformance.adapters.api.normalization.recipes import EVEN_IS_BEFORE, PLANE_RANK, alpha_of, is_opposite
from conformance.adapters.ncnn.pooling import layer
from conformance.cases.operators import ExtraChannel

NO_RANK = Unsupported("LRN reads the channels of planes only")


def _text(step: Step) -> str:
    given = step.parameters
    numbers = {2: alpha_of(step, divides=True), 3: given.get("beta"), 4: given.get("k")}
    # A number without a point is read as an integer.
    floats = [f"{name}={number(float(value))}" for name, value in numbers.items() if value is not None]
    return layer("LRN", [f"1={int(given['local_size'])}", *floats])


def lrn(step: Step) -> Code:
    """Return the layer. Numbers that a convention leaves out have their defaults."""
    if is_opposite(step, ExtraChannel.BEFORE):
        return EVEN_IS_BEFORE
    return _text(step) if step.rank == PLANE_RANK else NO_RANK


def fallback(step: Step) -> Code:
    """Return the layer for an input with one row for all cells, between two flips of the channels if needed."""
    batch, channels, *extents = step.shape
    flips = ("x = x[:, ::-1]",) * is_opposite(step, ExtraChannel.BEFORE)
    return (
        *flips,
        f"x = x.reshape({(batch, channels, 1, math.prod(extents))})",
        f"x = {_text(step)}",
        f"x = x.reshape({step.shape})",
        *flips,
    )
