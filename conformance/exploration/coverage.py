"""Coverage guidance: prefer candidates whose combinations of factor kinds have been tried least.

A combination is a pair or triple of factor kinds (`features.factor_kinds`) that occur in one candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations

from conformance.exploration.candidate import Candidate
from conformance.exploration.features import factor_kinds

DRAWS_PER_CHOICE = 6
"""Number of candidates drawn for each one that is selected."""
NOVELTY_WINDOW = 20
"""Number of candidates of an operator over which the moving average of the novelty is computed."""
MIN_NOVELTY = 0.02
"""Lower bound of the average novelty, so that every operator gets further turns."""


class Coverage:
    """Number of times that each pair and triple of factor kinds of one operator has been tried."""

    def __init__(self) -> None:
        self.tried_counts: Counter[tuple[str, ...]] = Counter()

    def choose(self, draw: Callable[[], Candidate]) -> Candidate:
        """Draw several candidates and return the one with the highest novelty."""
        return max((draw() for _ in range(DRAWS_PER_CHOICE)), key=self.novelty)

    def novelty(self, candidate: Candidate) -> float:
        """Return the novelty of a candidate, from 0 to 1. It is 1 if every pair and triple is new."""
        scores = [1 / (1 + self.tried_counts.get(kinds, 0)) ** 2 for kinds in feature_combinations(candidate)]
        return sum(scores) / len(scores)

    def count(self, candidate: Candidate) -> float:
        """Count a candidate as tried; return its novelty before that."""
        novelty = self.novelty(candidate)
        self.tried_counts.update(feature_combinations(candidate))
        return novelty


class OperatorScheduler:
    """Schedule of operators: operators whose recent candidates had a high novelty get more turns."""

    def __init__(self, operators: Iterable[str]) -> None:
        self._recent_novelty = dict.fromkeys(operators, 1.0)
        self._next_turn = dict.fromkeys(self._recent_novelty, 0.0)

    def next(self) -> str:
        """Return the operator whose next turn is due first; the first one if several are due."""
        return min(self._next_turn, key=self._next_turn.__getitem__)

    def record_novelty(self, operator: str, novelty: float) -> None:
        """Record a turn of an operator and the novelty of its candidate."""
        self._recent_novelty[operator] += (novelty - self._recent_novelty[operator]) / NOVELTY_WINDOW
        # The wait until the next turn is inversely proportional to the novelty.
        self._next_turn[operator] += 1 / max(self._recent_novelty[operator], MIN_NOVELTY)


def feature_combinations(candidate: Candidate) -> Iterator[tuple[str, ...]]:
    """Yield the pairs and triples of factor kinds of a candidate."""
    kinds = factor_kinds(candidate)
    return chain(combinations(kinds, 2), combinations(kinds, 3))
