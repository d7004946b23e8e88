"""Gradients whose terms only decimals of growing length approach: of softmax and Lp pooling."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

from reference.arguments import Array, DType
from reference.arithmetic.bound import ROUNDING_SLACK
from reference.arithmetic.errorfree import UNDERFLOW_ERROR, FloatPair
from reference.arithmetic.exact import Exact, round_result
from reference.arithmetic.norms import finite_rational
from reference.arithmetic.rounding import Position, rational_to_pair, round_to
from reference.geometry.windows import WindowWalk

TermType = TypeVar("TermType")


@dataclass(frozen=True, eq=False)
class DecimalSums(Generic[TermType]):
    """Sums of the terms of each cell of an input.

    shape: of the input; terms: those of each cell that has any. total(terms, digits): their sum and a bound on its
    error, computed with some digits. is_tie(terms, number, digits): whether their sum is this number exactly; it may
    say no as long as more digits are to come.
    """

    shape: tuple[int, ...]
    terms: Mapping[Position, list[TermType]]
    total: Callable[[list[TermType], int], tuple[Decimal, Decimal]]
    is_tie: Callable[[list[TermType], Fraction, int], bool]
    digits: int

    def almost_exact(self) -> FloatPair:
        """Return the sums, almost exact."""
        high, low, error = (np.zeros(self.shape) for _ in range(3))
        for position, terms in self.terms.items():
            middle, off = self.total(terms, self.digits)
            high[position], low[position] = rational_to_pair(Fraction(middle))
            error[position] = float(off) + UNDERFLOW_ERROR
        # What the pair itself and the conversion of the error drop.
        return FloatPair(high, low, error * ROUNDING_SLACK + np.abs(high) * 2.0**-105)

    def rounded(
        self,
        dtype: DType,
        *,
        special: Array | None,
        terms: Array,
        magnitude: Array,
        extra: Array,
    ) -> Exact:
        """Return the sums rounded to a dtype, with every element certain. Parameters as in round_result."""
        return round_result(
            self.almost_exact(),
            dtype,
            lambda position: self.certain_rational(position, dtype),
            special=special,
            terms=terms,
            magnitude=magnitude,
            extra=extra,
        )

    def certain_rational(self, position: Position, dtype: DType) -> Fraction:
        """Return a rational that rounds to the dtype like the exact sum: more digits until no doubt is left.

        The two ends of the interval never meet only for a sum of 0 or half-way between two numbers.
        """
        terms, digits = self.terms[position], self.digits
        while True:
            middle, error = (Fraction(number) for number in self.total(terms, digits))
            below, above = (round_to(end, dtype) for end in (middle - error, middle + error))
            if below.tobytes() == above.tobytes():
                return middle
            tie = (finite_rational(below) + finite_rational(above)) / 2
            if self.is_tie(terms, tie, digits):
                return tie
            digits *= 2


def unlimited_context(digits: int) -> Context:
    """Return a context with this many digits. Nothing overflows, and nothing above exp(−10**18) underflows."""
    return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)


def units_in_last_place(number: Decimal, digits: int) -> Decimal:
    """Return a positive number times one unit of the last of some digits."""
    return number.scaleb(1 - digits, unlimited_context(digits))


def windows_with_gradient(x: Array, grad: Array, windows: WindowWalk) -> Iterator[tuple[float, dict[Position, float]]]:
    """Yield, for each window whose gradient is not 0, the gradient and the values of its real cells.

    x: (n, c, *spatial), grad: (n, c, *output), both float64.
    """
    for position in map(tuple, np.argwhere(grad != 0).tolist()):
        inputs = windows.inside(position[2:])[1]
        indices = itertools.product(*(range(s.start, s.stop, s.step) for s in inputs))
        cells = [(*position[:2], *index) for index in indices]
        yield float(grad[position]), {cell: float(x[cell]) for cell in cells}
