"""Translate the nodes of a model file: each with its name, and the window operators as programs of other surfaces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from conformance import ConformanceError
from conformance.cases.operators import OPERATORS
from conformance.models.layer import Model, ModelLayer, ModelNode
from conformance.models.rewrites import request_of_layer
from conformance.translation.source.found_layer import GRAPH, FoundLayer, Scope
from conformance.translation.source.layer_translation import MANY_CHANNELS, SMALL_NUMBERS, SourceTranslator
from conformance.translation.source.translated_layer import LayerKind, TranslatedLayer

INDICES = " (indices)"
"""End of the name of the layer that a reader adds for the second result of a node."""
CHANNEL_NUMBERS = (SMALL_NUMBERS[::2], SMALL_NUMBERS[1::2])
"""Numbers in place of numbers of channels, for layers that are too large to become a case."""
MAX_VALUES = 6
"""Number of values that the text of a node names."""


def translate_nodes(model: Model, translator: SourceTranslator) -> list[TranslatedLayer]:
    """Return every node of a model with its translations. A reader that lists no nodes gives the layers only."""
    waiting: dict[str, list[ModelLayer]] = {}
    for layer in model.layers:
        waiting.setdefault(layer.name, []).append(layer)
    nodes = model.nodes or tuple(ModelNode(one.name, one.source or one.operator) for one in model.layers)
    names = tuple(node.name for node in nodes if node.inputs) if model.is_chain else ()
    scope = Scope(GRAPH, _class_name(model.source), len(nodes), calls=names)
    numbered = [
        FoundLayer(scope, node.name, number, node.kind, (), {}, _text(node)) for number, node in enumerate(nodes, 1)
    ]
    return [_translated(found, waiting, translator) for found in numbered]


def _translated(
    found: FoundLayer, waiting: Mapping[str, list[ModelLayer]], translator: SourceTranslator
) -> TranslatedLayer:
    # A node whose second result is read has two layers, of which the first has both results.
    layers = [waiting[name].pop(0) for name in (found.name + INDICES, found.name) if waiting.get(name)]
    if not layers:
        return TranslatedLayer(found, "not a window operator", kind=LayerKind.OTHER)
    return _translated_layer(found, layers[0], translator)


def _translated_layer(found: FoundLayer, layer: ModelLayer, translator: SourceTranslator) -> TranslatedLayer:
    if layer.problem:
        return TranslatedLayer(found, layer.problem, kind=LayerKind.UNTRANSLATED)
    try:
        return translator.translate_request(found, request_of_layer(layer))
    except ConformanceError as error:
        problem = str(error)
    try:
        pairs = [with_few_channels(layer, numbers) for numbers in CHANNEL_NUMBERS]
        requests, numbers = [request_of_layer(one) for one, _ in pairs], [mapping for _, mapping in pairs]
        translated = translator.translate_reduced(found, requests, numbers)
    except ConformanceError:
        translated = None
    return translated or TranslatedLayer(found, problem, kind=LayerKind.UNTRANSLATED)


def with_few_channels(layer: ModelLayer, numbers: Sequence[int]) -> tuple[ModelLayer, Mapping[str, int]]:
    """Return a layer with fewer groups and channels, and the new numbers by the text of those of the layer.

    numbers: for the groups, the input channels of a group, and its output channels.
    """
    operator, groups = OPERATORS[layer.operator], layer.groups
    if not layer.kernel:
        channels = _fewer(layer.shape[1], numbers[1])
        return replace(layer, shape=(1, channels, *layer.shape[2:])), {str(layer.shape[1]): channels}
    own = groups, layer.shape[1] // groups, layer.out_channels // groups
    few_groups, channels, out = map(_fewer, own, (numbers[0], numbers[1], numbers[1 if own[1] == own[2] else 2]))
    kernel = operator.kernel_shape(channels, out, few_groups, layer.kernel[2:])
    small = replace(
        layer,
        shape=(1, channels * few_groups, *layer.shape[2:]),
        kernel=kernel,
        parameters={**layer.parameters, "groups": few_groups},
    )
    pairs = [(groups, few_groups), (layer.shape[1], small.shape[1]), (layer.out_channels, out * few_groups)]
    return small, {str(number): fewer for number, fewer in pairs if number != fewer}


def _fewer(number: int, replacement: int) -> int:
    return replacement if number >= MANY_CHANNELS else number


def _text(node: ModelNode) -> str:
    read = [*node.inputs[:MAX_VALUES], *["…"] * (len(node.inputs) > MAX_VALUES)]
    return f"{node.kind}({', '.join(read)})"


def _class_name(source: str) -> str:
    """Return the name of a class for a model: `resnet-18.onnx` becomes `Resnet18`."""
    words = re.findall(r"[A-Za-z0-9]+", Path(source).stem)
    name = "".join(word[:1].upper() + word[1:] for word in words)
    return name if name[:1].isalpha() else f"Model{name}"
