"""The search for the smallest input of each difference of an audit."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from conformance.adapters.api import Surface
from conformance.exploration.candidate import Candidate
from conformance.exploration.evaluation import LocalEvaluator, SurfaceResult
from conformance.models.questions import Question
from conformance.models.smallest import Deadline, SmallestInput, reason_of, smallest_convention, smallest_result
from conformance.models.verdicts import DifferenceKey, LayerQuestions, TargetVerdict


@dataclass(frozen=True)
class Difference:
    """A difference of a layer on a surface; number: the position of the layer."""

    number: int
    key: DifferenceKey
    layer: LayerQuestions
    result: SurfaceResult | None

    @property
    def question(self) -> Question:
        """The question whose result differs."""
        return next(one for one in self.layer.questions if one.numbers == self.key[0])

    @property
    def group(self) -> tuple[Hashable, ...]:
        """Equal for differences that one input shows: those of an operator that differ in the same way."""
        operator = self.question.candidate.operator
        if self.result is None:
            return operator, self.key[1]
        # A rejected call and a crash have the same cause for all numbers.
        numbers = "" if self.result.symptom and self.result.symptom.detail is not None else self.key[0]
        return operator, numbers, self.result.symptom, self.result.status, reason_of(self.result)

    @property
    def starts(self) -> list[Candidate]:
        """Where the search starts: the same numbers on shorter axes, and the question itself."""
        candidate, checked = self.question.candidate, self.layer.checked
        small = checked.small if checked else None
        if small is None or candidate.per_axis("extent") == small.shape[2:]:
            return [candidate]
        shorter = candidate.with_levels(extent=small.shape[2:])
        return [shorter, candidate] if shorter.is_valid() else [candidate]


@dataclass(frozen=True)
class SmallestSearch:
    """The search for smallest inputs on a surface. Each difference has an equal share of the time that is left."""

    evaluator: LocalEvaluator
    surface: Surface
    source: Surface | None
    deadline: Deadline

    def with_smallest(self, layers: Sequence[LayerQuestions], verdicts: Sequence[TargetVerdict]) -> list[TargetVerdict]:
        """Return the verdicts with the smallest inputs of their differences."""
        groups: dict[tuple[Hashable, ...], list[Difference]] = {}
        for number, (layer, verdict) in enumerate(zip(layers, verdicts, strict=True)):
            for one in _differences_of(number, layer, verdict):
                groups.setdefault(one.group, []).append(one)
        found = list(verdicts)
        for done, differences in enumerate(groups.values()):
            share = self.deadline.seconds_left / (len(groups) - done)
            smallest = self._smallest(min(differences, key=lambda one: one.question.candidate.shrink_key), share)
            for one in differences:
                if smallest is None:
                    break
                own = found[one.number]
                found[one.number] = replace(own, smallest={**own.smallest, one.key: smallest})
        return found

    def _smallest(self, one: Difference, seconds: float) -> SmallestInput | None:
        if one.result is None:
            return smallest_convention(
                self.evaluator, (self.surface, self.source), one.question.candidate, one.key[1], seconds
            )
        return smallest_result(self.evaluator, self.surface.name, one.starts, one.result, seconds)


def _differences_of(number: int, layer: LayerQuestions, verdict: TargetVerdict) -> Iterator[Difference]:
    for numbers, result in verdict.differing.items():
        yield Difference(number, (numbers, ""), layer, result)
    for numbers, one in verdict.conventions.items():
        yield Difference(number, (numbers, one.convention), layer, None)
