"""LiteRT: RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR, which take the size of a plane."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api import Code, Step, Unsupported, as_lines, call
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
from conformance.adapters.litert.options import EXPAND_LINE, PLANE_RANK, SQUEEZE_LINE, integers, node
from conformance.cases.operators import ResizeMode

NAMES: Mapping[ResizeMode, tuple[str, str]] = {
    ResizeMode.NEAREST: ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptionsT"),
    ResizeMode.LINEAR: ("RESIZE_BILINEAR", "ResizeBilinearOptionsT"),
}
# The options of each rule: the coordinates, and the cell in the mode nearest.
RULES: tuple[tuple[str, str, dict[str, str]], ...] = (
    (ASYMMETRIC, FLOOR, {}),
    (ALIGN_CORNERS, PREFER_CEIL, {"alignCorners": "True"}),
    (HALF_PIXEL, PREFER_CEIL, {"halfPixelCenters": "True"}),
)
FLOAT32_ONLY = Unsupported("without quantization RESIZE_BILINEAR has float32 only")
NO_CUBIC = Unsupported("LiteRT has no cubic interpolation")
NO_SCALE = Unsupported("RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR take a size and no scale")
NO_VOLUMES = Unsupported("RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR resize planes")
NO_RULE = Unsupported(
    "the coordinates are asymmetric, align_corners or half_pixel, and the nearest cell is that at the corner, or the "
    "upper one at ties"
)


@plain_kernels_only
def resize(step: Step) -> Code:
    """Return the operator. A row is the row of a plane, which changes no value."""
    given = step.parameters
    if given["mode"] == ResizeMode.CUBIC:
        return NO_CUBIC
    if given["mode"] == ResizeMode.LINEAR and step.dtype != "float32":
        return FLOAT32_ONLY
    if step.rank > PLANE_RANK:
        return NO_VOLUMES
    if given.get("size") is not None and given.get("scale") is not None:
        return NO_SCALE
    options = next((options for *rule, options in RULES if omits_coordinates(step) or _has_rule(step, *rule)), None)
    if options is None:
        return NO_RULE
    name, option_type = NAMES[ResizeMode(given["mode"])]
    size = (*(1,) * (PLANE_RANK - step.rank), *resized_extents(step))
    text = node(name, ["x", integers(size)], call(f"schema.{option_type}", **options))
    return text if step.rank == PLANE_RANK else (EXPAND_LINE, *as_lines(text), SQUEEZE_LINE)


def _has_rule(step: Step, coordinates: str, nearest_rounding: str) -> bool:
    return has_rule(step, coordinates, nearest_rounding, recomputes_scale=True)
