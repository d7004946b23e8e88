"""Which layers of two models belong together: a sequence alignment of their known properties.

Two layers can only belong together if they compute the same kind of result. Each further property that they share adds
to the score of the pair: equal weights most, then the words of their names, the shape of the window, the parameters and
the shape of the result. The alignment is the order-preserving set of pairs with the largest sum of scores. A layer that
is missing in one model therefore has no partner, and does not shift the pairs after it. Layers that run in another
order, such as the branches of a block, are paired afterwards if their weights or their names are equal, and poolings if
their windows and strides are.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.cases.arrays import Array
from conformance.models.comparison.layers import ModelLayer

FAMILY_SCORE = 2
"""Score of a pair of layers that share only what they compute."""
NAME_SCORE = 4
"""Score of equal names. Names that share some words have a part of it."""
AUTOMATIC_NAME = re.compile(r"\b([A-Z]\w*?)_(\d+)(?!\w)")
"""A name that some frameworks give a layer: its class and a number from 0, such as Conv_0."""
DIMENSIONS = re.compile(r"(?<=[a-z])[123]d(?![a-z])")
"""The dimensions in the name of a class, such as conv2d, which are no number of a layer."""


@dataclass(frozen=True)
class AlignedLayers:
    """Layers of two models that belong together, in the order of the source, and those without a partner.

    only_in_source, only_in_port: with the number of pairs before each layer.
    earlier_in_port: layers of the source that run earlier in the port, each with the layer before which it runs there.
    """

    pairs: Sequence[tuple[ModelLayer, ModelLayer]]
    only_in_source: Sequence[tuple[int, ModelLayer]]
    only_in_port: Sequence[tuple[int, ModelLayer]]
    earlier_in_port: Sequence[tuple[ModelLayer, ModelLayer]] = ()


def align_layers(source: Sequence[ModelLayer], port: Sequence[ModelLayer]) -> AlignedLayers:
    """Return the alignment of the layers of two models."""
    best = list(_best_pairs(pair_scores(source, port)))
    ordered = [pair for pair in best if not _is_misplaced(pair, source, port, best)]
    pairs = sorted([*ordered, *_reordered_pairs(source, port, ordered)])
    pairs = sorted([*pairs, *_pairs_of_poolings(source, port, pairs)])
    return AlignedLayers(
        [(source[first], port[second]) for first, second in pairs],
        list(_without_partner(source, [first for first, _ in pairs])),
        list(_without_partner(port, [second for _, second in pairs])),
        [(source[first], source[other]) for first, other in _earlier_layers(pairs)],
    )


def _earlier_layers(pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the first layer of each pair that runs earlier in the other model, and the one that it overtakes."""
    last = (-1, -1)
    for pair in pairs:
        if pair[1] < last[1]:
            yield pair[0], last[0]
        else:
            last = pair


def _without_partner(layers: Sequence[ModelLayer], paired: Sequence[int]) -> Iterator[tuple[int, ModelLayer]]:
    for index, layer in enumerate(layers):
        if index not in paired:
            before = [number + 1 for number, other in enumerate(paired) if other < index]
            yield max(before, default=0), layer


def name_words(name: str) -> tuple[str, ...]:
    """Return the words and numbers of a name: layer1.0.conv1, layer1_0_conv1 and layer1/0/Conv_0 have the same."""
    counted = AUTOMATIC_NAME.sub(lambda found: f"{found[1]}_{int(found[2]) + 1}", name)
    return tuple(re.findall(r"[a-z]+|\d+", DIMENSIONS.sub("", counted.lower())))


def _weights(layer: ModelLayer) -> Hashable:
    kernel = layer.call.inputs.get("kernel")
    return None if kernel is None else (kernel.shape, hashlib.blake2b(np.ascontiguousarray(kernel).data).digest())


def _window(layer: ModelLayer) -> Hashable:
    kernel = layer.call.inputs.get("kernel")
    return layer.call.parameters.get("window") if kernel is None else kernel.shape


def _parameters(layer: ModelLayer) -> Hashable:
    return repr(sorted((name, repr(value)) for name, value in layer.call.parameters.items()))


PROPERTIES: Mapping[Callable[[ModelLayer], Hashable], int] = {
    _weights: 8,
    _window: 3,
    _parameters: 1,
    lambda layer: layer.call.operator: 1,
    lambda layer: layer.call.result.shape[1:]: 1,
}
"""Properties of a layer, and the score of two layers that share one. None is not shared."""


def pair_scores(source: Sequence[ModelLayer], port: Sequence[ModelLayer]) -> Array:
    """Return the score of each pair of layers, an array (source, port). It is 0 if they cannot belong together."""
    scores = FAMILY_SCORE + NAME_SCORE * _name_similarity([one.name for one in source], [one.name for one in port])
    for property_of, score in PROPERTIES.items():
        scores += score * _is_equal(*([property_of(layer) for layer in layers] for layers in (source, port)))
    return scores * _is_equal([one.family for one in source], [one.family for one in port])


