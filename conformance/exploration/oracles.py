"""The three oracles: the reference, metamorphic relations, and other surfaces.

A prefix of the symptom names the oracle; symptoms of the reference have no prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance import CatalogueError
from conformance.exploration import cross_surface
from conformance.exploration.candidate import Candidate
from conformance.exploration.cross_surface import SURFACES_PREFIX
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, SurfaceResult
from conformance.exploration.metamorphic import RELATION_PREFIX, MetamorphicChecker
from conformance.judging.expected import compute_expected
from reports.results.vocabulary import Outcome

REFERENCE_ORACLE = ""
FATAL_SYMPTOMS = (Outcome.CRASHED, Outcome.TIMED_OUT)
"""Symptoms of a crash and a hang. After each of these the framework must be started again."""


def oracle_of(symptom: str) -> str:
    """Return the oracle of a symptom, or of the kind of a result.

    This is `law: NAME` for a metamorphic relation, else SURFACES_PREFIX or REFERENCE_ORACLE.
    """
    if symptom.startswith(RELATION_PREFIX):
        return ": ".join(symptom.split(": ")[:2])
    return SURFACES_PREFIX if symptom.startswith(SURFACES_PREFIX) else REFERENCE_ORACLE


def fatal_symptom(symptom: str) -> str:
    """Return which of FATAL_SYMPTOMS a symptom is, also in a related call of a metamorphic relation; "" if none."""
    text = symptom.removeprefix(f"{oracle_of(symptom)}: ")
    return next((word for word in FATAL_SYMPTOMS if text.startswith(word)), "")


@dataclass(frozen=True)
class OracleRequest:
    """A candidate and the oracle to check it with.

    oracle: REFERENCE_ORACLE, RELATION_PREFIX for all relations, or SURFACES_PREFIX.
    """

    candidate: Candidate
    oracle: str = REFERENCE_ORACLE


def is_accepted_by_reference(candidate: Candidate) -> bool:
    """Check that the reference accepts the parameters of a candidate, even if it cannot check the values."""
    try:
        return bool(compute_expected(candidate.case).inputs)
    except CatalogueError:
        return False


def evaluate(
    evaluator: LocalEvaluator, symptom: str, candidates: Sequence[Candidate], surfaces: Sequence[str] = ()
) -> list[CandidateResult]:
    """Evaluate candidates with the oracle of a symptom; surfaces: only these, if the oracle can check them alone."""
    fatal = bool(fatal_symptom(symptom))
    if symptom.startswith(RELATION_PREFIX):
        return MetamorphicChecker(evaluator).evaluate(
            candidates, surfaces, oracle_of(symptom).removeprefix(RELATION_PREFIX), fatal=fatal
        )
    if symptom.startswith(SURFACES_PREFIX):
        return cross_surface.compare_surfaces(evaluator, candidates)
    return evaluator.evaluate(candidates, surfaces, fatal=fatal)


def evaluate_all(evaluator: LocalEvaluator, requests: Sequence[OracleRequest]) -> list[Sequence[SurfaceResult]]:
    """Return the results of each request, in order.

    If the reference cannot check the values of a candidate, its surfaces are compared with each other instead.
    """
    results: dict[int, Sequence[SurfaceResult]] = {}
    for oracle in dict.fromkeys(request.oracle for request in requests):
        numbers = [number for number, request in enumerate(requests) if request.oracle == oracle]
        evaluated = evaluate(evaluator, oracle, [requests[number].candidate for number in numbers])
        results |= {number: one.surface_results for number, one in zip(numbers, evaluated, strict=True)}
    unchecked = [
        number
        for number, request in enumerate(requests)
        if request.oracle == REFERENCE_ORACLE and not results[number] and is_accepted_by_reference(request.candidate)
    ]
    compared = cross_surface.compare_surfaces(evaluator, [requests[number].candidate for number in unchecked])
    results |= {number: one.surface_results for number, one in zip(unchecked, compared, strict=True)}
    return [results[number] for number in range(len(requests))]
