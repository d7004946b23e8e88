"""From a case that differs to the smallest that differs in the same way, and to what its neighbours do."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from conformance.exploration.candidate import NUMBER_PER_AXIS_FACTORS, PAIR_FACTORS, Candidate
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, SurfaceResult
from conformance.exploration.oracles import FATAL_SYMPTOMS, evaluate, fatal_symptom
from conformance.exploration.shrinking import SHRINK_BATCH_SIZE, shrink
from conformance.exploration.space import OperatorSpace, is_affordable

MAX_SHRINK_EVALUATIONS = 4000
"""Recipes that may be asked about to shrink one."""
MAX_CONFIRMATIONS = 5
"""How often the smallest is tried again, to see whether it was that at all."""
MAX_FATAL_EVALUATIONS = dict(zip(FATAL_SYMPTOMS, (60, 20), strict=True))
"""How many may be found on the way that end a process, and that hang: those take all the time that a program has."""


@dataclass(frozen=True)
class Suspect:
    """A recipe, the surface on which it differs, and in which way; number: of the case that showed it."""

    candidate: Candidate
    surface: str
    symptom: str
    number: int


@dataclass(frozen=True)
class ShrunkSuspect:
    """Where a suspect leads: the smallest recipe, what all surfaces made of it, what the suspect's made around it."""

    smallest: Candidate
    surface_results: Sequence[SurfaceResult]
    neighbour_results: Sequence[CandidateResult] = ()


