"""Tests of reference.operators.stochastic_pooling."""

from fractions import Fraction

import numpy as np
import pytest

import reference
from reference.arithmetic.errorfree import FloatPair
from reference.operators.stochastic_pooling import _exact_drawn_cell, _pair_quotients


@pytest.mark.parametrize("error", [0.0, 2.0**-90, 2.0**-60])
def test_the_error_of_a_probability_is_what_it_lacks_and_hardly_more(error):
    rng = np.random.default_rng(0)
    a, high, low = rng.uniform(1, 2, 500), rng.uniform(1, 2, 500), rng.uniform(-1, 1, 500) * 2.0**-54
    pair = _pair_quotients(a, FloatPair(high, low, np.full(500, error)))
    parts = (a, high, low, pair.high, pair.low, pair.error)
    for x, h, m, q, r, off in zip(*(part.tolist() for part in parts), strict=True):
        gap = abs(Fraction(x) / (Fraction(h) + Fraction(m)) - Fraction(q) - Fraction(r))
        worst = Fraction(x) / Fraction(h) * Fraction(error) / Fraction(h)
        assert gap + worst <= Fraction(off) <= worst * Fraction(101, 100) + Fraction(1, 2**99)


def test_a_draw_selects_the_first_cell_beyond_its_share_in_exact_arithmetic():
    assert _exact_drawn_cell([1.0, 2.0, 1.0], Fraction(1, 4)) == 1
    assert _exact_drawn_cell([1.0, 2.0, 1.0], Fraction(1, 4) - Fraction(1, 2**99)) == 0
    assert _exact_drawn_cell([0.0, 2.0, 0.0], Fraction(0)) == 1


def test_the_error_of_a_probability_of_subnormal_numbers_allows_for_underflow():
    rng = np.random.default_rng(0)
    high = rng.uniform(1, 2, 500) * 2.0 ** rng.integers(-1074, -900, 500)
    a = high * rng.uniform(0, 1, 500) * 2.0 ** rng.integers(-60, 0, 500)
    pair = _pair_quotients(a, FloatPair(high, np.zeros(500), np.zeros(500)))
    for x, h, q, r, off in zip(*(part.tolist() for part in (a, high, pair.high, pair.low, pair.error)), strict=True):
        assert abs(Fraction(x) / Fraction(h) - Fraction(q) - Fraction(r)) <= Fraction(off)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_draws_beside_the_share_of_a_cell_are_decided_exactly(n):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (1, 400, n))
    draws = x[..., : n // 2].sum(-1, keepdims=True) / x.sum(-1, keepdims=True)
    got = reference.stochastic_pool(x, n, draws).ravel().tolist()
    for values, draw, value in zip(x[0].tolist(), draws.ravel().tolist(), got, strict=True):
        assert value == values[_exact_drawn_cell(values, Fraction(draw))]


def test_padding_has_probability_zero_even_beside_nan():
    got = reference.stochastic_pool_probabilities(np.array([[[np.nan, 1.0, np.inf]]]), 2, padding=1)
    np.testing.assert_array_equal(got, [[[[0, np.nan], [0, np.nan]]]])


def test_draws_from_a_sum_beyond_float64_are_decided_exactly():
    x = np.array([[[1.2e308, 1.6e308]]])
    got = [reference.stochastic_pool(x, 2, np.array([[[draw]]])).item() for draw in (0.1, 0.9)]
    assert got == [1.2e308, 1.6e308]


def test_terms_of_stochastic_pooling_are_the_cells_that_can_be_drawn():
    x = np.ones((1, 1, 3))
    probabilities = reference.OPERATORS["stochastic_pool_probabilities"](x, 2, padding=1)
    assert probabilities.terms.tolist() == [[[[1, 1], [2, 2]]]]
    assert reference.OPERATORS["stochastic_pool"](x, 2, np.zeros((1, 1, 2)), padding=1).terms.tolist() == [[[1, 2]]]


def test_the_error_of_a_probability_is_that_of_its_rounding():
    one, third = np.ones(1), 1 / 3
    rest = Fraction(1) - 3 * Fraction(third) - Fraction(third) / 2**55
    pair = _pair_quotients(one, FloatPair(3 * one, 2.0**-55 * one, 2.0**-100 * one))
    error = (abs(rest) + Fraction(third) / 2**55) / 2**51 + Fraction(third) / 2**100
    error = error / 3 + abs(rest) / 3 / 2**50
    assert pair.error.item() == pytest.approx(float(error), rel=1e-6, abs=0)
    assert _pair_quotients(one, FloatPair(one, 0 * one, 0 * one)).error.item() == 3 * 2.0**-1072


def test_any_negative_activation_is_refused():
    with pytest.raises(ValueError, match=r"x has the negative value -0\.5"):
        reference.stochastic_pool(np.full((1, 1, 2), -0.5), 2, np.zeros((1, 1, 1)))


def test_the_magnitude_of_a_probability_is_itself_rounded_up():
    exact = reference.OPERATORS["stochastic_pool_probabilities"](np.array([[[1.0, 2.0]]]), 2)
    for got, share in zip(exact.magnitude.ravel().tolist(), (Fraction(1, 3), Fraction(2, 3)), strict=True):
        assert share <= Fraction(got) <= share * (1 + Fraction(1, 2**39))
    assert not exact.extra.any()


def plane(values, dtype=np.float32):
    return np.array(values, dtype)[None, None]


def test_probabilities_are_shares_of_the_sum():
    x = plane([[1.6, 0, 0], [0, 0, 2.4], [0, 0, 0]], np.float64)
    # Figure 1 of the paper.
    got = reference.stochastic_pool_probabilities(x, 3)
    assert got.shape == (1, 1, 1, 1, 3, 3)
    assert got[0, 0, 0, 0].tolist() == [[0.4, 0, 0], [0, 0, 0.6], [0, 0, 0]]


def test_padding_and_windows_that_sum_to_zero_have_probability_zero():
    got = reference.stochastic_pool_probabilities(plane([1.0, 0.0, 0.0]), 2, padding=1)
    assert got.tolist() == [[[[0, 1], [0, 0]]]]


def test_what_is_not_finite_has_no_probability():
    got = reference.stochastic_pool_probabilities(plane([np.inf, 1, np.nan, 1]), 2)
    np.testing.assert_array_equal(got, [[[[np.nan, 0], [np.nan, np.nan]]]])
    got = reference.stochastic_pool(plane([np.inf, 1, np.nan, 1, 1, 1]), 2, np.zeros((1, 1, 3)))
    np.testing.assert_array_equal(got, [[[np.nan, np.nan, 1]]])


def one(x):
    assert x.size == 1
    return x.ravel()[0]


@pytest.mark.parametrize(
    ("draw", "value"), [(0, 2), (0.25 - 2.0**-54, 2), (0.25, 3), (0.625 - 2.0**-53, 3), (0.625, 2), (1 - 2.0**-53, 1)]
)
def test_a_draw_selects_the_cell_at_which_the_running_sum_exceeds_its_share(draw, value):
    x = plane([[0, 2], [3, 0], [2, 0], [0, 1]])
    assert one(reference.stochastic_pool(x, (4, 2), np.full((1, 1, 1, 1), float(draw)))) == value


def test_a_cell_of_activation_zero_is_never_drawn_unless_all_are():
    x = plane([0.0, 0.0, 5e-324, 0.0, 0.0, 0.0], np.float64)
    for draw in (0.0, 0.5, 1 - 2.0**-53):
        assert reference.stochastic_pool(x, 3, np.full((1, 1, 2), draw)).tolist() == [[[5e-324, 0]]]
