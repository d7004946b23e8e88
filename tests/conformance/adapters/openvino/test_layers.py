"""Calls of OpenVINO's opsets: parameters that agree with their observed behaviour."""

import pytest

from tests.support.layer_calls import IMAGE, WEIGHTS, case_of, check_case, check_rejected

SURFACE = "openvino.opset"
COUNTED = "ops.avg_pool(x, [3, 2], [0, 1], [0, 1], [2, 2], False, 'ceil')"
KERNEL_SHAPES = {"conv": (4, 3, 3, 2), "conv_transpose": WEIGHTS}
READ = [
    (
        "ops.max_pool(x, [2, 3], [1, 2], [1, 0], [0, 1], [3, 2], 'ceil').output(0)",
        "max_pool",
        {"stride": (2, 3), "dilation": (1, 2), "padding": ((1, 0), (0, 1)), "rounding": "full"},
    ),
    (
        "ov.opset1.max_pool(x, [2, 3], [1, 0], [0, 1], [3, 2], rounding_type='ceil_torch')",
        "max_pool",
        {"padding": ((1, 0), (0, 1)), "dilation": (1, 1), "rounding": "ceil"},
    ),
    (
        "opset.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], axis=2).output(1)",
        "max_pool_with_indices",
        {"output": "indices"},
    ),
    (
        "opset16.avg_pool(x, [2, 2], [9, 9], [9, 9], [3, 3], True, auto_pad='same_lower')",
        "avg_pool",
        {"padding": ((1, 1), (1, 0)), "count_include_pad": False},
    ),
    (
        "ops.avg_pool(x, [3, 2], [0, 0], [0, 0], [2, 2], False, 'ceil')",
        "avg_pool",
        {"count_include_pad": True, "rounding": "full"},
    ),
    ("ops.adaptive_max_pool(x, [3, 4], 'i32').output(0)", "adaptive_max_pool", {"output_size": (3, 4)}),
    ("ops.convolution(x, w, [2, 1], [1, 0], [0, 2], [1, 2])", "conv", {"padding": ((1, 0), (0, 2))}),
    ("ops.convolution(x, w, [2, 1], [0, 0], [0, 0], [1, 1], 'SAME_LOWER')", "conv", {"padding": ((1, 1), (1, 0))}),
    (
        "ops.convolution_backprop_data(x, w, [2, 3], pads_begin=[1, 0], output_padding=[1, 0])",
        "conv_transpose",
        {"padding": ((1, 0), (0, 0)), "output_padding": (1, 0), "dilation": (1, 1)},
    ),
    (
        "ops.group_convolution_backprop_data(x, ops.reshape(w, [3, 1, 2, 3, 4], False), [2, 3])",
        "conv_transpose",
        {"groups": 3},
    ),
    ("ops.pad(x, [0, 0, 1, -1], [0, 0, 2, 0], 'constant', np.float32(3.5))", "pad", {"pads": ((1, 2), (-1, 0))}),
]


@pytest.mark.parametrize(("text", "operator", "parameters"), READ)
def test_calls_are_read_with_their_own_defaults(text, operator, parameters):
    check_case(case_of(SURFACE, text, IMAGE, KERNEL_SHAPES.get(operator)), operator, parameters)


def test_groups_of_a_convolution_in_openvino_are_read_from_reshaped_filters():
    text = "ops.group_convolution(x, {}, [1, 1], [0, 0], [0, 0], [1, 1])"
    for filters in ("w", "ops.reshape(w, [3, 2, 1, 3, 2], False)"):
        check_case(case_of("openvino.opset", text.format(filters), IMAGE, (6, 1, 3, 2)), "conv", {"groups": 3})


REJECTED = [
    ("ops.max_pool(x, [1], [1], [0], [0], [2]).output(1)", None, None, "only indices in each channel, axis=2"),
    ("ops.max_pool(x, 2, 1, 0, 0, 2)", None, None, "expected a list with an integer for each spatial axis"),
    (COUNTED, None, None, "depends on the size of the input: add --shape"),
    (COUNTED, IMAGE, None, "elements past the padding count"),
    ("ops.convolution_backprop_data(x, w, [2], size)", None, None, "output_shape=size: only None"),
    ("ops.group_convolution_backprop_data(x, w, [2])", None, None, "the number of groups is unknown"),
    ("ops.pad(x, [0, 1, 1], [0, 0, 1], 'edge')", None, None, "with zeros for batch and channels"),
]


@pytest.mark.parametrize(("text", "shape", "kernel", "message"), REJECTED)
def test_call_without_equivalent_in_the_catalogue_is_rejected_with_one_line(text, shape, kernel, message):
    check_rejected(SURFACE, text, shape, kernel, message)
