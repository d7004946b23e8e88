"""Calls of `tf.nn`: parameters that agree with their observed behaviour."""

import pytest

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
