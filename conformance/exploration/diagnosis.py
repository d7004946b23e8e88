"""Diagnose a candidate that differs: shrink it, confirm the smallest one, and run its neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from conformance.cases.operators import PaddingWord
from conformance.exploration.candidate import NUMBER_PER_AXIS_FACTORS, PAIR_FACTORS, Candidate
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, SurfaceResult
from conformance.exploration.mixing import mixed_candidates
from conformance.exploration.oracles import evaluate
from conformance.exploration.shrinking import SHRINK_BATCH_SIZE, shrink
from conformance.exploration.space import OperatorSpace, is_affordable
from conformance.exploration.symptoms import Symptom
from reports.analysis.conditions import how_condition
from reports.results.vocabulary import Outcome, Word

MAX_SHRINK_EVALUATIONS = 4000
"""Maximum number of candidates evaluated to shrink one."""
MAX_CONFIRMATIONS = 5
"""Maximum number of repeated runs of the smallest candidate, to confirm that it differs."""
MAX_FATAL_EVALUATIONS: dict[Word | None, int] = {Outcome.CRASHED: 60, Outcome.TIMED_OUT: 20}
"""Maximum number of crashes and of hangs while shrinking. The limits are low: a crash costs a start of the framework, a
hang the time limit of the case."""


@dataclass(frozen=True)
class Suspect:
    """A candidate that differs, with the surface and the symptom; number: position among all generated cases.

    avoided: conditions of another finding. Candidates that satisfy them have its cause, so shrinking avoids them.
    """

    candidate: Candidate
    surface: str
    symptom: Symptom
    number: int
    avoided: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ShrunkSuspect:
    """Result of shrinking a suspect.

    smallest: the smallest candidate that differs. surface_results: its results on all surfaces.
    neighbour_results: results of its neighbours on the surface of the suspect. mixed_results: those of cases that have
    some of its levels. hidden: ids of those of both that agree, but differ with other numbers.
    """

    smallest: Candidate
    surface_results: Sequence[SurfaceResult]
    neighbour_results: Sequence[CandidateResult] = ()
    mixed_results: Sequence[CandidateResult] = ()
    hidden: frozenset[str] = frozenset()


def shrink_suspect(
    evaluator: LocalEvaluator, suspect: Suspect, space: OperatorSpace, known: Collection[str] = ()
) -> ShrunkSuspect:
    """Shrink a suspect and evaluate the neighbours of the smallest candidate.

    known: ids of cases that already have a finding. Their neighbours are not evaluated again.
    """
    surface, symptom = suspect.surface, suspect.symptom
    differs = _DiffersOnSurface(evaluator, surface, symptom, suspect.avoided)
    smallest = shrink(suspect.candidate, differs, 1 if symptom.is_fatal else SHRINK_BATCH_SIZE)
    confirmed = _confirm(evaluator, suspect, smallest)
    if smallest.case.id in known:
        return ShrunkSuspect(smallest, confirmed.surface_results)
    # Half of the limit: a crash or hang of many neighbours would cost more than the shrinking.
    neighbours = neighbours_of(smallest, space)[: max_differing(symptom) // 2]
    mixed = [] if symptom.is_fatal else list(mixed_candidates(smallest, space))
    results = evaluate(evaluator, symptom, [*neighbours, *mixed], [surface])
    return ShrunkSuspect(smallest, confirmed.surface_results, results[: len(neighbours)], results[len(neighbours) :])


def _confirm(evaluator: LocalEvaluator, suspect: Suspect, smallest: Candidate) -> CandidateResult:
    """Evaluate the smallest candidate on all surfaces, again until the symptom shows."""
    for _ in range(MAX_CONFIRMATIONS):
        (result,) = evaluate(evaluator, suspect.symptom, [smallest])
        if result.shows(suspect.surface, suspect.symptom):
            break
    return result


def max_differing(symptom: Symptom) -> int:
    """Return the maximum number of differing candidates while shrinking; twice the maximum number of neighbours."""
    return MAX_FATAL_EVALUATIONS.get(symptom.failure, MAX_SHRINK_EVALUATIONS)


class _DiffersOnSurface:
    """Check whether candidates show a symptom on a surface; always False once the evaluation limits are reached."""

    def __init__(
        self, evaluator: LocalEvaluator, surface: str, symptom: Symptom, avoided: frozenset[str] = frozenset()
    ) -> None:
        self.evaluator, self.surface, self.symptom, self.avoided = evaluator, surface, symptom, avoided
        self.evaluations_left, self.differing_count = MAX_SHRINK_EVALUATIONS, 0

    def __call__(self, candidates: Sequence[Candidate]) -> list[bool]:
        within_limit = self.evaluations_left if self.differing_count < max_differing(self.symptom) else 0
        evaluated = candidates[:within_limit]
        self.evaluations_left -= len(evaluated)
        results = evaluate(self.evaluator, self.symptom, evaluated, [self.surface]) if evaluated else []
        differ = [result.shows(self.surface, self.symptom) and not self._is_avoided(result) for result in results]
        self.differing_count += sum(differ)
        return differ + [False] * (len(candidates) - len(evaluated))

    def _is_avoided(self, result: CandidateResult) -> bool:
        on_surface = result.result_on(self.surface)
        how = how_condition(on_surface.how) if on_surface else frozenset[str]()
        return bool(self.avoided) and how.union(result.candidate.features) >= self.avoided


MAX_NEIGHBOURS = 150
"""Maximum number of neighbours. If there are more, an even sample is used."""
SIZE_INCREMENTS = (1, 2, 5, 16)


def neighbours_of(candidate: Candidate, space: OperatorSpace) -> list[Candidate]:
    """Return the affordable candidates that differ in one parameter, without duplicates and in a fixed order.

    The inputs of all neighbours are generated, and the candidate with generated inputs is the first of them.
    """
    generated = candidate.with_levels()
    changed = itertools.chain([generated], _single_changes(generated, space))
    by_name = {one.name: one for one in changed if is_affordable(one)}
    neighbours = list(by_name.values())
    step = max(1, -(-len(neighbours) // MAX_NEIGHBOURS))  # rounded up
    return neighbours[::step]


def _single_changes(candidate: Candidate, space: OperatorSpace) -> Iterator[Candidate]:
    yield replace(candidate, violation=None, following=None, array_use="", has_words=False)
    for factor, level in candidate.levels.items():
        if factor == "rank":
            yield from _axis_changes(candidate)
        elif factor in NUMBER_PER_AXIS_FACTORS:
            yield from _per_axis_changes(candidate, factor)
        elif factor in PAIR_FACTORS:
            yield from _padding_changes(candidate, factor)
        elif isinstance(level, int) and not isinstance(level, bool):
            yield from (
                candidate.with_levels(**{factor: level + more}) for more in (-1, *SIZE_INCREMENTS) if level + more > 0
            )
        elif factor != "bias" or "bias" in candidate.inputs:  # without a generator a bias has no values
            yield from (
                candidate.with_levels(**{factor: other}) for other in _other_levels(factor, space) if other != level
            )


def _other_levels(factor: str, space: OperatorSpace) -> list[object]:
    """Return the levels of a factor in the space."""
    if factor in space.word_levels:
        return list(space.word_levels[factor])
    if factor == "divisor":
        return [None, 1, 3]
    return list(dict.fromkeys(level for sweep in space.sweeps for level in sweep.factors.get(factor, ())))


def _axis_changes(candidate: Candidate) -> Iterator[Candidate]:
    """Yield the candidate with one more axis, a copy of the last one or of one cell, and without each of its axes."""
    names = candidate.per_axis_factors
    doubled = {name: (*candidate.per_axis(name), candidate.per_axis(name)[-1]) for name in names}
    single = {name: (*candidate.per_axis(name), _single_cell_level(name)) for name in names}
    if candidate.rank < 3:  # noqa: PLR2004 - axes that a framework has
        yield candidate.with_levels(rank=candidate.rank + 1, **doubled)
        yield candidate.with_levels(rank=candidate.rank + 1, **single)
        yield candidate.with_levels(
            rank=candidate.rank + 1, **{name: (_single_cell_level(name), *candidate.per_axis(name)) for name in names}
        )
    yield from (candidate.without_axis(axis) for axis in range(candidate.rank) if candidate.rank > 1)


def _single_cell_level(name: str) -> object:
    return (0, 0) if name in PAIR_FACTORS else 0 if name == "output_padding" else 1


def _per_axis_changes(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    values = candidate.per_axis(factor)
    for axis, value in enumerate(values):
        for other in sorted({1, value - 1, *(value + more for more in SIZE_INCREMENTS), 2 * value, value // 2}):
            if other != value and other >= 0:
                yield candidate.with_levels_on_axis(axis, **{factor: other})
    for other in (values[0] - 1, values[0] + 1):
        yield candidate.with_levels(**{factor: (other,) * candidate.rank})


def _padding_changes(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    if factor == "padding":
        for word in (PaddingWord.SAME_UPPER, PaddingWord.SAME_LOWER):
            yield candidate.with_levels(padding=word.value)
    pairs = candidate.per_axis(factor) or ((0, 0),) * candidate.rank
    candidate = candidate.with_levels(**{factor: pairs})  # the single ends of computed padding cannot be changed
    yield candidate
    yield candidate.with_levels(**{factor: tuple((after, before) for before, after in pairs)})
    for axis, (before, after) in enumerate(pairs):
        more = ((before + 1, after), (before, after + 1), (before + 1, after + 1))
        for pair in (*more, (0, after), (before, 0), (0, 0)):
            yield candidate.with_levels_on_axis(axis, **{factor: pair})
