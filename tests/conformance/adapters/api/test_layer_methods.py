"""Calls of tinygrad, OpenVINO, ONNX, tf.nn and keras.ops: parameters that agree with their observed behaviour."""

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.translation.layer import layer_notes, parse_layer
from tests.conformance.adapters.api.test_layer_calls import IMAGE, LINE, TAPS, WEIGHTS, case_of, check_case

DIALECTS = registry.dialects()
TINYGRAD, OPENVINO, KERAS = "tinygrad.Tensor", "openvino.opset", "keras-jax.ops"
FILTERS = (4, 3, 3, 2)

POOLS = [
    (TINYGRAD, "x.max_pool2d()", "max_pool", {"window": (2, 2), "stride": (2, 2)}),
    (TINYGRAD, "self.x.max_pool2d(3).realize()", "max_pool", {"window": (3, 3), "stride": (3, 3)}),
    (TINYGRAD, "Tensor.max_pool2d(x, (3, 2), padding=(1, 0))", "max_pool", {"padding": ((1, 1), (0, 0))}),
    (TINYGRAD, "x.max_pool2d((3, 2), padding=(1, 0, 0, 1))", "max_pool", {"padding": ((0, 1), (1, 0))}),
    (
        TINYGRAD,
        "x.max_pool2d(return_indices=True)[1].cast(dtypes.int64)",
        "max_pool_with_indices",
        {"output": "indices"},
    ),
    (TINYGRAD, "x.avg_pool2d((3, 3), ceil_mode=True)", "avg_pool", {"count_include_pad": True, "rounding": "ceil"}),
    (
        OPENVINO,
        "ops.max_pool(x, [2, 3], [1, 2], [1, 0], [0, 1], [3, 2], 'ceil').output(0)",
        "max_pool",
        {"stride": (2, 3), "dilation": (1, 2), "padding": ((1, 0), (0, 1)), "rounding": "full"},
    ),
    (
        OPENVINO,
        "ov.opset1.max_pool(x, [2, 3], [1, 0], [0, 1], [3, 2], rounding_type='ceil_torch')",
        "max_pool",
        {"padding": ((1, 0), (0, 1)), "dilation": (1, 1), "rounding": "ceil"},
    ),
    (
        OPENVINO,
        "opset.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], axis=2).output(1)",
        "max_pool_with_indices",
        {"output": "indices"},
    ),
    (
        OPENVINO,
        "opset16.avg_pool(x, [2, 2], [9, 9], [9, 9], [3, 3], True, auto_pad='same_lower')",
        "avg_pool",
        {"padding": ((1, 1), (1, 0)), "count_include_pad": False},
    ),
    (
        OPENVINO,
        "ops.avg_pool(x, [3, 2], [0, 0], [0, 0], [2, 2], False, 'ceil')",
        "avg_pool",
        {"count_include_pad": True, "rounding": "full"},
    ),
    (OPENVINO, "ops.adaptive_max_pool(x, [3, 4], 'i32').output(0)", "adaptive_max_pool", {"output_size": (3, 4)}),
    (KERAS, "keras.ops.max_pool(x, (3, 2), (2, 1), 'same')", "max_pool", {"padding": ((1, 1), (0, 1))}),
    (KERAS, "ops.average_pool(x, 2)", "avg_pool", {"stride": (2, 2), "count_include_pad": False}),
]

