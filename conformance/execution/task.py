"""Tasks of a run: a case on a surface, the order of execution, and the judgement of one outcome."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.adapters.api import Program, Surface, Unsupported
from conformance.cases.case import Case
from conformance.execution.records import NO_BOUND_REASON, convention_record, result_record
from conformance.judging.expected import Expected
from conformance.judging.ledger import Ledger, LedgerEntry
from conformance.judging.repeats import combine_repeats
from conformance.judging.tolerance import target_for
from conformance.judging.verdict import (
    JUDGED_OUTCOMES,
    ObservedAnswers,
    OutcomeVerdict,
    ProgramOutcome,
    answer_name,
    judge_declaration,
    judge_outcome,
)
from reports.results import ConventionRecord, DifferenceKind, How, Outcome, Part, ResultRecord, Status, Verdict

FATAL_OUTCOMES = frozenset({Outcome.CRASHED, Outcome.TIMED_OUT})
"""Outcomes that end the process of the worker."""
EXPECTED_FAILURES = FATAL_OUTCOMES | {Status.FLAKY}
"""Outcomes and statuses that change the place of a task in the execution order, if they are expected."""

EXCEPTION_ANSWERS = FATAL_OUTCOMES | {Outcome.REJECTED}
"""Outcomes without a value that are answers to conventions."""

ComputeExpected = Callable[[Case], Expected]


@dataclass(frozen=True, slots=True)
class Task:
    """A case on a surface, with its program or the reason why it is unsupported.

    number: position of the task in the whole run, independent of its division into shards.
    """

    case: Case
    surface: Surface
    program: Program | Unsupported
    number: int = 0


def run_order(expected_failures: Collection[str]) -> int:
    """Return the rank of a task in the execution order: normal tasks first, then flaky, then fatal ones.

    Flaky outcomes often come from writes to memory out of bounds, which can break later programs of the process.
    Programs that end their process come last, because then only the last worker needs no replacement.
    """
    return 1 if Status.FLAKY in expected_failures else 2 if expected_failures else 0


def in_run_order(tasks: Iterable[Task], expected_failures: Callable[[Task], Collection[str]]) -> Iterator[Task]:
    """Yield tasks of the first rank as they come, then the others by their rank; otherwise the order is unchanged."""
    later: defaultdict[int, list[Task]] = defaultdict(list)
    for task in tasks:
        rank = run_order(expected_failures(task))
        if rank:
            later[rank].append(task)
        else:
            yield task
    for rank in sorted(later):
        yield from later[rank]


def ledger_surfaces(surface: Surface, changed_by: Part | None) -> list[str]:
    """Return the surfaces whose ledger entries apply: also the part of a route that may be the cause."""
    if surface.route is None or changed_by in {None, Part.EXPORTER}:
        return [surface.name]
    cause = surface.route.source_name if changed_by == Part.SOURCE else surface.route.runtime_name
    return [surface.name, cause]


class TaskJudge:
    """Judges the outcomes of one run on one machine.

    environment: of a started worker; device: name of the device; expected: returns the expected result of a case.
    observed_answers: the answers of all convention cases judged so far, to detect surfaces that contradict themselves.
    """

    def __init__(
        self,
        ledger: Ledger,
        surfaces: Iterable[Surface],
        environment: Mapping[str, Any],
        device: str,
        expected: ComputeExpected,
    ) -> None:
        self.expected = expected
        self.observed_answers = ObservedAnswers()
        self._machine = environment["packages"], environment["cpu"], device
        self._surfaces = {surface.name: surface.for_processor(environment["cpu"]) for surface in surfaces}
        routes = [surface.route for surface in self._surfaces.values() if surface.route]
        causes = [name for route in routes for name in (route.source_name, route.runtime_name)]
        self._ledger = ledger.for_surfaces([*self._surfaces, *causes], *self._machine)

    def ledger_entry(self, task: Task, changed_by: Part | None = None) -> LedgerEntry | None:
        """Return the ledger entry that matches a task on this machine.

        changed_by: the part of a route that changes the result.
        """
        for name in ledger_surfaces(task.surface, changed_by):
            if entry := self._ledger.find_entry(task.case, name, *self._machine):
                return entry
        return None

    def _entry_of_any_part(self, task: Task) -> LedgerEntry | None:
        """Return the ledger entry of a task: of its surface, or of the source or the runtime of its route."""
        parts = (None, Part.SOURCE, Part.RUNTIME) if task.surface.route else (None,)
        return next(filter(None, (self.ledger_entry(task, part) for part in parts)), None)

    def expected_failures(self, task: Task) -> frozenset[str]:
        """Return the fatal outcomes and flakiness that the ledger or a declaration lists for a task.

        A route can crash where its source or its runtime does.
        """
        entry = self._entry_of_any_part(task)
        listed = [*entry.kinds] if entry else []
        convention, surface = task.case.convention_id, self._surfaces[task.surface.name]
        if convention and (declaration := surface.declaration_for(convention, task.case.id)):
            listed.append(declaration.answer)
        return EXPECTED_FAILURES.intersection(listed)

    def is_known_to_differ(self, task: Task) -> bool:
        """Whether the ledger lists a task, or the same case on a part of its route, or its declared answer is no value.

        Such a task does not pass, or it passes with an exception.
        """
        convention, surface = task.case.convention_id, self._surfaces[task.surface.name]
        declaration = surface.declaration_for(convention, task.case.id) if convention else None
        return self._entry_of_any_part(task) is not None or (
            declaration is not None and declaration.answer in EXCEPTION_ANSWERS
        )

    def combine_outcomes(self, case: Case, outcomes: Sequence[ProgramOutcome]) -> ProgramOutcome:
        """Combine the outcomes of the repeated runs of a case into one."""
        if len(outcomes) == 1:
            return outcomes[0]
        combined = combine_repeats(outcomes, lambda outcome: self._is_wrong(case, outcome))
        # The first run decides: only the same program ran between it and the last one.
        return replace(combined, alone=outcomes[0].alone)

    def _is_wrong(self, case: Case, outcome: ProgramOutcome) -> bool:
        target = self.expected(case).target
        return target is not None and judge_outcome(outcome, target).verdict != Verdict.AGREE

    def judge_task(
        self,
        task: Task,
        outcome: ProgramOutcome,
        expected: Expected | None = None,
        *,
        is_final: bool = True,
        changed_by: Part | None = None,
    ) -> tuple[ResultRecord, ConventionRecord | None]:
        """Return the result record of an outcome, and the convention record if the case observes a convention.

        expected: the expected result of the case, if it has been computed already. is_final: whether the answer to a
        convention can contradict those of later cases. changed_by: the part of a route that changes the result.
        """
        verdict, convention = OutcomeVerdict(None), None
        if outcome.kind in JUDGED_OUTCOMES or task.case.convention_id is not None:
            expected = expected or self.expected(task.case)
            verdict, convention = self._judge_outcome(task, outcome, expected, is_final=is_final)
        # An entry of another surface is not stale where the route agrees.
        cause = None if verdict.verdict == Verdict.AGREE else changed_by
        entry = self.ledger_entry(task, cause)
        record = result_record(
            task.case,
            task.surface,
            task.program,
            outcome,
            verdict=verdict,
            expected=expected,
            entry=entry,
            part=changed_by,
        )
        return record, convention

    def record_answer(self, convention: ConventionRecord | None) -> None:
        """Record the final answer to a convention. Crashes are not answers."""
        if convention is not None and convention.observed not in FATAL_OUTCOMES:
            self.observed_answers.conflicting_answer(
                convention.surface, convention.question, convention.case, convention.observed
            )

    def _judge_outcome(
        self, task: Task, outcome: ProgramOutcome, expected: Expected, *, is_final: bool
    ) -> tuple[OutcomeVerdict, ConventionRecord | None]:
        surface = self._surfaces[task.surface.name]
        if expected.target is not None:
            how = task.program.how if isinstance(task.program, Program) else How.NATIVE
            target = target_for(expected.target, task.case, surface, how, expected.inputs)
            verdict = judge_outcome(outcome, target or expected.target)
            # Without an error bound only other differences count: a wrong shape, dtype or a missing rejection.
            if target is None and (verdict.verdict == Verdict.AGREE or verdict.kind == DifferenceKind.VALUE):
                return OutcomeVerdict(None, message=NO_BOUND_REASON), None
            return verdict, None
        convention_id = task.case.convention_id or task.case.id
        declaration = surface.declaration_for(convention_id, task.case.id)
        answer = answer_name(outcome, expected)
        other = self.observed_answers.conflicting_answer(
            task.surface.name, convention_id, task.case.id, answer, record=is_final
        )
        if declaration is not None and declaration.depends_on:
            other = None
        verdict = OutcomeVerdict(None) if answer is None else judge_declaration(answer, declaration, other)
        # A crash is no answer to a convention, but it is recorded as what was observed.
        observed = answer or (outcome.kind if outcome.kind != Outcome.UNSUPPORTED else None)
        return verdict, convention_record(task.case, surface, observed)
