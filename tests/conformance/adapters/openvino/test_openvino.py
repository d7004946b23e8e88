"""The OpenVINO adapter: selected programs and unsupported cases."""

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
    return translate(parse_case({"operator": operator, "source": "test"}, {"id": "case", **raw}, "test"), SURFACE)


def lines(operator, **raw):
    """Return the lines with operations, without those that build and run the model."""
    translated = program(operator, **raw)
    assert isinstance(translated, Program), translated
    body = [line.strip() for line in translated.text.splitlines()]
    start = next(number for number, line in enumerate(body) if "parameters =" in line)
    return body[start + 1 : -2]


def test_program_builds_compiles_and_runs_a_model():
    assert program("max_pool", x=ROW, window=2, stride=2).text.splitlines() == [
        "def run(x):",
        "    x = ov.Tensor(x)",
        "    data, x = x, ops.parameter(x.shape, x.element_type)",
        "    parameters = [x]",
        "    x = ops.max_pool(x, [2], [1], [0], [0], [2]).output(0)",
        '    x = core.compile_model(ov.Model([x], parameters), "CPU")(data)[0]',
        "    return x",
    ]


def test_every_input_except_weights_is_a_parameter():
    text = program("max_unpool", x={"values": [[[5, 7]]]}, indices={"values": [[[1, 2]]]}, output_size=[4]).text
    assert "    x = ov.Tensor(x)\n    indices = ov.Tensor(indices)\n    data = [x, indices]\n" in text
    assert "x, indices = parameters = [ops.parameter(each.shape, each.element_type) for each in data]" in text


def test_setup_requests_float32_since_the_default_is_bfloat16_on_some_processors():
    assert '"INFERENCE_PRECISION_HINT": "f32"' in registry.get_backend("openvino").setup


def test_weights_are_constants_and_the_bias_is_added():
    translated = program("conv", x=PLANE, kernel={**KERNEL, "shape": [3, 2, 2, 2]}, bias={"values": [1, 2, 3]})
    assert translated.how == "composed"
    assert "    kernel = ops.constant(kernel)\n    bias = ops.constant(bias)\n" in translated.text
    assert "x = ops.convolution(x, kernel, [1, 1], [0, 0], [0, 0], [1, 1])" in translated.text
    assert "x = ops.add(x, ops.reshape(bias, [1, -1, 1, 1], False))" in translated.text


def test_kernel_of_a_grouped_convolution_has_an_axis_for_the_groups():
    assert lines("conv", x=PLANE, kernel=KERNEL, groups=2, padding=[[1, 0], [0, 2]]) == [
        "x = ops.group_convolution(x, ops.reshape(kernel, [2, 2, 1, 2, 2], False), [1, 1], [1, 0], [0, 2], [1, 1])"
    ]


@pytest.mark.parametrize(("rounding", "rounding_type"), [("ceil", '"ceil_torch"'), ("full", '"ceil"')])
def test_rounding_type_for_ceil_and_full(rounding, rounding_type):
    (line,) = lines("max_pool", x=ROW, window=2, stride=3, rounding=rounding)
    assert f"rounding_type={rounding_type}" in line


def test_averages_always_pass_dilations_since_the_process_ends_without_them():
    (line,) = lines("avg_pool", x=ROW, window=2, stride=2)
    assert line == "x = ops.avg_pool(x, [2], [0], [0], [2], True, dilations=[1])"


def test_average_with_a_window_past_the_padding_divides_by_an_average_of_ones():
    translated = program("avg_pool", x=ROW, window=2, stride=3, rounding="full", count_include_pad=True)
    assert translated.how == "composed"
    assert "x = mean(x) / mean(ops.broadcast(" in translated.text


def test_indices_count_within_each_channel():
    (line,) = lines("max_pool_with_indices", x=ROW, window=2, stride=2, output="indices")
    assert line == "x = ops.max_pool(x, [2], [1], [0], [0], [2], axis=2).output(1)"


def test_indices_for_bfloat16_are_computed_in_float32():
    operations = lines("max_pool_with_indices", x={**ROW, "dtype": "bfloat16"}, window=2, stride=2, output="indices")
    assert operations[0] == "x = ops.convert(x, ov.Type.f32)"


def test_bfloat16_inputs_and_outputs_are_16_bit_words():
    text = program("max_pool", x={**ROW, "dtype": "bfloat16"}, window=2, stride=2).text
    assert "    x = ov.Tensor(x, x.shape, ov.Type.bf16)\n" in text
    assert text.endswith('    return x.view(np.uint16).view([("bfloat16", np.uint16)])\n')


def test_adaptive_max_pool_requests_32_bit_indices():
    assert lines("adaptive_max_pool", x=ROW, output_size=[3]) == ['x = ops.adaptive_max_pool(x, [3], "i32").output(0)']


def test_min_pool_is_negated_max_pool():
    assert lines("min_pool", x=ROW, window=2, stride=2) == [
        "x = ops.negative(x)",
        "x = ops.max_pool(x, [2], [1], [0], [0], [2]).output(0)",
        "x = ops.negative(x)",
    ]


def test_lp_pool_gathers_the_elements_of_each_window():
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


def test_padding_in_mode_wrap_gathers_by_index():
    assert lines("pad", x={**ROW, "shape": [1, 1, 3]}, pads=[[1, 1]], mode="wrap") == [
        "x = ops.gather(x, [i % 3 for i in range(-1, 4)], 2)"
    ]


@pytest.mark.parametrize(
    ("dtype", "reason"), [("float64", "does not support f64"), ("int64", "i64 is not supported"), ("int32", "float32")]
)
def test_dtypes_that_the_plugin_computes_in_another_dtype_are_unsupported(dtype, reason):
    unsupported = program("max_pool", x={**ROW, "dtype": dtype}, window=2, stride=2)
    assert isinstance(unsupported, Unsupported)
    assert reason in unsupported.reason


def test_cropping_takes_the_same_dtypes_as_padding():
    assert "does not support f64" in program("pad", x={**ROW, "dtype": "float64"}, pads=[[0, -1]]).reason


def test_gradients_are_unsupported():
    unsupported = program(
        "max_pool_grad", x={**ROW, "values": "distinct"}, grad={"values": "integers"}, window=2, stride=2
    )
    assert unsupported == Unsupported("openvino.opset computes no gradients")
