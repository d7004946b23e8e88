"""MLX: resizing by the layer `Upsample`, which takes a scale for each axis."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import Code, Step, Unsupported, call, number
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    FLOOR,
    HALF_PIXEL,
    PREFER_CEIL,
    PREFER_FLOOR,
    axis_has_rule,
    has_remainder,
    has_rule,
    omits_coordinates,
    plain_kernels_only,
    scale_of_each_axis,
)
from conformance.cases.operators import ResizeMode
from reference import ResampledAxis

MODES: Mapping[ResizeMode, str] = {
    ResizeMode.NEAREST: "nearest",
    ResizeMode.LINEAR: "linear",
    ResizeMode.CUBIC: "cubic",
}
CUBIC_A = -0.75
NO_SIZE = Unsupported("Upsample takes a scale, and this size is not the extent times a scale")
NO_NEAREST_RULE = Unsupported(
    "the mode nearest copies the cell at the corner if the output has no more cells, otherwise the cell nearest to the "
    "centre"
)
NO_RULE = Unsupported("the coordinates of linear and cubic interpolation are half_pixel or align_corners")
CENTRED = Unsupported("coordinates are centred if the scale does not give a whole size")
OTHER_KERNEL = Unsupported("the parameter of cubic interpolation is -0.75")
FLOAT32_RESULT = Unsupported("the weights of linear and cubic interpolation are float32, and so is the result")


@plain_kernels_only
def resize(step: Step) -> Code:
    """Return the layer, created and called."""
    if step.parameters["mode"] != ResizeMode.NEAREST and step.dtype != "float32":
        return FLOAT32_RESULT
    return _layer(step)


@plain_kernels_only
def converted_resize(step: Step) -> Code:
    """Return interpolation of 16-bit floats, converted back from float32."""
    code = _layer(step)
    return code if isinstance(code, Unsupported) else ("dtype = x.dtype", f"x = {code}.astype(dtype)")


def _layer(step: Step) -> str | Unsupported:
    given = step.parameters
    mode = ResizeMode(given["mode"])
    scales = scale_of_each_axis(step)
    if scales is None:
        return NO_SIZE
    found = _nearest_limit(step) if mode is ResizeMode.NEAREST else _align_corners(step)
    if isinstance(found, Unsupported):
        return found
    layer = call(
        "nn.Upsample",
        f"({', '.join(map(number, scales))}{',' * (len(scales) == 1)})",
        None if mode is ResizeMode.NEAREST else f'mode="{MODES[mode]}"',
        "align_corners=True" if found else None,
    )
    return f"{layer}(x)"


def _nearest_limit(step: Step) -> Unsupported | None:
    rounding = step.parameters.get("nearest_rounding")
    if omits_coordinates(step) or all(_copies_cells(axis, str(rounding)) for axis in step.resampled):
        return None
    return NO_NEAREST_RULE


def _copies_cells(axis: ResampledAxis, rounding: str) -> bool:
    if axis.output <= axis.size:
        return axis_has_rule(axis, rounding, ASYMMETRIC, FLOOR)
    # At a tie, the even cell is copied.
    return all(axis_has_rule(axis, rounding, HALF_PIXEL, rule) for rule in (PREFER_FLOOR, PREFER_CEIL))


def _align_corners(step: Step) -> bool | Unsupported:
    """Return the argument of linear and cubic interpolation."""
    given = step.parameters
    if given["mode"] == ResizeMode.CUBIC and given.get("cubic_a", CUBIC_A) != CUBIC_A:
        return OTHER_KERNEL
    if not omits_coordinates(step) and has_rule(step, ALIGN_CORNERS, recomputes_scale=True):
        return True
    if has_remainder(step):
        return CENTRED
    return False if omits_coordinates(step) or has_rule(step, HALF_PIXEL) else NO_RULE
