"""Evaluation of candidates with the three oracles: the reference, metamorphic relations, and other surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance import CatalogueError
from conformance.exploration.candidate import Candidate
from conformance.exploration.cross_surface import SurfacesOracle
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, Oracle, SurfaceResult
from conformance.exploration.metamorphic import RelationOracle
from conformance.exploration.reference_oracle import ReferenceOracle
from conformance.exploration.symptoms import REFERENCE, SURFACES, OracleName, Symptom
from conformance.judging.expected import compute_expected
from reports.results.exploration import OracleKind


@dataclass(frozen=True)
class OracleRequest:
    """A candidate and the oracle to check it with."""

    candidate: Candidate
    oracle: OracleName = REFERENCE


def make_oracle(name: OracleName) -> Oracle:
    """Return the oracle of a name."""
    if name.kind is OracleKind.RELATION:
        return RelationOracle(name.relation)
    return SurfacesOracle() if name == SURFACES else ReferenceOracle()


def evaluate(
    evaluator: LocalEvaluator, symptom: Symptom, candidates: Sequence[Candidate], surfaces: Sequence[str] = ()
) -> list[CandidateResult]:
    """Evaluate candidates with the oracle of a symptom; surfaces: only these, if the oracle can check them alone."""
    return evaluator.evaluate(make_oracle(symptom.oracle), candidates, surfaces, fatal=symptom.is_fatal)


def evaluate_all(evaluator: LocalEvaluator, requests: Sequence[OracleRequest]) -> list[Sequence[SurfaceResult]]:
    """Return the results of each request, in order.

    If the reference cannot check the values of a candidate, its surfaces are compared with each other instead.
    """
    results: dict[int, Sequence[SurfaceResult]] = {}

    def evaluate_numbers(oracle: OracleName, numbers: Sequence[int]) -> None:
        evaluated = evaluator.evaluate(make_oracle(oracle), [requests[number].candidate for number in numbers])
        results.update({number: one.surface_results for number, one in zip(numbers, evaluated, strict=True)})

    for oracle in dict.fromkeys(request.oracle for request in requests):
        evaluate_numbers(oracle, [number for number, request in enumerate(requests) if request.oracle == oracle])
    unchecked = [
        number
        for number, request in enumerate(requests)
        if request.oracle == REFERENCE and not results[number] and is_accepted_by_reference(request.candidate)
    ]
    evaluate_numbers(SURFACES, unchecked)
    return [results[number] for number in range(len(requests))]


def is_accepted_by_reference(candidate: Candidate) -> bool:
    """Check that the reference accepts the parameters of a candidate, even if it cannot check the values."""
    try:
        return bool(compute_expected(candidate.case).inputs)
    except CatalogueError:
        return False
