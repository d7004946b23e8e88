"""The record of an audit: what its JSON file contains and its pages show."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from conformance.cases.steps import case_step
from conformance.execution.records import case_record, recorded_array
from conformance.exploration.evaluation import SurfaceResult
from conformance.judging.expected import Expected
from conformance.models.other_layers import other_layer_notes
from conformance.models.questions import Numbers
from conformance.models.rewrites import Programs
from conformance.models.smallest import SmallestInput
from conformance.models.verdicts import Audit, AuditedLayer, TargetVerdict
from conformance.translation.call_text import call_text
from reports.analysis.audits import one_line
from reports.results.audits import (
    AUDIT_FORMAT,
    AuditedLayerRecord,
    AuditRecord,
    AuditTargetRecord,
    LayerDifferenceRecord,
    LayerVerdict,
    SmallestRecord,
    TargetVerdictRecord,
)


def audit_record(audit: Audit, started: str = "", programs: Programs = MappingProxyType({})) -> AuditRecord:
    """Return the record of an audit; started: the time as in a results file. programs: what to write for layers."""
    targets = (
        AuditTargetRecord(
            surface=name, version=audit.versions.get(name, ""), seconds=round(audit.seconds.get(name, 0.0), 1)
        )
        for name in audit.targets
    )
    layers = (_layer_record(one, number, audit.model.surface, programs) for number, one in enumerate(audit.layers))
    return AuditRecord(
        format=AUDIT_FORMAT,
        model=audit.model.source,
        surface=audit.model.surface,
        started=started,
        targets=tuple(targets),
        layers=tuple(layers),
        others=dict(audit.model.others),
        other_notes=tuple(other_layer_notes(audit.model, audit.targets)),
    )


def _layer_record(one: AuditedLayer, number: int, source: str, programs: Programs) -> AuditedLayerRecord:
    layer, checked = one.layer, one.checked
    return AuditedLayerRecord(
        names=tuple(layer.name for layer in one.layers),
        text=layer.text,
        operator=layer.operator,
        parameters=_parameters(one),
        shape=layer.shape,
        kernel=layer.kernel,
        output=_output_shape(one),
        dtype=layer.dtype if layer.operator else "",
        problem=one.problem,
        note=checked.note if checked else "",
        checked_shape=checked.layer.shape if checked else (),
        verdicts={
            name: _verdict_record(verdict, name, source, programs.get((number, name), ""))
            for name, verdict in one.verdicts.items()
        },
    )


def _parameters(one: AuditedLayer) -> dict[str, Any]:
    """Return the parameters of a layer as in a case, with its own groups: it may have been checked with fewer."""
    found = dict(one.case.parameters if one.case else one.layer.parameters)
    return {**found, "groups": one.layer.groups} if "groups" in found else found


def _output_shape(one: AuditedLayer) -> tuple[int, ...]:
    """Return the shape of the result of a layer, which has the spatial extents of the case if nothing was shortened."""
    if one.case is None or (one.checked and one.checked.note):
        return ()
    return (1, one.layer.out_channels, *case_step(one.case).output[2:])


def _verdict_record(verdict: TargetVerdict, target: str, source: str, program: str) -> TargetVerdictRecord:
    return TargetVerdictRecord(
        verdict=verdict.verdict,
        how=str(verdict.how),
        reason=verdict.reason,
        numbers=tuple(map(str, verdict.results)),
        differences=(*_differences(verdict, target), *_source_differences(verdict, source)),
        not_compared={str(name): reason for name, reason in verdict.not_compared.items()},
        program=program,
        size_note=verdict.size_note,
    )


def _differences(verdict: TargetVerdict, target: str) -> Iterator[LayerDifferenceRecord]:
    for numbers, result in verdict.differing.items():
        record = result.record
        worst = record.worst if record else None
        reason, issue = (record.reason or "", record.issue or "") if record else ("", "")
        why = f"{one_line(reason)}{f' ({issue})' if issue else ''}" if reason else _description(result)
        yield LayerDifferenceRecord(
            numbers=str(numbers),
            verdict=LayerVerdict.EXPLAINED if reason else LayerVerdict.DIFFERS,
            text=f"{_when(numbers)}: {why}",
            status=result.status,
            index=tuple(worst.index) if worst else None,
            got=worst.got if worst else None,
            expected=worst.expected if worst else None,
            budget_used=record.budget_used if record else None,
            reason=reason,
            issue=issue,
            message=_whole_message(result),
            smallest=_smallest_record(verdict.smallest.get((numbers, ""))),
        )
    for numbers, one in verdict.conventions.items():
        answers = f"the model's framework answers {one.source_answer!r}, {target} {one.target_answer!r}"
        yield LayerDifferenceRecord(
            numbers=str(numbers),
            verdict=LayerVerdict.EXPLAINED,
            text=f"{_when(numbers)}: convention {one.convention}: {answers}",
            convention=one.convention,
            smallest=_smallest_record(verdict.smallest.get((numbers, one.convention))),
        )


def _source_differences(verdict: TargetVerdict, source: str) -> Iterator[LayerDifferenceRecord]:
    """Yield the known deviations of the model's framework, each once with all numbers for which it applies."""
    groups: dict[tuple[str, bool], list[str]] = {}
    for numbers, entry in verdict.source_deviations.items():
        groups.setdefault((entry.id, numbers in verdict.differing), []).append(numbers)
    entries = {entry.id: entry for entry in verdict.source_deviations.values()}
    for (name, differs), found in groups.items():
        entry, numbers = entries[name], ", ".join(map(str, found))
        issue = f" ({entry.issue})" if entry.issue else ""
        agrees = "the reference, too" if differs else "the reference, with which the target agrees"
        yield LayerDifferenceRecord(
            numbers=numbers,
            verdict=LayerVerdict.EXPLAINED,
            text=f"for {numbers}: {source}, the model's framework, is known to differ from {agrees}: "
            f"{one_line(entry.reason)}{issue}",
            reason=entry.reason,
            issue=entry.issue or "",
            is_of_source=True,
        )


def _when(numbers: str) -> str:
    return {Numbers.OWN_WEIGHTS: "for the weights of the model"}.get(Numbers(numbers), f"for {numbers}")


def _description(result: SurfaceResult) -> str:
    """Return how a result differs."""
    if result.symptom is None:
        return one_line(result.message or str(result.status))
    return one_line(result.symptom.description_with(result.message))


def _whole_message(result: SurfaceResult) -> str:
    """Return the message of a rejected call or a crash, of which the description has the beginning; "" for numbers."""
    has_message = result.symptom is not None and result.symptom.detail is not None
    return one_line(result.message) if has_message else ""


def _smallest_record(smallest: SmallestInput | None) -> SmallestRecord | None:
    if smallest is None:
        return None
    case = smallest.case
    inputs = {name: spec.make() for name, spec in case.inputs.items()}
    kernel = inputs["kernel"].shape if "kernel" in inputs else ()
    return SmallestRecord(
        case=case_record(case, Expected(inputs, smallest.expected)),
        text=", ".join(filter(None, [case.operator, call_text(case.operator, case.parameters, kernel)])),
        got=None if smallest.got is None else recorded_array(smallest.got),
        message=smallest.message,
        program=smallest.program,
        case_text=smallest.case_text,
        is_minimal=smallest.is_minimal,
        from_catalogue=smallest.from_catalogue,
    )
