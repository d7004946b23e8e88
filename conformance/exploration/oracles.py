"""The oracles: the reference, and metamorphic relations (see `relations`). `cross_surface` has the third one.

Relations need no reference, so they are also checked on cases that would take the reference too long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from conformance import CatalogueError
from conformance.adapters.api import Program, Surface, Unsupported
from conformance.catalogue.value_range import out_of_range
from conformance.execution.run import Run
from conformance.execution.task import Task
from conformance.exploration.candidate import Candidate
from conformance.exploration.convention_domains import conventions_of
from conformance.exploration.conventions import expected_on, make_checkable_task
from conformance.exploration.cross_surface import SurfacesOracle
from conformance.exploration.evaluation import (
    NEW_STATUSES,
    Call,
    CandidateResult,
    Check,
    LocalEvaluator,
    Oracle,
    SurfaceResult,
    make_requests,
)
from conformance.exploration.relations import RELATIONS, MetamorphicRelation, RelatedCall
from conformance.exploration.space import is_affordable
from conformance.exploration.symptoms import OTHER_SURFACES, OracleName, Symptom, fatal_symptom, normalise_message
from conformance.judging.expected import Expected, compute_expected
from conformance.judging.verdict import JUDGED_OUTCOMES, ProgramOutcome
from reports.results import ResultRecord
from reports.results.exploration import OracleKind
from reports.results.vocabulary import DifferenceKind, Outcome, Part, Status


def make_oracle(name: OracleName) -> Oracle:
    """Return the oracle of a name."""
    if name.kind is OracleKind.RELATION:
        return RelationOracle(name.relation)
    return SurfacesOracle() if name == OTHER_SURFACES else ReferenceOracle()


def evaluate(
    evaluator: LocalEvaluator, symptom: Symptom, candidates: Sequence[Candidate], surfaces: Sequence[str] = ()
) -> list[CandidateResult]:
    """Evaluate candidates with the oracle of a symptom; surfaces: only these, if the oracle can check them alone."""
    requests = make_requests(make_oracle(symptom.oracle), candidates)
    return evaluator.evaluate(requests, surfaces, fatal=symptom.is_fatal)


@dataclass(frozen=True)
class ReferenceOracle:
    """Compares the result of a candidate on each surface with the reference.

    adds_records: whether results have their record. An exploration has too many results for that.
    """

    adds_records: bool = False
    needs_all_surfaces = False

    def checks(self, run: Run, candidate: Candidate, *, fatal: bool) -> Sequence[ReferenceCheck]:
        """Return a check for each surface; none if the reference gives no answer.

        fatal: the program still runs then, and agrees if it returns anything.
        """
        try:
            tasks = [make_checkable_task(run, candidate, surface) for surface in run.surfaces]
        except ValueError:  # the reference rejects the parameters
            return []
        if not any(isinstance(task.program, Program) for task in tasks):  # then no result is needed
            return [ReferenceCheck(run, task, Expected({}, None), self.adds_records) for task in tasks]
        expected = _expected_for(candidate, fatal=fatal)
        if expected is None or not (expected.target or fatal):
            return []
        cpu = run.pool.environment["cpu"]
        # A surface is compared with the answers that it declares to the conventions of the case.
        return [
            ReferenceCheck(
                run, task, expected_on(candidate, task.surface.for_processor(cpu), expected), self.adds_records
            )
            for task in tasks
        ]


@dataclass(frozen=True)
class ReferenceCheck:
    """A candidate on one surface; expected: without a target if every returned array agrees."""

    run: Run
    task: Task
    expected: Expected
    adds_record: bool = False

    @property
    def calls(self) -> Sequence[Call]:
        """The program of the candidate, if there is one."""
        if not isinstance(self.task.program, Program):
            return []
        is_part = self.run.has_batches and self.expected.target
        return [Call(self.task, self.expected.inputs, self.run.job_part(self.task, self.expected) if is_part else None)]

    def judge(self, outcomes: Sequence[ProgramOutcome]) -> Iterator[SurfaceResult]:
        """Yield one result."""
        surface, program = self.task.surface.name, self.task.program
        if isinstance(program, Unsupported):
            yield SurfaceResult(surface, Status.UNSUPPORTED, kind=program.reason, message=program.reason)
            return
        (outcome,) = outcomes
        if outcome.kind == Outcome.UNSUPPORTED:
            yield SurfaceResult(surface, Status.UNSUPPORTED, kind=outcome.message, message=outcome.message)
        elif outcome.kind in JUDGED_OUTCOMES and not self.expected.targets:
            status = Status.PASS if outcome.kind == Outcome.RETURNED else Status.UNSUPPORTED
            yield SurfaceResult(surface, status, how=program.how, kind=outcome.kind)
        else:
            record = self._record(outcome)
            symptom = _symptom_of(outcome, record) if record.status in {*NEW_STATUSES, Status.KNOWN} else None
            kinds = (record.outcome, record.kind, _power_of_ten(record.budget_used), symptom or "")
            kind, message = " ".join(map(str, kinds)), record.message or ""
            added = record if self.adds_record else None
            yield SurfaceResult(surface, record.status, symptom, program.how, kind, message, record=added)

    def _record(self, outcome: ProgramOutcome) -> ResultRecord:
        """Return the record of an outcome. The entries of the source and the runtime of a route apply to it, too."""
        judge, stages, changed_by = self.run.judge, self.run.stages, None
        # The second value is the answer to a convention, which only cases of the catalogue have.
        record, _ = judge.judge_task(self.task, outcome, self.expected)
        if self.task.surface.route is None or record.status not in NEW_STATUSES:
            return record
        if stages.is_refused(self.task, outcome, judge, self.expected):
            changed_by = Part.EXPORTER_OR_RUNTIME
        else:
            changed_by = stages.changed_by(self.task, outcome, judge, self.expected)
        record, _ = judge.judge_task(self.task, outcome, self.expected, changed_by=changed_by)
        return record


@dataclass(frozen=True)
class ReferenceOrSurfacesOracle:
    """The reference. If it cannot check the values of a candidate, the surfaces are compared with each other."""

    needs_all_surfaces = True

    def checks(self, run: Run, candidate: Candidate, *, fatal: bool) -> Sequence[Check]:
        """Return the checks of the first oracle that can check the candidate; none for parameters that are rejected."""
        checks = ReferenceOracle().checks(run, candidate, fatal=fatal)
        return checks or (SurfacesOracle().checks(run, candidate, fatal=fatal) if _expected_for(candidate) else [])


def _expected_for(candidate: Candidate, *, fatal: bool = False) -> Expected | None:
    """Return the expected result, without a target if values leave the normal range; None if the reference rejects it.

    fatal: return the inputs without a target if the case is too large for the reference.
    """
    if fatal and not is_affordable(candidate):
        return Expected({name: spec.make() for name, spec in candidate.case.inputs.items()}, None)
    try:
        expected = compute_expected(candidate.case)
    except CatalogueError:
        return None
    return Expected(expected.inputs, None) if next(out_of_range(candidate.case, expected), None) else expected


def _symptom_of(outcome: ProgramOutcome, record: ResultRecord) -> Symptom:
    if record.flaky:
        return Symptom(Status.FLAKY)
    # Only the framework's message distinguishes the causes of rejected calls.
    message = normalise_message(outcome.message) if record.kind == DifferenceKind.REJECTED else None
    return fatal_symptom(outcome) or Symptom(record.kind, message)


def _power_of_ten(used: float | None) -> str:
    """Return the exponent of the used error bound, as `e-02`; "0" or "inf" for these, "" without a bound."""
    if used is None or used == 0:
        return "" if used is None else "0"
    return f"{used:.0e}"[-4:] if used < float("inf") else "inf"


@dataclass(frozen=True)
class RelationOracle:
    """Checks relations between calls on each surface; relation: name of the only one to check, "" for all."""

    relation: str = ""
    needs_all_surfaces = False

    def checks(self, run: Run, candidate: Candidate, *, fatal: bool) -> Sequence[RelationCheck]:  # noqa: ARG002
        """Return a check for each relation and surface.

        A candidate that observes a convention has no checks, because some answers to it violate a relation. Neither has
        an invalid call, a sequence of operators, a call whose arrays are passed in another way, or one with a word.
        """
        changed = candidate.violation or candidate.following or candidate.array_use or candidate.has_words
        if changed or conventions_of(candidate):
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
