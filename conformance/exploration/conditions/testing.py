"""Test the conditions of a shrunk case on further cases, so that of several consistent conditions one remains.

Cases that satisfy all conditions and agree show that a condition is missing. Cases that violate one condition and
differ show that it is superfluous, or too narrow. Decisive cases satisfy the conditions but not competing ones that
agree about as well, or the reverse. A case that agrees runs again with other numbers, which may show the difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from conformance.cases.generators import GeneratorName
from conformance.exploration.candidate import Candidate
from conformance.exploration.diagnosis import ShrunkSuspect, Suspect, shrink_suspect
from conformance.exploration.draws.numbers import draw_numbers
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator
from conformance.exploration.finding_conditions import (
    CORRECT_STATUSES,
    Evidence,
    SurfaceRecord,
    evidence_lists,
    find_conditions,
)
from conformance.exploration.mixing import mixed_candidates
from conformance.exploration.oracles import evaluate
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace, is_affordable
from conformance.exploration.symptoms import Symptom
from reports.analysis.conditions import HOW_TEXTS, competing_conjunctions

ROUNDS = 2
"""Number of times that conditions are determined and tested."""
TESTED_OF = 240
"""Number of mixed cases of which those are chosen that test the conditions."""
MAX_SATISFYING, MAX_VIOLATING = 40, 20
"""Maximum number of chosen cases that satisfy all conditions, and of those that violate a certain one."""
MAX_DECISIVE, DECISIVE_OF_EACH = 40, 4
"""Maximum number of decisive cases, and of those that decide between the conditions and one competing conjunction."""
PROBED_FACTORS = ("batch", "channels", "out", "groups", "extent")
"""Factors whose sizes are tested at limits. Draws rarely have such a size, and then other rare sizes too."""
PROBED_SIZES = (2, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65)
"""Sizes at which the behaviour of a framework often changes: widths of blocks, and one more."""
PROBED_CASES, MAX_PROBES = 6, 120
"""Number of cases whose sizes are changed, and maximum number of changed cases. Only the first round has these."""
MAX_REPEATED = 60
"""Maximum number of cases in a round that run again with other numbers."""
SEEDED, OTHER_SEED = frozenset({GeneratorName.INTEGERS, GeneratorName.DISTINCT, GeneratorName.MANTISSAS}), 17
"""Generators that have a seed, and the seed of other numbers."""
Run = Callable[[Sequence[Candidate]], Sequence[CandidateResult]]
"""A function that evaluates candidates on the surface of a suspect."""


def diagnose(
    evaluator: LocalEvaluator, suspect: Suspect, space: OperatorSpace, known: Collection[str] = ()
) -> ShrunkSuspect:
    """Shrink a suspect, and add the results of cases that test its conditions.

    known: ids of cases that already have a finding. Their conditions are not tested again.
    """
    surface, symptom = suspect.surface, suspect.symptom
    shrunk = shrink_suspect(evaluator, suspect, space, known)
    shown = next((one for one in shrunk.surface_results if one.surface == surface and one.is_new), None)
    # A difference that was not confirmed is no finding.
    if shown is None or not shrunk.mixed_results:
        return shrunk
    return with_tests(
        shrunk, space, surface, symptom, lambda tests: evaluate(evaluator, symptom, tests, [surface]), how=shown.how
    )


def with_tests(
    shrunk: ShrunkSuspect, space: OperatorSpace, surface: str, symptom: Symptom, run: Run, *, how: str = ""
) -> ShrunkSuspect:
    """Add the results of cases that test the conditions of a shrunk suspect; how: of its smallest program."""
    for number in range(1, ROUNDS + 1):
        evidence = Evidence.of(shrunk, how, surface, symptom)
        conditions = find_conditions(evidence, SurfaceRecord(), symptom, lambda _: False).conditions
        if conditions is None:
            break
        lists = evidence_lists(evidence)
        competing = competing_conjunctions(conditions, evidence.smallest, *lists)
        tests = list(testing_candidates(shrunk.smallest, space, conditions, number, competing))
        required = frozenset(conditions) - frozenset(HOW_TEXTS.values())
        satisfying = [one for one in tests if one.features >= required]
        probes = size_probes([shrunk.smallest.with_levels(), *satisfying[: PROBED_CASES - 1]]) if number == 1 else []
        results = run([*tests, *probes])
        shrunk = replace(shrunk, mixed_results=[*shrunk.mixed_results, *results])
        shrunk = _with_other_numbers(shrunk, space, surface, frozenset(conditions), run)
    return shrunk


def testing_candidates(
    smallest: Candidate,
    space: OperatorSpace,
    conditions: Sequence[str],
    number: int,
    competing: Sequence[frozenset[str]],
) -> Iterator[Candidate]:
    """Yield mixed candidates that satisfy all conditions, or all but one, and those that decide.

    number: of the round, from 1. competing: conjunctions that agree with the known cases about as well, best first.
    """
    required = frozenset(conditions) - frozenset(HOW_TEXTS.values())
    chosen: Counter[frozenset[str]] = Counter()
    others: list[tuple[Candidate, frozenset[str]]] = []
    for mixed in mixed_candidates(smallest, space, seed=number, count=TESTED_OF):
        features = mixed.features
        violated = required - features
        chosen[violated] += 1
        if len(violated) <= 1 and chosen[violated] <= (MAX_VIOLATING if violated else MAX_SATISFYING):
            yield mixed
        else:
            others.append((mixed, features))
    hows = frozenset(HOW_TEXTS.values())
    yield from _decisive(others, required, [one - hows for one in competing])


def size_probes(cases: Sequence[Candidate]) -> list[Candidate]:
    """Return affordable cases with one size changed to each of PROBED_SIZES, an even sample of MAX_PROBES of them."""
    changed = (
        one.with_levels(**{factor: (size,) * one.rank if factor == "extent" else size})
        for one in cases
        for factor in PROBED_FACTORS
        if factor in one.levels
        for size in PROBED_SIZES
    )
    names = {one.name for one in cases}
    probes = list({one.name: one for one in changed if one.name not in names}.values())
    affordable = (one for one in probes[:: -(-len(probes) // MAX_PROBES) or 1] if is_affordable(one))
    return list(affordable)


def _decisive(
    pool: Sequence[tuple[Candidate, frozenset[str]]], required: frozenset[str], competing: Sequence[frozenset[str]]
) -> Iterator[Candidate]:
    """Yield candidates that satisfy the conditions and not a competing conjunction, or the reverse."""
    phrases = required.union(*competing)
    masks = {one: sum(1 << row for row, (_, features) in enumerate(pool) if one in features) for one in phrases}
    everything = (1 << len(pool)) - 1

    def satisfying(conjunction: frozenset[str]) -> int:
        mask = everything
        for one in conjunction:
            mask &= masks[one]
        return mask

    mine, chosen = satisfying(required), 0
    for conjunction in competing:
        differing = mine ^ satisfying(conjunction)
        missing = DECISIVE_OF_EACH - (differing & chosen).bit_count()
        rows = [row for row in range(len(pool)) if (differing & ~chosen) >> row & 1]
        for row in rows[: max(missing, 0)]:
            if chosen.bit_count() == MAX_DECISIVE:
                return
            chosen |= 1 << row
            yield pool[row][0]


def _with_other_numbers(
    shrunk: ShrunkSuspect, space: OperatorSpace, surface: str, conditions: frozenset[str], run: Run
) -> ShrunkSuspect:
    """Run agreeing cases again with other numbers, and add those that then differ.

    These cases satisfy all conditions, or all but one: numbers that hide the difference may have led to a condition.
    """
    required = conditions - frozenset(HOW_TEXTS.values())
    agreeing: list[tuple[int, Candidate]] = []
    for one in [*shrunk.neighbour_results, *shrunk.mixed_results]:
        on_surface, candidate = one.result_on(surface), one.candidate
        if on_surface and on_surface.status in CORRECT_STATUSES and candidate.case.id not in shrunk.hidden:
            agreeing.append((len(required - candidate.features), candidate))
    near = sorted((one for one in agreeing if one[0] <= 1), key=lambda one: one[0])
    repeated = [(one, other) for _, one in near[:MAX_REPEATED] for other in other_numbers(one, space)]
    results = run([other for _, other in repeated])
    differing = [
        (original, result)
        for (original, _), result in zip(repeated, results, strict=True)
        if any(item.surface == surface and item.is_new for item in result.surface_results)
    ]
    return replace(
        shrunk,
        mixed_results=[*shrunk.mixed_results, *(result for _, result in differing)],
        hidden=shrunk.hidden | {original.case.id for original, _ in differing},
    )


def other_numbers(candidate: Candidate, space: OperatorSpace) -> Iterator[Candidate]:
    """Yield a candidate with other numbers, always the same: generated with another seed, and drawn."""
    generated = candidate.with_levels()
    seeded = {
        name: {**options, "seed": OTHER_SEED} if options.get("values", GeneratorName.INTEGERS) in SEEDED else options
        for name, options in generated.inputs.items()
    }
    drawn = draw_numbers(generated, space.specials, Rng("other numbers", candidate.case.id))
    names = {candidate.case.id}
    for other in (replace(generated, inputs=seeded), drawn):
        if other.is_valid() and other.case.id not in names:
            names.add(other.case.id)
            yield other
