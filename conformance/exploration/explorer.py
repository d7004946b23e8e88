"""The explorer: generation after generation of cases, each drawn from the seed and from what came of those before.

Nothing else goes in, neither time nor the number of workers, so that the same seed finds the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conformance.exploration.candidate import Candidate
from conformance.exploration.coverage import Coverage, OperatorScheduler
from conformance.exploration.cross_surface import SURFACES_PREFIX
from conformance.exploration.evaluation import CandidateResult, Evaluator, SurfaceResult
from conformance.exploration.findings import ExplorationFinding, FindingCollector
from conformance.exploration.metamorphic import RELATION_PREFIX
from conformance.exploration.oracles import OracleRequest, evaluate_all
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace

CANDIDATES_PER_GENERATION = 1000
"""Cases that are drawn before what came of them is looked at."""
METAMORPHIC_INTERVAL = 20
"""One in so many recipes is held to the laws of its operator, too."""
MIN_CANDIDATES_PER_WORKER = 50
"""Recipes for which a part of a generation is worth the start of a framework."""
MAX_NOVEL_CANDIDATES = 64
"""Recipes of an operator that showed what none had shown before, and are kept to draw from their neighbourhood."""


@dataclass
class ExplorationCounts:
    """What an exploration has done so far: cases tried, in how many seconds, and results by status."""

    cases: int = 0
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class StopCondition:
    """When to stop: after so many cases, or with the generation in which so many seconds have passed."""

    cases: int | None = None
    seconds: float | None = None

    def next_generation_size(self, tally: ExplorationCounts) -> int:
        """Return how many cases the next generation has, 0 for no further one."""
        if self.seconds is not None and tally.seconds >= self.seconds:
            return 0
        return (
            CANDIDATES_PER_GENERATION
            if self.cases is None
            else min(CANDIDATES_PER_GENERATION, self.cases - tally.cases)
        )


class Explorer:
    """An exploration of one backend. guided: whether draws are guided; else they are independent of each other."""

    def __init__(
        self, evaluator: Evaluator, spaces: Mapping[str, OperatorSpace], seed: int = 0, *, guided: bool = True
    ) -> None:
        self.evaluator = evaluator
        self.spaces = spaces
        self.seed = seed
        self.guided = guided
        self.findings = FindingCollector(evaluator, spaces)
        self.counts = ExplorationCounts()
        self._operators = tuple(spaces)
        self._coverage = {operator: Coverage() for operator in spaces}
        self._scheduler = OperatorScheduler(spaces)
        self._observed_outcomes: set[tuple[str, str, str, str]] = set()
        self._novel_candidates: dict[str, list[Candidate]] = {operator: [] for operator in spaces}

    def explore(
        self,
        until: StopCondition,
        on_generation: Callable[[ExplorationCounts, Sequence[ExplorationFinding]], None] = lambda *_: None,
    ) -> None:
        """Explore on, telling after each generation what was done and which findings are new."""
        start = time.monotonic() - self.counts.seconds
        while size := until.next_generation_size(self.counts):
            tried = self._evaluate([OracleRequest(recipe) for recipe in self.draw_generation(size)])
            # Where a surface differs already, known or not, a law has nothing to add.
            agreeing = [one.candidate for one in tried if not any(seen.symptom for seen in one.surface_results)]
            ruled = self._evaluate([OracleRequest(*pair) for pair in self.metamorphic_candidates(agreeing)])
            fresh = self.findings.add([*tried, *ruled], self.counts.cases)
            self.record_results(tried)
            self.counts.seconds = time.monotonic() - start
            on_generation(self.counts, fresh)

    def _evaluate(self, asked: Sequence[OracleRequest]) -> list[CandidateResult]:
        """Have recipes tried by as many as there are, to each some of every kind."""
        parts = max(1, min(self.evaluator.capacity, len(asked) // MIN_CANDIDATES_PER_WORKER))
        found: list[Sequence[SurfaceResult]] = [()] * len(asked)
        for part, seen in enumerate(self.evaluator.map(evaluate_all, [(asked[part::parts],) for part in range(parts)])):
            found[part::parts] = seen
        return [CandidateResult(one.candidate, seen) for one, seen in zip(asked, found, strict=True)]

    def draw_generation(self, size: int) -> Iterator[Candidate]:
        """Yield the recipes of the next generation, the operators taking turns: more of them, the more there is new."""
        for number in range(self.counts.cases, self.counts.cases + size):
            operator = self._scheduler.next() if self.guided else self._operators[number % len(self._operators)]
            yield self._draw_candidate(operator, Rng(self.seed, operator, number))

    def metamorphic_candidates(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, str]]:
        """Return recipes to be held to laws: some of those tried, and as many again that are vast.

        Of these no reference says anything, so that surfaces are held against each other, too.
        """
        some = list(candidates[::METAMORPHIC_INTERVAL])
        dice = Rng(self.seed, "laws", self.counts.cases)
        vast = (self.spaces[dice.choice(list(self.spaces))].draw_large(dice) for _ in some)
        larger = [recipe for recipe in vast if recipe]
        return [
            *((recipe, RELATION_PREFIX) for recipe in some + larger),
            *((recipe, SURFACES_PREFIX) for recipe in larger),
        ]

    def _draw_candidate(self, operator: str, rng: Rng) -> Candidate:
        space, odd, guide = self.spaces[operator], self._novel_candidates[operator], self._coverage[operator]
        if not self.guided:
            return space.draw(rng)
        near = space.mutate(rng.choice(odd), rng) if odd and rng.one_in(4) else None
        recipe = near or guide.choose(lambda: space.draw(rng))
        self._scheduler.record_novelty(operator, guide.count(recipe))
        return recipe

    def record_results(self, tried: Sequence[CandidateResult]) -> None:
        """Count what came of a generation, and keep what showed something that nothing had shown before."""
        self.counts.cases += len(tried)
        for one in tried:
            self.counts.statuses.update(seen.status for seen in one.surface_results)
            shown = {
                (one.candidate.operator, seen.surface, seen.how, seen.kind) for seen in one.surface_results
            } - self._observed_outcomes
            self._observed_outcomes |= shown
            if shown:
                self._novel_candidates[one.candidate.operator] = [
                    one.candidate,
                    *self._novel_candidates[one.candidate.operator],
                ][:MAX_NOVEL_CANDIDATES]
