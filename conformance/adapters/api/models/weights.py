"""Weights of layers in the layout of the catalogue, and the interface of a framework's weight format.

A format reads the weights of a model into one `LayerWeights` per layer, and writes them. All arrays of `LayerWeights`
have the layout of the catalogue, so that a conversion is the reading of one format and the writing of another:

conv            kernel (out, in/groups, *window)
conv_transpose  kernel (in, out/groups, *window)
dense           kernel (out, in)
norm            scale, offset, mean and variance, one number per channel
embedding       kernel (entries, features)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from conformance import ConformanceError

Array = np.ndarray[Any, Any]

FIRST_SPATIAL_RANK = 3
"""Number of axes of the smallest convolution kernel: two for channels, and one spatial axis."""
MATRIX_RANK = 2


class LayerKind(str, Enum):
    """What a layer with weights computes."""

    CONV = "conv"
    CONV_TRANSPOSE = "conv_transpose"
    DENSE = "dense"
    NORM = "norm"
    EMBEDDING = "embedding"


class WeightName(str, Enum):
    """The names of a layer's arrays in the catalogue's terms."""

    KERNEL = "kernel"
    BIAS = "bias"
    SCALE = "scale"
    OFFSET = "offset"
    MEAN = "mean"
    VARIANCE = "variance"


class WeightError(ConformanceError):
    """Weights that cannot be converted; the message names the layer and the reason.

    A model that is one layer has the name "" for it, and the message is the reason alone.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message.removeprefix(": "))


@dataclass(frozen=True)
class WeightedLayer:
    """Properties of a layer that its arrays do not show.

    kind: None to infer it: from the names of the arrays and the number of axes of the kernel. A transposed convolution
        and an embedding cannot be inferred.
    groups: of a transposed convolution. The kernels of all other layers show them.
    depthwise: the channel multiplier if a framework with a separate depthwise layer uses that layer, else 0.
    flipped: whether a framework that can flip kernels of transposed convolutions itself does not do it.
    flattened: (c, *spatial), the shape of the array that was flattened before a dense layer.
    """

    kind: LayerKind | None = None
    groups: int = 1
    depthwise: int = 0
    flipped: bool = False
    flattened: tuple[int, ...] = ()


@dataclass(frozen=True)
class LayerWeights:
    """The arrays of one layer in the layout of the catalogue. layer: its properties, with a kind."""

    layer: WeightedLayer
    arrays: Mapping[WeightName, Array]


LayerLookup = Callable[[str], WeightedLayer | None]
"""Returns the properties of the layer with a name; None if the layer is left out."""


@dataclass(frozen=True)
class WeightFormat:
    """The weights of models of one framework.

    channels_last: whether a flattened array has its channels last.
    """

    read: Callable[[Mapping[str, Any], LayerLookup], Mapping[str, LayerWeights]]
    write: Callable[[Mapping[str, LayerWeights]], dict[str, Any]]
    channels_last: bool


def check_array(layer: str, value: Any, key: str = "") -> Array:
    """Return a value if it is an array of numbers. Raises WeightError otherwise. key: its name in the layer, if any."""
    name = ".".join(filter(None, [layer, key]))
    if not isinstance(value, np.ndarray) or value.dtype.hasobject:
        kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        raise WeightError(f"{name}: expected a NumPy array of numbers, not {kind}")
    array: Array = value
    return array


def inferred_kind(name: str, layer: WeightedLayer, kernel: Array | None) -> WeightedLayer:
    """Return the layer with its kind, inferred from the number of axes of the kernel if it is not specified.

    kernel: None or an array with one axis for a normalization.
    """
    axes = 1 if kernel is None else kernel.ndim
    if layer.kind is None:
        kinds = {1: LayerKind.NORM, MATRIX_RANK: LayerKind.DENSE}
        if axes == 0:
            raise WeightError(f"{name}: a kernel without axes")
        return replace(layer, kind=kinds.get(axes, LayerKind.CONV))
    is_window = layer.kind in {LayerKind.CONV, LayerKind.CONV_TRANSPOSE}
    expected = 1 if layer.kind is LayerKind.NORM else MATRIX_RANK
    if axes < FIRST_SPATIAL_RANK if is_window else axes != expected:
        needed = "at least 3" if is_window else expected
        raise WeightError(f"{name}: {layer.kind.value} needs a kernel with {needed} axes, this one has {axes}")
    return layer


def check_layer(name: str, weights: LayerWeights) -> LayerWeights:
    """Return the weights. Raises WeightError if the bias or the number of groups does not match the kernel."""
    layer, kernel = weights.layer, weights.arrays.get(WeightName.KERNEL)
    if kernel is None:
        return weights
    is_transposed = layer.kind is LayerKind.CONV_TRANSPOSE
    if is_transposed and (layer.groups < 1 or kernel.shape[0] % layer.groups):
        raise WeightError(f"{name}: groups {layer.groups} do not divide the {kernel.shape[0]} input channels")
    outputs = kernel.shape[1] * layer.groups if is_transposed else kernel.shape[0]
    bias = weights.arrays.get(WeightName.BIAS)
    if bias is not None and bias.shape != (outputs,):
        could_be = layer.kind is LayerKind.CONV and bias.shape == (kernel.shape[1],)
        hint = ": is it a transposed convolution? Add kind=conv_transpose for this layer" if could_be else ""
        raise WeightError(f"{name}: a bias of shape {bias.shape} for {outputs} output channels{hint}")
    if layer.flattened and (layer.kind is not LayerKind.DENSE or math.prod(layer.flattened) != kernel.shape[-1]):
        raise WeightError(
            f"{name}: flattened {layer.flattened} has {math.prod(layer.flattened)} elements; "
            f"the layer is {layer.kind.value if layer.kind else None} with {kernel.shape[-1]} inputs"
        )
    return weights


def reordered_features(kernel: Array, flattened: tuple[int, ...], *, to_channels_last: bool) -> Array:
    """Return a dense kernel (out, in) whose inputs are those of an array flattened in the other layout.

    flattened: (c, *spatial).
    """
    channels, *spatial = flattened
    shape = (channels, *spatial) if to_channels_last else (*spatial, channels)
    source, target = (1, -1) if to_channels_last else (-1, 1)
    split = kernel.reshape((kernel.shape[0], *shape))
    reordered: Array = np.ascontiguousarray(np.moveaxis(split, source, target)).reshape(kernel.shape)
    return reordered


def channels_last_kernel(kernel: Array) -> Array:
    """Return a kernel with its first two axes last and exchanged: (a, b, *window) to (*window, b, a)."""
    return np.ascontiguousarray(np.moveaxis(kernel, (0, 1), (-1, -2)))


def channels_first_kernel(kernel: Array) -> Array:
    """Return a kernel with its last two axes first and exchanged: (*window, b, a) to (a, b, *window)."""
    return np.ascontiguousarray(np.moveaxis(kernel, (-1, -2), (0, 1)))
