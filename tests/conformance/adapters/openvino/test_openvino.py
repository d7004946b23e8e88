"""OpenVINO: the programs that are worth reading, and what has none."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api.surface import Program, Unsupported
from conformance.cases.parsing import parse_case
from conformance.translation.lowering import translate

(SURFACE,) = registry.get_backend("openvino").surfaces
PLANE = {"values": "integers", "shape": [1, 2, 4, 5]}
ROW = {"values": "integers", "shape": [1, 2, 6]}
KERNEL = {"values": "integers", "shape": [4, 1, 2, 2]}


def program(operator, **raw):
    return translate(parse_case({"operator": operator, "source": "here"}, {"id": "case", **raw}, "here"), SURFACE)


def lines(operator, **raw):
    """Return the operations, without what makes a model of them."""
    made = program(operator, **raw)
    assert isinstance(made, Program), made
    body = [line.strip() for line in made.text.splitlines()]
    start = next(place for place, line in enumerate(body) if "parameters =" in line)
    return body[start + 1 : -2]


def test_operations_stand_in_a_model_that_is_compiled_and_run():
    assert program("max_pool", x=ROW, window=2, stride=2).text.splitlines() == [
        "def run(x):",
        "    x = ov.Tensor(x)",
        "    data, x = x, ops.parameter(x.shape, x.element_type)",
        "    parameters = [x]",
        "    x = ops.max_pool(x, [2], [1], [0], [0], [2]).output(0)",
        '    x = core.compile_model(ov.Model([x], parameters), "CPU")(data)[0]',
        "    return x",
    ]


def test_every_input_but_weights_is_a_parameter():
    made = program("max_unpool", x={"values": [[[5, 7]]]}, indices={"values": [[[1, 2]]]}, output_size=[4])
    assert "    x = ov.Tensor(x)\n    indices = ov.Tensor(indices)\n    data = [x, indices]\n" in made.text
    assert "x, indices = parameters = [ops.parameter(each.shape, each.element_type) for each in data]" in made.text


def test_precision_is_named_because_the_default_is_bfloat16_where_the_processor_has_it():
    assert '"INFERENCE_PRECISION_HINT": "f32"' in registry.get_backend("openvino").setup


def test_weights_are_constants_and_the_bias_is_added():
    made = program("conv", x=PLANE, kernel={**KERNEL, "shape": [3, 2, 2, 2]}, bias={"values": [1, 2, 3]})
    assert made.how == "composed"
    assert "    kernel = ops.constant(kernel)\n    bias = ops.constant(bias)\n" in made.text
    assert "x = ops.convolution(x, kernel, [1, 1], [0, 0], [0, 0], [1, 1])" in made.text
    assert "x = ops.add(x, ops.reshape(bias, [1, -1, 1, 1], False))" in made.text


def test_kernel_of_groups_gets_an_axis_for_them():
    assert lines("conv", x=PLANE, kernel=KERNEL, groups=2, padding=[[1, 0], [0, 2]]) == [
        "x = ops.group_convolution(x, ops.reshape(kernel, [2, 2, 1, 2, 2], False), [1, 1], [1, 0], [0, 2], [1, 1])"
    ]


@pytest.mark.parametrize(("rounding", "word"), [("ceil", '"ceil_torch"'), ("full", '"ceil"')])
def test_rounding_that_drops_a_window_of_padding_is_that_of_torch(rounding, word):
    (line,) = lines("max_pool", x=ROW, window=2, stride=3, rounding=rounding)
    assert f"rounding_type={word}" in line


def test_averages_always_name_their_dilations_without_which_the_process_ends():
    (line,) = lines("avg_pool", x=ROW, window=2, stride=2)
    assert line == "x = ops.avg_pool(x, [2], [0], [0], [2], True, dilations=[1])"


def test_average_whose_last_window_reaches_past_the_padding_is_put_right():
    made = program("avg_pool", x=ROW, window=2, stride=3, rounding="full", count_include_pad=True)
    assert made.how == "composed"
    assert "x = mean(x) / mean(ops.broadcast(" in made.text


def test_indices_count_in_the_plane():
    (line,) = lines("max_pool_with_indices", x=ROW, window=2, stride=2, output="indices")
    assert line == "x = ops.max_pool(x, [2], [1], [0], [0], [2], axis=2).output(1)"


def test_indices_in_bfloat16_are_found_in_float32():
    found = lines("max_pool_with_indices", x={**ROW, "dtype": "bfloat16"}, window=2, stride=2, output="indices")
    assert found[0] == "x = ops.convert(x, ov.Type.f32)"


def test_bfloat16_enters_as_words_by_the_name_of_the_input():
    text = program("max_pool", x={**ROW, "dtype": "bfloat16"}, window=2, stride=2).text
    assert "    x = ov.Tensor(x, x.shape, ov.Type.bf16)\n" in text
    assert text.endswith('    return x.view(np.uint16).view([("bfloat16", np.uint16)])\n')


def test_adaptive_maximum_names_32_bit_indices_because_the_plugin_refuses_its_own_default():
    assert lines("adaptive_max_pool", x=ROW, output_size=[3]) == ['x = ops.adaptive_max_pool(x, [3], "i32").output(0)']


def test_least_window_is_the_negated_largest():
    assert lines("min_pool", x=ROW, window=2, stride=2) == [
        "x = ops.negative(x)",
        "x = ops.max_pool(x, [2], [1], [0], [0], [2]).output(0)",
        "x = ops.negative(x)",
    ]


def test_norm_is_of_the_cells_gathered_by_their_numbers():
    assert lines("lp_pool", x=ROW, window=2, stride=2, padding=1, p=1) == [
        "plane = np.arange(8).reshape(8,)",
        "cells = np.lib.stride_tricks.sliding_window_view(plane, (2,))[:7:2, ::1].reshape(4, 2)",
        'windows = ops.gather(ops.reshape(ops.pad(x, [0, 0, 1], [0, 0, 1], "constant"), [1, 2, -1], False), cells, 2)',
        "x = ops.reshape(ops.reduce_l1(windows, 3), [1, 2, 4], False)",
    ]


def test_padding_crops_and_pads_in_one_call():
    assert lines("pad", x=ROW, pads=[[-1, 2]], mode="constant", value=3) == [
        'x = ops.pad(x, [0, 0, -1], [0, 0, 2], "constant", np.float32(3))'
    ]


def test_cells_that_go_round_are_named():
    assert lines("pad", x={**ROW, "shape": [1, 1, 3]}, pads=[[1, 1]], mode="wrap") == [
        "x = ops.gather(x, [i % 3 for i in range(-1, 4)], 2)"
    ]


@pytest.mark.parametrize(
    ("dtype", "word"), [("float64", "does not support f64"), ("int64", "i64 is not supported"), ("int32", "float32")]
)
def test_dtypes_that_the_plugin_computes_in_another_are_refused_with_its_reason(dtype, word):
    refused = program("max_pool", x={**ROW, "dtype": dtype}, window=2, stride=2)
    assert isinstance(refused, Unsupported)
    assert word in refused.reason


def test_cropping_takes_no_more_dtypes_than_padding():
    assert "does not support f64" in program("pad", x={**ROW, "dtype": "float64"}, pads=[[0, -1]]).reason


def test_there_are_no_gradients():
    refused = program("max_pool_grad", x={**ROW, "values": "distinct"}, grad={"values": "integers"}, window=2, stride=2)
    assert refused == Unsupported("openvino.opset computes no gradients")
