"""Tests of reference.arithmetic.exact."""

import numpy as np
import pytest

import reference
from reference.arithmetic.decimal_sums import DecimalSums
from reference.arithmetic.errorfree import FloatPair
from reference.arithmetic.exact import UnroundedResult
from reference.operators.convolution import _FloatConvolution
from reference.operators.fractional_pooling import FractionalWindows
from reference.operators.max_pool_indices import BestCells
from reference.operators.softmax_pooling import PerturbationSums, SoftmaxWindows


@pytest.mark.parametrize(
    "kind",
    [
        reference.Exact,
        UnroundedResult,
        FloatPair,
        BestCells,
        FractionalWindows,
        SoftmaxWindows,
        PerturbationSums,
        DecimalSums,
        _FloatConvolution,
    ],
)
def test_what_holds_arrays_is_compared_as_a_whole(kind):
    assert kind.__eq__ is object.__eq__


def test_the_distance_counts_the_low_part():
    high, low = np.ones(1), np.full(1, 2.0**-60)
    exact = reference.Exact(high, high, low, np.ones(1, np.int64), high, 0.0, False)
    assert exact.distance(high + 2.0**-52).item() == 2.0**-52 - 2.0**-60
    assert exact.distance(high - 2.0**-53).item() == 2.0**-53 + 2.0**-60


def test_only_selections_are_exact_themselves_and_their_distance_is_what_is_left():
    x = np.array([[[1.0, 3.0]]], np.float32)
    for name, expected in [("max_pool", True), ("avg_pool", False), ("softmax_pool", False)]:
        assert reference.OPERATORS[name](x, 2).exact is expected
    exact = reference.OPERATORS["max_pool"](x, 2)
    assert exact.distance(exact.value).item() == 0
    assert exact.distance(exact.value + 1).item() == 1
    assert (exact.magnitude.item(), exact.extra) == (0, 0)


def test_sums_have_no_error_but_that_of_rounding():
    x, grad = np.ones((1, 1, 3)), np.ones((1, 1, 2))
    assert reference.OPERATORS["avg_pool_grad"](grad, x, 2, stride=1).extra == 0
    assert not reference.OPERATORS["avg_pool"](x, 2).extra.any()


def test_sums_too_large_to_keep_are_settled_too(monkeypatch):
    monkeypatch.setattr("reference.arithmetic.exact.MAX_CACHED_ELEMENTS", 0)
    x = np.array([[[1.0, 2.0**-24, 2.0**-60]]], np.float32)
    assert reference.avg_pool(x, 3, divisor=1).item() == 1 + 2.0**-23


def test_a_gradient_that_is_rounded_is_not_called_exact():
    grad, x = np.ones((1, 1, 2), np.float32), np.ones((1, 1, 4), np.float32)
    assert not reference.OPERATORS["avg_pool_grad"](grad, x, 3, stride=1).exact
    assert reference.OPERATORS["max_pool"](x, 2).exact
