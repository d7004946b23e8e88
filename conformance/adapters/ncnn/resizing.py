"""ncnn: resizing of rows and planes by the layer `Interp`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api import Code, Step, Unsupported, number
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    FLOOR,
    HALF_PIXEL,
    has_rule,
    omits_coordinates,
    plain_kernels_only,
)
from conformance.adapters.ncnn.pooling import OTHER_RANK, layer
from conformance.cases.operators import ResizeMode

TYPES: Mapping[ResizeMode, int] = {ResizeMode.NEAREST: 1, ResizeMode.LINEAR: 2, ResizeMode.CUBIC: 3}
SCALES, SIZES = ("1", "2"), ("3", "4")
"""Parameters of the height and the width."""
PLANE_RANK = 2
CUBIC_A = -0.75
NO_VOLUMES = Unsupported("Interp resizes rows and planes")
SIZE_WINS = Unsupported("Interp ignores the scales if there is a size")
NO_NEAREST_RULE = Unsupported("nearest interpolation copies the cell at the corner")
NO_RULE = Unsupported("the coordinates of bilinear and bicubic interpolation are half_pixel or align_corners")
OTHER_KERNEL = Unsupported("the parameter of bicubic interpolation is -0.75")


@plain_kernels_only
def resize(step: Step) -> Code:
    """Return the layer. A row has a height of 1."""
    given = step.parameters
    size, scale = given.get("size"), given.get("scale")
    if step.rank > PLANE_RANK:
        return NO_VOLUMES
    if size is not None and scale is not None:
        return SIZE_WINS
    corners = _align_corners(step)
    if isinstance(corners, Unsupported):
        return corners
    numbers = (scale if size is None else size) or ()
    if len(numbers) != step.rank:
        return OTHER_RANK
    names = zip(SCALES if size is None else SIZES, (*(1,) * (PLANE_RANK - step.rank), *numbers), strict=True)
    sizes = [f"{name}={_text(value, is_scale=size is None)}" for name, value in names]
    return layer("Interp", [f"0={TYPES[ResizeMode(given['mode'])]}", *sizes, *["6=1"] * corners])


def _text(value: Any, *, is_scale: bool) -> str:
    # A number without a point is read as an integer.
    return number(float(value)) if is_scale else str(int(value))


def _align_corners(step: Step) -> bool | Unsupported:
    given = step.parameters
    if given["mode"] == ResizeMode.NEAREST:
        return False if omits_coordinates(step) or has_rule(step, ASYMMETRIC, FLOOR) else NO_NEAREST_RULE
    if given["mode"] == ResizeMode.CUBIC and given.get("cubic_a", CUBIC_A) != CUBIC_A:
        return OTHER_KERNEL
    if omits_coordinates(step) or has_rule(step, HALF_PIXEL):
        return False
    return True if has_rule(step, ALIGN_CORNERS) else NO_RULE
