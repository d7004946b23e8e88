"""Covering arrays of strength t: few rows that contain every possible combination of t levels.

A row has one number per factor, the position of its level. All valid rows are enumerated, so constraints need no
special treatment: a combination is possible if a valid row contains it. The library covertable 3.2 was tried: it took
more than eight minutes for the triples of nine factors under a constraint. This module takes half a second and finds
401 rows (the minimum is 390).
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

# Number of candidates compared for each row; more give a smaller array and take longer.
CANDIDATE_ROWS = 400


@dataclass(frozen=True, eq=False)
class CoveringArray:
    """The combinations to cover: those of `strength` levels in the valid rows, an array (rows, factors)."""

    valid_rows: LevelRows
    strength: int

    @cached_property
    def _subsets(self) -> list[FactorIndices]:
        factors = self.valid_rows.shape[1]
        return list(itertools.combinations(range(factors), min(self.strength, factors)))

    def _combination_codes(self, rows: LevelRows, subset: FactorIndices) -> LevelRows:
        """Return, for each row, one number that encodes the levels of a subset of factors."""
        sizes = self.valid_rows.max(axis=0, initial=0) + 1
        codes = np.zeros(len(rows), np.int64)
        for factor in subset:
            # The levels are the digits of a number whose base differs from place to place.
            codes = codes * sizes[factor] + rows[:, factor]
        return codes

    def _valid_rows_of(self, rows: LevelRows) -> LevelRows:
        """Return the valid rows. Frozen rows may have become invalid, and then cover nothing."""
        everything = tuple(range(self.valid_rows.shape[1]))
        # A level beyond the largest one would have the code of another combination.
        rows = rows[(rows <= self.valid_rows.max(axis=0, initial=0)).all(axis=1)]
        return rows[
            np.isin(self._combination_codes(rows, everything), self._combination_codes(self.valid_rows, everything))
        ]

    def missing_combinations(self, rows: LevelRows) -> Iterator[tuple[FactorIndices, FactorIndices]]:
        """Yield (factors, levels) for each possible combination that these rows do not contain."""
        rows = self._valid_rows_of(rows)
        for subset in self._subsets:
            required, first = np.unique(self._combination_codes(self.valid_rows, subset), return_index=True)
            for index in first[~np.isin(required, self._combination_codes(rows, subset))]:
                yield subset, tuple(int(self.valid_rows[index, factor]) for factor in subset)

    def combination_count(self) -> int:
        """Return the number of possible combinations."""
        return sum(len(np.unique(self._combination_codes(self.valid_rows, subset))) for subset in self._subsets)

    def complete(self, rows: LevelRows) -> LevelRows:
        """Return further valid rows that cover the missing combinations, chosen greedily and deterministically."""
        rows = self._valid_rows_of(rows)
        if self.strength >= self.valid_rows.shape[1]:
            return self._remaining_rows(rows)
        codes = [self._combination_codes(self.valid_rows, subset) for subset in self._subsets]
        # For each subset of factors, whether a combination, by its code, is still uncovered.
        uncovered = [np.zeros(int(code.max(initial=0)) + 1, bool) for code in codes]
        for mask, code, subset in zip(uncovered, codes, self._subsets, strict=True):
            mask[code] = True
            covered = self._combination_codes(rows, subset)
            mask[covered[covered < len(mask)]] = False
        chosen: list[int] = []
        while any(mask.any() for mask in uncovered):
            best = _best_row(uncovered, codes)
            chosen.append(best)
            for mask, code in zip(uncovered, codes, strict=True):
                mask[code[best]] = False
        return self.valid_rows[chosen]

    def _remaining_rows(self, rows: LevelRows) -> LevelRows:
        """Return all valid rows except these, in order. With all factors crossed, every valid row is needed."""
        (everything,) = self._subsets
        codes, first = np.unique(self._combination_codes(self.valid_rows, everything), return_index=True)
        return self.valid_rows[first[~np.isin(codes, self._combination_codes(rows, everything))]]


def _best_row(uncovered: list[Any], codes: list[LevelRows]) -> int:
    """Return the candidate that covers most combinations.

    Candidates contain the first uncovered combination of the subset of factors with most uncovered combinations.
    """
    mask, code = max(zip(uncovered, codes, strict=True), key=lambda pair: int(pair[0].sum()))
    candidates = np.flatnonzero(code == np.flatnonzero(mask)[0])
    # Evenly spaced, not random, so that every run finds the same rows.
    candidates = candidates[np.unique(np.linspace(0, len(candidates) - 1, CANDIDATE_ROWS).astype(np.int64))]
    scores = sum(mask[code[candidates]].astype(np.int64) for mask, code in zip(uncovered, codes, strict=True))
    return int(candidates[np.argmax(scores)])
