"""Covering arrays: few rows in which every combination of so many levels stands that can stand together.

A row is one number per factor, that of its level. Every valid row is known, so nothing leaks under constraints: what
no valid row has is no combination. A library was tried and left: covertable 3.2 took more than eight minutes for the
triples of nine factors under a constraint, where this takes half a second for 401 rows (390 are the least).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Factors = tuple[int, ...]

# Rows that are compared before the best is taken; more make a smaller array and take longer.
CANDIDATES = 400


@dataclass(frozen=True, eq=False)
class Cover:
    """What must be covered: every combination of `strength` levels in the valid rows, (rows, factors)."""

    valid: Rows
    strength: int

    @cached_property
    def _subsets(self) -> list[Factors]:
        factors = self.valid.shape[1]
        return list(itertools.combinations(range(factors), min(self.strength, factors)))

    def _codes(self, rows: Rows, subset: Factors) -> Rows:
        """Return one number for the levels that some factors have in each row."""
        sizes = self.valid.max(axis=0, initial=0) + 1
        codes = np.zeros(len(rows), np.int64)
        for factor in subset:
            codes = codes * sizes[factor] + rows[:, factor]
        return codes

    def _known(self, rows: Rows) -> Rows:
        """Return the rows that are valid: others, frozen when they still were, cover nothing."""
        everything = tuple(range(self.valid.shape[1]))
        rows = rows[(rows <= self.valid.max(axis=0, initial=0)).all(axis=1)]
        return rows[np.isin(self._codes(rows, everything), self._codes(self.valid, everything))]

    def missing(self, rows: Rows) -> Iterator[tuple[Factors, Factors]]:
        """Yield (factors, levels) for each combination that stands in some valid row and in none of these."""
        rows = self._known(rows)
        for subset in self._subsets:
            wanted, first = np.unique(self._codes(self.valid, subset), return_index=True)
            for index in first[~np.isin(wanted, self._codes(rows, subset))]:
                yield subset, tuple(int(self.valid[index, factor]) for factor in subset)

    def count(self) -> int:
        """Return how many combinations there are."""
        return sum(len(np.unique(self._codes(self.valid, subset))) for subset in self._subsets)

    def complete(self, rows: Rows) -> Rows:
        """Return valid rows that cover what these do not: greedily, each the best of some candidates, always alike."""
        rows = self._known(rows)
        if self.strength >= self.valid.shape[1]:
            return self._others(rows)
        codes = [self._codes(self.valid, subset) for subset in self._subsets]
        wanted = [np.zeros(int(code.max(initial=0)) + 1, bool) for code in codes]
        for want, code, subset in zip(wanted, codes, self._subsets, strict=True):
            want[code] = True
            covered = self._codes(rows, subset)
            want[covered[covered < len(want)]] = False
        chosen: list[int] = []
        while any(want.any() for want in wanted):
            best = _best(wanted, codes)
            chosen.append(best)
            for want, code in zip(wanted, codes, strict=True):
                want[code[best]] = False
        return self.valid[chosen]

    def _others(self, rows: Rows) -> Rows:
        """Return every valid row but these, in order: where all factors are crossed, nothing is there to choose."""
        (everything,) = self._subsets
        codes, first = np.unique(self._codes(self.valid, everything), return_index=True)
        return self.valid[first[~np.isin(codes, self._codes(rows, everything))]]


def _best(wanted: list[Any], codes: list[Rows]) -> int:
    """Return the row that covers most, of some that have the first combination still wanted where most are."""
    want, code = max(zip(wanted, codes, strict=True), key=lambda pair: int(pair[0].sum()))
    candidates = np.flatnonzero(code == np.flatnonzero(want)[0])
    candidates = candidates[np.unique(np.linspace(0, len(candidates) - 1, CANDIDATES).astype(np.int64))]
    scores = sum(want[code[candidates]].astype(np.int64) for want, code in zip(wanted, codes, strict=True))
    return int(candidates[np.argmax(scores)])
