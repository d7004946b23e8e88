"""The module `quantized_convolution` of the adapter for LiteRT."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.litert.quantized_convolution import conv
from conformance.cases.operators import Requantization, RoundMode
from conformance.cases.steps import Step


def step(dtype="int8", bias=True, kernel_dtype="int8", rank=2, **parameters):
    given = {
        "stride": (1,) * rank, "padding": ((0, 0),) * rank, "dilation": (1,) * rank, "groups": 1,
        "x_scale": 0.5, "x_zero_point": 3, "w_scale": 0.25, "w_zero_point": 0, "y_scale": 2, "y_zero_point": 5,
        "round_mode": "half_even", "requantization": "product",
    }  # fmt: skip
    return Step(
        "quantized_conv", (1, 2, *(5,) * rank), dtype, {**given, **parameters}, (2, 2, *(2,) * rank), bias, kernel_dtype
    )


def lines(one):
    return conv(Requantization.PRODUCT, RoundMode.HALF_EVEN, one)


def test_tensors_have_scales_and_zero_points():
    code = lines(step(w_scale=(0.25, 1)))
    assert code[:2] == ("x_scale, w_scale = np.float32(0.5), np.float32([0.25, 1])", "graph.quantize(x, x_scale, 3)")
    assert code[2].startswith('x = graph.node("CONV_2D", [x, np.moveaxis(kernel, 1, -1), bias]')
    assert code[3:] == (
        "_, weights, bias = graph.graph.operators[-1].inputs",
        "graph.quantize(weights, w_scale)",
        "graph.quantize(bias, x_scale * w_scale)",
        "graph.quantize(x, 2, 5)",
    )
    assert "np.zeros(2, np.int32)" in lines(step(bias=False))[2]


def test_weights_of_uint8_have_a_zero_point():
    code = lines(step("uint8", kernel_dtype="uint8", w_zero_point=128))
    assert "graph.quantize(weights, w_scale, 128)" in code


def test_a_row_is_a_plane_whose_tensors_have_the_same_scale():
    code = lines(step(rank=1))
    assert code.count("graph.quantize(x, x_scale, 3)") == 2
    assert "EXPAND_DIMS" in code[2]
    assert "SQUEEZE" in code[-2]
    assert code[-1] == "graph.quantize(x, 2, 5)"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"dtype": "uint8"}, "no kernel for weights of another dtype than x"),
        ({"kernel_dtype": "uint8"}, "no kernel for weights of another dtype than x"),
        ({"rank": 3}, "CONV_3D has no kernel for numbers of eight bits"),
        ({"w_zero_point": 1}, "zero point 0"),
        ({"dtype": "uint8", "kernel_dtype": "uint8", "w_zero_point": (1, 2)}, "one scale and one zero point"),
        ({"dtype": "uint8", "kernel_dtype": "uint8", "w_scale": (1, 2)}, "one scale and one zero point"),
        ({"padding": ((1, 0), (0, 0))}, "padding"),
        ({"requantization": "exact", "x_scale": 0.3}, "CONV_2D computes the formula product"),
        ({"round_mode": "half_up"}, "CONV_2D has the rounding rule half_even"),
    ],
)
def test_convolutions_of_eight_bits_have_limits(changed, reason):
    code = lines(step(**changed))
    assert isinstance(code, Unsupported)
    assert reason in code.reason


def test_other_kernels_have_another_formula_and_rounding_rule():
    fixed = step(requantization="fixed_point", round_mode="half_up")
    assert isinstance(lines(fixed), Unsupported)
    assert isinstance(conv(Requantization.FIXED_POINT, RoundMode.HALF_AWAY, fixed), Unsupported)
    assert not isinstance(conv(Requantization.FIXED_POINT, RoundMode.HALF_UP, fixed), Unsupported)
