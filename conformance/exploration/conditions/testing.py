"""Test the conditions of a shrunk case on further cases: those that satisfy all conditions, or all but one.

Cases that satisfy all conditions and agree show that a condition is missing. Cases that violate one condition and
differ show that it is superfluous, or too narrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from conformance.exploration.candidate import Candidate
from conformance.exploration.conditions.vocabulary import condition_features
from conformance.exploration.diagnosis import ShrunkSuspect, Suspect, shrink_suspect
from conformance.exploration.evaluation import LocalEvaluator
from conformance.exploration.finding_conditions import Evidence, SurfaceRecord, find_conditions
from conformance.exploration.mixing import mixed_candidates
from conformance.exploration.oracles import evaluate
from conformance.exploration.space import OperatorSpace
from reports.analysis.conditions import HOW_TEXTS

ROUNDS = 2
"""Number of times that conditions are determined and tested."""
TESTED_OF = 240
"""Number of mixed cases of which those are chosen that test the conditions."""
MAX_SATISFYING, MAX_VIOLATING = 40, 20
"""Maximum number of chosen cases that satisfy all conditions, and of those that violate a certain one."""


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
    for number in range(1, ROUNDS + 1) if shown and shrunk.mixed_results else ():
        evidence = Evidence.of(shrunk, shown.how if shown else "", surface, symptom)
        conditions = find_conditions(evidence, SurfaceRecord(), symptom, lambda _: False).conditions
        if conditions is None:
            break
        tests = list(testing_candidates(shrunk.smallest, space, conditions, number))
        results = evaluate(evaluator, symptom, tests, [surface])
        shrunk = replace(shrunk, mixed_results=[*shrunk.mixed_results, *results])
    return shrunk


def testing_candidates(
    smallest: Candidate, space: OperatorSpace, conditions: Sequence[str], number: int
) -> Iterator[Candidate]:
    """Yield mixed candidates that satisfy all conditions, or all but one; number: of the round, from 1."""
    required = frozenset(conditions) - frozenset(HOW_TEXTS.values())
    chosen: Counter[frozenset[str]] = Counter()
    for mixed in mixed_candidates(smallest, space, seed=number, count=TESTED_OF):
        violated = required - condition_features(mixed.case)
        chosen[violated] += 1
        if len(violated) <= 1 and chosen[violated] <= (MAX_VIOLATING if violated else MAX_SATISFYING):
            yield mixed