FILTERED = [
    (TINYGRAD, "x.conv2d(w, b, 1, 2, padding=1)", "conv", {"stride": (2, 2), "padding": ((1, 1), (1, 1))}),
    (
        TINYGRAD,
        "x.conv_transpose2d(w, stride=(2, 3), padding=(0, 1, 1, 2), output_padding=1)",
        "conv_transpose",
        {"padding": ((1, 2), (0, 1)), "output_padding": (1, 1)},
    ),
    (OPENVINO, "ops.convolution(x, w, [2, 1], [1, 0], [0, 2], [1, 2])", "conv", {"padding": ((1, 0), (0, 2))}),
    (
        OPENVINO,
        "ops.convolution(x, w, [2, 1], [0, 0], [0, 0], [1, 1], 'SAME_LOWER')",
        "conv",
        {"padding": ((1, 1), (1, 0))},
    ),
    (
        OPENVINO,
        "ops.convolution_backprop_data(x, w, [2, 3], pads_begin=[1, 0], output_padding=[1, 0])",
        "conv_transpose",
        {"padding": ((1, 0), (0, 0)), "output_padding": (1, 0), "dilation": (1, 1)},
    ),
    (
        OPENVINO,
        "ops.group_convolution_backprop_data(x, ops.reshape(w, [3, 1, 2, 3, 4], False), [2, 3])",
        "conv_transpose",
        {"groups": 3},
    ),
    (KERAS, "keras.ops.conv(x, w, 2, 'same')", "conv", {"padding": ((1, 1), (0, 0)), "groups": 1}),
    (KERAS, "keras.ops.conv_transpose(x, w, (5, 6))", "conv_transpose", {"output_padding": (2, 2)}),
    (
        KERAS,
        "keras.ops.conv_transpose(x, w, 3, 'same', output_padding=2)",
        "conv_transpose",
        {"padding": ((0, 0), (1, 1)), "output_padding": (0, 0)},
    ),
    (
        "tf.nn",
        "tf.nn.conv2d_transpose(x, w, (1, 14, 12, 2), 2)",
        "conv_transpose",
        {"padding": ((0, 1), (1, 1)), "output_padding": (0, 0)},
    ),
    (
        "tf.nn",
        "tf.nn.conv2d_transpose(x, w, [1, 27, 28, 6], (1, 4, 5, 1), 'SAME')",
        "conv_transpose",
        {"padding": ((0, 0), (0, 1)), "groups": 3},
    ),
    (
        "tf.nn",
        "tf.nn.conv2d_transpose(x, w, (1, 30, 30, 2), [4, 5], 'VALID')",
        "conv_transpose",
        {"output_padding": (3, 1)},
    ),
    (
        "tf.nn",
        "tf.nn.conv2d_transpose(x, w, (1, 14, 12, 2), 2, [[0, 0], [1, 0], [1, 1], [0, 0]])",
        "conv_transpose",
        {"padding": ((1, 0), (1, 1)), "output_padding": (0, 0)},
    ),
]

PADS = [
    (TINYGRAD, "x.pad((1, 2, 0, -1), value=-3.5)", {"pads": ((0, -1), (1, 2)), "value": -3.5}),
    (TINYGRAD, "x.pad((None, None, (1, 2), (0, 3)), mode='replicate')", {"pads": ((1, 2), (0, 3)), "mode": "edge"}),
    (OPENVINO, "ops.pad(x, [0, 0, 1, -1], [0, 0, 2, 0], 'constant', np.float32(3.5))", {"pads": ((1, 2), (-1, 0))}),
    (KERAS, "keras.ops.pad(x, ((0, 0), (1, 2), (0, 3), (0, 0)), 'reflect')", {"pads": ((1, 2), (0, 3))}),
    (
        "onnxruntime",
        'helper.make_node("Pad", ["x"], ["y"], pads=[0, 0, 1, -2, 0, 0, -1, 3], value=2.5)',
        {"pads": ((1, -1), (-2, 3)), "value": 2.5},
    ),
]


@pytest.mark.parametrize(("surface", "text", "operator", "parameters"), POOLS)
def test_pooling_calls_are_read_with_their_own_defaults(surface, text, operator, parameters):
    check_case(case_of(surface, text, IMAGE, None), operator, parameters)


@pytest.mark.parametrize(("surface", "text", "operator", "parameters"), FILTERED)
def test_convolution_calls_are_read_with_their_own_defaults(surface, text, operator, parameters):
    check_case(
        case_of(surface, text, IMAGE, WEIGHTS if operator == "conv_transpose" else FILTERS), operator, parameters
    )


@pytest.mark.parametrize(("surface", "text", "parameters"), PADS)
def test_pad_calls_are_read_with_their_own_defaults(surface, text, parameters):
    check_case(case_of(surface, text, IMAGE, None), "pad", parameters)


@pytest.mark.parametrize(
    ("surface", "text", "size"),
    [
        (TINYGRAD, "x.max_unpool2d(indices)", (14, 12)),
        (TINYGRAD, "x.max_unpool2d(indices, (3, 2), stride=2, padding=(1, 0))", (13, 12)),
        (TINYGRAD, "x.max_unpool2d(indices, output_size=(1, 3, 15, 13))", (15, 13)),
        (
            "onnxruntime",
            'helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[3, 3], strides=[2, 3], pads=[1, 0, 0, 1])',
            (14, 17),
        ),
    ],
)
def test_unpooling_has_the_output_size_of_its_window(surface, text, size):
    check_case(case_of(surface, text, IMAGE, None), "max_unpool", {"output_size": size})


