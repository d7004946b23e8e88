"""The function sin(πs) / (πs) of fractions, with integers of fixed point."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

BITS = 224
"""Binary places of the numbers in fixed point. The errors of all steps together are less than 2**-200."""
ONE = 1 << BITS


def _arctangent_of_inverse(number: int) -> int:
    """Return arctan(1 / number) in fixed point, from its power series."""
    power, total, position = ONE // number, 0, 0
    while power:
        term = power // (2 * position + 1)
        total += -term if position % 2 else term
        power //= number * number
        position += 1
    return total


@cache
def pi() -> Fraction:
    """Return π, from Machin's formula."""
    return Fraction(4 * (4 * _arctangent_of_inverse(5) - _arctangent_of_inverse(239)), ONE)


def sine_of_half_turns(turns: Fraction) -> Fraction:
    """Return sin(π · turns); 0 for whole numbers, and the same for turns and 1 − turns."""
    rest = turns % 2
    sign, rest = (-1, rest - 1) if rest >= 1 else (1, rest)
    angle = int(pi() * min(rest, 1 - rest) * ONE)
    square, term, total, factor = angle * angle >> BITS, angle, 0, 1
    while term:
        total += term
        term = -((term * square >> BITS) // ((factor + 1) * (factor + 2)))
        factor += 2
        if abs(term) <= 1:
            break
    return Fraction(sign * total, ONE)


def sinc(distance: Fraction) -> Fraction:
    """Return sin(πs) / (πs) for s > 0, with an error of at most 2**-180 if s is at least 2**-16."""
    return Fraction(int(sine_of_half_turns(distance) / (pi() * distance) * ONE), ONE)
