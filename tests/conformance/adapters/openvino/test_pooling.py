"""The module `pooling` of OpenVINO."""

import pytest

from tests.conformance.adapters.openvino.programs import ROW, lines, program


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


def test_adaptive_max_pool_requests_32_bit_indices():
    assert lines("adaptive_max_pool", x=ROW, output_size=[3]) == ['x = ops.adaptive_max_pool(x, [3], "i32").output(0)']
