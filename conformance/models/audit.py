"""Check the layers of a model on a backend: run each on the surfaces and judge it like a case of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conformance import CatalogueError
from conformance.adapters.api import Program, Surface, Unsupported
from conformance.catalogue.value_range import out_of_range
from conformance.execution.run import Run
from conformance.execution.task import Task
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import expected_on, make_checkable_task, reference_answers
from conformance.exploration.evaluation import NEW_STATUSES, Call, LocalEvaluator, SurfaceResult, make_requests
from conformance.judging.expected import Expected, compute_expected
from conformance.judging.ledger import LedgerEntry
from conformance.judging.verdict import JUDGED_OUTCOMES, ProgramOutcome
from conformance.models.geometry import CheckedLayer, checked_layer
from conformance.models.layer import Model, ModelLayer
from conformance.models.questions import Question, questions_of
from reports.results import ResultRecord
from reports.results.vocabulary import How, Outcome, Status, Word

BATCH_SIZE = 16
"""Number of questions that are evaluated together, between two calls of the progress callback."""


class LayerVerdict(Word):
    """Whether a target computes a layer like the reference. The order is from the gravest to the best."""

    UNCHECKED = "not checked"
    DIFFERS = "differs"
    UNSUPPORTED = "unsupported"
    EXPLAINED = "known"  # it differs as the ledger or a declared answer says
    REWRITE = "rewrite"  # same, but the program is not one call of the target
    SAME = "same"


FAILING_VERDICTS = frozenset({LayerVerdict.UNCHECKED, LayerVerdict.DIFFERS, LayerVerdict.UNSUPPORTED})
"""Verdicts with which an audit ends with status 1."""


@dataclass(frozen=True)
class AnswerResult(SurfaceResult):
    """The result of a question on a surface. record: how it differs. entry: the ledger entry that explains it."""

    record: ResultRecord | None = None
    entry: LedgerEntry | None = None


@dataclass(frozen=True)
class AuditOracle:
    """Compares layers with the reference under the answers to conventions that a surface declares."""

    needs_all_surfaces = False

    def checks(self, run: Run, candidate: Candidate, *, fatal: bool) -> Sequence[AuditCheck]:  # noqa: ARG002
        """Return a check for each surface; none if the reference has no result."""
        try:
            expected = compute_expected(candidate.case)
        except CatalogueError:
            return []
        if next(out_of_range(candidate.case, expected), None):
            return []
        cpu = run.pool.environment["cpu"]
        return [
            AuditCheck(
                run,
                make_checkable_task(run, candidate, surface),
                expected_on(candidate, surface.for_processor(cpu), expected),
            )
            for surface in run.surfaces
        ]


@dataclass(frozen=True)
class AuditCheck:
    """A question on one surface."""

    run: Run
    task: Task
    expected: Expected

    @property
    def calls(self) -> Sequence[Call]:
        """The program, if there is one."""
        return [Call(self.task, self.expected.inputs)] if isinstance(self.task.program, Program) else []

    def judge(self, outcomes: Sequence[ProgramOutcome]) -> Iterator[AnswerResult]:
        """Yield one result."""
        surface, program = self.task.surface.name, self.task.program
        if isinstance(program, Unsupported):
            yield AnswerResult(surface, Status.UNSUPPORTED, message=program.reason)
            return
        (outcome,) = outcomes
        if outcome.kind not in JUDGED_OUTCOMES and outcome.kind == Outcome.UNSUPPORTED:
            yield AnswerResult(surface, Status.UNSUPPORTED, message=outcome.message)
            return
        record, _ = self.run.judge.judge_task(self.task, outcome, self.expected)
        entry = self.run.judge.ledger_entry(self.task) if record.status == Status.KNOWN else None
        yield AnswerResult(
            surface, record.status, how=program.how, message=record.message or "", record=record, entry=entry
        )


@dataclass(frozen=True)
class ConventionDifference:
    """A convention that a layer observes and that the target answers otherwise than the surface of the model."""

    convention: str
    source_answer: str
    target_answer: str


@dataclass(frozen=True)
class TargetVerdict:
    """The verdict of a target on a layer.

    results: the results by the numbers of the question. reason: why the layer is unsupported, or why the program is not
    one call. conventions: different answers, with the numbers for which they matter. not_compared: the numbers for
    which the suite has no expected result, with the reason.
    """

    verdict: LayerVerdict
    how: str = ""
    reason: str = ""
    results: Mapping[str, AnswerResult] = field(default_factory=dict)
    conventions: Mapping[str, ConventionDifference] = field(default_factory=dict)
    not_compared: Mapping[str, str] = field(default_factory=dict)

    @property
    def differing(self) -> Mapping[str, AnswerResult]:
        """The results that differ, by the numbers of the question."""
        return {name: one for name, one in self.results.items() if one.is_new or one.status == Status.KNOWN}


@dataclass(frozen=True)
class AuditedLayer:
    """Equal layers of a model, how they were checked, and the verdict of each target."""

    layers: tuple[ModelLayer, ...]
    checked: CheckedLayer | None
    problem: str = ""
    verdicts: Mapping[str, TargetVerdict] = field(default_factory=dict)

    @property
    def layer(self) -> ModelLayer:
        """The first of the equal layers."""
        return self.layers[0]

    @property
    def names(self) -> str:
        """The name of the first layer, with the number of further ones."""
        further = len(self.layers) - 1
        return f"{self.layer.name} +{further}" if further else self.layer.name


@dataclass(frozen=True)
class Audit:
    """The audit of a model. targets: names of the surfaces. versions: the frameworks of each target."""

    model: Model
    targets: tuple[str, ...]
    layers: tuple[AuditedLayer, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    def worst(self, target: str) -> LayerVerdict:
        """Return the gravest verdict of a target."""
        order = list(LayerVerdict)
        found = [one.verdicts[target].verdict for one in self.layers if target in one.verdicts]
        return min(found, key=order.index, default=LayerVerdict.SAME)

    @property
    def passes(self) -> bool:
        """Whether every layer agrees on every target, as one call or with a rewrite, or differs as known."""
        return all(self.worst(target) not in FAILING_VERDICTS for target in self.targets)


@dataclass(frozen=True)
class LayerQuestions:
    """Equal layers of a model with their questions; problem: why there are none."""

    layers: tuple[ModelLayer, ...]
    checked: CheckedLayer | None = None
    questions: tuple[Question, ...] = ()
    problem: str = ""


def questions_of_model(model: Model) -> list[LayerQuestions]:
    """Return the distinct layers of a model with their questions."""
    return [_layer_questions(tuple(layers)) for layers in model.distinct_layers().values()]


def _layer_questions(layers: tuple[ModelLayer, ...]) -> LayerQuestions:
    layer = layers[0]
    if layer.problem:
        return LayerQuestions(layers, problem=layer.problem)
    checked = checked_layer(layer)
    questions = questions_of(checked)
    if not questions:
        return LayerQuestions(layers, checked, problem="its parameters do not fit its input, or give no output")
    return LayerQuestions(layers, checked, tuple(questions))


def audit_backend(
    evaluator: LocalEvaluator,
    layers: Sequence[LayerQuestions],
    source: Surface | None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Mapping[str, TargetVerdict]]:
    """Return the verdicts of each layer by the name of the surface. Equal questions of layers are run once.

    source: the surface whose answers to conventions hold for the model.
    """
    candidates = {_candidate_key(q.candidate): q.candidate for one in layers for q in one.questions}
    results: dict[str, Mapping[str, SurfaceResult]] = {}
    keys = list(candidates)
    for start in range(0, len(keys), BATCH_SIZE):
        batch = keys[start : start + BATCH_SIZE]
        found = evaluator.evaluate(make_requests(AuditOracle(), [candidates[key] for key in batch]))
        for key, result in zip(batch, found, strict=True):
            results[key] = {one.surface: one for one in result.surface_results}
        progress(min(start + BATCH_SIZE, len(keys)), len(keys))
    surfaces = evaluator.backend.surfaces
    return [{surface.name: _verdict(one, results, surface, source) for surface in surfaces} for one in layers]


def _candidate_key(candidate: Candidate) -> str:
    return f"{candidate.operator}/{candidate.raw_case['id']}"


def _verdict(
    layer: LayerQuestions,
    results: Mapping[str, Mapping[str, SurfaceResult]],
    surface: Surface,
    source: Surface | None,
) -> TargetVerdict:
    if layer.problem:
        return TargetVerdict(LayerVerdict.UNCHECKED, reason=layer.problem)
    answers: dict[str, AnswerResult] = {}
    conventions: dict[str, ConventionDifference] = {}
    not_compared: dict[str, str] = {}
    for question in layer.questions:
        found = results[_candidate_key(question.candidate)].get(surface.name)
        if not isinstance(found, AnswerResult):
            not_compared[question.numbers] = "the reference has no result in the normal range of the dtype"
        elif found.status == Status.UNSUPPORTED and answers:
            not_compared[question.numbers] = found.message
        else:
            answers[question.numbers] = found
        for difference in _convention_differences(question, surface, source):
            conventions.setdefault(question.numbers, difference)
    first = next(iter(answers.values()), None)
    if first is None or first.status == Status.UNSUPPORTED:
        reason = first.message if first else next(iter(not_compared.values()), "")
        return TargetVerdict(LayerVerdict.UNSUPPORTED, reason=reason)
    verdict = _verdict_of(answers, bool(conventions), first.how)
    return TargetVerdict(verdict, first.how, "", answers, conventions, not_compared)


def _verdict_of(answers: Mapping[str, AnswerResult], other_convention: bool, how: str) -> LayerVerdict:
    statuses = {one.status for one in answers.values()}
    if statuses & NEW_STATUSES:
        return LayerVerdict.DIFFERS
    if Status.KNOWN in statuses or other_convention:
        return LayerVerdict.EXPLAINED
    return LayerVerdict.SAME if how == How.NATIVE else LayerVerdict.REWRITE


def _convention_differences(
    question: Question, surface: Surface, source: Surface | None
) -> Iterator[ConventionDifference]:
    """Yield the conventions that a question observes and that target and model answer differently."""
    for convention in question.conventions:
        declared = surface.declarations.get(convention)
        own = source.declarations.get(convention) if source else None
        mine = own.summary if own else reference_answers()[convention]
        if declared is not None and declared.summary != mine:
            yield ConventionDifference(convention, mine, declared.summary)