def test_methods_of_tinygrad_take_any_number_of_axes():
    check_case(case_of(TINYGRAD, "x.max_pool2d((3,), padding=(1, 0))", LINE, None), "max_pool", {"padding": ((1, 0),)})
    transposed = case_of(TINYGRAD, "x.conv_transpose2d(w, padding=(1,))", LINE, TAPS)
    check_case(transposed, "conv_transpose", {"padding": ((1, 1),)})


def test_depthwise_convolution_has_as_many_groups_as_channels():
    found = case_of(KERAS, "keras.ops.depthwise_conv(x, w, 2, 'same')", IMAGE, (6, 1, 3, 2))
    check_case(found, "conv", {"groups": 3})


def test_groups_of_a_convolution_in_openvino_are_read_from_reshaped_filters():
    text = "ops.group_convolution(x, {}, [1, 1], [0, 0], [0, 0], [1, 1])"
    for filters in ("w", "ops.reshape(w, [3, 2, 1, 3, 2], False)"):
        check_case(case_of(OPENVINO, text.format(filters), IMAGE, (6, 1, 3, 2)), "conv", {"groups": 3})


def test_indices_of_onnx_have_a_note_on_their_order():
    text = 'helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])'
    assert "count through the whole tensor" in " ".join(
        layer_notes(parse_layer(text, DIALECTS["onnxruntime"], IMAGE), {})
    )


COUNTED = "ops.avg_pool(x, [3, 2], [0, 1], [0, 1], [2, 2], False, 'ceil')"
REJECTED = [
    (TINYGRAD, "max_pool2d((2, 2))", None, None, "'max_pool2d' is a method: x.max_pool2d(…)"),
    (
        TINYGRAD,
        "x.max_pool2d((2, 2), padding=(1, 2, 3))",
        None,
        None,
        "neither an integer nor one or two for each of 2 axes",
    ),
    (TINYGRAD, "x.pad((None, (1, 1), None))", None, None, "with None or (0, 0) for batch and channels"),
    (
        OPENVINO,
        "ops.max_pool(x, [1], [1], [0], [0], [2]).output(1)",
        None,
        None,
        "only indices in each channel, axis=2",
    ),
    (OPENVINO, "ops.max_pool(x, 2, 1, 0, 0, 2)", None, None, "expected a list with an integer for each spatial axis"),
    (OPENVINO, COUNTED, None, None, "depends on the size of the input: add --shape"),
    (OPENVINO, COUNTED, IMAGE, None, "elements past the padding count"),
    (OPENVINO, "ops.convolution_backprop_data(x, w, [2], size)", None, None, "output_shape=size: only None"),
    (
        OPENVINO,
        "ops.group_convolution_backprop_data(x, w, [2])",
        None,
        None,
        "the number of groups is unknown",
    ),
    (OPENVINO, "ops.pad(x, [0, 1, 1], [0, 0, 1], 'edge')", None, None, "with zeros for batch and channels"),
    ("onnxruntime", 'helper.make_node("Pad", ["x", "pads"], ["y"])', None, None, "write the attribute pads=[…]"),
    (
        "onnxruntime",
        'helper.make_node("MaxUnpool", ["x", "i", "s"], ["y"], kernel_shape=[2])',
        None,
        None,
        "output_shape given as an input cannot be read",
    ),
    ("tf.nn", "tf.nn.conv2d_transpose(x, w, shape, 2)", IMAGE, WEIGHTS, "output_shape=shape: only a list of numbers"),
    ("tf.nn", "tf.nn.conv2d_transpose(x, w, (1, 14, 12, 2), 2)", IMAGE, None, "add --kernel-shape"),
    ("tf.nn", "tf.nn.conv2d_transpose(x, w, (1, 14, 12, 2), 2)", None, WEIGHTS, "add --shape"),
    ("tf.nn", "tf.nn.conv2d_transpose(x, w, (1, 15, 12, 2), 2)", IMAGE, WEIGHTS, "maps (15, 12) to (8, 6)"),
    ("tf.nn", "tf.nn.conv2d_transpose(x, w, (1, 14, 12, 3), 2)", IMAGE, WEIGHTS, "3 channels is not a multiple"),
    (KERAS, "keras.ops.conv_transpose(x, w, 2)", None, None, "add --kernel-shape"),
    (KERAS, "keras.ops.depthwise_conv(x, w)", None, (6, 1, 3, 2), "the number of groups depends on"),
]


@pytest.mark.parametrize(("surface", "text", "shape", "kernel", "message"), REJECTED)
def test_unreadable_call_is_rejected_with_one_line(surface, text, shape, kernel, message):
    with pytest.raises(ConformanceError) as caught:
        parse_layer(text, DIALECTS[surface], shape, kernel)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
