"""Dense layers of two models: products with a matrix of weights.

They are recorded as convolutions of windows of one cell. A port with the channels last may flatten an array in another
order, and have the columns of its matrix in this order. Its layer is then compared in the order of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from conformance.cases.arrays import Array
from conformance.models.comparison.alignment import AlignedLayers
from conformance.models.comparison.judgement import array_difference, noise_limit
from conformance.models.comparison.layers import ModelLayer
from conformance.models.comparison.recording import RecordedRun


def with_dense_of_both(source: RecordedRun, port: RecordedRun) -> tuple[RecordedRun, RecordedRun]:
    """Return two runs without their dense layers if one of them has none: it may write them in another way."""
    if all(any(call.is_dense for call in run.calls) for run in (source, port)):
        return source, port
    one, other = (replace(run, calls=[call for call in run.calls if not call.is_dense]) for run in (source, port))
    return one, other


def with_order_of(aligned: AlignedLayers) -> AlignedLayers:
    """Return aligned layers in which the dense layers of the port have the order of the source.

    The order of the port is that of an earlier array flattened with its channels last.
    """
    alone = [layer for _, layer in (*aligned.only_in_source, *aligned.only_in_port)]
    layers = [*(layer for pair in aligned.pairs for layer in pair), *alone]
    pairs = [
        (source, _in_order(source, port, layers) if source.call.is_dense and port.call.is_dense else port)
        for source, port in aligned.pairs
    ]
    return replace(aligned, pairs=pairs)


def _in_order(source: ModelLayer, port: ModelLayer, layers: Sequence[ModelLayer]) -> ModelLayer:
    kernel, other = (layer.call.inputs["kernel"] for layer in (source, port))
    if kernel.shape != other.shape or source.x.shape != port.x.shape or np.array_equal(kernel, other):
        return port
    limit = noise_limit(source.x, source.input_noise)
    if array_difference(source.x, port.x) <= limit:
        return port
    for _, order in flattened_orders(layers, kernel.shape[1]):
        if np.array_equal(kernel[:, order], other):
            back = np.argsort(order)
            inputs = {**port.call.inputs, "x": port.x[:, back], "kernel": kernel}
            return replace(port, call=replace(port.call, inputs=inputs))
    return port


def flattened_orders(layers: Sequence[ModelLayer], count: int) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Yield the shape of each result with some number of elements, and these in the order of the channels last."""
    for shape in dict.fromkeys(layer.call.result.shape[1:] for layer in reversed(layers)):
        if int(np.prod(shape)) == count and count > max(shape):
            yield shape, np.moveaxis(np.arange(count).reshape(shape), 0, -1).ravel()
