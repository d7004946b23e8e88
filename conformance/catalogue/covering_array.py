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

LevelRows = NDArray[np.int64]
FactorIndices = tuple[int, ...]

# Rows that are compared before the best is taken; more make a smaller array and take longer.
CANDIDATE_ROWS = 400


@dataclass(frozen=True, eq=False)
class CoveringArray:
    """What must be covered: every combination of `strength` levels in the valid rows, (rows, factors)."""

    valid_rows: LevelRows
    strength: int

    @cached_property
    def _subsets(self) -> list[FactorIndices]:
        factors = self.valid_rows.shape[1]
        return list(itertools.combinations(range(factors), min(self.strength, factors)))

    def _combination_codes(self, rows: LevelRows, subset: FactorIndices) -> LevelRows:
        """Return one number for the levels that some factors have in each row."""
        sizes = self.valid_rows.max(axis=0, initial=0) + 1
        codes = np.zeros(len(rows), np.int64)
        for factor in subset:
            codes = codes * sizes[factor] + rows[:, factor]
        return codes

    def _valid_rows_of(self, rows: LevelRows) -> LevelRows:
        """Return the rows that are valid: others, frozen when they still were, cover nothing."""
        everything = tuple(range(self.valid_rows.shape[1]))
        rows = rows[(rows <= self.valid_rows.max(axis=0, initial=0)).all(axis=1)]
        return rows[
            np.isin(self._combination_codes(rows, everything), self._combination_codes(self.valid_rows, everything))
        ]

    def missing_combinations(self, rows: LevelRows) -> Iterator[tuple[FactorIndices, FactorIndices]]:
        """Yield (factors, levels) for each combination that stands in some valid row and in none of these."""
        rows = self._valid_rows_of(rows)
        for subset in self._subsets:
            wanted, first = np.unique(self._combination_codes(self.valid_rows, subset), return_index=True)
            for index in first[~np.isin(wanted, self._combination_codes(rows, subset))]:
                yield subset, tuple(int(self.valid_rows[index, factor]) for factor in subset)

    def combination_count(self) -> int:
        """Return how many combinations there are."""
        return sum(len(np.unique(self._combination_codes(self.valid_rows, subset))) for subset in self._subsets)

    def complete(self, rows: LevelRows) -> LevelRows:
        """Return valid rows that cover what these do not: greedily, each the best of some candidates, always alike."""
        rows = self._valid_rows_of(rows)
        if self.strength >= self.valid_rows.shape[1]:
            return self._remaining_rows(rows)
        codes = [self._combination_codes(self.valid_rows, subset) for subset in self._subsets]
        wanted = [np.zeros(int(code.max(initial=0)) + 1, bool) for code in codes]
        for want, code, subset in zip(wanted, codes, self._subsets, strict=True):
            want[code] = True
            covered = self._combination_codes(rows, subset)
            want[covered[covered < len(want)]] = False
        chosen: list[int] = []
        while any(want.any() for want in wanted):
            best = _best_row(wanted, codes)
            chosen.append(best)
            for want, code in zip(wanted, codes, strict=True):
                want[code[best]] = False
        return self.valid_rows[chosen]

    def _remaining_rows(self, rows: LevelRows) -> LevelRows:
        """Return every valid row but these, in order: where all factors are crossed, nothing is there to choose."""
        (everything,) = self._subsets
        codes, first = np.unique(self._combination_codes(self.valid_rows, everything), return_index=True)
        return self.valid_rows[first[~np.isin(codes, self._combination_codes(rows, everything))]]


def _best_row(wanted: list[Any], codes: list[LevelRows]) -> int:
    """Return the row that covers most, of some that have the first combination still wanted where most are."""
    want, code = max(zip(wanted, codes, strict=True), key=lambda pair: int(pair[0].sum()))
    candidates = np.flatnonzero(code == np.flatnonzero(want)[0])
    candidates = candidates[np.unique(np.linspace(0, len(candidates) - 1, CANDIDATE_ROWS).astype(np.int64))]
    scores = sum(want[code[candidates]].astype(np.int64) for want, code in zip(wanted, codes, strict=True))
    return int(candidates[np.argmax(scores)])
