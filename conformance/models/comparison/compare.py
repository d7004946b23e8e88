"""Compare a model with its port, layer by layer.

Each layer of the port is judged by the exact result of the source's layer for the input that the port's layer has
received. Its error bound is proved, so no tolerance is chosen, and an error of an earlier layer has no influence.

Where a layer reads the result of the layer before it unchanged, in both models, its input agrees by proof: the layer
before it computes the same function within its error bound. This also applies to the results of the models.

Between other layers run operators that the reference does not know. There, the input of a layer is compared with that
of the source's layer. The limit is measured, not proved: NOISE_FACTOR times the change of this input when the input of
the source model changes by one rounding error, plus the rounding of the largest number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from conformance.cases.arrays import Array
from conformance.judging.verdict import OutcomeVerdict
from conformance.models.comparison.alignment import AlignedLayers, align_layers
from conformance.models.comparison.dense import with_dense_of_both, with_order_of
from conformance.models.comparison.input_reasons import (
    InputPair,
    input_reasons,
    is_known,
    with_missing_layers,
)
from conformance.models.comparison.judgement import (
    array_difference,
    computes_itself,
    cropped_layer,
    judge_channels,
    judge_layer,
    noise_limit,
)
from conformance.models.comparison.layers import ModelLayer, find_layers, find_readers
from conformance.models.comparison.merging import merge_parts
from conformance.models.comparison.reasons import layer_reasons
from conformance.models.comparison.recording import RecordedModel, RecordedRun
from conformance.models.comparison.result_reasons import result_reasons
from conformance.models.comparison.written_padding import with_written_padding
from reports.results.vocabulary import DifferenceKind, Verdict

MAX_PROVED_TERMS = 50_000_000
"""Number of terms up to which all elements of a layer are computed to prove that the next layer's inputs agree."""


class Place(Enum):
    """Where two models differ."""

    BETWEEN = "between layers"
    LAYER = "layer"
    RESULT = "result of the model"


@dataclass(frozen=True)
class LayerComparison:
    """A layer of the source and its counterpart, for one input of the models.

    verdict: on the result of the port's layer, by the exact result of the source's layer for the same input.
    input_difference: the largest difference of the inputs of the two layers, and input_limit its limit.
    agrees_later: whether the results differ, and the input of the layer that reads them agrees: a crop after the layer,
    or a layer and the operators after it as one, such as a normalization in the weights of a convolution. After an
    earlier difference, this input is compared with the exact result of the source's layer for the port's input.
    input_is_proved: whether the inputs agree by proof, so that the limit does not count.
    is_rewritten: whether the inputs have other shapes, and the results or the input of the layer that reads the result
    agree: the layer is a part of another way to compute it, and was not compared.
    input_agrees_later: whether the inputs differ, and the results or the input of the layer that reads the result
    agree: the order of the layer and of an operator after it is another one, such as ReLU before a maximum.
    is_cropped: whether the result of the port's layer has more cells, and what reads it has as many as in the source.
    The layer is then judged without them.
    """

    source: ModelLayer
    port: ModelLayer
    verdict: OutcomeVerdict
    input_difference: float
    input_limit: float
    agrees_later: bool = False
    input_is_proved: bool = False
    is_rewritten: bool = False
    input_agrees_later: bool = False
    is_cropped: bool = False

    @property
    def agrees(self) -> bool:
        """Whether the port's layer computes what the source's layer computes, or it was not compared."""
        return self.verdict.verdict == Verdict.AGREE or self.agrees_later or self.is_rewritten

    @property
    def input_agrees(self) -> bool:
        """Whether the inputs differ no more than rounding explains."""
        is_equal = self.input_is_proved or self.input_difference <= self.input_limit
        return is_equal or self.is_rewritten or self.input_agrees_later