def _is_equal(source: Sequence[Hashable], port: Sequence[Hashable]) -> Array:
    numbers = {value: number for number, value in enumerate(dict.fromkeys([*source, *port]))}
    one, other = (np.array([numbers[value] for value in values], np.int64) for values in (source, port))
    found: Array = (one[:, None] == other) & (one != numbers.get(None, -1))[:, None]
    return found


def _name_similarity(source: Sequence[str], port: Sequence[str]) -> Array:
    """Return the share of common pairs of neighbouring words of each two names, from 0 to 1."""
    pairs = [
        [{*zip(("", *words), words, strict=False)} for words in map(name_words, names)] for names in (source, port)
    ]
    known = {pair: column for column, pair in enumerate({pair for side in pairs for one in side for pair in one})}
    has = [np.zeros((len(side), len(known)), np.float32) for side in pairs]
    for side, table in zip(pairs, has, strict=True):
        for row, own in zip(table, side, strict=True):
            row[[known[pair] for pair in own]] = 1
    with np.errstate(invalid="ignore"):  # on some processors, a product of ones and zeros sets the flag of NaN
        common = has[0] @ has[1].T
    either = has[0].sum(1)[:, None] + has[1].sum(1) - common
    similarity: Array = common / np.maximum(either, 1)
    return similarity


def _best_pairs(scores: Array) -> Iterator[tuple[int, int]]:
    """Yield the order-preserving pairs with the largest sum of scores, the last pair first (Needleman and Wunsch)."""
    best = np.zeros((scores.shape[0] + 1, scores.shape[1] + 1), np.float32)
    for row, own in enumerate(scores):
        best[row + 1, 1:] = np.maximum.accumulate(np.maximum(best[row, 1:], best[row, :-1] + own))
    row, column = scores.shape
    while row and column:
        if best[row, column] == best[row - 1, column]:
            row -= 1
        elif best[row, column] == best[row, column - 1]:
            column -= 1
        else:
            row, column = row - 1, column - 1
            yield row, column


def _is_misplaced(
    pair: tuple[int, int], source: Sequence[ModelLayer], port: Sequence[ModelLayer], pairs: Sequence[tuple[int, int]]
) -> bool:
    """Whether the weights of the source's layer of a pair are those of another layer of the port, in another branch.

    Exchanged weights are a mistake, and no other order: the layers then have the same shape, and read each other.
    """
    first, second = source[pair[0]], port[pair[1]]
    weights = _weights(first)
    if weights is None or weights == _weights(second):
        return False
    for number, other in enumerate(port):
        if _window(other) == _window(first) and _weights(other) == weights:
            partner = next((source[one] for one, two in pairs if two == number), None)
            is_branch = partner is not None and np.array_equal(partner.x, first.x)
            return _window(second) != _window(first) or _has_name_of(first, other) or is_branch
    return False


def _has_name_of(layer: ModelLayer, other: ModelLayer) -> bool:
    return bool(layer.call.name) and _named(layer) == _named(other)


def _named(layer: ModelLayer) -> Hashable:
    return (layer.family, name_words(layer.call.name)) if layer.call.name else None


def _pooling(layer: ModelLayer) -> Hashable:
    if "kernel" in layer.call.inputs:
        return None
    return layer.family, layer.call.parameters.get("window"), layer.call.parameters.get("stride")


def _reordered_pairs(
    source: Sequence[ModelLayer], port: Sequence[ModelLayer], pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield pairs of the remaining layers that have equal weights, equal names, or equal windows and strides."""
    left, right = (
        [index for index in range(len(layers)) if index not in {pair[side] for pair in pairs}]
        for side, layers in enumerate((source, port))
    )
    for same in (_weights, _named, _pooling):
        for first in list(left):
            own = same(source[first])
            second = next((one for one in right if own is not None and same(port[one]) == own), None)
            if second is not None:
                left.remove(first)
                right.remove(second)
                yield first, second


def _pairs_of_poolings(
    source: Sequence[ModelLayer], port: Sequence[ModelLayer], pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield a pooling of each model that compute other functions, if they are alone between the same two pairs.

    Their inputs have the same shape, so that one is in the place of the other.
    """
    paired = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    for before, after in itertools.pairwise([(-1, -1), *pairs, (len(source), len(port))]):
        between = [
            [index for index in range(before[side] + 1, after[side]) if index not in paired[side]] for side in (0, 1)
        ]
        if all(len(one) == 1 for one in between):
            ((first,), (second,)) = between
            layers = source[first], port[second]
            has_kernel = any("kernel" in layer.call.inputs for layer in layers)
            if not has_kernel and layers[0].x.shape == layers[1].x.shape:
                yield first, second
