"""The module `quantization.convolution` of the adapter for PyTorch."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.torch.quantization.convolution import FORMULAS, Engine, conv
from conformance.cases.steps import Step


def step(dtype="uint8", bias=False, kernel_dtype="int8", rank=2, **parameters):
    given = {
        "stride": (1,) * rank, "padding": ((1, 1),) * rank, "dilation": (2,) * rank, "groups": 2,
        "x_scale": 0.5, "x_zero_point": 3, "w_scale": 0.25, "w_zero_point": 0, "y_scale": 2, "y_zero_point": 5,
        "round_mode": "half_even",
    }  # fmt: skip
    return Step(
        "quantized_conv", (1, 2, *(5,) * rank), dtype, {**given, **parameters}, (2, 1, *(2,) * rank), bias, kernel_dtype
    )


def test_tensors_of_the_numbers_are_convolved_by_an_engine():
    assert conv(Engine.FBGEMM, step(bias=True)) == (
        'torch.backends.quantized.engine = "fbgemm"',
        "x = torch._make_per_tensor_quantized_tensor(x, 0.5, 3)",
        "kernel = torch._make_per_tensor_quantized_tensor(kernel, 0.25, 0)",
        "bias = (bias.double() * 0.5 * 0.25).float()",
        "x = torch.ao.nn.quantized.functional.conv2d(x, kernel, bias, stride=1, padding=1, dilation=2, groups=2, "
        "scale=2.0, zero_point=5).int_repr()",
    )


def test_channels_have_scales():
    lines = conv(Engine.QNNPACK, step(bias=True, w_scale=(0.25, 0.3)))
    assert lines[2:6] == (
        "scale = torch.tensor([0.25, 0.3], dtype=torch.float32)",
        "zero = torch.tensor([0, 0])",
        "kernel = torch._make_per_channel_quantized_tensor(kernel, scale, zero, 0)",
        "bias = (bias.double() * 0.5 * scale.double()).float()",
    )


@pytest.mark.parametrize("engine", Engine)
def test_each_engine_has_one_formula(engine):
    for other in Engine:
        code = conv(engine, step(x_scale=0.3, requantization=FORMULAS[other].value))
        assert isinstance(code, Unsupported) == (other is not engine)
    assert isinstance(conv(engine, step(round_mode="half_away")), Unsupported)


def test_engines_have_limits():
    def reason(engine=Engine.FBGEMM, **changed):
        return conv(engine, step(**changed)).reason

    assert "torch.quint8" in reason(dtype="int8")
    assert "torch.qint8" in reason(kernel_dtype="uint8")
    assert "symmetric quantization" in reason(Engine.ONEDNN, w_zero_point=1)
    assert "both ends" in reason(padding=((0, 1), (0, 0)))
    assert "bias" in reason(bias=True, x_scale=0.3)
    assert not isinstance(conv(Engine.QNNPACK, step(bias=True, x_scale=0.3)), Unsupported)
    assert "axes" in reason(rank=4)
