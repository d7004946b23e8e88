"""TensorFlow.js: resizing of planes by three functions of `tf.image`, and `tf.depthToSpace`."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported
from conformance.adapters.api.blocks.recipes import planes_in_order
from conformance.adapters.api.javascript import call, list_of, number
from conformance.adapters.api.resizing.rules import (
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP,
    FLOOR,
    HALF_PIXEL,
    PREFER_CEIL,
    has_rule,
    omits_coordinates,
    plain_kernels_only,
    region_ends,
    resized_extents,
)
from conformance.cases.operators import BlockOrder, ResizeMode

PLANE_RANK = 2
NAMES = {ResizeMode.NEAREST: "resizeNearestNeighbor", ResizeMode.LINEAR: "resizeBilinear"}
# The arguments of each rule: the coordinates, and the cell in the mode nearest.
RULES = ((ASYMMETRIC, FLOOR, ""), (ALIGN_CORNERS, PREFER_CEIL, ", true"), (HALF_PIXEL, PREFER_CEIL, ", false, true"))
NO_RANK = Unsupported("TensorFlow.js resizes planes only")
NO_CUBIC = Unsupported("TensorFlow.js has no cubic interpolation")
NO_SCALE = Unsupported("resizeBilinear and resizeNearestNeighbor take a size and no scale")
NO_RULE = Unsupported(
    "the coordinates are asymmetric, align_corners or half_pixel, and the nearest cell is that at the corner, or the "
    "upper one at ties"
)
NO_SPACE_TO_DEPTH = Unsupported("TensorFlow.js has no tf.spaceToDepth")
CROP_METHODS = {ResizeMode.NEAREST: "nearest", ResizeMode.LINEAR: "bilinear"}
NO_CROP = Unsupported("the nearest cell of tf.image.cropAndResize is the upper one at ties")
NO_CROPPED_SCALE = Unsupported("tf.image.cropAndResize takes a size and no scale")
NO_CROP_GRADIENT = Unsupported('"gradient function not found for CropAndResize"')
NO_BLOCK_GRADIENT = Unsupported('"gradient function not found for DepthToSpace"')
BLOCK_OF_ONE = Unsupported('"blockSize should be > 1 for depthToSpace"')


@plain_kernels_only
def resize(step: Step) -> Code:
    """Return the call whose coordinates are those of the step. It recomputes the scale from the sizes."""
    given = step.parameters
    if given["mode"] == ResizeMode.CUBIC:
        return NO_CUBIC
    if step.rank != PLANE_RANK:
        return NO_RANK
    if given.get("size") is not None and given.get("scale") is not None:
        return NO_SCALE
    if given.get("coordinates") == CROP:
        return _crop(step)
    name, size = NAMES[ResizeMode(given["mode"])], list(map(int, resized_extents(step)))
    for coordinates, rounding, arguments in RULES:
        if omits_coordinates(step) or has_rule(step, coordinates, rounding, recomputes_scale=True):
            return f"tf.image.{name}(x, {size}{arguments})"
    return NO_RULE


def _crop(step: Step) -> Code:
    """Return tf.image.cropAndResize with one box for each image."""
    mode, images = ResizeMode(step.parameters["mode"]), step.shape[0]
    if mode is ResizeMode.NEAREST and not has_rule(step, CROP, PREFER_CEIL):
        return NO_CROP
    if step.parameters.get("scale") is not None:
        return NO_CROPPED_SCALE
    if step.gradient:
        return NO_CROP_GRADIENT
    box = f"[{', '.join(number(one) for ends in region_ends(step) for one in ends)}]"
    outside = step.parameters.get("extrapolation_value") or None
    return call(
        "tf.image.cropAndResize",
        "x",
        f"[{', '.join([box] * images)}]",
        list_of(range(images)),
        list_of(resized_extents(step)),
        f'"{CROP_METHODS[mode]}"' if outside is not None or mode is ResizeMode.NEAREST else None,
        None if outside is None else number(outside),
    )


def depth_to_space(step: Step) -> Code:
    """Return the call, whose blocks have more than one cell."""
    if step.gradient:
        return NO_BLOCK_GRADIENT
    if step.parameters["block"] == 1:
        return BLOCK_OF_ONE
    return planes_in_order(step, BlockOrder.DCR, f"tf.depthToSpace(x, {number(step.parameters['block'])})")
