"""The guide: of some recipes it takes the one that brings together what has been together least.

What guides is which kinds of levels (`traits.kinds`) have stood in one case: pairs and triples, each counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations

from conformance.exploration.candidate import Candidate
from conformance.exploration.features import factor_kinds

DRAWS_PER_CHOICE = 6
"""Recipes of which one is taken."""


NOVELTY_WINDOW = 20
"""Recipes of an operator over which it is reckoned how new they are."""
MIN_NOVELTY = 0.02
"""As how new recipes count at least, so that no operator ever stops."""


class Coverage:
    """How often which pairs and triples of one operator have been tried."""

    def __init__(self) -> None:
        self.tried_counts: Counter[tuple[str, ...]] = Counter()

    def choose(self, draw: Callable[[], Candidate]) -> Candidate:
        """Draw some recipes, and take that which brings together what has been together least."""
        return max((draw() for _ in range(DRAWS_PER_CHOICE)), key=self.novelty)

    def novelty(self, candidate: Candidate) -> float:
        """Return how much a recipe has of what was tried little: 1 if every pair and triple is new, else less."""
        found = [1 / (1 + self.tried_counts.get(some, 0)) ** 2 for some in feature_combinations(candidate)]
        return sum(found) / len(found)

    def count(self, candidate: Candidate) -> float:
        """Note that a recipe is tried; return how new it was."""
        new = self.novelty(candidate)
        self.tried_counts.update(feature_combinations(candidate))
        return new


class OperatorScheduler:
    """Whose turn it is: operators come the more often, the more their last recipes brought together that was new."""

    def __init__(self, operators: Iterable[str]) -> None:
        self._recent_novelty = dict.fromkeys(operators, 1.0)
        self._next_turn = dict.fromkeys(self._recent_novelty, 0.0)

    def next(self) -> str:
        """Return the operator that has waited longest for its share, the first of equals."""
        return min(self._next_turn, key=self._next_turn.__getitem__)

    def record_novelty(self, operator: str, new: float) -> None:
        """Note that an operator has had a turn, and how new its recipe was."""
        self._recent_novelty[operator] += (new - self._recent_novelty[operator]) / NOVELTY_WINDOW
        self._next_turn[operator] += 1 / max(self._recent_novelty[operator], MIN_NOVELTY)


def feature_combinations(candidate: Candidate) -> Iterator[tuple[str, ...]]:
    """Yield the pairs and triples of kinds that stand together in a recipe."""
    words = factor_kinds(candidate)
    return chain(combinations(words, 2), combinations(words, 3))
