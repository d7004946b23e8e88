"""Averages of quantized numbers in ONNX Runtime: two nodes of its own domain, and the formula of each."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.onnx.graph import model_lines
from conformance.adapters.onnxruntime.quantized_pooling import avg_pool
from conformance.cases.steps import Step

GIVEN = {
    "window": (1, 2), "stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "rounding": "floor",
    "count_include_pad": False, "divisor": None, "x_zero_point": 3, "round_mode": "half_even",
    "formula": "quotient_plus_zero_point",
}  # fmt: skip
ALL_CELLS = {"window": (4, 6), "stride": (4, 6), "formula": "reciprocal"}


def step(dtype="uint8", **parameters):
    return Step("quantized_avg_pool", (1, 2, 4, 6), dtype, {**GIVEN, **parameters})


def node(**parameters):
    return avg_pool(step(**parameters))[-1]


def test_windows_are_averaged_by_a_node_with_a_scale_of_one():
    assert avg_pool(step("int8", padding=((0, 0), (1, 0)), count_include_pad=True)) == (
        "scale = np.array(1, np.float32)",
        "zero = np.array(3, np.int8)",
        "x = QLinearAveragePool(x, scale, zero, scale, zero, kernel_shape=[1, 2], strides=[1, 2], pads=[0, 1, 0, 0], "
        "count_include_pad=1, domain='com.microsoft')",
    )


def test_all_cells_are_averaged_by_the_global_node():
    assert node(**ALL_CELLS) == "x = QLinearGlobalAveragePool(x, scale, zero, scale, zero, domain='com.microsoft')"


def test_another_stride_selects_the_node_of_windows():
    assert node(**{**ALL_CELLS, "stride": (1, 1)}).startswith("x = QLinearAveragePool(")


def test_channels_last_is_an_attribute_of_both_nodes():
    for parameters in ({}, ALL_CELLS):
        assert "channels_last=1" in avg_pool(step(**parameters), channels_last=True)[-1]


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"formula": "reciprocal"}, "computes the formula quotient_plus_zero_point"),
        ({**ALL_CELLS, "formula": "quotient_plus_zero_point"}, "computes the formula reciprocal"),
        ({"round_mode": "half_up"}, "has the rounding rule half_even"),
        ({"divisor": 5}, "QLinearAveragePool has no divisor"),
        ({"dilation": (1, 2)}, "has no dilation"),
        ({"padding": ((0, 0), (2, 2))}, "Pad should be smaller than kernel."),
        ({"rounding": "full"}, "ceil_mode drops a last window"),
    ],
)
def test_other_steps_are_unsupported(parameters, reason):
    code = avg_pool(step(**parameters))
    assert isinstance(code, Unsupported)
    assert reason in code.reason


def test_a_model_with_such_a_node_imports_its_domain():
    lines = model_lines(avg_pool(step()), ["x"], opset_version=21)
    assert 'opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]' in lines
    assert lines[-1] == "model = helper.make_model(graph, opset_imports=opsets, ir_version=version)"
    assert "com.microsoft" not in "\n".join(model_lines(["x = Relu(x)"], ["x"]))
