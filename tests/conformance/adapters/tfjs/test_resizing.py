"""The module `resizing` of the adapter for TensorFlow.js."""

import pytest

from conformance.adapters.tfjs.resizing import (
    BLOCK_OF_ONE,
    NO_BLOCK_GRADIENT,
    NO_CROP,
    NO_CROP_GRADIENT,
    NO_CROPPED_SCALE,
    NO_CUBIC,
    NO_RANK,
    NO_RULE,
    NO_SCALE,
    depth_to_space,
    resize,
)
from conformance.cases.steps import Step

LINEAR = {"mode": "linear", "coordinates": "half_pixel"}
UPPER = {"mode": "nearest", "coordinates": "half_pixel", "nearest_rounding": "round_prefer_ceil"}


def step(shape=(1, 2, 4, 5), operator="resize", **parameters):
    return Step(operator, shape, "float32", {"cubic_a": -0.75, **parameters})


@pytest.mark.parametrize(
    ("coordinates", "arguments"),
    [("asymmetric", ""), ("align_corners", ", true"), ("half_pixel", ", false, true")],
)
def test_arguments_select_the_coordinates(coordinates, arguments):
    text = f"tf.image.resizeBilinear(x, [7, 3]{arguments})"
    assert resize(step(size=(7, 3), mode="linear", coordinates=coordinates)) == text


def test_nearest_cells_at_ties_are_the_upper_ones():
    assert resize(step(size=(2, 5), **UPPER)) == "tf.image.resizeNearestNeighbor(x, [2, 5], false, true)"
    # By four the coordinates of rows are 3/2 and 11/2.
    lower = {**UPPER, "nearest_rounding": "round_prefer_floor"}
    assert resize(step((1, 2, 8, 5), size=(2, 5), **lower)) is NO_RULE


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (step((1, 2, 4), size=(8,), **LINEAR), NO_RANK),
        (step(size=(7, 3), mode="cubic", coordinates="half_pixel"), NO_CUBIC),
        (step(size=(8, 10), scale=(2, 2), **LINEAR), NO_SCALE),
        (step(size=(7, 1), mode="linear", coordinates="pytorch_half_pixel"), NO_RULE),
    ],
)
def test_other_calls_are_not_written(refused, reason):
    assert resize(refused) is reason


CROP = {"mode": "linear", "coordinates": "tf_crop_and_resize"}


def test_a_crop_has_one_box_for_each_image():
    region = {"roi_start": (0.25, 0), "roi_end": (1, 0.5)}
    cropped = resize(step((2, 3, 4, 5), size=(2, 3), **CROP, **region))
    boxes = "[[0.25, 0, 1, 0.5], [0.25, 0, 1, 0.5]]"
    assert cropped == f"tf.image.cropAndResize(x, {boxes}, [0, 1], [2, 3])"
    outside = resize(step(size=(2, 3), extrapolation_value=7, **CROP))
    assert outside == 'tf.image.cropAndResize(x, [[0, 0, 1, 1]], [0], [2, 3], "bilinear", 7)'


def test_a_crop_has_no_scale_and_no_gradient_and_copies_upper_cells():
    assert resize(step(scale=(2, 2), **CROP)) is NO_CROPPED_SCALE
    parameters = {"cubic_a": -0.75, "size": (2, 3), **CROP}
    assert resize(Step("resize", (1, 2, 4, 5), "float32", parameters, gradient=True)) is NO_CROP_GRADIENT
    nearest = {**CROP, "mode": "nearest", "nearest_rounding": "round_prefer_floor"}
    assert resize(step((1, 2, 6, 5), size=(3, 3), **nearest)) is NO_CROP


def test_depth_to_space_has_one_order_and_no_gradient():
    blocks = {"shape": (1, 8, 2, 3), "operator": "depth_to_space"}
    assert depth_to_space(step(**blocks, block=2, order="dcr")) == "tf.depthToSpace(x, 2)"
    assert "the order dcr" in depth_to_space(step(**blocks, block=2, order="crd")).reason
    assert depth_to_space(step(**blocks, block=1, order="dcr")) is BLOCK_OF_ONE
    gradient = Step("depth_to_space", (1, 8, 2, 3), "float32", {"block": 2, "order": "dcr"}, gradient=True)
    assert depth_to_space(gradient) is NO_BLOCK_GRADIENT
