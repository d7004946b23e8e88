"""Apache MXNet: resizing of planes by `BilinearResize2D` and `UpSampling`, which take `mxnet.nd` arrays only."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    FLOOR,
    has_rule,
    omits_coordinates,
    plain_kernels_only,
    resized_extents,
)
from conformance.adapters.mxnet.calls import ArrayApi
from conformance.cases.operators import Coordinates, ResizeMode

PLANE_RANK = 2
NO_RANK = Unsupported("BilinearResize2D and UpSampling resize planes only")
NO_SCALE = Unsupported("BilinearResize2D takes a size and no scale")
NO_RULE = Unsupported("BilinearResize2D takes a size, and its coordinates are pytorch_half_pixel or align_corners")
FLOAT32_ONLY = Unsupported("BilinearResize2D computes coordinates in float32, and weights of float16 in float16")
NO_SCALING = Unsupported("UpSampling takes one whole scale for both axes")
NO_NEAREST_RULE = Unsupported("UpSampling repeats each cell")
NO_CUBIC = Unsupported("MXNet has no cubic interpolation")


@plain_kernels_only
def resize(step: Step, api: ArrayApi) -> Code:
    """Return the call: UpSampling in the mode nearest, BilinearResize2D for linear interpolation."""
    if step.rank != PLANE_RANK:
        return NO_RANK
    if step.parameters.get("size") is not None and step.parameters.get("scale") is not None:
        return NO_SCALE
    mode = step.parameters["mode"]
    if mode == ResizeMode.CUBIC:
        return NO_CUBIC
    code = _upsampling(step, api) if mode == ResizeMode.NEAREST else _bilinear(step, api)
    return code if isinstance(code, Unsupported) else f"{code}{api.to_numpy}"


def _upsampling(step: Step, api: ArrayApi) -> str | Unsupported:
    extents = resized_extents(step)
    scale = extents[0] // step.shape[2] if step.shape[2] else 0
    if scale < 1 or extents != tuple(scale * one for one in step.shape[2:]):
        return NO_SCALING
    if not has_rule(step, ASYMMETRIC, FLOOR, recomputes_scale=True):
        return NO_NEAREST_RULE
    return call("mx.nd.UpSampling", f"x{api.to_framework}", scale=str(scale), sample_type='"nearest"')


def _bilinear(step: Step, api: ArrayApi) -> str | Unsupported:
    if step.dtype != "float32":
        return FLOAT32_ONLY
    is_default = omits_coordinates(step) or has_rule(step, ALIGN_CORNERS, recomputes_scale=True)
    if not (is_default or has_rule(step, Coordinates.PYTORCH_HALF_PIXEL.value, recomputes_scale=True)):
        return NO_RULE
    extents = resized_extents(step)
    if len(extents) != PLANE_RANK:
        return NO_RANK
    height, width = extents
    return call(
        "mx.nd.contrib.BilinearResize2D",
        f"x{api.to_framework}",
        height=str(int(height)),
        width=str(int(width)),
        align_corners=None if is_default else "False",
    )
