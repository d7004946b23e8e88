"""Calls of `keras.ops`: parameters that agree with their observed behaviour."""

import pytest

from tests.support.layer_calls import IMAGE, WEIGHTS, case_of, check_case, check_rejected

SURFACE = "keras-jax.ops"
KERNEL_SHAPES = {"conv": (4, 3, 3, 2), "conv_transpose": WEIGHTS}
READ = [
    ("keras.ops.max_pool(x, (3, 2), (2, 1), 'same')", "max_pool", {"padding": ((1, 1), (0, 1))}),
    ("ops.average_pool(x, 2)", "avg_pool", {"stride": (2, 2), "count_include_pad": False}),
    ("keras.ops.conv(x, w, 2, 'same')", "conv", {"padding": ((1, 1), (0, 0)), "groups": 1}),
    ("keras.ops.conv_transpose(x, w, (5, 6))", "conv_transpose", {"output_padding": (2, 2)}),
    (
        "keras.ops.conv_transpose(x, w, 3, 'same', output_padding=2)",
        "conv_transpose",
        {"padding": ((0, 0), (1, 1)), "output_padding": (0, 0)},
    ),
    ("keras.ops.pad(x, ((0, 0), (1, 2), (0, 3), (0, 0)), 'reflect')", "pad", {"pads": ((1, 2), (0, 3))}),
]


@pytest.mark.parametrize(("text", "operator", "parameters"), READ)
def test_calls_are_read_with_their_own_defaults(text, operator, parameters):
    check_case(case_of(SURFACE, text, IMAGE, KERNEL_SHAPES.get(operator)), operator, parameters)


def test_depthwise_convolution_has_as_many_groups_as_channels():
    found = case_of("keras-jax.ops", "keras.ops.depthwise_conv(x, w, 2, 'same')", IMAGE, (6, 1, 3, 2))
    check_case(found, "conv", {"groups": 3})


REJECTED = [
    ("keras.ops.conv_transpose(x, w, 2)", None, None, "add --kernel-shape"),
    ("keras.ops.depthwise_conv(x, w)", None, (6, 1, 3, 2), "the number of groups depends on"),
]


@pytest.mark.parametrize(("text", "shape", "kernel", "message"), REJECTED)
def test_call_without_equivalent_in_the_catalogue_is_rejected_with_one_line(text, shape, kernel, message):
    check_rejected(SURFACE, text, shape, kernel, message)