def shrink_suspect(
    evaluator: LocalEvaluator, suspect: Suspect, space: OperatorSpace, known: Collection[str] = ()
) -> ShrunkSuspect:
    """Shrink a suspect, and look around the smallest unless that is a case whose id is known."""
    surface, way = suspect.surface, suspect.symptom
    asking = _DiffersOnSurface(evaluator, surface, way)
    smallest = shrink(suspect.candidate, asking, 1 if fatal_symptom(way) else SHRINK_BATCH_SIZE)
    there = _confirm(evaluator, suspect, smallest)
    if smallest.case.id in known:
        return ShrunkSuspect(smallest, there.surface_results)
    near = neighbours_of(smallest, space)[: max_differing(way) // 2]
    return ShrunkSuspect(smallest, there.surface_results, evaluate(evaluator, way, near, [surface]))


def _confirm(evaluator: LocalEvaluator, suspect: Suspect, smallest: Candidate) -> CandidateResult:
    """Try the smallest once more, and what is not the same every time until it shows."""
    for _ in range(MAX_CONFIRMATIONS):
        (there,) = evaluate(evaluator, suspect.symptom, [smallest])
        here = there.result_on(suspect.surface)
        if here and here.is_new and here.symptom == suspect.symptom:
            break
    return there


def max_differing(symptom: str) -> int:
    """Return how many that differ in a way may be found to shrink one; half as many may be tried around it."""
    return MAX_FATAL_EVALUATIONS.get(fatal_symptom(symptom), MAX_SHRINK_EVALUATIONS)


class _DiffersOnSurface:
    """Whether recipes differ on a surface in a way; it stops asking when it has asked, or found, enough."""

    def __init__(self, evaluator: LocalEvaluator, surface: str, symptom: str) -> None:
        self.evaluator, self.surface, self.symptom = evaluator, surface, symptom
        self.evaluations_left, self.differing_count = MAX_SHRINK_EVALUATIONS, 0

    def __call__(self, candidates: Sequence[Candidate]) -> list[bool]:
        some = candidates[: self.evaluations_left if self.differing_count < max_differing(self.symptom) else 0]
        self.evaluations_left -= len(some)
        seen = (
            [one.result_on(self.surface) for one in evaluate(self.evaluator, self.symptom, some, [self.surface])]
            if some
            else []
        )
        differ = [bool(one and one.is_new and one.symptom == self.symptom) for one in seen]
        self.differing_count += sum(differ)
        return differ + [False] * (len(candidates) - len(some))


MAX_NEIGHBOURS = 150
"""Neighbours that are looked at; evenly chosen where there are more."""
SIZE_INCREMENTS = (1, 2, 5, 16)


def neighbours_of(candidate: Candidate, space: OperatorSpace) -> list[Candidate]:
    """Return sound recipes one change away from one, its numbers generated; each once, always the same ones."""
    plain = candidate.with_levels()
    found = {one.name: one for one in itertools.chain([plain], _single_changes(plain, space)) if is_affordable(one)}
    every = list(found.values())
    step = max(1, -(-len(every) // MAX_NEIGHBOURS))
    return every[::step]


def _single_changes(candidate: Candidate, space: OperatorSpace) -> Iterator[Candidate]:
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
        elif factor != "bias" or "bias" in candidate.inputs:
            yield from (
                candidate.with_levels(**{factor: other}) for other in _other_levels(factor, space) if other != level
            )


def _other_levels(factor: str, space: OperatorSpace) -> list[object]:
    """Return the levels that a factor has in the space."""
    if factor in space.word_levels:
        return list(space.word_levels[factor])
    if factor == "divisor":
        return [None, 1, 3]
    return list(dict.fromkeys(level for sweep in space.sweeps for level in sweep.factors.get(factor, ())))


def _axis_changes(candidate: Candidate) -> Iterator[Candidate]:
    """Yield the recipe with one axis more, like the last or of a single cell, and with each axis left out."""
    names = [
        name
        for name in (*NUMBER_PER_AXIS_FACTORS, *PAIR_FACTORS)
        if not isinstance(candidate.levels.get(name, ""), str)
    ]
    doubled = {name: (*candidate.per_axis(name), candidate.per_axis(name)[-1]) for name in names}
    single = {name: (*candidate.per_axis(name), _single_cell_level(name)) for name in names}
    if candidate.rank < 3:  # noqa: PLR2004 - axes that a framework has
        yield candidate.with_levels(rank=candidate.rank + 1, **doubled)
        yield candidate.with_levels(rank=candidate.rank + 1, **single)
        yield candidate.with_levels(
            rank=candidate.rank + 1, **{name: (_single_cell_level(name), *candidate.per_axis(name)) for name in names}
        )
    for axis in range(candidate.rank if candidate.rank > 1 else 0):
        less = {name: (*candidate.per_axis(name)[:axis], *candidate.per_axis(name)[axis + 1 :]) for name in names}
        yield candidate.with_levels(rank=candidate.rank - 1, **less)


def _single_cell_level(name: str) -> object:
    return (0, 0) if name in PAIR_FACTORS else 0 if name == "output_padding" else 1


def _per_axis_changes(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    values = candidate.per_axis(factor)
    for axis, value in enumerate(values):
        for other in sorted({1, value - 1, *(value + more for more in SIZE_INCREMENTS), 2 * value, value // 2}):
            if other != value and other >= 0:
                yield candidate.with_levels(**{factor: (*values[:axis], other, *values[axis + 1 :])})
    for other in (values[0] - 1, values[0] + 1):
        yield candidate.with_levels(**{factor: (other,) * candidate.rank})


def _padding_changes(candidate: Candidate, factor: str) -> Iterator[Candidate]:
    yield from (candidate.with_levels(**{factor: word}) for word in ("same_upper", "same_lower") if factor == "padding")
    pairs = candidate.per_axis(factor) or ((0, 0),) * candidate.rank
    yield candidate.with_levels(**{factor: pairs})
    yield candidate.with_levels(**{factor: tuple((after, before) for before, after in pairs)})
    for axis, (before, after) in enumerate(pairs):
        for pair in (
            (before + 1, after),
            (before, after + 1),
            (before + 1, after + 1),
            (0, after),
            (before, 0),
            (0, 0),
        ):
            yield candidate.with_levels(**{factor: (*pairs[:axis], pair, *pairs[axis + 1 :])})
