"""Tests of reference.operators.softmax_pooling."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import reference
from reference import Windows
from reference.arithmetic.certainty import without_certainty_check
from reference.operators.softmax_pooling import SoftmaxWindows, decimal_average, window_averages
from tests.support.softmax_bounds import near, roundoff, softmax_parts


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_bound_of_softmax_averages_is_made_as_its_docstring_says(dtype):
    x = np.array([0.5, -3.0, 2.0, 1.25], dtype)
    exact = reference.OPERATORS["softmax_pool"](x.reshape(1, 1, 4), 4)
    u = Decimal(roundoff(dtype))
    *_, t, c, size = softmax_parts([Decimal(value) for value in x.tolist()], u)
    assert exact.terms.item() == 8
    assert near(exact.extra.item(), t / (1 - u * c))
    assert near(exact.magnitude.item(), (size * (1 + u * c) + u * t) / (1 - u * c))


def test_the_error_of_a_softmax_average_is_that_of_its_steps():
    middle, error = decimal_average([0.0, 1.5, 9.0], 40)
    weights = [Decimal(-9).exp(), Decimal("-7.5").exp(), Decimal(1)]
    size = (Decimal("1.5") * weights[1] + 9) / sum(weights)
    assert float(middle) == pytest.approx(float(size))
    assert float(error) == pytest.approx(float(size) * (2 * 3 + 8 + 2 * 9) * 1e-39, rel=1e-9, abs=0)
    assert decimal_average([9000.0, 0.0], 40)[1] == 9000 * 10 * Decimal("1e-39")
    assert decimal_average([0.0, -6000.0, -7000.0], 40)[1] == 2 * 5000 * Decimal("1e-2171")


@pytest.mark.parametrize("off", [Decimal("1e-400"), Decimal(1) + Decimal(2) ** -60])
@pytest.mark.parametrize("middle", [Decimal(0), Decimal("0.1")])
def test_the_error_of_pairs_of_softmax_averages_is_rounded_up(off, middle, monkeypatch):
    monkeypatch.setattr("reference.operators.softmax_pooling.decimal_average", lambda *_: (middle, off))
    pair = window_averages(SoftmaxWindows(np.ones((1, 1, 1)), Windows.of((1,), 1)))
    high, low, error = (part.item() for part in (pair.high, pair.low, pair.error))
    least = Fraction(off) + abs(Fraction(middle) - Fraction(high) - Fraction(low))
    room = abs(Fraction(middle)) / 2**105 * (1 + Fraction(1, 2**50)) + Fraction(1, 2**1072)
    assert least <= Fraction(error) <= Fraction(off) * (1 + Fraction(1, 2**39)) + room


def test_terms_of_a_softmax_average_are_twice_the_real_cells():
    exact = reference.OPERATORS["softmax_pool"](np.ones((1, 1, 3)), 2, padding=1)
    assert exact.terms.tolist() == [[[2, 4]]]


def test_a_softmax_window_without_a_cell_has_a_bound_of_zeros():
    exact = reference.OPERATORS["softmax_pool"](np.ones((1, 1, 1)), 1, padding=1)
    assert (exact.magnitude.ravel().tolist()[::2], exact.extra.ravel().tolist()[::2]) == ([0, 0], [0, 0])


def test_unchecked_softmax_pooling_is_the_average():
    with without_certainty_check():
        assert reference.softmax_pool(np.full((1, 1, 4), 3.0), 2).tolist() == [[[3, 3]]]
