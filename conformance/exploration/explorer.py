"""The explorer: generation after generation of cases, each drawn from the seed and from what came of those before.

Nothing else goes in, neither time nor the number of workers, so that the same seed finds the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conformance.exploration.candidate import Recipe
from conformance.exploration.coverage import Guide, Turns
from conformance.exploration.cross_surface import SURFACES
from conformance.exploration.evaluation import Bench, Seen, Tried
from conformance.exploration.findings import Finding, Findings
from conformance.exploration.metamorphic import LAW
from conformance.exploration.oracles import Held, answers
from conformance.exploration.rng import Dice
from conformance.exploration.space import Space

GENERATION = 1000
"""Cases that are drawn before what came of them is looked at."""
RULED = 20
"""One in so many recipes is held to the laws of its operator, too."""
LEAST = 50
"""Recipes for which a part of a generation is worth the start of a framework."""
ODD = 64
"""Recipes of an operator that showed what none had shown before, and are kept to draw from their neighbourhood."""


@dataclass
class Tally:
    """What an exploration has done so far: cases tried, in how many seconds, and results by status."""

    cases: int = 0
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Until:
    """When to stop: after so many cases, or with the generation in which so many seconds have passed."""

    cases: int | None = None
    seconds: float | None = None

    def size(self, tally: Tally) -> int:
        """Return how many cases the next generation has, 0 for no further one."""
        if self.seconds is not None and tally.seconds >= self.seconds:
            return 0
        return GENERATION if self.cases is None else min(GENERATION, self.cases - tally.cases)


class Explorer:
    """An exploration of one backend. guided: whether draws are guided; else they are independent of each other."""

    def __init__(self, lab: Bench, spaces: Mapping[str, Space], seed: int = 0, *, guided: bool = True) -> None:
        self.lab = lab
        self.spaces = spaces
        self.seed = seed
        self.guided = guided
        self.findings = Findings(lab, spaces)
        self.tally = Tally()
        self._operators = tuple(spaces)
        self._guides = {operator: Guide() for operator in spaces}
        self._turns = Turns(spaces)
        self._shown: set[tuple[str, str, str, str]] = set()
        self._odd: dict[str, list[Recipe]] = {operator: [] for operator in spaces}

    def explore(self, until: Until, tell: Callable[[Tally, Sequence[Finding]], None] = lambda *_: None) -> None:
        """Explore on, telling after each generation what was done and which findings are new."""
        start = time.monotonic() - self.tally.seconds
        while size := until.size(self.tally):
            tried = self._tried([Held(recipe) for recipe in self.generation(size)])
            # Where a surface differs already, known or not, a law has nothing to add.
            agreeing = [one.recipe for one in tried if not any(seen.way for seen in one.seen)]
            ruled = self._tried([Held(*pair) for pair in self.ruled(agreeing)])
            fresh = self.findings.add([*tried, *ruled], self.tally.cases)
            self.take_in(tried)
            self.tally.seconds = time.monotonic() - start
            tell(self.tally, fresh)

    def _tried(self, asked: Sequence[Held]) -> list[Tried]:
        """Have recipes tried by as many as there are, to each some of every kind."""
        parts = max(1, min(self.lab.size, len(asked) // LEAST))
        found: list[Sequence[Seen]] = [()] * len(asked)
        for part, seen in enumerate(self.lab.each(answers, [(asked[part::parts],) for part in range(parts)])):
            found[part::parts] = seen
        return [Tried(one.recipe, seen) for one, seen in zip(asked, found, strict=True)]

    def generation(self, size: int) -> Iterator[Recipe]:
        """Yield the recipes of the next generation, the operators taking turns: more of them, the more there is new."""
        for number in range(self.tally.cases, self.tally.cases + size):
            operator = self._turns.next() if self.guided else self._operators[number % len(self._operators)]
            yield self._next(operator, Dice(self.seed, operator, number))

    def ruled(self, recipes: Sequence[Recipe]) -> list[tuple[Recipe, str]]:
        """Return recipes to be held to laws: some of those tried, and as many again that are vast.

        Of these no reference says anything, so that surfaces are held against each other, too.
        """
        some = list(recipes[::RULED])
        dice = Dice(self.seed, "laws", self.tally.cases)
        vast = (self.spaces[dice.one_of(list(self.spaces))].vast(dice) for _ in some)
        larger = [recipe for recipe in vast if recipe]
        return [*((recipe, LAW) for recipe in some + larger), *((recipe, SURFACES) for recipe in larger)]

    def _next(self, operator: str, dice: Dice) -> Recipe:
        space, odd, guide = self.spaces[operator], self._odd[operator], self._guides[operator]
        if not self.guided:
            return space.draw(dice)
        near = space.mutated(dice.one_of(odd), dice) if odd and dice.chance(4) else None
        recipe = near or guide.choose(lambda: space.draw(dice))
        self._turns.weigh(operator, guide.count(recipe))
        return recipe

    def take_in(self, tried: Sequence[Tried]) -> None:
        """Count what came of a generation, and keep what showed something that nothing had shown before."""
        self.tally.cases += len(tried)
        for one in tried:
            self.tally.statuses.update(seen.status for seen in one.seen)
            shown = {(one.recipe.operator, seen.surface, seen.how, seen.kind) for seen in one.seen} - self._shown
            self._shown |= shown
            if shown:
                self._odd[one.recipe.operator] = [one.recipe, *self._odd[one.recipe.operator]][:ODD]
