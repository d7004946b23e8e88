"""The part of a route that changes a result: its source framework, its exporter or its runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.adapters.api import RouteStages, Surface, Unsupported
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
    """Runs the stages of routes in workers, one for each mode, which start with their first job.

    worker: the worker of the programs without a mode.
    """

    worker: Worker
    _by_mode: dict[str, Worker] = field(default_factory=dict, init=False)

    def changed_by(self, task: Task, outcome: ProgramOutcome, judge: TaskJudge, expected: Expected) -> Part | None:
        """Return the first part of a route whose result is not right; None if the result of the route is right.

        A result is right if it agrees with the reference, or if it is the answer of the source to a convention.
        Raises WorkerFailed.
        """
        stages = task.surface.route
        if stages is None or outcome.kind == Outcome.UNSUPPORTED:
            return None
        if expected.target is None:
            source = self._outcome(task, stages.source, expected)
            return self._part(task, stages, outcome, expected, lambda one: _is_same_answer(source, one, expected))

        def agrees(one: ProgramOutcome) -> bool:
            return _agrees(task, one, judge, expected)

        if not agrees(outcome):
            source = self._outcome(task, stages.source, expected)
            # A later part that raises an exception also does so for a right result of the source.
            if not agrees(source) and (outcome.kind != Outcome.REJECTED or source.kind == Outcome.REJECTED):
                return Part.SOURCE
        return self._part(task, stages, outcome, expected, agrees)

    def is_refused(self, task: Task, outcome: ProgramOutcome, judge: TaskJudge, expected: Expected) -> bool:
        """Whether the exporter or the runtime of a route raises an exception for a valid call.

        It needs fewer programs than `changed_by`: that of the source. Raises WorkerFailed.
        """
        stages = task.surface.route
        if stages is None or outcome.kind != Outcome.REJECTED or _agrees(task, outcome, judge, expected):
            return False
        return self._outcome(task, stages.source, expected).kind != Outcome.REJECTED

    def _part(
        self,
        task: Task,
        stages: RouteStages,
        outcome: ProgramOutcome,
        expected: Expected,
        is_right: Callable[[ProgramOutcome], bool],
    ) -> Part | None:
        """Return the part after the source that changes a result, None if the result is right."""
        if is_right(outcome):
            return None
        if outcome.evaluated:
            return Part.RUNTIME
        # A model that ran was exported.
        has_run = outcome.kind == Outcome.RETURNED
        if not has_run and self._outcome(task, stages.export, expected).kind != Outcome.RETURNED:
            return Part.EXPORTER
        if stages.evaluator is None:
            return Part.EXPORTER_OR_RUNTIME
        evaluated = self._outcome(task, stages.evaluator, expected)
        if is_right(evaluated):
            return Part.RUNTIME
        is_same = is_same_outcome(evaluated, outcome) and outcome.kind == Outcome.RETURNED
        return Part.EXPORTER if is_same and stages.is_independent else Part.EXPORTER_OR_RUNTIME

    def _outcome(self, task: Task, surface: Surface, expected: Expected) -> ProgramOutcome:
        program = translate(task.case, surface)
        if isinstance(program, Unsupported):
            return ProgramOutcome(Outcome.UNSUPPORTED, message=program.reason)
        (outcome,) = self._worker(program.mode).outcomes([Job(program, tuple(expected.inputs.values()))])
        return outcome

    def _worker(self, mode: str) -> Worker:
        if mode and mode not in self._by_mode:
            self._by_mode[mode] = self.worker.in_mode(mode)
        return self._by_mode[mode] if mode else self.worker

    def kill(self) -> None:
        """Kill the workers."""
        for worker in (self.worker, *self._by_mode.values()):
            worker.kill()


def _agrees(task: Task, outcome: ProgramOutcome, judge: TaskJudge, expected: Expected) -> bool:
    return judge.judge_task(task, outcome, expected, is_final=False)[0].verdict == Verdict.AGREE


def _is_same_answer(one: ProgramOutcome, other: ProgramOutcome, expected: Expected) -> bool:
    """Whether two outcomes are the same answer to a convention. Answers without a name are the same if all bits are."""
    first, second = answer_name(one, expected), answer_name(other, expected)
    return is_same_outcome(one, other) if OTHER_ANSWER in (first, second) else first == second
