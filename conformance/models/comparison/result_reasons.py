"""Why the results of two models differ, although their layers compute the same: the dense layer after the last one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from conformance.cases.arrays import Array
from conformance.models.comparison.expressions import is_close
from conformance.models.comparison.input_reasons import InputPair, input_reasons, unknown_reason
from conformance.models.comparison.layers import ModelLayer

MATRIX_RANK = 2
RESULT_ORDERS: Sequence[tuple[str, Callable[[Array], Array]]] = (
    ("with the channels first", lambda x: x),
    ("with the channels last", lambda x: np.moveaxis(x, 1, -1)),
)


def result_reasons(pair: InputPair) -> list[str]:
    """Return likely reasons why the results of two models differ, among them a dense layer after the last layer."""
    if pair.source.shape != pair.port.shape or pair.source.ndim > MATRIX_RANK:
        return input_reasons(pair)
    if pair.source.ndim == MATRIX_RANK and pair.pairs and pair.pairs[-1][0].call.is_dense:
        return input_reasons(replace(pair, source=pair.source[..., None], port=pair.port[..., None]), "returns")
    if not pair.pairs or pair.source.ndim < MATRIX_RANK:
        return [unknown_reason(pair)]
    number = max(index for index, layers in enumerate(pair.earlier) if all(layers))
    missing = [source for source, _ in pair.earlier[number + 1 :] if source]
    texts = [_dense_text(pair, layers, missing, side) for side, layers in enumerate(zip(*pair.pairs[-1:], strict=True))]
    if all(texts) and texts[0] != texts[1]:
        return [f"The dense layer reads {texts[0]} in the source, {texts[1]} in the port."]
    return [unknown_reason(pair)]


def _dense_text(pair: InputPair, layers: Sequence[ModelLayer], missing: Sequence[ModelLayer], side: int) -> str:
    """Return how the result of a model is that of a dense layer, whose weights the source has.

    layers: the last layer. missing: those of the source after it, which the port writes without a window operator.
    """
    (layer,) = layers
    x, name = layer.call.result, pair.pairs[-1][0].name
    for following in (None, *missing):
        if following is not None:
            if following.x.shape != x.shape:
                return ""
            x, name = following.expected(x).value, following.name
        found = _dense_order((pair.source, pair.port)[side].astype(np.float64), x.astype(np.float64), pair.weights)
        if found:
            return f"{name} {found}"
    return ""


def _dense_order(result: Array, x: Array, weights: Mapping[str, Array]) -> str:
    for weight in weights.values():
        if weight.shape != (result.shape[-1], x[0].size):
            continue
        biases = [one for one in weights.values() if one.shape == result.shape[-1:]]
        for words, order in RESULT_ORDERS:
            product = order(x).reshape(len(x), -1) @ weight.T.astype(np.float64)
            if is_close(product, result):
                return f"{words}, without a bias,"
            if any(is_close(product + bias, result) for bias in biases):
                return words
    return ""
