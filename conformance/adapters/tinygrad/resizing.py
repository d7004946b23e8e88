"""tinygrad: resizing by `Tensor.interpolate`, which takes the size of the last axes."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import Code, Step, Unsupported, call, tuple_of
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    FLOOR,
    HALF_PIXEL,
    PREFER_CEIL,
    has_rule,
    omits_coordinates,
    plain_kernels_only,
    resized_extents,
)
from conformance.cases.operators import ResizeMode

NEAREST_MODES = {"nearest": (ASYMMETRIC, FLOOR), "nearest-exact": (HALF_PIXEL, PREFER_CEIL)}
NO_SCALE = Unsupported("interpolate takes a size and no scale")
NO_CUBIC = Unsupported("tinygrad has no cubic interpolation")
NO_NEAREST_RULE = Unsupported(
    "the nearest modes copy the cell at the corner, or the cell nearest to the centre, upper at ties"
)
NO_RULE = Unsupported("the coordinates of linear interpolation are half_pixel or align_corners")
ALL_LAST_AXES = Unsupported("a size of more axes resizes the channels too")
NO_INTEGERS = Unsupported("linear interpolation of integers is rounded")
FLOAT32_WEIGHTS = Unsupported("the weights of float64 are float32")
ROUNDED_DIFFERENCES = Unsupported("differences of bfloat16 are rounded before they are multiplied by a weight")
LINEAR_DTYPES: Mapping[str, Unsupported | None] = {
    "float16": None,
    "float32": None,
    "float64": FLOAT32_WEIGHTS,
    "bfloat16": ROUNDED_DIFFERENCES,
}


@plain_kernels_only
def resize(step: Step) -> Code:
    """Return the call."""
    given = step.parameters
    if given.get("size") is not None and given.get("scale") is not None:
        return NO_SCALE
    if given["mode"] == ResizeMode.CUBIC:
        return NO_CUBIC
    arguments = _nearest_mode(step) if given["mode"] == ResizeMode.NEAREST else _linear_mode(step)
    if isinstance(arguments, Unsupported):
        return arguments
    extents = resized_extents(step)
    return call("x.interpolate", tuple_of(extents), *arguments) if len(extents) == step.rank else ALL_LAST_AXES


def _nearest_mode(step: Step) -> tuple[str, ...] | Unsupported:
    for mode, (coordinates, rounding) in NEAREST_MODES.items():
        if omits_coordinates(step) or has_rule(step, coordinates, rounding, recomputes_scale=True):
            return (f'mode="{mode}"',)
    return NO_NEAREST_RULE


def _linear_mode(step: Step) -> tuple[str, ...] | Unsupported:
    unsupported = LINEAR_DTYPES.get(step.dtype, NO_INTEGERS)
    if unsupported:
        return unsupported
    if omits_coordinates(step) or has_rule(step, HALF_PIXEL, recomputes_scale=True):
        return ()
    # The argument divides by zero for a single cell, so it does not replace another rule there.
    is_safe = step.parameters.get("coordinates") == ALIGN_CORNERS or 1 not in resized_extents(step)
    return ("align_corners=True",) if is_safe and has_rule(step, ALIGN_CORNERS, recomputes_scale=True) else NO_RULE
