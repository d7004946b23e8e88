"""The reference as an oracle: outcomes are judged as in a normal run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance import CatalogueError
from conformance.adapters.api.surface import Program, Unsupported
from conformance.catalogue.value_range import out_of_range
from conformance.execution.run import Run
from conformance.execution.task import Task
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import make_checkable_task
from conformance.exploration.evaluation import NEW_STATUSES, Call, CallOutcome, SurfaceResult
from conformance.exploration.space import is_affordable
from conformance.exploration.symptoms import Symptom, normalise_message
from conformance.judging.expected import Expected, compute_expected
from conformance.judging.verdict import JUDGED_OUTCOMES
from reports.results import ResultRecord
from reports.results.vocabulary import DifferenceKind, Outcome, Status


class ReferenceOracle:
    """Compares the result of a candidate on each surface with the reference."""

    needs_all_surfaces = False

    def checks(self, run: Run, candidate: Candidate, *, fatal: bool) -> Sequence[ReferenceCheck]:
        """Return a check for each surface; none if the reference gives no answer.

        fatal: the program still runs then, and agrees if it returns anything.
        """
        expected = _expected_for(candidate, fatal=fatal)
        if expected is None:
            return []
        tasks = [make_checkable_task(run, candidate, surface) for surface in run.surfaces]
        return [ReferenceCheck(run, task, expected) for task in tasks]


@dataclass(frozen=True)
class ReferenceCheck:
    """A candidate on one surface; expected: without a target if every returned array agrees."""

    run: Run
    task: Task
    expected: Expected

    @property
    def calls(self) -> Sequence[Call]:
        """The program of the candidate, if there is one."""
        return [Call(self.task, self.expected.inputs)] if isinstance(self.task.program, Program) else []

    def judge(self, outcomes: Sequence[CallOutcome]) -> Iterator[SurfaceResult]:
        """Yield one result."""
        surface, program = self.task.surface.name, self.task.program
        if isinstance(program, Unsupported):
            yield SurfaceResult(surface, Status.UNSUPPORTED, kind=program.reason)
            return
        (called,) = outcomes
        outcome = called.outcome
        if outcome.kind == Outcome.UNSUPPORTED:
            yield SurfaceResult(surface, Status.UNSUPPORTED, kind=outcome.message)
        elif outcome.kind in JUDGED_OUTCOMES and not self.expected.targets:
            status = Status.PASS if outcome.kind == Outcome.RETURNED else Status.UNSUPPORTED
            yield SurfaceResult(surface, status, how=program.how, kind=outcome.kind)
        else:
            record, _ = self.run.judge.judge_task(self.task, outcome, self.expected)
            symptom = _symptom_of(called, record) if record.status in {*NEW_STATUSES, Status.KNOWN} else None
            kinds = (record.outcome, record.kind, _power_of_ten(record.budget_used), symptom or "")
            kind, message = " ".join(map(str, kinds)), record.message or ""
            yield SurfaceResult(surface, record.status, symptom, program.how, kind, message)


def _expected_for(candidate: Candidate, *, fatal: bool) -> Expected | None:
    """Return the expected result; None if values leave the normal range or the reference gives no answer.

    fatal: return the inputs without a target if values leave the normal range or the case is too large for the
    reference.
    """
    if fatal and not is_affordable(candidate):
        return Expected({name: spec.make() for name, spec in candidate.case.inputs.items()}, None)
    try:
        expected = compute_expected(candidate.case)
    except CatalogueError:
        return None
    if next(out_of_range(candidate.case, expected), None):
        return Expected(expected.inputs, None) if fatal else None
    return expected


def _symptom_of(called: CallOutcome, record: ResultRecord) -> Symptom:
    if record.flaky:
        return Symptom(Status.FLAKY)
    if called.failure:
        return called.failure
    # Only the framework's message distinguishes the causes of rejected calls.
    message = normalise_message(called.outcome.message) if record.kind == DifferenceKind.REJECTED else None
    return Symptom(record.kind, message)


def _power_of_ten(used: float | None) -> str:
    """Return the exponent of the used error bound, as `e-02`; "0" or "inf" for these, "" without a bound."""
    if used is None or used == 0:
        return "" if used is None else "0"
    return f"{used:.0e}"[-4:] if used < float("inf") else "inf"
