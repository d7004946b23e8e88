"""The built-in backend: selected programs and their results."""

import inspect

import ml_dtypes
import numpy as np
import pytest

from conformance.adapters import numpy as adapter
from conformance.adapters import registry
from conformance.adapters.api.surface import Program, Unsupported
from conformance.adapters.numpy import padding_convolution, pooling
from conformance.cases.operators import OPERATORS
from conformance.cases.parsing import parse_case
from conformance.translation.lowering import translate

BACKEND = registry.get_backend("numpy")
(LOOPS,) = BACKEND.surfaces
ROW = {"values": [[[3, 4, 1]]]}
ONE = {"values": "integers"}


def program(operator, **raw):
    return translate(parse_case({"operator": operator, "source": "test"}, {"id": "case", **raw}, "test"), LOOPS)


def run(operator, *arrays, **raw):
    """Run the program of a case on arrays, as a worker does."""
    translated = program(operator, **raw)
    assert isinstance(translated, Program), translated
    names = {}
    exec(BACKEND.setup + translated.text, names)  # noqa: S102 - the adapter's own text
    return names["run"](*arrays)


def row(*numbers, dtype="float32"):
    return np.array(numbers, dtype).reshape(1, 1, -1)


def test_every_operator_and_every_gradient_has_a_lowering():
    assert set(OPERATORS) <= LOOPS.lowerings.keys()


def test_adapter_does_not_import_the_reference():
    for module in (adapter, pooling, padding_convolution):
        text = inspect.getsource(module)
        assert "import reference" not in text
        assert "from reference" not in text
    assert LOOPS.dtypes["max_pool"] >= adapter.FLOATING


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


def test_averages_of_integers_round_toward_zero():
    x = {"values": [[[-3, 0, 3, 0]]], "dtype": "int16"}
    assert run("avg_pool", row(-3, 0, 3, 0, dtype="int16"), x=x, window=2, stride=2).tolist() == [[[-1, 1]]]


def test_transposed_convolution_is_the_convolution_with_input_and_output_exchanged():
    kernel = {"values": "integers", "shape": [1, 1, 2]}
    forward = program("conv", x=ROW, kernel=kernel).text
    backward = program("conv_transpose", x=ROW, kernel=kernel).text
    assert "y[(n, o, *position)] += x[(n, c, *at)] * kernel[(o, i, *offset)]" in forward
    assert "y[(n, c, *at)] += x[(n, o, *position)] * kernel[(o, i, *offset)]" in backward
    assert run("conv_transpose", row(1, 2), row(10, 1), x={"values": [[[1, 2]]]}, kernel=kernel).tolist() == [
        [[10, 21, 2]]
    ]


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


def test_bfloat16_inputs_are_16_bit_words():
    x = {"values": [[[1, 2]]], "dtype": "bfloat16"}
    got = run("max_pool", row(1, 2, dtype=ml_dtypes.bfloat16).view(np.uint16), x=x, window=2)
    assert got.dtype == ml_dtypes.bfloat16
    assert got.tolist() == [[[2]]]


def test_cases_that_must_be_rejected_are_unsupported(catalogue):
    unsupported = translate(catalogue.by_id["max_unpool/rejects/index-below-minus-one"], LOOPS)
    assert isinstance(unsupported, Unsupported)
    assert "does not check its arguments" in unsupported.reason
