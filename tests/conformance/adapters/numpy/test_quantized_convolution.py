"""Loops of quantized convolution: they compute what the reference computes."""

import math
from fractions import Fraction

import numpy as np
import pytest

import reference
from conformance.adapters.numpy.quantized_convolution import conv_integer, quantized_conv
from conformance.cases.operators import Requantization
from conformance.cases.steps import Step


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("requantization", Requantization)
def test_loops_convolve_like_the_reference(requantization, has_bias):
    rng = np.random.default_rng(3)
    x, kernel = rng.integers(0, 256, (1, 4, 5, 4)).astype(np.uint8), rng.integers(-30, 31, (6, 2, 2, 3)).astype(np.int8)
    bias = rng.integers(-900, 900, 6).astype(np.int32) if has_bias else None
    given = {
        "stride": (1, 2), "padding": ((1, 0), (1, 1)), "dilation": (2, 1), "groups": 2, "round_mode": "half_up",
        "x_scale": 0.31, "x_zero_point": 114, "w_scale": (0.07, 0.3, 1, 0.2, 0.1, 0.05), "w_zero_point": 3,
        "y_scale": 1.3, "y_zero_point": 101, "requantization": requantization.value,
    }  # fmt: skip
    lines = quantized_conv(Step("quantized_conv", x.shape, "uint8", given, kernel.shape, has_bias, "int8"))
    names = {"x": x, "kernel": kernel, "bias": bias, "np": np, "math": math, "Fraction": Fraction}
    exec("\n".join(lines), names)  # noqa: S102 - lines of the adapter
    np.testing.assert_array_equal(names["x"], reference.quantized_conv(x, kernel, bias, **given))


@pytest.mark.parametrize("zero_points", [3, (1, -3, 5, 127, -128, 0)])
def test_loops_add_products_like_the_reference(zero_points):
    rng = np.random.default_rng(4)
    x, kernel = rng.integers(0, 256, (1, 4, 5, 4)).astype(np.uint8), rng.integers(-99, 99, (6, 2, 2, 3)).astype(np.int8)
    given = {
        "stride": (1, 2), "padding": ((1, 0), (1, 1)), "dilation": (2, 1), "groups": 2,
        "x_zero_point": 114, "w_zero_point": zero_points,
    }  # fmt: skip
    lines = conv_integer(Step("conv_integer", x.shape, "uint8", given, kernel.shape, False, "int8"))
    names = {"x": x, "kernel": kernel, "np": np}
    exec("\n".join(lines), names)  # noqa: S102 - lines of the adapter
    assert names["x"].dtype == np.int32
    np.testing.assert_array_equal(names["x"], reference.conv_integer(x, kernel, **given))