@dataclass(frozen=True)
class FirstDifference:
    """The first place at which two models differ.

    layer: the comparison of the layer that differs, or of the layer whose input differs; None for the results.
    after: the layer before it. reasons: what differs in the parameters or weights of the layer, or between two layers.
    missing: the layer without a partner at this place, if it is the only one.
    """

    place: Place
    layer: LayerComparison | None = None
    after: str = ""
    reasons: Sequence[str] = ()
    difference: float = 0.0
    limit: float = 0.0
    missing: str = ""


@dataclass(frozen=True)
class RunComparison:
    """The comparison of two models for one input.

    kind: the name of the input. results_are_proved: whether the results agree by proof.
    """

    kind: str
    layers: Sequence[LayerComparison]
    aligned: AlignedLayers
    first: FirstDifference | None
    results_are_proved: bool = False


def compare_models(
    source: RecordedModel,
    port: RecordedModel,
    kinds: Sequence[str],
    progress: Callable[[str], None] = lambda _text: None,
) -> list[RunComparison]:
    """Compare the runs of two models; kinds: the name of each input."""
    found = []
    for kind, one, other in zip(kinds, source.runs, port.runs, strict=True):
        progress(f"comparing the layers for {kind}")
        found.append(_compare_runs(kind, one, other, source.weights))
    return found


def _compare_runs(kind: str, source: RecordedRun, port: RecordedRun, weights: Mapping[str, Array]) -> RunComparison:
    source, port = with_dense_of_both(source, port)
    source, port = merge_parts(source, port), merge_parts(port, source)
    aligned = with_order_of(align_layers(find_layers(source.calls), find_layers(port.calls)))
    compared = [_compare_layers(one, other, source, port) for one, other in aligned.pairs]
    layers = _with_proved_inputs(compared, source, port)
    proved = _results_are_proved(layers, source, port)
    # The input of the layer that reads the result of each layer, or the results of the model.
    readers = find_readers([layer.source for layer in layers])
    results_agree = proved or not any(_result_differences(source, port))
    readings = [None if reader is None else layers[reader] for reader in readers]
    without = [layer for _, layer in aligned.only_in_source]
    layers = [
        _with_later_agreement(layer, reader, results_agree if reader is None else reader.input_agrees, without)
        for layer, reader in zip(layers, readings, strict=True)
    ]
    first = next(_differences(layers, aligned, source, port, weights, results_are_proved=proved), None)
    return RunComparison(kind, layers, aligned, first, proved)


def _with_later_agreement(
    layer: LayerComparison, reader: LayerComparison | None, later: bool, without_partner: Sequence[ModelLayer]
) -> LayerComparison:
    """Return a layer with whether a difference of it has no effect.

    reader: the layer that reads its result, None for the results of the models. later: whether what is read agrees.
    without_partner: the layers of the source that have none.
    """
    cropped = cropped_layer(layer.source, layer.port) if layer.verdict.kind is DifferenceKind.SHAPE else None
    if cropped and reader and reader.port.x.shape[2:] == cropped.call.result.shape[2:]:
        layer = replace(layer, port=cropped, verdict=judge_layer(layer.source, cropped), is_cropped=True)
    source, port = layer.source.call, layer.port.call
    is_equal = array_difference(source.result, port.result) <= noise_limit(source.result, source.result_noise)
    agrees = later or is_equal
    differs = layer.verdict.verdict != Verdict.AGREE
    return replace(
        layer,
        agrees_later=differs and (later or (reader is not None and _is_read_as_exact(layer, reader, without_partner))),
        is_rewritten=agrees and layer.source.x.shape != layer.port.x.shape,
        input_agrees_later=agrees and not layer.input_agrees and computes_itself(layer.source),
    )


