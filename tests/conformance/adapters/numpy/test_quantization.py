"""Loops of quantization: they compute what the reference computes."""

import math
from fractions import Fraction

import numpy as np
import pytest

import reference
from conformance.adapters.numpy.quantization import dequantize, quantize, quantized_avg_pool
from conformance.cases.operators import Formula
from conformance.cases.steps import Step


def run(lines, x):
    """Run the lines of a program for an array."""
    names = {"x": x, "np": np, "math": math, "Fraction": Fraction}
    exec("\n".join(lines), names)  # noqa: S102 - lines of the adapter
    return names["x"]


@pytest.mark.parametrize("formula", Formula)
def test_loops_quantize_like_the_reference(formula):
    x = np.array([[[-0.34999996, 1.7499998, -3.15, np.inf, 1e30, -9e9]]], np.float32)
    given = {"y_scale": 0.7, "y_zero_point": 1, "output_dtype": "int8", "round_mode": "half_even", "formula": formula}
    got = run(quantize(Step("quantize", x.shape, "float32", given)), x)
    np.testing.assert_array_equal(got, reference.quantize(x, 0.7, 1, formula=formula.value))


def test_loops_dequantize_like_the_reference():
    x = np.array([[[-128, 3, 127]], [[0, 1, 2]]], np.int8)
    given = {"x_scale": (0.1,), "x_zero_point": (3,)}
    got = run(dequantize(Step("dequantize", x.shape, "int8", given)), x)
    np.testing.assert_array_equal(got, reference.dequantize(x, [0.1], [3]))


@pytest.mark.parametrize("formula", Formula)
def test_loops_average_like_the_reference(formula):
    x = np.arange(-20, 20).astype(np.int8).reshape(1, 1, 5, 8)
    windows = {"window": (2, 3), "stride": (1, 2), "padding": ((1, 0), (1, 1)), "dilation": (2, 1), "rounding": "floor"}
    given = {"count_include_pad": True, "divisor": None, "x_zero_point": 3, "round_mode": "half_up", "formula": formula}
    got = run(quantized_avg_pool(Step("quantized_avg_pool", x.shape, "int8", {**windows, **given})), x)
    expected = reference.quantized_avg_pool(x, **{**windows, **given, "formula": formula.value})
    np.testing.assert_array_equal(got, expected)
