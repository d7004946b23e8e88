"""Tests of reference.geometry.sines."""

import math
from fractions import Fraction

import pytest

from reference.geometry.sines import ONE, pi, sinc, sine_of_half_turns

SMALL = Fraction(1, 2**200)


def test_pi_has_the_known_digits():
    digits = "31415926535897932384626433832795028841971693993751058209749445923"
    assert str(int(pi() * 10**64)) == digits


@pytest.mark.parametrize(
    ("turns", "square"),
    [
        (Fraction(1, 6), Fraction(1, 4)),
        (Fraction(1, 4), Fraction(1, 2)),
        (Fraction(1, 3), Fraction(3, 4)),
        (Fraction(1, 2), Fraction(1)),
        (Fraction(11, 4), Fraction(1, 2)),
        (Fraction(17, 6), Fraction(1, 4)),
    ],
)
def test_sines_of_known_angles(turns, square):
    assert abs(sine_of_half_turns(turns) ** 2 - square) < SMALL
    assert sine_of_half_turns(turns) > 0
    assert sine_of_half_turns(turns + 1) == -sine_of_half_turns(turns)


def test_whole_turns_are_exactly_zero():
    assert [sine_of_half_turns(Fraction(n)) for n in range(6)] == [0] * 6


@pytest.mark.parametrize("n", range(1, 12))
def test_sine_agrees_with_float64(n):
    turns = Fraction(n, 7)
    assert math.isclose(sine_of_half_turns(turns), math.sin(math.pi * n / 7), abs_tol=1e-15)
    assert math.isclose(sinc(turns), math.sin(math.pi * n / 7) / (math.pi * n / 7), abs_tol=1e-15)


def test_the_sine_of_a_sum_has_the_digits_that_are_promised():
    a, b = Fraction(2, 11), Fraction(3, 13)

    def cosine(turns):
        return sine_of_half_turns(Fraction(1, 2) - turns)

    total = sine_of_half_turns(a) * cosine(b) + cosine(a) * sine_of_half_turns(b)
    assert abs(sine_of_half_turns(a + b) - total) < SMALL
    assert ONE > 2**200


@pytest.mark.parametrize("turns", [Fraction(1, 3), Fraction(1, 7), Fraction(3, 1000)])
def test_the_sine_is_the_same_at_equal_distances_from_a_quarter_turn(turns):
    assert sine_of_half_turns(1 - turns) == sine_of_half_turns(turns)
    assert sine_of_half_turns(2 - turns) == -sine_of_half_turns(turns)