def _is_read_as_exact(layer: LayerComparison, reader: LayerComparison, without_partner: Sequence[ModelLayer]) -> bool:
    """Whether the port reads after a layer what the source's layer computes for the port's input, but for rounding.

    The operators after the port's layer are then a part of it. The reader of the source reads the result unchanged, or
    that of layers after it without a partner, which the port writes in another way too.
    """
    chain = [layer.source]
    for one in without_partner:
        if not _is_same(reader.source.x, chain[-1].call.result) and _is_same(one.x, chain[-1].call.result):
            chain.append(one)
    if not _is_same(reader.source.x, chain[-1].call.result) or max(map(_terms, chain)) > MAX_PROVED_TERMS:
        return False
    exact = layer.port.x
    try:
        for one in chain:
            exact = one.expected(exact).value
    except (ValueError, TypeError, IndexError):
        return False
    return array_difference(exact, reader.port.x) <= noise_limit(exact, 0.0)


def _with_proved_inputs(
    layers: Sequence[LayerComparison], source: RecordedRun, port: RecordedRun
) -> list[LayerComparison]:
    """Return the layers with whether their inputs agree by proof."""
    found: list[LayerComparison] = []
    for layer in layers:
        before = found[-1] if found else None
        reads = before is not None and all(
            _is_same(side.x, previous.call.result) and _is_next(side, previous, run)
            for side, previous, run in (
                (layer.source, before.source, source),
                (layer.port, before.port, port),
            )
        )
        is_proved = bool(reads and before and _proves(before)) or layer.input_difference == 0
        found.append(replace(layer, input_is_proved=is_proved))
    return found


def _proves(layer: LayerComparison) -> bool:
    """Whether the results of two layers agree by proof.

    The inputs agree, and all elements of both results are within the bound of the same function.
    """
    source, port = layer.source, layer.port
    if not layer.input_is_proved or layer.verdict.verdict != Verdict.AGREE or source.with_bias_of(port) is not source:
        return False
    if _terms(source) > MAX_PROVED_TERMS:
        return False
    try:
        verdicts = [judge_channels(source, one.x, one.call.result, None) for one in (source, port)]
    except (ValueError, TypeError, IndexError):
        return False
    return all(one.verdict == Verdict.AGREE for one in verdicts)


def _terms(layer: ModelLayer) -> int:
    """Return the number of terms of the result of a layer."""
    kernel = layer.call.inputs.get("kernel")
    window = layer.call.parameters.get("window", (1,))
    return layer.call.result.size * int(np.prod(kernel.shape[1:] if kernel is not None else window))


def _is_next(layer: ModelLayer, previous: ModelLayer, run: RecordedRun) -> bool:
    """Whether no other call is between two layers of a run, but the padding of the second one."""
    calls = [id(call) for call in run.calls]
    # A pad of some channels is not a call of the run.
    return id(previous.call) in calls and id(layer.first_call) in calls[calls.index(id(previous.call)) + 1 :][:1]


def _results_are_proved(layers: Sequence[LayerComparison], source: RecordedRun, port: RecordedRun) -> bool:
    """Whether each model returns the result of its last layer unchanged, and these agree by proof."""
    if not layers or not _proves(layers[-1]) or len(source.results) != 1 or len(port.results) != 1:
        return False
    one, other = (side.call.shaped_result for side in (layers[-1].source, layers[-1].port))
    return _is_same(source.results[0], one) and _is_same(_in_layout_of(other, port.results[0]), other)


