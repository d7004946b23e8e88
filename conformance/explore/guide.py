"""The guide: of some recipes it takes the one that brings together what has been together least.

What guides is which kinds of levels (`traits.kinds`) have stood in one case: pairs and triples, each counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, combinations

from conformance.explore.recipes import Recipe
from conformance.explore.traits import kinds

CANDIDATES = 6
"""Recipes of which one is taken."""


class Guide:
    """How often which pairs and triples of one operator have been tried."""

    def __init__(self) -> None:
        self.tried: Counter[tuple[str, ...]] = Counter()

    def choose(self, draw: Callable[[], Recipe]) -> Recipe:
        """Draw some recipes, take that which brings together what has been together least, and count it."""
        best = max((draw() for _ in range(CANDIDATES)), key=self.novelty)
        self.count(best)
        return best

    def novelty(self, recipe: Recipe) -> float:
        """Return how much a recipe has of what was tried little: 1 for each pair or triple that is new, else less."""
        tried = self.tried
        return sum(1 / (1 + tried.get(some, 0)) ** 2 for some in together(recipe))

    def count(self, recipe: Recipe) -> None:
        """Note that a recipe is tried."""
        self.tried.update(together(recipe))


def together(recipe: Recipe) -> Iterator[tuple[str, ...]]:
    """Yield the pairs and triples of kinds that stand together in a recipe."""
    words = kinds(recipe)
    return chain(combinations(words, 2), combinations(words, 3))
