"""Check the layers of a model on a backend: run each on the surfaces and judge it like a case of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from conformance.adapters.api import Declaration, Surface
from conformance.cases.case import Case
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import declaration_for, reference_answer
from conformance.exploration.evaluation import NEW_STATUSES, LocalEvaluator, SurfaceResult, make_requests
from conformance.exploration.finding_conditions import CORRECT_STATUSES
from conformance.exploration.oracles import ReferenceOracle
from conformance.models.geometry import checked_layer
from conformance.models.layer import Model, ModelLayer
from conformance.models.named_padding import size_note
from conformance.models.padded_layers import ONE_CALL_NOTE, one_call_questions
from conformance.models.questions import NORM, Question, candidate_in_effect, questions_of
from conformance.models.search import SmallestSearch
from conformance.models.smallest import Deadline
from conformance.models.source_framework import SourceFramework
from conformance.models.verdicts import ConventionDifference, LayerQuestions, TargetVerdict
from conformance.translation.single_call import bias_limitation, find_single_call
from reports.results.audits import LayerVerdict
from reports.results.vocabulary import How, Status

COMPARED_STATUSES = CORRECT_STATUSES | {Status.FAIL, Status.KNOWN}
"""Statuses of results that the target returned."""
BIAS_NOTE = "one call, and the bias is added after it"
BATCH_SIZE = 16
"""Number of questions that are evaluated together, between two calls of the progress callback."""


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
    source: SourceFramework | None,
    shrink_seconds: float = 0.0,
    progress: Callable[[str], None] = lambda _text: None,
) -> list[Mapping[str, TargetVerdict]]:
    """Return the verdicts of each layer by the name of the surface. Equal questions of layers are run once.

    source: the framework of the model, None if it is not known. shrink_seconds: the time in which the smallest inputs
    are searched for on each surface; 0 for none.
    """
    layers_of = {one.name: [_with_single_call(layer, one) for layer in layers] for one in evaluator.backend.surfaces}
    every = [question for some in layers_of.values() for one in some for question in one.questions]
    candidates = {_candidate_key(one.candidate): one.candidate for one in every}
    results: dict[str, Mapping[str, SurfaceResult]] = {}
    keys, names = list(candidates), ", ".join(layers_of)
    for start in range(0, len(keys), BATCH_SIZE):
        batch = keys[start : start + BATCH_SIZE]
        found = evaluator.evaluate(
            make_requests(ReferenceOracle(adds_records=True), [candidates[key] for key in batch])
        )
        for key, result in zip(batch, found, strict=True):
            results[key] = {one.surface: one for one in result.surface_results}
        progress(f"{names}: {min(start + BATCH_SIZE, len(keys)):,} of {len(keys):,} inputs checked")
    found_on, origin = {}, source.surface if source else None
    for surface in evaluator.backend.surfaces:
        own = layers_of[surface.name]
        verdicts = [_verdict(one, results, surface, origin) for one in own]
        if source:
            cpu = evaluator.pool.environment["cpu"]
            pairs = zip(verdicts, layers, strict=True)
            verdicts = [_with_source_deviations(source, cpu, surface, verdict, layer) for verdict, layer in pairs]
        progress(f"{surface.name}: searching for the smallest inputs")
        search = SmallestSearch(evaluator, surface, origin, Deadline(shrink_seconds))
        found_on[surface.name] = search.with_smallest(own, verdicts) if shrink_seconds > 0 else verdicts
    return [{name: verdicts[number] for name, verdicts in found_on.items()} for number in range(len(layers))]


def _with_single_call(layer: LayerQuestions, surface: Surface) -> LayerQuestions:
    """Return a layer with the parameters of the one call that a surface has for this input size, if it has one.

    A padding that a surface has in the call of the convolution after it is checked with this convolution. A call whose
    padding is that of this size is noted too if the surface takes the parameters as they are.
    """
    if not layer.questions:
        return layer
    together = one_call_questions(layer.layers[0], surface)
    if together:
        return replace(layer, questions=together, single_call=ONE_CALL_NOTE)
    case = layer.questions[0].candidate.case
    found = find_single_call(case, surface)
    if found is None:
        return layer
    questions = layer.questions
    if found.case is not case:
        questions = tuple(replace(one, candidate=candidate_in_effect(one.candidate)) for one in questions)
    return replace(layer, questions=questions, single_call=found.note)


def _with_source_deviations(
    source: SourceFramework, cpu: Collection[str], surface: Surface, verdict: TargetVerdict, layer: LayerQuestions
) -> TargetVerdict:
    """Return a verdict with what the model's framework is known to compute otherwise than the reference.

    layer: with the parameters of the model, also if the target has a call for this input size.
    """
    cases: Mapping[str, Case] = {one.numbers: one.candidate.case for one in layer.questions}
    found = {}
    for numbers, result in verdict.results.items():
        is_compared = numbers in cases and result.status in COMPARED_STATUSES
        entry = source.deviation(cases[numbers], cpu) if is_compared else None
        # A target of the same framework that agrees shows that the entry does not apply to this case.
        is_shown_wrong = entry and result.status in CORRECT_STATUSES and entry.matches_surface(surface.name)
        if entry and not is_shown_wrong and surface.name != source.surface.name:
            found[numbers] = entry
    is_better = verdict.verdict in {LayerVerdict.SAME, LayerVerdict.REWRITE}
    return replace(
        verdict, source_deviations=found, verdict=LayerVerdict.EXPLAINED if found and is_better else verdict.verdict
    )


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
    # A bias that is added after the call is no rewrite; otherwise these would hide the others.
    added = bias_limitation(layer.questions[0].candidate.case, surface) if first.how == How.COMPOSED else ""
    how = How.NATIVE if added else first.how
    reason = f"{BIAS_NOTE}: {added}" if added else layer.single_call
    note = size_note(layer.layers[0], surface)
    if layer.layers[0].computed_padding and not added:
        reason = ""  # a call with the word is right for every size, and one with numbers has its own note
    verdict = _verdict_of(answers, bool(conventions), how)
    return TargetVerdict(verdict, how, reason, answers, conventions, not_compared, size_note=note)


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
        declared, own = (_declaration(one, convention, question.candidate) for one in (surface, source))
        mine = own.summary if own else reference_answer(convention)
        # A surface without a call for norms has no answer of its own: its program takes absolute values.
        is_composed = declared is None and question.candidate.operator == NORM
        other = declared.summary if declared else reference_answer(convention) if is_composed else mine
        if other != mine:
            yield ConventionDifference(convention, mine, other)


def _declaration(surface: Surface | None, convention: str, candidate: Candidate) -> Declaration | None:
    found = surface.declarations.get(convention) if surface else None
    return declaration_for(found, convention, candidate) if found else None