def _is_same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _differences(
    layers: Sequence[LayerComparison],
    aligned: AlignedLayers,
    source: RecordedRun,
    port: RecordedRun,
    weights: Mapping[str, Array],
    *,
    results_are_proved: bool,
) -> Iterator[FirstDifference]:
    """Yield the differences in the order of the layers. After the first one, other inputs differ as a consequence."""
    after = "the input"
    for number, layer in enumerate(layers):
        if not layer.input_agrees:
            pair = InputPair(layer.source.x, layer.port.x, _layers_before(layers, aligned, number), weights)
            reasons = with_missing_layers(list(_without_partner(aligned, number)), input_reasons(pair))
            size = layer.input_difference, layer.input_limit
            yield FirstDifference(Place.BETWEEN, layer, after, reasons, *size, _missing(aligned, number))
        if not layer.agrees:
            others = [other.source for other in layers if other is not layer]
            yield FirstDifference(Place.LAYER, layer, after, layer_reasons(layer.source, layer.port, others))
        after = layer.source.name
    without = list(_without_partner(aligned, len(layers)))
    if len(source.results) != len(port.results):
        reason = f"{len(source.results)} and {len(port.results)} results"
        yield FirstDifference(Place.RESULT, None, after, (reason, *without))
    before = _layers_before(layers, aligned, len(layers))
    for one, other, difference, limit in () if results_are_proved else _result_differences(source, port):
        reasons = result_reasons(InputPair(one, other, before, weights))
        missing = "" if is_known(reasons) else _missing(aligned, len(layers))
        reasons = with_missing_layers(without, reasons)
        yield FirstDifference(Place.RESULT, None, after, reasons, difference, limit, missing)


def _layers_before(
    layers: Sequence[LayerComparison], aligned: AlignedLayers, count: int
) -> list[tuple[ModelLayer | None, ModelLayer | None]]:
    """Return the layers before a pair, those without a partner among them."""
    found: list[tuple[ModelLayer | None, ModelLayer | None]] = []
    for number in range(count + 1):
        found += [(layer, None) for position, layer in aligned.only_in_source if position == number]
        found += [(None, layer) for position, layer in aligned.only_in_port if position == number]
        found += [(layer.source, layer.port) for layer in layers[number : number + 1] if number < count]
    return found


def _missing(aligned: AlignedLayers, position: int) -> str:
    """Return the layer without a partner directly before a pair, "" if there is none or there are several."""
    found = [text for number, text in _texts_without_partner(aligned) if number == position]
    return found[0] if len(found) == 1 else ""


def _without_partner(aligned: AlignedLayers, position: int) -> Iterator[str]:
    """Yield the layers without a partner before a pair. Any of them may be the reason: it may be in another branch."""
    yield from (text for number, text in _texts_without_partner(aligned) if number <= position)


def _texts_without_partner(aligned: AlignedLayers) -> Iterator[tuple[int, str]]:
    for own, other, layers in (
        ("source", "port", aligned.only_in_source),
        ("port", "source", aligned.only_in_port),
    ):
        for number, layer in layers:
            yield number, f"layer {layer.name} of the {own} has no partner in the {other}"


def _result_differences(source: RecordedRun, port: RecordedRun) -> Iterator[tuple[Array, Array, float, float]]:
    """Yield each result of the models that differs, in the layout of the source, with the difference and its limit."""
    for one, result, noise in zip(source.results, port.results, source.noise, strict=False):
        other = _in_layout_of(one, result)
        difference, limit = array_difference(one, other), noise_limit(one, noise)
        if difference > limit:
            yield one, other, difference, limit


def _compare_layers(
    source: ModelLayer, port: ModelLayer, source_run: RecordedRun, port_run: RecordedRun
) -> LayerComparison:
    source, port = _padded(source, port, source_run), _padded(port, source, port_run)
    difference = array_difference(source.x, port.x)
    limit = noise_limit(source.x, source.input_noise)
    return LayerComparison(source, port, judge_layer(source, port), difference, limit)


def _padded(layer: ModelLayer, other: ModelLayer, run: RecordedRun) -> ModelLayer:
    """Return a layer with the padding that its model writes before it. Cells computed by a layer are no padding."""
    if layer.x.shape == other.x.shape or any(_is_same(layer.x, call.result) for call in run.calls):
        return layer
    return with_written_padding(layer, other)


def _in_layout_of(one: Array, other: Array) -> Array:
    """Return a result with its channels moved to the second axis if that gives the shape of the other model's."""
    moved = np.moveaxis(other, -1, 1) if other.ndim > 2 else other  # noqa: PLR2004 - batch, channels, space
    return moved if one.shape != other.shape and one.shape == moved.shape else other
