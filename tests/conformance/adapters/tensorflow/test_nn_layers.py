"""Calls of `tf.nn`: parameters that agree with their observed behaviour."""

import pytest

from conformance import ConformanceError
from conformance.adapters.tensorflow.nn_layers import DIALECTS
from conformance.translation.layer import parse_layer
from tests.support.layer_calls import IMAGE, WEIGHTS, case_of, check_case, check_rejected

SURFACE = "tf.nn"
KERNEL_SHAPES = {"conv": (4, 3, 3, 2), "conv_transpose": WEIGHTS}
READ = [
    (
        "tf.nn.conv2d_transpose(x, w, (1, 14, 12, 2), 2)",
        "conv_transpose",
        {"padding": ((0, 1), (1, 1)), "output_padding": (0, 0)},
    ),
    (
        "tf.nn.conv2d_transpose(x, w, [1, 27, 28, 6], (1, 4, 5, 1), 'SAME')",
        "conv_transpose",
        {"padding": ((0, 0), (0, 1)), "groups": 3},
    ),
    ("tf.nn.conv2d_transpose(x, w, (1, 30, 30, 2), [4, 5], 'VALID')", "conv_transpose", {"output_padding": (3, 1)}),
    (
        "tf.nn.conv2d_transpose(x, w, (1, 14, 12, 2), 2, [[0, 0], [1, 0], [1, 1], [0, 0]])",
        "conv_transpose",
        {"padding": ((1, 0), (1, 1)), "output_padding": (0, 0)},
    ),
]


def test_a_crop_is_resizing_of_the_region_of_its_box():
    text = "tf.image.crop_and_resize(x, [[0.25, 0, 1, 0.5]], [0], [2, 3], extrapolation_value=7)"
    found = parse_layer(text, DIALECTS[SURFACE]).request
    assert found.operator == "resize"
    assert found.parameters == {
        "size": (2, 3),
        "mode": "linear",
        "coordinates": "tf_crop_and_resize",
        "roi_start": (0.25, 0),
        "roi_end": (1, 0.5),
        "extrapolation_value": 7,
    }


def test_a_crop_of_the_nearest_cells_copies_the_upper_one():
    text = "tf.image.crop_and_resize(x, [[0, 0, 1, 1], [0, 0, 1, 1]], [0, 1], [2, 3], 'nearest')"
    found = parse_layer(text, DIALECTS[SURFACE]).request.parameters
    assert (found["mode"], found["nearest_rounding"]) == ("nearest", "round_prefer_ceil")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("[[0, 0, 1, 1], [0, 0, 1, 0.5]], [0, 1]", "the same for each image"),
        ("[[0, 0, 1, 1]], [1]", "the same for each image"),
        ("[0, 0, 1, 1], [0]", "not a list of boxes"),
        ("boxes, [0]", "not a list of boxes"),
    ],
)
def test_other_boxes_are_errors(arguments, message):
    with pytest.raises(ConformanceError, match=message):
        parse_layer(f"tf.image.crop_and_resize(x, {arguments}, [2, 3])", DIALECTS[SURFACE])


@pytest.mark.parametrize(("text", "operator", "parameters"), READ)
def test_calls_are_read_with_their_own_defaults(text, operator, parameters):
    check_case(case_of(SURFACE, text, IMAGE, KERNEL_SHAPES.get(operator)), operator, parameters)


REJECTED = [
    ("tf.nn.conv2d_transpose(x, w, shape, 2)", IMAGE, WEIGHTS, "output_shape=shape: only a list of numbers"),
    ("tf.nn.conv2d_transpose(x, w, (1, 14, 12, 2), 2)", IMAGE, None, "add --kernel-shape"),
    ("tf.nn.conv2d_transpose(x, w, (1, 14, 12, 2), 2)", None, WEIGHTS, "add --shape"),
    ("tf.nn.conv2d_transpose(x, w, (1, 15, 12, 2), 2)", IMAGE, WEIGHTS, "maps (15, 12) to (8, 6)"),
    ("tf.nn.conv2d_transpose(x, w, (1, 14, 12, 3), 2)", IMAGE, WEIGHTS, "3 channels is not a multiple"),
]


@pytest.mark.parametrize(("text", "shape", "kernel", "message"), REJECTED)
def test_call_without_equivalent_in_the_catalogue_is_rejected_with_one_line(text, shape, kernel, message):
    check_rejected(SURFACE, text, shape, kernel, message)
