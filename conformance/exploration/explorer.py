"""The exploration loop: draw a generation of candidates, evaluate it, collect findings, repeat.

A generation depends only on the seed and on the results of earlier generations, not on time or the number of workers.
The same seed therefore finds the same differences.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conformance.exploration.candidate import Candidate
from conformance.exploration.coverage import Coverage, OperatorScheduler, SupportHistory
from conformance.exploration.cross_surface import SurfacesOracle
from conformance.exploration.evaluation import CandidateResult, Evaluator, LocalEvaluator, OracleRequest, make_requests
from conformance.exploration.findings import ExplorationFinding, FindingCollector
from conformance.exploration.oracles import ReferenceOrSurfacesOracle, RelationOracle
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace
from reports.results.vocabulary import Status

CANDIDATES_PER_GENERATION = 1000
"""Number of candidates in one generation."""
METAMORPHIC_INTERVAL = 20
"""One in this number of candidates is also checked against metamorphic relations."""
COMMON_INTERVAL = 4
"""One in this number of new candidates has a common configuration of windows, regardless of coverage."""
UNCHECKED_INTERVAL = 16
"""One in this number of candidates may have factors that no surface has supported so far."""
MIN_CANDIDATES_PER_WORKER = 50
"""Minimum number of candidates in a part of a generation. Fewer are not worth the start of a framework."""
MAX_NOVEL_CANDIDATES = 64
"""Number of recent candidates per operator with a new kind of result. They are mutated to draw similar candidates."""


@dataclass
class ExplorationCounts:
    """Number of evaluated cases, elapsed seconds, and number of results by status."""

    cases: int = 0
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class StopCondition:
    """End of an exploration: after a number of cases, or after the generation in which a time limit passes."""

    cases: int | None = None
    seconds: float | None = None

    def next_generation_size(self, counts: ExplorationCounts) -> int:
        """Return the number of cases in the next generation, 0 to stop."""
        if self.seconds is not None and counts.seconds >= self.seconds:
            return 0
        if self.cases is None:
            return CANDIDATES_PER_GENERATION
        return min(CANDIDATES_PER_GENERATION, self.cases - counts.cases)


class Explorer:
    """An exploration of one backend.

    guided: whether coverage and earlier results guide the draws. If False, draws are independent of each other.
    """

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
        self._support = {operator: SupportHistory() for operator in spaces}
        self._scheduler = OperatorScheduler(spaces)
        self._observed_outcomes: set[tuple[str, str, str, str]] = set()
        self._novel_candidates: dict[str, list[Candidate]] = {operator: [] for operator in spaces}

    def explore(
        self,
        stop: StopCondition,
        on_generation: Callable[[ExplorationCounts, Sequence[ExplorationFinding]], None] = lambda *_: None,
    ) -> None:
        """Explore until the stop condition; call on_generation(counts, new findings) after each generation."""
        start = time.monotonic() - self.counts.seconds  # a second call continues the count
        while size := stop.next_generation_size(self.counts):
            results = self._evaluate(make_requests(ReferenceOrSurfacesOracle(), self.draw_generation(size)))
            # A violated relation adds nothing if the candidate already differs from the reference.
            agreeing = [one.candidate for one in results if not any(item.symptom for item in one.surface_results)]
            metamorphic = self._evaluate(self.metamorphic_requests(agreeing))
            # Before the results are counted: findings number the cases from the first one of this generation.
            new_findings = self.findings.add([*results, *metamorphic], self.counts.cases)
            self.record_results(results)
            self.counts.seconds = time.monotonic() - start
            on_generation(self.counts, new_findings)

    def _evaluate(self, requests: Sequence[OracleRequest]) -> list[CandidateResult]:
        """Evaluate candidates in as many parts as the evaluator can run in parallel."""
        parts = max(1, min(self.evaluator.capacity, len(requests) // MIN_CANDIDATES_PER_WORKER))
        results = [CandidateResult(request.candidate) for request in requests]
        # Interleaved parts contain all operators, so they take about the same time.
        pieces = [(requests[part::parts],) for part in range(parts)]
        for part, evaluated in enumerate(self.evaluator.map(LocalEvaluator.evaluate, pieces)):
            results[part::parts] = evaluated
        return results

    def draw_generation(self, size: int) -> Iterator[Candidate]:
        """Yield the candidates of the next generation; the scheduler chooses the operator of each."""
        for number in range(self.counts.cases, self.counts.cases + size):
            operator = self._scheduler.next() if self.guided else self._operators[number % len(self._operators)]
            # A generator for each case, so that a draw does not depend on the number of values that others used.
            yield self._draw_candidate(operator, Rng(self.seed, operator, number))

    def metamorphic_requests(self, candidates: Sequence[Candidate]) -> list[OracleRequest]:
        """Return requests to check some of the candidates, and as many large ones, with metamorphic relations.

        Large ones take the reference too long, so their surfaces are compared with each other as well.
        """
        sample = list(candidates[::METAMORPHIC_INTERVAL])
        rng = Rng(self.seed, "laws", self.counts.cases)
        draws = (self.spaces[rng.choice(list(self.spaces))].draw_large(rng) for _ in sample)
        large = [candidate for candidate in draws if candidate]
        return make_requests(RelationOracle(), sample + large) + make_requests(SurfacesOracle(), large)

    def _draw_candidate(self, operator: str, rng: Rng) -> Candidate:
        if not self.guided:
            return self.spaces[operator].draw(rng)
        space, novel, coverage = self.spaces[operator], self._novel_candidates[operator], self._coverage[operator]
        support = self._support[operator]
        is_checked = not rng.one_in(UNCHECKED_INTERVAL)

        def is_wanted(candidate: Candidate) -> bool:
            return not (is_checked and support.is_unsupported(candidate))

        candidate = space.mutate(rng.choice(novel), rng) if novel and rng.one_in(4) else None
        # Some common configurations are drawn even if their combinations are covered.
        if candidate is None and rng.one_in(COMMON_INTERVAL):
            candidate = space.draw(rng, common=True)
        if candidate is None or not is_wanted(candidate):
            candidate = coverage.choose(lambda: space.draw(rng), is_wanted)
        novelty = coverage.count(candidate)
        if support.is_operator_unsupported:
            self._scheduler.record_unsupported(operator)
        else:
            self._scheduler.record_novelty(operator, novelty)
        return candidate

    def record_results(self, results: Sequence[CandidateResult]) -> None:
        """Count the results of a generation and remember candidates with a new kind of result."""
        self.counts.cases += len(results)
        for result in results:
            candidate = result.candidate
            statuses = [item.status for item in result.surface_results]
            self.counts.statuses.update(statuses)
            if statuses:
                is_supported = any(status != Status.UNSUPPORTED for status in statuses)
                self._support[candidate.operator].record(candidate, is_supported=is_supported)
            outcomes = {(candidate.operator, item.surface, item.how, item.kind) for item in result.surface_results}
            new_outcomes = outcomes - self._observed_outcomes
            self._observed_outcomes |= new_outcomes
            if new_outcomes:
                recent = [candidate, *self._novel_candidates[candidate.operator]]
                self._novel_candidates[candidate.operator] = recent[:MAX_NOVEL_CANDIDATES]
