"""Sums of rational multiples of powers D^−beta with rational bases, rounded with certainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from reference.arguments import Array, DType
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.decimal_sums import DecimalSums, units_in_last_place, unlimited_context
from reference.arithmetic.errorfree import FloatPair
from reference.arithmetic.exact import Exact, round_result
from reference.arithmetic.norms import power_of_two_root
from reference.arithmetic.rounding import Position, Positions, rational_to_pair

# Enough digits for high + low to be full after a logarithm; doubled as often as a rounding needs.
INITIAL_DIGITS = 42


@dataclass(frozen=True)
class PowerTerm:
    """The number coefficient · base^−beta, with a positive base."""

    coefficient: Fraction
    base: Fraction


@dataclass(frozen=True, eq=False)
class Terms(Mapping[Position, "list[PowerTerm]"]):
    """The terms of the elements in some places, computed on access."""

    places: Array
    compute: Callable[[Position], list[PowerTerm]]

    def __getitem__(self, position: Position) -> list[PowerTerm]:
        return self.compute(position)

    def __iter__(self) -> Iterator[Position]:
        return map(tuple, np.argwhere(self.places).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(self.places))


def round_terms(  # noqa: PLR0917  (all that a result depends on)
    terms: Terms,
    power: Fraction,
    dtype: DType,
    pair: FloatPair,
    given: Array,
    special: Array,
    count: Array,
    magnitude: Array,
    extra: Array,
) -> Exact:
    """Return sums of terms, rounded. pair: the sums in float64; given: those of no terms."""
    sums = DecimalSums(
        special.shape,
        terms,
        lambda some, digits: _decimal_total(some, power, digits),
        lambda some, number, _digits: is_exact_sum(some, number, power),
        INITIAL_DIGITS,
    )
    if dtype == np.float64:
        decimals = sums.almost_exact()
        pair = FloatPair(decimals.high + given, decimals.low, decimals.error)

    def closer(where: Positions) -> FloatPair:
        return _decimals_at(sums, where, pair)

    has_special = not np.isfinite(special).all()
    return round_result(
        pair,
        dtype,
        lambda position: sums.certain_rational(position, dtype),
        special=special if has_special else None,
        terms=count,
        magnitude=magnitude,
        extra=extra,
        closer=None if dtype == np.float64 else closer,
    )


def _decimals_at(sums: DecimalSums[PowerTerm], where: Positions, pair: FloatPair) -> FloatPair:
    """Return some elements with the error of decimals. Those without an error stay as they are."""
    near = pair.at(where)
    high, low, error = (np.array(part) for part in (near.high, near.low, near.error))
    for number, position in enumerate(zip(*(axis.tolist() for axis in where), strict=True)):
        if error[number]:
            middle, off = sums.total(sums.terms[position], sums.digits)
            high[number], low[number] = rational_to_pair(Fraction(middle))
            error[number] = float(off) * ROUNDING_SLACK + abs(high[number]) * 2.0**-105 + 2.0**-1070
    return FloatPair(high, low, error)


def _decimal_total(terms: list[PowerTerm], power: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Return the sum of some terms, and a bound on its error, computed with some digits.

    A term is c·exp(−beta · ln D). With ε one unit of the last digit, D is off by ε/2, ln D by ε(1 + |ln D|)/2, the
    exponent by ε·|beta|(1 + 2|ln D|)/2, its exponential by one ε/2 more, and the product with the rounded c by two:
    at most ε(|beta|(1 + 2|ln D|) + 4)/2 of the term, and each addition by ε/2 of the sum of absolute values. Twice
    that covers the products of errors.
    """
    context, beta = unlimited_context(digits), _decimal(power, digits)
    middle, error = Decimal(0), Decimal(0)
    for term in terms:
        logarithm = context.ln(_decimal(term.base, digits))
        # A minus sign would round to the digits of the context of the thread.
        share = context.exp(context.multiply(beta, logarithm).copy_negate())
        part = context.multiply(_decimal(term.coefficient, digits), share)
        steps = abs(power) * (1 + 2 * math.ceil(abs(logarithm))) + 6 + len(terms)
        middle, error = (
            context.add(middle, part),
            context.add(error, context.multiply(part.copy_abs(), Decimal(math.ceil(steps)))),
        )
    return middle, units_in_last_place(error, digits)


def _decimal(number: Fraction, digits: int) -> Decimal:
    """Return a rational, rounded to some digits."""
    context: Context = unlimited_context(digits)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def is_exact_sum(terms: list[PowerTerm], number: Fraction, power: Fraction) -> bool:
    """Return whether terms c·D^−beta add up to a rational exactly.

    beta = b / q in lowest terms, q a power of two. D^−beta is a q-th root of a rational. Such roots are linearly
    independent over the rationals, unless the quotient of two is rational (Mordell, as in norms.is_exact_norm): those
    are brought together, and each coefficient must vanish. As b and q have no common factor, the quotient is rational
    if the quotient of the bases has a rational q-th root r, and it is r^−b.
    """
    coefficients = {Fraction(1): -number}
    for term in terms:
        roots = ((known, power_of_two_root(term.base / known, power.denominator)) for known in coefficients)
        known, root = next(((known, root) for known, root in roots if root is not None), (term.base, Fraction(1)))
        share = term.coefficient * root**-power.numerator
        coefficients[known] = coefficients.get(known, Fraction(0)) + share
    return not any(coefficients.values())
