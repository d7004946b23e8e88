"""Tests of reference.arithmetic.norms."""

from fractions import Fraction

import numpy as np

from reference.arithmetic.norms import certain_norm, decimal_norm, finite_rational


def test_the_error_of_a_norm_is_that_of_its_proof():
    middle, error = decimal_norm([1.0, 0.0, 2.0], Fraction(3), 20)
    assert abs(middle**3 - 9) <= 27 * error
    assert error == middle * (6 * 20 + 3 * 3 + 5) / 10**19


def test_infinity_stands_for_the_number_that_would_follow_the_greatest():
    assert finite_rational(np.float16(np.inf)) == 2**16
    assert finite_rational(np.float64(np.inf)) == 2**1024
    assert finite_rational(np.float32(-0.5)) == Fraction(-1, 2)


def test_the_norm_of_nothing_but_zeros_is_zero():
    assert certain_norm([0.0, 0.0], Fraction(3), np.dtype(np.float32)) == 0
