"""Metamorphic relations as an oracle: equations between several calls of one backend, see `relations`.

They need no reference, so they are also checked on cases that would take the reference too long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conformance.adapters.api.surface import Program, Surface
from conformance.execution.run import Run
from conformance.exploration.candidate import Candidate
from conformance.exploration.convention_domains import conventions_of
from conformance.exploration.evaluation import Call, SurfaceResult
from conformance.exploration.relations import RELATIONS, MetamorphicRelation, RelatedCall
from conformance.exploration.symptoms import OracleName, Symptom, fatal_symptom
from conformance.judging.verdict import ProgramOutcome
from reports.results.exploration import OracleKind
from reports.results.vocabulary import Outcome, Status


@dataclass(frozen=True)
class RelationOracle:
    """Checks relations between calls on each surface; relation: name of the only one to check, "" for all."""

    relation: str = ""
    needs_all_surfaces = False

    def checks(self, run: Run, candidate: Candidate, *, fatal: bool) -> Sequence[RelationCheck]:  # noqa: ARG002
        """Return a check for each relation and surface.

        A candidate that observes a convention has no checks, because some answers to it violate a relation.
        """
        if conventions_of(candidate):
            return []
        inputs = {name: spec.make() for name, spec in candidate.case.inputs.items()}
        checks = []
        for relation in RELATIONS:
            related = relation.related_calls(candidate, inputs) if self.relation in {"", relation.name} else ()
            for surface in run.surfaces if related else ():
                calls = _calls_on_surface(run, surface, [RelatedCall(candidate.case, inputs), *related])
                checks += [RelationCheck(candidate, relation, surface.name, calls)] if calls else []
        return checks


@dataclass(frozen=True)
class RelationCheck:
    """A relation on a surface; calls: that of the candidate, then the related calls."""

    candidate: Candidate
    relation: MetamorphicRelation
    surface: str
    calls: Sequence[Call]

    def judge(self, outcomes: Sequence[ProgramOutcome]) -> Sequence[SurfaceResult]:
        """Return one result: the first crash or hang, or whether the outputs satisfy the relation."""
        oracle = OracleName(OracleKind.RELATION, self.relation.name)
        for number, one in enumerate(outcomes):
            if symptom := fatal_symptom(one):
                # If a related call crashes, the symptom names the relation: the candidate itself may be correct.
                symptom = replace(symptom, oracle=oracle) if number else symptom
                return [SurfaceResult(self.surface, Status(one.kind), symptom, message=one.message, oracle=oracle)]
        outputs = [one.arrays[0] for one in outcomes if one.kind == Outcome.RETURNED and len(one.arrays) == 1]
        if len(outputs) < len(outcomes):
            return [SurfaceResult(self.surface, Status.UNSUPPORTED, oracle=oracle)]
        if self.relation.is_satisfied(self.candidate, self.calls[0].inputs, outputs):
            return [SurfaceResult(self.surface, Status.PASS, oracle=oracle)]
        return [SurfaceResult(self.surface, Status.FAIL, Symptom(None, oracle=oracle), oracle=oracle)]


def _calls_on_surface(run: Run, surface: Surface, related: Sequence[RelatedCall]) -> Sequence[Call]:
    """Return calls on a surface; none if it lacks a program for one of them, or the ledger has an entry for one."""
    calls = [Call(run.make_task(one.case, surface), one.inputs) for one in related]
    tasks = [call.task for call in calls]
    # Programs first: a ledger lookup computes the features of the case.
    possible = all(isinstance(task.program, Program) for task in tasks) and not any(map(run.judge.ledger_entry, tasks))
    return calls if possible else []
