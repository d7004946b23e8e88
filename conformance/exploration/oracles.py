"""What a backend is held to: the reference, laws of the operators, its own surfaces. A way of differing says which."""

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

REFERENCE_ORACLE = ""
FATAL_SYMPTOMS = ("crashed", "timed_out")
"""What an end or a hang of the process is called: a start of the framework for each that is tried."""


def oracle_of(said: str) -> str:
    """Return what a way of differing, or the kind of what was seen, was held to: a law, SURFACES or REFERENCE."""
    if said.startswith(RELATION_PREFIX):
        return ": ".join(said.split(": ")[:2])
    return SURFACES_PREFIX if said.startswith(SURFACES_PREFIX) else REFERENCE_ORACLE


def fatal_symptom(symptom: str) -> str:
    """Return which of FEARED a way of differing is, be it in a call of a law; "" if it is none."""
    said = symptom.removeprefix(f"{oracle_of(symptom)}: ")
    return next((word for word in FATAL_SYMPTOMS if said.startswith(word)), "")


@dataclass(frozen=True)
class OracleRequest:
    """A recipe, and what it is held to: the reference, the laws or, with SURFACES, other surfaces."""

    candidate: Candidate
    oracle: str = REFERENCE_ORACLE


def is_accepted_by_reference(candidate: Candidate) -> bool:
    """Whether the reference takes a recipe, though it may say nothing of its numbers."""
    try:
        return bool(compute_expected(candidate.case).inputs)
    except CatalogueError:
        return False


def evaluate(
    evaluator: LocalEvaluator, symptom: str, candidates: Sequence[Candidate], surfaces: Sequence[str] = ()
) -> list[CandidateResult]:
    """Try recipes as whatever shows this way of differing does: against a law, other surfaces or the reference."""
    fatal = bool(fatal_symptom(symptom))
    if symptom.startswith(RELATION_PREFIX):
        return MetamorphicChecker(evaluator).evaluate(
            candidates, surfaces, oracle_of(symptom).removeprefix(RELATION_PREFIX), fatal=fatal
        )
    if symptom.startswith(SURFACES_PREFIX):
        return cross_surface.compare_surfaces(evaluator, candidates)
    return evaluator.evaluate(candidates, surfaces, fatal=fatal)


def evaluate_all(evaluator: LocalEvaluator, requests: Sequence[OracleRequest]) -> list[Sequence[SurfaceResult]]:
    """Return for each recipe, in order, what its oracle says of every surface.

    Of what the reference says nothing of, surfaces are held against each other.
    """
    found: dict[int, Sequence[SurfaceResult]] = {}
    for oracle in dict.fromkeys(one.oracle for one in requests):
        some = [number for number, one in enumerate(requests) if one.oracle == oracle]
        outcomes = evaluate(evaluator, oracle, [requests[number].candidate for number in some])
        found |= {number: one.surface_results for number, one in zip(some, outcomes, strict=True)}
    silent = [
        n
        for n, one in enumerate(requests)
        if one.oracle == REFERENCE_ORACLE and not found[n] and is_accepted_by_reference(one.candidate)
    ]
    outcomes = cross_surface.compare_surfaces(evaluator, [requests[number].candidate for number in silent])
    found |= {number: one.surface_results for number, one in zip(silent, outcomes, strict=True)}
    return [found[number] for number in range(len(requests))]
