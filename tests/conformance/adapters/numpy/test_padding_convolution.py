"""The module `padding_convolution` of the built-in backend."""

import numpy as np
import pytest

from tests.conformance.adapters.numpy.programs import ONE, ROW, program, row, run


def test_transposed_convolution_is_the_convolution_with_input_and_output_exchanged():
    kernel = {"values": "integers", "shape": [1, 1, 2]}
    forward = program("conv", x=ROW, kernel=kernel).text
    backward = program("conv_transpose", x=ROW, kernel=kernel).text
    assert "y[(n, o, *position)] += x[(n, c, *at)] * kernel[(o, i, *offset)]" in forward
    assert "y[(n, c, *at)] += x[(n, o, *position)] * kernel[(o, i, *offset)]" in backward
    assert run("conv_transpose", row(1, 2), row(10, 1), x={"values": [[[1, 2]]]}, kernel=kernel).tolist() == [
        [[10, 21, 2]]
    ]


@pytest.mark.parametrize(("output", "gradient"), [("x", [10, 1, 0]), ("kernel", [3, 4]), ("bias", None)])
def test_gradient_of_a_convolution_multiplies_by_the_other_factor(output, gradient):
    inputs = {"grad": ONE, "x": ROW, "kernel": {"values": [[[10, 1]]]}, "bias": {"values": [0]}, "stride": 2}
    got = run("conv_grad", row(1), row(3, 4, 1), row(10, 1), np.zeros(1, "float32"), **inputs, output=output)
    assert got.tolist() == ([[gradient]] if gradient else [1])


def test_gradient_of_a_repeated_element_is_the_sum_over_its_copies():
    got = run("pad_grad", row(1, 2, 4, 8), row(5, 6), grad=ONE, x={"values": [[[5, 6]]]}, pads=[[2, 0]], mode="edge")
    assert got.tolist() == [[[7, 8]]]


def test_gradient_of_cropped_elements_is_zero():
    got = run("pad_grad", row(1, 2), row(3, 4, 1), grad=ONE, x=ROW, pads=[[-1, 0]])
    assert got.tolist() == [[[0, 1, 2]]]
