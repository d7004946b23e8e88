"""The module `quantization.tensors` of the adapter for PyTorch."""

from dataclasses import replace

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.torch.quantization.tensors import (
    avg_pool,
    decomposed_dequantize,
    decomposed_quantize,
    dequantize,
    max_pool,
    qnnpack_avg_pool,
    qnnpack_max_pool,
    quantize,
)
from conformance.cases.operators import Formula
from conformance.cases.steps import Step

GIVEN = {"y_scale": 0.3, "y_zero_point": 1, "output_dtype": "int8", "round_mode": "half_even"}


def step(formula, **parameters):
    return Step("quantize", (1, 2, 3), "float32", {**GIVEN, "formula": formula, **parameters})


def test_a_tensor_is_quantized_with_one_rounding():
    assert quantize(step("fused")) == "torch.quantize_per_tensor(x, 0.3, 1, torch.qint8).int_repr()"
    unsigned = quantize(step("fused", output_dtype="uint8", y_scale=1))
    assert unsigned == "torch.quantize_per_tensor(x, 1.0, 1, torch.quint8).int_repr()"
    assert isinstance(quantize(step("reciprocal_plus_zero_point")), Unsupported)


def test_channels_are_quantized_with_two_roundings():
    code = quantize(step("reciprocal_plus_zero_point", y_scale=(0.3, 0.7)))
    assert code == (
        "scale = torch.tensor([0.3, 0.7], dtype=torch.float32)",
        "zero = torch.tensor([1, 1])",
        "x = torch.quantize_per_channel(x, scale, zero, 1, torch.qint8).int_repr()",
    )
    assert isinstance(quantize(step("fused", y_scale=(0.3, 0.7))), Unsupported)


def test_exported_programs_add_the_zero_point_last():
    call = "x = torch.ops.quantized_decomposed.quantize_per_tensor(x, 0.3, 1, -128, 127, torch.int8)"
    assert decomposed_quantize(step("reciprocal"))[-1] == call
    assert isinstance(decomposed_quantize(step("fused")), Unsupported)


def test_the_reciprocal_in_float64_is_another_formula():
    # 1 / 0.0123 in float64, rounded to float32, is not the reciprocal of 0.0123 in float32.
    assert "float64" in decomposed_quantize(step("reciprocal", y_scale=0.0123)).reason
    assert "per_channel" in decomposed_quantize(step("reciprocal", y_scale=(0.0123, 0.5)))[-1]


def test_dequantized_tensors_are_made_of_their_numbers():
    one = Step("dequantize", (1, 2, 3), "int8", {"x_scale": 0.5, "x_zero_point": 3})
    assert dequantize(one) == "torch._make_per_tensor_quantized_tensor(x, 0.5, 3).dequantize()"
    assert "dequantize_per_tensor(x, 0.5, 3, -128, 127, torch.int8)" in decomposed_dequantize(one)[-1]
    each = Step("dequantize", (1, 2, 3), "uint8", {"x_scale": (0.5, 1), "x_zero_point": (3, 4)})
    assert dequantize(each)[-1] == "x = torch._make_per_channel_quantized_tensor(x, scale, zero, 1).dequantize()"
    assert decomposed_dequantize(each)[-1].endswith("(x, scale, zero, 1, 0, 255, torch.uint8)")


def average_step(channels=2, formula="reciprocal_plus_zero_point", **parameters):
    given = {"window": (2, 3), "stride": (2, 3), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "rounding": "floor",
             "count_include_pad": True, "divisor": None, "x_zero_point": 3, "round_mode": "half_even"}  # fmt: skip
    return Step("quantized_avg_pool", (1, channels, 4, 6), "int8", {**given, "formula": formula, **parameters})


def test_a_quantized_tensor_is_averaged():
    code = avg_pool("", Formula.RECIPROCAL_PLUS_ZERO_POINT, average_step())
    assert code == (
        "x = torch._make_per_tensor_quantized_tensor(x, 1.0, 3)",
        "x = F.avg_pool2d(x, (2, 3), stride=(2, 3)).int_repr()",
    )
    assert isinstance(avg_pool("", Formula.RECIPROCAL_PLUS_ZERO_POINT, average_step(formula="quotient")), Unsupported)


def test_vectors_of_channels_have_another_formula():
    few, whole, mixed = (
        avg_pool("channels_last", Formula.RECIPROCAL, average_step(channels, formula))
        for channels, formula in ((15, "reciprocal_plus_zero_point"), (32, "reciprocal"), (17, "reciprocal"))
    )
    assert "x = x.contiguous(memory_format=torch.channels_last)" in few
    assert few == whole
    assert "16 channels" in mixed.reason


def test_averages_of_quantized_tensors_have_limits():
    def reason(**parameters):
        return avg_pool("", Formula.RECIPROCAL_PLUS_ZERO_POINT, average_step(**parameters)).reason

    assert "unequal padding" in reason(padding=((0, 1), (0, 0)))
    assert "unequal padding" in reason(dilation=(2, 1))
    assert "half of effective kernel" in reason(padding=((2, 2), (0, 0)))
    assert "half_even" in reason(round_mode="half_up")


def maximum_step(shape=(1, 2, 4, 6), dtype="uint8", **parameters):
    rank = len(shape) - 2
    given = {"window": (2,) * rank, "stride": (1,) * rank, "padding": ((0, 0),) * rank, "dilation": (1,) * rank}
    return Step("max_pool", shape, dtype, {**given, "rounding": "floor", **parameters})


def test_maxima_of_a_quantized_tensor():
    made = "x = torch._make_per_tensor_quantized_tensor(x, 0.5, 3)"
    assert max_pool(maximum_step()) == (made, "x = F.max_pool2d(x, 2, stride=1).int_repr()")
    assert max_pool(maximum_step((1, 2, 6), "int8")) == (made, "x = F.max_pool1d(x, 2, stride=1).int_repr()")
    assert isinstance(max_pool(maximum_step(dtype="int32")), Unsupported)
    assert max_pool(maximum_step(rounding="full")).rejected_call is None


def test_qnnpack_selects_its_engine():
    line = 'torch.backends.quantized.engine = "qnnpack"'
    assert qnnpack_max_pool(maximum_step())[0] == line
    assert qnnpack_avg_pool(replace(average_step(formula="reciprocal"), dtype="uint8"))[0] == line
    assert isinstance(qnnpack_avg_pool(average_step(formula="reciprocal")), Unsupported)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (maximum_step((1, 2, 4, 6, 5)), "quantized_max_pool3d"),
        (maximum_step(window=(1, 1)), "a window of one cell"),
    ],
)
def test_maxima_that_qnnpack_does_not_compute(step, reason):
    assert reason in qnnpack_max_pool(step).reason


def test_kernels_of_all_engines_compute_a_window_of_one_cell():
    assert not isinstance(qnnpack_max_pool(maximum_step(dtype="int8", window=(1, 1))), Unsupported)
    assert not isinstance(qnnpack_max_pool(maximum_step(window=(1, 1), rounding="ceil")), Unsupported)
