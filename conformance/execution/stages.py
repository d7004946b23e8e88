"""The part of a route that changes a result: its source framework, its exporter or its runtime."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.adapters.api import Surface, Unsupported
from conformance.execution.job import Job
from conformance.execution.task import Task, TaskJudge
from conformance.execution.worker_process import Worker
from conformance.judging.expected import Expected
from conformance.judging.repeats import is_same_outcome
from conformance.judging.verdict import OTHER_ANSWER, ProgramOutcome, answer_name
from conformance.translation.lowering import translate
from reports.results import Outcome, Part, Verdict


@dataclass(frozen=True)
class StageRunner:
    """Runs the stages of routes in a worker of its own, which starts with the first job."""

    worker: Worker

    def changed_by(self, task: Task, outcome: ProgramOutcome, judge: TaskJudge, expected: Expected) -> Part | None:
        """Return the first part of a route whose result is not right; None if the result of the route is right.

        A result is right if it agrees with the reference, or if it is the answer of the source to a convention.
        Raises WorkerFailed.
        """
        if outcome.kind == Outcome.UNSUPPORTED or not task.surface.stages:
            return None
        return self._part_of_answer(task, outcome, expected) if expected.target is None else self._part_of_value(
            task, outcome, judge, expected
        )

    def _part_of_value(self, task: Task, outcome: ProgramOutcome, judge: TaskJudge, expected: Expected) -> Part | None:
        def agrees(one: ProgramOutcome) -> bool:
            return judge.judge_task(task, one, expected, is_final=False)[0].verdict == Verdict.AGREE

        if agrees(outcome):
            return None
        if not agrees(self._outcome(task, task.surface.stages[Part.SOURCE], expected)):
            return Part.SOURCE
        exported = self._outcome(task, task.surface.stages[Part.EXPORTER], expected)
        if agrees(exported):
            return Part.RUNTIME
        return Part.EXPORTER if _is_equal(exported, outcome) else Part.EXPORTER_OR_RUNTIME

    def _part_of_answer(self, task: Task, outcome: ProgramOutcome, expected: Expected) -> Part | None:
        source = self._outcome(task, task.surface.stages[Part.SOURCE], expected)
        if _is_same_answer(source, outcome, expected):
            return None
        exported = self._outcome(task, task.surface.stages[Part.EXPORTER], expected)
        if _is_same_answer(source, exported, expected):
            return Part.RUNTIME
        is_changed = _is_equal(exported, outcome) or _is_same_answer(exported, outcome, expected)
        return Part.EXPORTER if is_changed else Part.EXPORTER_OR_RUNTIME

    def _outcome(self, task: Task, surface: Surface, expected: Expected) -> ProgramOutcome:
        program = translate(task.case, surface)
        if isinstance(program, Unsupported):
            return ProgramOutcome(Outcome.UNSUPPORTED, message=program.reason)
        (outcome,) = self.worker.outcomes([Job(program, tuple(expected.inputs.values()))])
        return outcome

    def kill(self) -> None:
        """Kill the worker."""
        self.worker.kill()


def _is_equal(one: ProgramOutcome, other: ProgramOutcome) -> bool:
    """Whether two outcomes have the same bits, or are exceptions with the same message."""
    if Outcome.REJECTED in (one.kind, other.kind):
        return (one.kind, one.message) == (other.kind, other.message)
    return is_same_outcome(one, other)


def _is_same_answer(one: ProgramOutcome, other: ProgramOutcome, expected: Expected) -> bool:
    """Whether two outcomes are the same answer to a convention."""
    first, second = answer_name(one, expected), answer_name(other, expected)
    return _is_equal(one, other) if OTHER_ANSWER in (first, second) else first == second
