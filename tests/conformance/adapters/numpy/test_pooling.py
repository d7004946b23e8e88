"""The module `pooling` of the built-in backend."""

import numpy as np
import pytest

from tests.conformance.adapters.numpy.programs import ONE, ROW, program, row, run


def test_window_lists_the_positions_inside_the_input():
    text = program("max_pool", x=ROW, window=2, stride=1, padding=1).text
    assert "start = [p * s - b for p, s, b in zip(position, (1,), (1,))]" in text
    assert "if all(0 <= a < e for a, e in zip(at, x.shape[2:]))]" in text
    assert "y[(n, c, *position)] = np.max(cells, initial=-np.inf)" in text


def test_norm_of_a_partial_window_sums_the_elements_inside_the_input():
    got = run("lp_pool", row(3, 4, 1), x=ROW, window=2, stride=2, rounding="ceil")
    assert got.tolist() == [[[5, 1]]]


def test_index_of_a_window_in_the_padding_is_minus_one():
    got = run("max_pool_with_indices", row(3, 4, 1), x=ROW, window=1, stride=1, padding=1, output="indices")
    assert got.tolist() == [[[-1, 0, 1, 2, -1]]]


def test_bins_overlap_if_the_output_size_does_not_divide_the_input_size():
    assert run("adaptive_avg_pool", row(2, 4, 8), x=ROW, output_size=[2]).tolist() == [[[3, 6]]]


def test_starts_of_fractional_windows_are_computed_exactly():
    x = {"values": "integers", "shape": [1, 1, 7]}
    inputs = {"x": x, "samples": {"values": [[[0.5]]]}, "window": 2, "output_size": [3]}
    # α = 5/2: the windows start at 0, ⌊15/4⌋ − ⌊5/4⌋ = 2, and the last one at 5.
    assert run("fractional_max_pool", row(9, 0, 1, 2, 0, 3, 4), row(0.5), **inputs).tolist() == [[[9, 2, 4]]]


@pytest.mark.parametrize("operator", ["global_avg_pool", "global_avg_pool_grad"])
def test_divisor_may_exceed_the_largest_float16_number(operator):
    cells = 65520
    inputs = {"x": {"values": "arange", "step": 0, "shape": [1, 1, cells], "dtype": "float16"}}
    arrays = [np.zeros((1, 1, cells), np.float16)]
    if operator == "global_avg_pool":
        arrays[0][0, 0, 0] = 60000
    else:
        inputs["grad"] = {"values": [60000], "shape": [1, 1, 1], "dtype": "float16"}
        arrays.insert(0, row(60000, dtype="float16"))
    assert run(operator, *arrays, **inputs)[0, 0, 0] == np.float16(60000 / cells)


def test_averages_of_integers_round_toward_zero():
    x = {"values": [[[-3, 0, 3, 0]]], "dtype": "int16"}
    assert run("avg_pool", row(-3, 0, 3, 0, dtype="int16"), x=x, window=2, stride=2).tolist() == [[[-1, 1]]]


def test_gradient_of_equal_maxima_goes_to_the_first_one():
    got = run("max_pool_grad", row(7), row(4, 4), grad=ONE, x={"values": [[[4, 4]]]}, window=2)
    assert got.tolist() == [[[7, 0]]]


def test_infinite_gradient_does_not_affect_other_elements():
    got = run("max_pool_grad", row(np.inf), row(4, 5), grad=ONE, x={"values": [[[4, 5]]]}, window=2)
    assert got.tolist() == [[[0, np.inf]]]


def test_gradient_of_probabilities_is_orthogonal_to_the_input():
    inputs = {"grad": ONE, "x": {"values": [[[1, 3]]]}, "window": 2}
    grad = np.array([1, 0], "float32").reshape(1, 1, 1, 2)
    got = run("stochastic_pool_probabilities_grad", grad, row(1, 3), **inputs)
    assert got.tolist() == [[[3 / 16, -1 / 16]]]
