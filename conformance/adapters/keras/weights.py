"""Keras: `{layer name: layer.get_weights()}`, on every engine.

A name in Keras has underscores in place of dots: on the engine PyTorch, a dot is an error.

Kernels have the layout (*window, in/groups, out); those of transposed convolutions (*window, out, in); those of
depthwise layers (*window, in, multiplier). The kernels of the groups of a transposed convolution, which Keras has not,
follow one another on the last axis. A normalization has gamma, beta, moving_mean and moving_variance, in this
order.
Sources: https://keras.io/api/layers/convolution_layers/, https://keras.io/api/layers/normalization_layers/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conformance.adapters.api import (
    Array,
    LayerKind,
    LayerLookup,
    LayerWeights,
    WeightedLayer,
    WeightError,
    WeightFormat,
    WeightName,
    channels_first_kernel,
    channels_last_kernel,
    check_array,
    inferred_kind,
)

NORM_ORDER = (WeightName.SCALE, WeightName.OFFSET, WeightName.MEAN, WeightName.VARIANCE)
NORM_COUNTS = (2, 4)
"""A normalization has gamma and beta, and moving statistics if it is over the batch."""
MAX_ARRAYS = 2
"""Number of arrays of a layer with a kernel: the kernel and the bias."""


def _read(weights: Mapping[str, Any], lookup: LayerLookup) -> Mapping[str, LayerWeights]:
    for name, arrays in weights.items():
        if not isinstance(arrays, Sequence) or isinstance(arrays, str):
            raise WeightError(f"{name}: expected the list that get_weights() returns")
    # Layers without weights have an empty list.
    found = ((name, lookup(name), arrays) for name, arrays in weights.items() if arrays)
    return {name: _read_layer(name, arrays, layer) for name, layer, arrays in found if layer}


def _read_layer(name: str, values: Sequence[Any], layer: WeightedLayer) -> LayerWeights:
    arrays = [check_array(name, value) for value in values]
    layer = inferred_kind(name, layer, arrays[0])
    if layer.kind is LayerKind.NORM:
        if len(arrays) not in NORM_COUNTS:
            raise WeightError(f"{name}: {len(arrays)} arrays; a normalization has 2, or 4 with moving statistics")
        return LayerWeights(layer, dict(zip(NORM_ORDER, arrays, strict=False)))
    if len(arrays) > MAX_ARRAYS:
        raise WeightError(f"{name}: {len(arrays)} arrays; a layer with a kernel has at most a bias more")
    if layer.depthwise:
        kernel = _kernel_of_groups(name, layer, arrays[0])
    else:
        kernel = arrays[0] if layer.kind is LayerKind.EMBEDDING else channels_first_kernel(arrays[0])
    # Without a bias, the list has one array.
    return LayerWeights(layer, dict(zip((WeightName.KERNEL, WeightName.BIAS), (kernel, *arrays[1:]), strict=False)))


def _kernel_of_groups(name: str, layer: WeightedLayer, kernel: Array) -> Array:
    """Return the kernel of a depthwise layer, (*window, in, multiplier), as (in * multiplier, 1, *window)."""
    if layer.kind is not LayerKind.CONV:
        raise WeightError(f"{name}: only a convolution is depthwise")
    *window, channels, multiplier = kernel.shape
    if multiplier != layer.depthwise:
        raise WeightError(f"{name}: depthwise is {layer.depthwise}, the kernel has the channel multiplier {multiplier}")
    first = np.moveaxis(kernel, (-2, -1), (0, 1)).reshape(channels * multiplier, 1, *window)
    return np.ascontiguousarray(first)


def _write(layers: Mapping[str, LayerWeights]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, weights in layers.items():
        own = name.replace(".", "_")
        if own in found:
            raise WeightError(f"{name}: another layer has the name {own!r} in Keras")
        found[own] = _written_arrays(name, weights)
    return found


def _written_arrays(name: str, weights: LayerWeights) -> list[Array]:
    layer, arrays = weights.layer, weights.arrays
    if layer.kind is LayerKind.NORM:
        return [np.ascontiguousarray(arrays[one]) for one in NORM_ORDER if one in arrays]
    kernel = arrays[WeightName.KERNEL]
    if layer.depthwise:
        written = _depthwise_kernel(name, layer, kernel)
    else:
        written = kernel if layer.kind is LayerKind.EMBEDDING else channels_last_kernel(kernel)
    return [written, *([arrays[WeightName.BIAS]] if WeightName.BIAS in arrays else [])]


def _depthwise_kernel(name: str, layer: WeightedLayer, kernel: Array) -> Array:
    """Return the kernel of a convolution with as many groups as channels, (in * multiplier, 1, *window)."""
    outputs, per_group, *window = kernel.shape
    if layer.kind is not LayerKind.CONV or per_group != 1 or outputs % layer.depthwise:
        raise WeightError(
            f"{name}: a depthwise layer with multiplier {layer.depthwise} needs a kernel "
            f"(in * multiplier, 1, *window), this one has the shape {kernel.shape}"
        )
    split = kernel.reshape(outputs // layer.depthwise, layer.depthwise, *window)
    return np.ascontiguousarray(np.moveaxis(split, (0, 1), (-2, -1)))


FORMAT = WeightFormat(_read, _write, channels_last=True)
WEIGHT_FORMATS = {"keras": FORMAT, "tf.keras": FORMAT}
