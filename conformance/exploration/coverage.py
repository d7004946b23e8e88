"""The guide: of some recipes it takes the one that brings together what has been together least.

What guides is which kinds of levels (`traits.kinds`) have stood in one case: pairs and triples, each counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations

from conformance.exploration.candidate import Recipe
from conformance.exploration.features import kinds

CANDIDATES = 6
"""Recipes of which one is taken."""


MEMORY = 20
"""Recipes of an operator over which it is reckoned how new they are."""
LEAST = 0.02
"""As how new recipes count at least, so that no operator ever stops."""


class Guide:
    """How often which pairs and triples of one operator have been tried."""

    def __init__(self) -> None:
        self.tried: Counter[tuple[str, ...]] = Counter()

    def choose(self, draw: Callable[[], Recipe]) -> Recipe:
        """Draw some recipes, and take that which brings together what has been together least."""
        return max((draw() for _ in range(CANDIDATES)), key=self.novelty)

    def novelty(self, recipe: Recipe) -> float:
        """Return how much a recipe has of what was tried little: 1 if every pair and triple is new, else less."""
        found = [1 / (1 + self.tried.get(some, 0)) ** 2 for some in together(recipe)]
        return sum(found) / len(found)

    def count(self, recipe: Recipe) -> float:
        """Note that a recipe is tried; return how new it was."""
        new = self.novelty(recipe)
        self.tried.update(together(recipe))
        return new


class Turns:
    """Whose turn it is: operators come the more often, the more their last recipes brought together that was new."""

    def __init__(self, operators: Iterable[str]) -> None:
        self._new = dict.fromkeys(operators, 1.0)
        self._due = dict.fromkeys(self._new, 0.0)

    def next(self) -> str:
        """Return the operator that has waited longest for its share, the first of equals."""
        return min(self._due, key=self._due.__getitem__)

    def weigh(self, operator: str, new: float) -> None:
        """Note that an operator has had a turn, and how new its recipe was."""
        self._new[operator] += (new - self._new[operator]) / MEMORY
        self._due[operator] += 1 / max(self._new[operator], LEAST)


def together(recipe: Recipe) -> Iterator[tuple[str, ...]]:
    """Yield the pairs and triples of kinds that stand together in a recipe."""
    words = kinds(recipe)
    return chain(combinations(words, 2), combinations(words, 3))
