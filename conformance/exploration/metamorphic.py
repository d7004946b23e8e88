"""Check metamorphic relations: equations between several calls of one backend, see `relations`.

They need no reference, so they are also checked on cases that would take the reference too long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from conformance.adapters.api.surface import Program, Surface
from conformance.cases.arrays import Array
from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS
from conformance.execution.job import Job
from conformance.exploration.candidate import Candidate
from conformance.exploration.convention_domains import conventions_of
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, SurfaceResult
from conformance.exploration.relations import RELATIONS, InputArrays, MetamorphicRelation, RelatedCall
from conformance.judging.verdict import ProgramOutcome
from conformance.translation.lowering import translate
from reports.results.vocabulary import Outcome, Status

RELATION_PREFIX = "law: "  # written to results files
"""Prefix of the symptoms that this oracle reports."""


class MetamorphicChecker:
    """Checks metamorphic relations on the workers of an evaluator."""

    def __init__(self, evaluator: LocalEvaluator) -> None:
        self.evaluator = evaluator

    def evaluate(
        self, candidates: Sequence[Candidate], surfaces: Sequence[str] = (), relation: str = "", *, fatal: bool = False
    ) -> list[CandidateResult]:
        """Return the results of candidates, in order: one result for each relation and surface.

        surfaces: names of the surfaces to check, all by default. relation: name of the only relation to check.
        fatal: the expected symptom is a crash or a hang, so a failed program is not run again.
        """
        selected = [one for one in self.evaluator.backend.surfaces if not surfaces or one.name in surfaces]
        relations = [one for one in RELATIONS if not relation or one.name == relation]
        is_known = self.evaluator.is_known
        tests = [test for one in candidates for test in _relation_tests(one, selected, relations, is_known)]
        jobs = (job for test in tests for job in test.jobs)
        outcomes = self.evaluator.run_jobs(replace(job, expect_failure=True) if fatal else job for job in jobs)
        # Keyed by identity: one candidate may occur twice.
        results: dict[int, list[SurfaceResult]] = {id(candidate): [] for candidate in candidates}
        for test in tests:
            results[id(test.candidate)].append(test.judge(self.evaluator, [next(outcomes) for _ in test.jobs]))
        return [CandidateResult(candidate, tuple(results[id(candidate)])) for candidate in candidates]


@dataclass(frozen=True)
class _RelationTest:
    """A relation to be checked on a surface; jobs: the call of the candidate, then the related calls."""

    candidate: Candidate
    surface: str
    relation: MetamorphicRelation
    inputs: InputArrays
    jobs: Sequence[Job]

    def judge(self, evaluator: LocalEvaluator, outcomes: Sequence[ProgramOutcome]) -> SurfaceResult:
        symptom = f"{RELATION_PREFIX}{self.relation.name}"
        if any(one.kind != Outcome.RETURNED or len(one.arrays) != 1 for one in outcomes):
            for number, one in enumerate(outcomes):
                if failure := evaluator.process_failure(self.candidate.case, one):
                    # If a related call crashes, the symptom names the relation: the candidate itself may be correct.
                    failure = f"{symptom}: {failure}" if number else failure
                    return SurfaceResult(self.surface, Status(one.kind), failure, kind=symptom, message=one.message)
            return SurfaceResult(self.surface, Status.UNSUPPORTED, kind=symptom)
        satisfied = self.relation.is_satisfied(self.candidate, self.inputs, [one.arrays[0] for one in outcomes])
        status = Status.PASS if satisfied else Status.FAIL
        return SurfaceResult(self.surface, status, "" if satisfied else symptom, kind=symptom)


def _relation_tests(
    candidate: Candidate,
    surfaces: Sequence[Surface],
    relations: Sequence[MetamorphicRelation],
    is_known: Callable[[Case, str], bool],
) -> list[_RelationTest]:
    """Return the relation tests of a candidate.

    A candidate that observes a convention has no tests, because some answers to it violate a relation.
    is_known: whether the ledger has an entry for a case on a surface. Such surfaces are left out.
    """
    if conventions_of(candidate):
        return []
    inputs = {name: spec.make() for name, spec in candidate.case.inputs.items()}
    own = RelatedCall(candidate.case, inputs)
    tests = []
    for relation in relations:
        related = relation.related_calls(candidate, inputs)
        calls = (own, *related)
        for surface in surfaces if related else ():
            translations = [translate(call.case, surface) for call in calls]
            programs = [one for one in translations if isinstance(one, Program)]
            if len(programs) == len(calls) and not any(is_known(call.case, surface.name) for call in calls):
                jobs = [Job(program, _ordered_inputs(call)) for program, call in zip(programs, calls, strict=True)]
                tests.append(_RelationTest(candidate, surface.name, relation, inputs, jobs))
    return tests


def _ordered_inputs(call: RelatedCall) -> tuple[Array, ...]:
    """Return the inputs of a call in the order of the operator's inputs, which is that of its program."""
    return tuple(call.inputs[name] for name in OPERATORS[call.case.operator].inputs if name in call.inputs)
