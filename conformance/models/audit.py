"""Check the layers of a model on a backend: run each on the surfaces and judge it like a case of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conformance.adapters.api import Surface
from conformance.cases.case import Case
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import reference_answers
from conformance.exploration.evaluation import NEW_STATUSES, LocalEvaluator, SurfaceResult, make_requests
from conformance.exploration.oracles import ReferenceOracle
from conformance.models.geometry import CheckedLayer, checked_layer
from conformance.models.layer import Model, ModelLayer
from conformance.models.questions import Question, questions_of
from conformance.models.smallest import (
    Deadline,
    SmallestInput,
    reason_of,
    smallest_convention,
    smallest_result,
)
from reports.results.audits import FAILING_VERDICTS, LayerVerdict
from reports.results.vocabulary import How, Status

BATCH_SIZE = 16
"""Number of questions that are evaluated together, between two calls of the progress callback."""

DifferenceKey = tuple[str, str]
"""A difference of a layer: the numbers of the question, and the id of the convention or ""."""


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
    which the suite has no expected result, with the reason. smallest: the smallest inputs found, by the differences.
    """

    verdict: LayerVerdict
    how: str = ""
    reason: str = ""
    results: Mapping[str, SurfaceResult] = field(default_factory=dict)
    conventions: Mapping[str, ConventionDifference] = field(default_factory=dict)
    not_compared: Mapping[str, str] = field(default_factory=dict)
    smallest: Mapping[DifferenceKey, SmallestInput] = field(default_factory=dict)

    @property
    def differing(self) -> Mapping[str, SurfaceResult]:
        """The results that differ, by the numbers of the question."""
        return {name: one for name, one in self.results.items() if one.is_new or one.status == Status.KNOWN}


@dataclass(frozen=True)
class AuditedLayer:
    """Equal layers of a model, how they were checked, and the verdict of each target.

    case: the layer as it was checked with integers.
    """

    layers: tuple[ModelLayer, ...]
    checked: CheckedLayer | None
    problem: str = ""
    verdicts: Mapping[str, TargetVerdict] = field(default_factory=dict)
    case: Case | None = None

    @property
    def layer(self) -> ModelLayer:
        """The first of the equal layers."""
        return self.layers[0]


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

    def audited(self, verdicts: Mapping[str, TargetVerdict]) -> AuditedLayer:
        """Return the layers with their verdicts."""
        case = self.questions[0].candidate.case if self.questions else None
        return AuditedLayer(self.layers, self.checked, self.problem, verdicts, case)


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
    shrink_seconds: float = 0.0,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Mapping[str, TargetVerdict]]:
    """Return the verdicts of each layer by the name of the surface. Equal questions of layers are run once.

    source: the surface whose answers to conventions hold for the model. shrink_seconds: the time in which the smallest
    inputs are searched for on each surface; 0 for none.
    """
    candidates = {_candidate_key(q.candidate): q.candidate for one in layers for q in one.questions}
    results: dict[str, Mapping[str, SurfaceResult]] = {}
    keys = list(candidates)
    for start in range(0, len(keys), BATCH_SIZE):
        batch = keys[start : start + BATCH_SIZE]
        found = evaluator.evaluate(
            make_requests(ReferenceOracle(adds_records=True), [candidates[key] for key in batch])
        )
        for key, result in zip(batch, found, strict=True):
            results[key] = {one.surface: one for one in result.surface_results}
        progress(min(start + BATCH_SIZE, len(keys)), len(keys))
    found_on = {}
    for surface in evaluator.backend.surfaces:
        verdicts = [_verdict(one, results, surface, source) for one in layers]
        search = _Search(evaluator, surface, source, Deadline(shrink_seconds))
        found_on[surface.name] = search.with_smallest(layers, verdicts) if shrink_seconds > 0 else verdicts
    return [{name: verdicts[number] for name, verdicts in found_on.items()} for number in range(len(layers))]


@dataclass(frozen=True)
class _Difference:
    """A difference of a layer on a surface; number: the position of the layer."""

    number: int
    key: DifferenceKey
    layer: LayerQuestions
    result: SurfaceResult | None

    @property
    def question(self) -> Question:
        """The question whose result differs."""
        return next(one for one in self.layer.questions if one.numbers == self.key[0])

    @property
    def group(self) -> tuple[Hashable, ...]:
        """Equal for differences that one input shows: those of an operator that differ in the same way."""
        operator = self.question.candidate.operator
        if self.result is None:
            return operator, self.key[1]
        # A rejected call and a crash have the same cause for all numbers.
        numbers = "" if self.result.symptom and self.result.symptom.detail is not None else self.key[0]
        return operator, numbers, self.result.symptom, self.result.status, reason_of(self.result)

    @property
    def starts(self) -> list[Candidate]:
        """Where the search starts: the same numbers on shorter axes, and the question itself."""
        candidate, checked = self.question.candidate, self.layer.checked
        small = checked.small if checked else None
        if small is None or candidate.per_axis("extent") == small.shape[2:]:
            return [candidate]
        shorter = candidate.with_levels(extent=small.shape[2:])
        return [shorter, candidate] if shorter.is_valid() else [candidate]


@dataclass(frozen=True)
class _Search:
    """The search for smallest inputs on a surface. Each difference has an equal share of the time that is left."""

    evaluator: LocalEvaluator
    surface: Surface
    source: Surface | None
    deadline: Deadline

    def with_smallest(self, layers: Sequence[LayerQuestions], verdicts: Sequence[TargetVerdict]) -> list[TargetVerdict]:
        """Return the verdicts with the smallest inputs of their differences."""
        groups: dict[tuple[Hashable, ...], list[_Difference]] = {}
        for number, (layer, verdict) in enumerate(zip(layers, verdicts, strict=True)):
            for one in _differences_of(number, layer, verdict):
                groups.setdefault(one.group, []).append(one)
        found = list(verdicts)
        for done, differences in enumerate(groups.values()):
            share = self.deadline.seconds_left / (len(groups) - done)
            smallest = self._smallest(min(differences, key=lambda one: one.question.candidate.shrink_key), share)
            for one in differences:
                if smallest is None:
                    break
                own = found[one.number]
                found[one.number] = replace(own, smallest={**own.smallest, one.key: smallest})
        return found

    def _smallest(self, one: _Difference, seconds: float) -> SmallestInput | None:
        if one.result is None:
            return smallest_convention(
                self.evaluator, (self.surface, self.source), one.question.candidate, one.key[1], seconds
            )
        return smallest_result(self.evaluator, self.surface.name, one.starts, one.result, seconds)


def _differences_of(number: int, layer: LayerQuestions, verdict: TargetVerdict) -> Iterator[_Difference]:
    for numbers, result in verdict.differing.items():
        yield _Difference(number, (numbers, ""), layer, result)
    for numbers, one in verdict.conventions.items():
        yield _Difference(number, (numbers, one.convention), layer, None)


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
    answers: dict[str, SurfaceResult] = {}
    conventions: dict[str, ConventionDifference] = {}
    not_compared: dict[str, str] = {}
    for question in layer.questions:
        found = results[_candidate_key(question.candidate)].get(surface.name)
        if found is None:
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


def _verdict_of(answers: Mapping[str, SurfaceResult], other_convention: bool, how: str) -> LayerVerdict:
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
