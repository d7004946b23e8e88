"""Tests of reference.arithmetic.decimal_sums."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from reference.arithmetic.decimal_sums import DecimalSums, units_in_last_place


def test_a_unit_of_the_last_digit():
    assert units_in_last_place(Decimal(3), 5) == Decimal("0.0003")


def test_the_error_of_a_pair_of_decimals_is_what_it_lacks_and_hardly_more():
    tenth, off = Decimal("0.1"), Decimal(2) ** -120
    sums = DecimalSums((2,), {(1,): [None]}, lambda *_: (tenth, off), lambda *_: False, 40)
    pair = sums.almost_exact()
    assert pair.high.tolist() == [0.0, 0.1]
    gap = abs(Fraction(tenth) - Fraction(pair.high[1]) - Fraction(pair.low[1]))
    rest = Fraction(pair.error[1]) - Fraction(off)
    assert gap < rest <= Fraction(pair.high[1]) / 2**105 * (1 + Fraction(1, 2**20))
    assert pair.error[0] == 0


@pytest.mark.parametrize("off", [Decimal("1e-400"), Decimal(1) + Decimal(2) ** -60])
def test_the_error_of_decimals_is_rounded_up(off):
    sums = DecimalSums((1,), {(0,): [None]}, lambda *_: (Decimal(0), off), lambda *_: False, 40)
    (error,) = sums.almost_exact().error.tolist()
    assert Fraction(off) <= Fraction(error) <= Fraction(off) * (1 + Fraction(1, 2**39)) + Fraction(1, 2**1072)


def test_digits_are_doubled_until_a_tie_is_proved():
    asked = []

    def total(_, digits):
        return Decimal(0), units_in_last_place(Decimal(2), digits)

    def is_tie(_, number, digits):
        asked.append((number, digits))
        return len(asked) == 3

    sums = DecimalSums((1,), {(0,): [None]}, total, is_tie, 40)
    assert sums.certain_rational((0,), np.dtype(np.float32)) == 0
    assert asked == [(0, 40), (0, 80), (0, 160)]
