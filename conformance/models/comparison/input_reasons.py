"""Why the inputs of two layers differ, although the layers before them compute the same.

The numbers of both inputs are compared with each other and with expressions of earlier arrays. The first relation that
explains all numbers is the likely cause.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.cases.arrays import Array
from conformance.models.comparison.dense import flattened_orders
from conformance.models.comparison.expressions import NamedArray, find_expression, is_close, reduced_arrays
from conformance.models.comparison.layers import ModelLayer
from conformance.models.comparison.number_relations import (
    channel_relations,
    epsilon_of,
    exact_relations,
    fit_channels,
)
from conformance.models.comparison.weight_relations import order_text
from conformance.translation.option_text import size_text

SMALL_DIFFERENCE = 1e-2
"""Largest difference, in units of the largest number, that is called small."""


@dataclass(frozen=True)
class InputPair:
    """What two models have computed at one place.

    earlier: the layers of both models before this place, in order; None for a layer without a partner.
    weights: of the source, by name.
    """

    source: Array
    port: Array
    earlier: Sequence[tuple[ModelLayer | None, ModelLayer | None]]
    weights: Mapping[str, Array]

    @property
    def pairs(self) -> Sequence[tuple[ModelLayer, ModelLayer]]:
        """The layers with a partner."""
        return [(one, other) for one, other in self.earlier if one and other]


def input_reasons(pair: InputPair, verb: str = "reads") -> list[str]:
    """Return likely reasons why two arrays differ, as sentences; verb: what the models do with the arrays."""
    if pair.source.shape != pair.port.shape:
        return list(_shape_reasons(pair))
    if not np.array_equal(np.isfinite(pair.source), np.isfinite(pair.port)):
        return [_not_finite_text(pair)]
    if not np.isfinite(pair.source).all():
        return [OTHER_TEXT]
    arrays = [list(_arrays(pair, side)) for side in (0, 1)]
    texts = [find_expression(x, one) for x, one in zip((pair.source, pair.port), arrays, strict=True)]
    is_explained = all(texts) and texts[0] != texts[1]
    relations = [] if is_explained else list(itertools.islice(_relations(pair), 1))
    if texts[0] == texts[1] or relations:
        return relations or [unknown_reason(pair)]
    one, two = (text or "another function of the layers before" for text in texts)
    return [f"The source {verb} {one}; the port {verb} {two}."]


def _shape_reasons(pair: InputPair) -> Iterator[str]:
    one, two = pair.source.shape, pair.port.shape
    yield f"The shape is {size_text(one)} in the source, {size_text(two)} in the port."
    if one[:2] != two[:2] or len(one) != len(two):
        return
    for source, port in reversed(pair.pairs):
        # The layer before has this shape in one model, so that the other one crops or pads.
        if (source.call.result.shape, port.call.result.shape) == (one, two):
            yield f"These are the shapes of the results of layer {source.name}: compare what is cropped after it."
            return
    shared = tuple(slice(0, min(extents)) for extents in zip(one, two, strict=True))
    if is_close(pair.port[shared].astype(np.float64), pair.source[shared].astype(np.float64)):
        yield "The numbers at the same positions are the same: rows are missing at the end."


def _not_finite_text(pair: InputPair) -> str:
    """Return where one model has NaN or infinite numbers and the other has not."""
    other = np.isfinite(pair.source) != np.isfinite(pair.port)
    rows = np.moveaxis(other, 1, 0).reshape(other.shape[1], -1)
    channels = [int(one) for one in np.flatnonzero(rows.all(1))]
    if not channels or rows.any(1).sum() != len(channels):
        return "NaN or infinite numbers are at other positions."
    own = "source" if np.isfinite(pair.port[other]).all() else "port"
    return (
        f"All numbers of the {own} in the channels {order_text(channels)} are NaN or infinite, as with a negative "
        "variance of a normalization."
    )


def _arrays(pair: InputPair, side: int) -> Iterator[NamedArray]:
    """Yield the inputs and results of layers, by the names of the source, and their means if vectors are compared."""
    for one in _plain_arrays(pair.earlier, side):
        yield one
        if pair.source.shape[2:] == (1,):
            yield from reduced_arrays(one, pair.source.shape)


def _plain_arrays(earlier: Sequence[tuple[ModelLayer | None, ModelLayer | None]], side: int) -> Iterator[NamedArray]:
    """Yield the inputs and results of layers, by the names of the source. A result includes its bias."""
    for layers in earlier:
        layer, source = layers[side], layers[0]
        if layer is None:
            continue
        name = source.name if source else f"{layer.name}, which has no partner"
        yield NamedArray(f"the input of {name}", layer.x)
        result, bias = layer.call.result, source.call.inputs.get("bias") if source else None
        if bias is not None and "bias" not in layer.call.inputs:
            yield NamedArray(f"the result of {name} without its bias", result)
            result = result + bias.reshape(-1, *[1] * (result.ndim - 2))
        yield NamedArray(f"the result of {name}", result)


def _relations(pair: InputPair) -> Iterator[str]:
    yield from _flattened_texts(pair)
    yield from exact_relations(pair.source, pair.port)
    normalization = _normalization(pair)
    yield from [normalization] if normalization else []
    yield from channel_relations(pair.source, pair.port)


def _flattened_texts(pair: InputPair) -> Iterator[str]:
    """Yield that one model flattens an array with its channels last."""
    if pair.source.shape[2:] != (1,):
        return
    layers = [layer for pair_of_layers in pair.earlier for layer in pair_of_layers if layer]
    arrays = pair.source.astype(np.float64), pair.port.astype(np.float64)
    for shape, order in flattened_orders(layers, pair.source.shape[1]):
        for one, other, first, last in ((*arrays, "source", "port"), (*arrays[::-1], "port", "source")):
            if is_close(one[:, order], other):
                text = size_text(shape)
                yield f"The {first} flattens {text} numbers with the channels first, the {last} with the channels last."


def _normalization(pair: InputPair) -> str | None:
    """Return the epsilons of a normalization between an earlier layer and this place, by the weights of the source."""
    for layers in reversed(pair.pairs):
        results = [layer.call.result for layer in layers]
        if any(result.shape != pair.source.shape for result in results):
            continue
        source, port = (fit_channels(x, y) for x, y in zip(results, (pair.source, pair.port), strict=True))
        if source is None or port is None:
            continue
        vectors = [one.astype(np.float64) for one in pair.weights.values() if one.shape == source[0].shape]
        for variance, weight in itertools.permutations(vectors, 2):
            one, two = (epsilon_of(factors, variance, weight) for factors, _ in (source, port))
            if one and two and f"{one:.1g}" != f"{two:.1g}":
                return f"The epsilon of a normalization is {one:.1g} in the source, {two:.1g} in the port."
    return None


SMALL_TEXT = (
    "The difference is small: compare the epsilon of normalizations, and approximations of activations, between these "
    "layers."
)
OTHER_TEXT = "The operators between these layers differ. Compare their order, their parameters and their weights."


def unknown_reason(pair: InputPair) -> str:
    """Return what to compare if no reason is found."""
    scale = float(np.abs(pair.source).max(initial=0))
    largest = float(np.abs(pair.source.astype(np.float64) - pair.port).max(initial=0))
    return SMALL_TEXT if largest <= SMALL_DIFFERENCE * scale else OTHER_TEXT


def is_known(reasons: Sequence[str]) -> bool:
    """Whether one of the reasons explains the difference."""
    return not {SMALL_TEXT, OTHER_TEXT} & {*reasons}


def with_missing_layers(missing: Sequence[str], reasons: Sequence[str]) -> list[str]:
    """Return layers without a partner before other reasons, which count only if they say more."""
    return [*missing, *(one for one in reasons if not missing or one != OTHER_TEXT)]
