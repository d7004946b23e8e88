"""The p-norm of a few numbers, (Σ |v|^p)^(1/p), rounded with certainty."""

import math
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from reference.arguments import DType
from reference.arithmetic.rounding import format_of, round_to

# Enough digits for high + low to be full; doubled as often as a rounding needs.
INITIAL_DIGITS = 36

# What differs modulo a prime differs; a prime of Mersenne's.
MERSENNE_127 = 2**127 - 1


def certain_norm(values: Sequence[float], p: Fraction, dtype: DType) -> Fraction:
    """Return a rational that rounds to the dtype like the p-norm of finite non-negative values, p >= 1.

    Digits are added until both ends of the interval round to the same number. Only for a norm half-way between two
    numbers of the
    dtype they never do. That case is decided with integers.
    """
    if not any(values):
        return Fraction(0)
    digits = INITIAL_DIGITS + len(str(int(p)))
    while True:
        middle, error = decimal_norm(values, p, digits)
        below, above = (round_to(end, dtype) for end in (middle - error, middle + error))
        if below == above:
            return middle
        tie = (finite_rational(below) + finite_rational(above)) / 2
        if is_exact_norm(values, p, tie):
            return tie
        digits *= 2


def finite_rational(number: Any) -> Fraction:
    """Return a number as a rational, and infinity as the number that would follow the greatest."""
    return Fraction(float(number)) if np.isfinite(number) else Fraction(2) ** (format_of(number.dtype).max_exponent + 1)


def decimal_norm(values: Sequence[float], p: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return the p-norm of non-negative values, not all 0, and a bound on its error, computed with some digits.

    It is top · (Σ exp(p tᵢ))^(1/p) with tᵢ = ln(vᵢ / top) <= 0, each operation rounded to half a unit of its last
    digit. With ε one unit: p tᵢ is off by ε p (1 + 2|tᵢ|), so each stored exponential by ε (p + 2p|tᵢ| + 1), where
    p|tᵢ| <= 3 · digits; those left out are less than ε each. So their sum is off by ε (p + 6 · digits + 2n + 2) at
    most, and its root, as p >= 1 and ln n < n, by ε (1 + 6 · digits + 3n + 4) with the last two operations.
    """
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
    top, power, total = Decimal(max(values)), Decimal(float(p)), Decimal(0)
    for value in map(Decimal, values):
        exponent = context.multiply(power, context.ln(context.divide(value, top))) if value else None
        if exponent is not None and exponent >= -3 * digits:
            total = context.add(total, context.exp(exponent))
    root = context.exp(context.divide(context.ln(total), power))
    middle = Fraction(context.multiply(top, root))
    return middle, middle * (6 * digits + 3 * len(values) + 5) / 10 ** (digits - 1)


def is_exact_norm(values: Sequence[float], p: Fraction, number: Fraction) -> bool:
    """Return whether the p-norm of non-negative values equals a positive number exactly: whether Σ (vᵢ / number)^p = 1.

    p = a / b in lowest terms, b a power of two. The terms are b-th roots of rationals. Such roots are linearly
    independent over the rationals unless the quotient of two is rational (Mordell, "On the linear independence of
    algebraic numbers", Pacific Journal of Mathematics 3, 1953). No term is negative, so no terms cancel, so one that is
    irrational settles it. The whole powers are compared modulo a prime first, for a large p.
    """
    roots = [power_of_two_root(Fraction(value) / number, p.denominator) for value in values if value]
    common = math.lcm(*(root.denominator for root in roots if root is not None))
    if None in roots:
        return False
    numerators = [int(root * common) for root in roots if root is not None]
    if sum(pow(whole, p.numerator, MERSENNE_127) for whole in numerators) % MERSENNE_127 != pow(
        common, p.numerator, MERSENNE_127
    ):
        return False
    return bool(sum(whole**p.numerator for whole in numerators) == common**p.numerator)


def power_of_two_root(number: Fraction, degree: int) -> Fraction | None:
    """Return the root of a positive rational, for a degree that is a power of two. Return None if it is irrational."""
    while degree > 1:
        square = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
        if square * square != number:
            return None
        number, degree = square, degree // 2
    return number
