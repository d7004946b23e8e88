"""Run variants of the cases of conventions, and find those that contradict the declared answer of a surface."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from conformance.adapters.api import Declaration, Program, Surface
from conformance.cases.arrays import Array, array_digest
from conformance.cases.case import Case
from conformance.execution.job import Job
from conformance.execution.run import Run
from conformance.execution.task import Task
from conformance.exploration.declared_answers.conditions import is_within_condition
from conformance.exploration.declared_answers.sampling import sample_variants
from conformance.exploration.declared_answers.variants import Index, Variant, variants_of
from conformance.exploration.evaluation import LocalEvaluator
from conformance.judging.verdict import OTHER_ANSWER, ProgramOutcome, answer_name
from reports.results.vocabulary import Outcome


@dataclass(frozen=True)
class Contradiction:
    """A variant in which a surface does not give its declared answer.

    declared: the answer in the case that was varied. depends_on: the declared condition, empty if there is none.
    observed: the answers in the parts of the output, or the kind of the outcome.
    """

    surface: str
    convention: str
    case: str
    variant: str
    declared: str
    depends_on: str
    observed: str


class Count(Enum):
    """What became of a variant on a surface that declares an answer."""

    AGREED = "agreed"
    CONTRADICTED = "contradicted"
    WITHIN_CONDITION = "within the declared condition"
    IN_LEDGER = "in the ledger"
    UNSUPPORTED = "unsupported"


@dataclass
class Comparison:
    """The contradictions of a backend, and the number of variants by what became of them."""

    contradictions: list[Contradiction] = field(default_factory=list)
    counts: Counter[Count] = field(default_factory=Counter)


@dataclass(frozen=True)
class _Trial:
    """A variant on a surface; declared: the answer of the surface in the case that was varied."""

    variant: Variant
    task: Task
    declared: str
    inputs: tuple[Array, ...]

    @property
    def declaration(self) -> Declaration:
        """The declaration of the surface for the convention."""
        return self.task.surface.declarations[str(self.variant.base.convention_id)]


def compare_declared_answers(
    evaluator: LocalEvaluator, cases: Iterable[Case], per_change: int | None = None
) -> Comparison:
    """Run the variants of cases of conventions on all surfaces of a started evaluator.

    A surface is compared in a case if it declares an answer, and if it gives this answer in the case itself.
    per_change: the number of variants for each kind of change of a case; None for all.
    """
    run, found = evaluator.make_run(()), Comparison()
    ahead, behind = itertools.tee(_trials(run, cases, found.counts, per_change))
    outcomes = evaluator.outcomes(
        Job(one.task.program, one.inputs) for one in ahead if isinstance(one.task.program, Program)
    )
    differing: set[tuple[str, str]] = set()
    for trial, outcome in zip(behind, outcomes, strict=True):
        key = trial.task.surface.name, trial.variant.base.id
        observed = _observed_answers(trial.variant, outcome)
        if observed is None or key in differing:
            found.counts[Count.UNSUPPORTED] += 1
        elif observed == (trial.declared,):
            found.counts[Count.AGREED] += 1
        elif trial.variant.is_unchanged:
            # The difference is that of the case, which a run reports.
            differing.add(key)
            found.counts[Count.UNSUPPORTED] += 1
        elif is_within_condition(trial.declaration, trial.variant.change, observed):
            found.counts[Count.WITHIN_CONDITION] += 1
        else:
            found.counts[Count.CONTRADICTED] += 1
            found.contradictions.append(_contradiction(trial, observed))
    return found


def _contradiction(trial: _Trial, observed: Sequence[str]) -> Contradiction:
    base, depends_on = trial.variant.base, trial.declaration.depends_on
    names = trial.task.surface.name, str(base.convention_id), base.id, trial.variant.name
    return Contradiction(*names, trial.declared, depends_on, ", ".join(observed))


def _trials(run: Run, cases: Iterable[Case], counts: Counter[Count], per_change: int | None) -> Iterator[_Trial]:
    cpu = run.pool.environment["cpu"]
    surfaces = [surface.for_processor(cpu) for surface in run.surfaces]
    cases = tuple(cases)
    calls = set(map(_call_of, cases))
    for case in cases:
        declared = _declared_answers(run, case, surfaces)
        variants = variants_of(case) if declared else iter(())
        for variant in variants if per_change is None else sample_variants(variants, per_change):
            if not variant.is_unchanged and _call_of(variant.case) in calls:
                continue  # this case has a declared answer too
            inputs = tuple(spec.make() for spec in variant.case.inputs.values())
            for surface in surfaces:
                if not _must_answer(variant, surface, declared.get(surface.name)):
                    continue
                task = run.make_task(variant.case, surface)
                if not isinstance(task.program, Program):
                    counts[Count.UNSUPPORTED] += 1
                elif run.judge.ledger_entry(task):
                    counts[Count.IN_LEDGER] += 1
                else:
                    yield _Trial(variant, task, declared[surface.name], inputs)


def _call_of(case: Case) -> tuple[Hashable, ...]:
    """Return what two cases with the same call have in common."""
    arrays = ((name, array_digest(spec.make())) for name, spec in case.inputs.items())
    return case.operator, *sorted((name, str(value)) for name, value in case.parameters.items()), *arrays


def _declared_answers(run: Run, case: Case, surfaces: Iterable[Surface]) -> Mapping[str, str]:
    """Return the declared answer in a case of each surface that runs it and has no ledger entry for it."""
    found = {}
    for surface in surfaces:
        declaration = surface.declaration_for(str(case.convention_id), case.id)
        task = run.make_task(case, surface) if declaration else None
        if declaration and task and isinstance(task.program, Program) and not run.judge.ledger_entry(task):
            found[surface.name] = declaration.answer
    return found


def _must_answer(variant: Variant, surface: Surface, declared: str | None) -> bool:
    """Whether a surface must give its declared answer in a variant.

    Not if it declares none, if the change of the variant changes this answer, or if the surface does not support the
    dtype of the variant.
    """
    if declared is None or declared in variant.changed_answers:
        return False
    return not (variant.changes_dtype and surface.unsupported_reason(variant.case.operator, variant.case.dtype))


def _observed_answers(variant: Variant, outcome: ProgramOutcome) -> tuple[str, ...] | None:
    """Return the answers that an outcome gives in the parts of the output, each once.

    None if a rejection says nothing about the convention: it has no such answer, or the dtype may not be supported.
    """
    if outcome.kind == Outcome.UNSUPPORTED:
        return None
    if outcome.kind == Outcome.REJECTED:
        can_reject = any(target.exact is None for target in variant.expected.answers.values())
        name = answer_name(outcome, variant.expected) if can_reject and not variant.may_lack_dtype else None
        return (name,) if name else None
    if outcome.kind != Outcome.RETURNED:
        return (str(outcome.kind),)
    answers = [_answer_in_part(outcome, part, variant) for part in variant.parts]
    return tuple(dict.fromkeys(answers))


def _answer_in_part(outcome: ProgramOutcome, part: Index, variant: Variant) -> str:
    if len(outcome.arrays) != 1:
        return OTHER_ANSWER
    try:
        array = np.ascontiguousarray(outcome.arrays[0][part])
    except IndexError:
        return OTHER_ANSWER
    return answer_name(replace(outcome, arrays=(array,)), variant.expected) or OTHER_ANSWER
