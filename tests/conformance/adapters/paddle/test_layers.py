"""Layers and functions of PaddlePaddle: parameters that agree with their own defaults."""

import pytest

from tests.support.layer_calls import IMAGE, WEIGHTS, case_of, check_case, check_rejected

KERNEL_SHAPES = {"conv": (4, 3, 3, 2), "conv_transpose": WEIGHTS}
READ = [
    ("paddle.nn", "nn.MaxPool2D(3, padding=[1, 0, 0, 1])", "max_pool", {"padding": ((1, 0), (0, 1)), "stride": (3, 3)}),
    ("paddle.nn", "nn.MaxPool2D(2, return_mask=True)", "max_pool_with_indices", {}),
    ("paddle.nn", "nn.MaxPool2D(2, ceil_mode=True)", "max_pool", {"rounding": "full"}),
    ("paddle.nn", "paddle.nn.AvgPool2D(3, exclusive=False)", "avg_pool", {"count_include_pad": True}),
    ("paddle.nn", "nn.AvgPool2D(3)", "avg_pool", {"count_include_pad": False}),
    ("paddle.nn", "nn.LPPool2D(2, 3)", "lp_pool", {"p": 2}),
    ("paddle.nn", "nn.Conv2D(3, 4, (3, 2), padding=1, bias_attr=False)", "conv", {"padding": ((1, 1), (1, 1))}),
    ("paddle.nn", "nn.ReflectionPad2D([1, 2, 0, 3])", "pad", {"mode": "reflect", "pads": ((0, 3), (1, 2))}),
    ("paddle.nn.functional", "F.avg_pool2d(x, 3, 1, 1, divisor_override=4)", "avg_pool", {"divisor": 4}),
    (
        "paddle.nn.functional",
        "F.conv2d(x, w, stride=2, padding=[[0, 0], [0, 0], [1, 2], [0, 1]])",
        "conv",
        {"padding": ((1, 2), (0, 1)), "stride": (2, 2)},
    ),
    (
        "paddle.nn.functional",
        "F.conv2d_transpose(x, w, None, 2, 1, 1)",
        "conv_transpose",
        {"stride": (2, 2), "padding": ((1, 1), (1, 1)), "output_padding": (1, 1)},
    ),
    ("paddle.nn.functional", "F.pad(x, [1, 2, 0, 3], mode='circular')", "pad", {"mode": "wrap"}),
]


@pytest.mark.parametrize(("surface", "text", "operator", "parameters"), READ)
def test_calls_are_read_with_their_own_defaults(surface, text, operator, parameters):
    kernel = None if text.startswith("nn.Conv") else KERNEL_SHAPES.get(operator)
    check_case(case_of(surface, text, IMAGE, kernel), operator, parameters)


REJECTED = [
    ("F.max_pool2d(x, 2, data_format='NHWC')", "only 'NCHW' can be translated"),
    ("F.max_pool2d(x, 2, padding=(1, 2, 3))", "neither an integer nor one or two for each of 2 axes"),
    ("F.max_pool2d(x, 2, padding=((1, 1), (0, 0), (0, 0), (0, 0)))", "with (0, 0) for batch and channels"),
]


@pytest.mark.parametrize(("text", "message"), REJECTED)
def test_call_without_equivalent_in_the_catalogue_is_rejected_with_one_line(text, message):
    check_rejected("paddle.nn.functional", text, IMAGE, None, message)
