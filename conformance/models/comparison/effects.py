"""Which settings of a layer of a port have an effect.

A port may have other parameters than the source, and compute the same: padding and output padding of a transposed
convolution, padding and rounding of a pooling, or padding by a call before the layer and by the layer itself. The
settings are exchanged on an input of small whole numbers, with the extents that the layer of the port has received.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS
from conformance.models.comparison.layers import ModelLayer

PADDING = "padding"
GROUPS = "groups"
PROBE_SEED = 0
MAX_PROBE_NUMBER = 9
MAX_SETTINGS = 6
"""Number of settings that differ up to which those without an effect are searched."""


@dataclass(frozen=True)
class SettingEffects:
    """Names of the settings in which two layers differ: those that cause a difference, and those with the same effect.

    A setting is a parameter. `padding` includes the calls of `pad` before the layer.
    """

    causes: Sequence[str]
    without_effect: Sequence[str] = ()


def setting_effects(source: ModelLayer, port: ModelLayer) -> SettingEffects:
    """Return the smallest set of settings that explains how the geometry of two layers differs.

    The source with all other settings of the port computes what the source computes. The channels are not compared.
    """
    names = list(_differing_settings(source, port))
    one, other = (with_small_weights(layer, source.call.x.dtype) for layer in (source, port))
    if source.call.operator != port.call.operator or not _has_same_window(one, other) or len(names) > MAX_SETTINGS:
        return SettingEffects(names)
    x = _probe(port.x.shape[2:], source.x.dtype)
    expected = _result(one, x)
    for count in range(len(names) + 1):
        for causes in itertools.combinations(names, count):
            without = [name for name in names if name not in causes]
            if expected is not None and is_same(_result(_with_settings(one, other, without), x), expected):
                return SettingEffects(causes, without)
    return SettingEffects(names)


def has_same_effect(source: ModelLayer, port: ModelLayer) -> bool:
    """Whether two layers without weights compute the same for the extents of the port's layer."""
    if "kernel" in source.call.inputs or "kernel" in port.call.inputs:
        return False
    x = _probe(port.x.shape[2:], source.x.dtype)
    one = _result(source, x)
    return one is not None and is_same(_result(port, x), one)


def _differing_settings(source: ModelLayer, port: ModelLayer) -> Iterator[str]:
    for parameter in OPERATORS[source.call.operator].parameters:
        one, other = (_setting(layer, parameter.name) for layer in (source, port))
        if one != other and parameter.name != GROUPS:
            yield parameter.name


def _setting(layer: ModelLayer, name: str) -> object:
    parameter = next((one for one in OPERATORS[layer.call.operator].parameters if one.name == name), None)
    value = layer.call.parameters.get(name, parameter.default if parameter else None)
    axes = layer.x.ndim - 2
    if name == PADDING:
        own = ((0, 0),) * axes if value == 0 else value
        return own, [pad.parameters for pad in layer.pads]
    if name == "stride" and value is None:
        value = layer.call.parameters.get("window")
    return (value,) * axes if parameter and parameter.is_per_axis and isinstance(value, int) else value


def _with_settings(layer: ModelLayer, other: ModelLayer, names: Sequence[str]) -> ModelLayer:
    """Return a layer with some settings of another one."""
    parameters = {name: value for name, value in layer.call.parameters.items() if name not in names}
    parameters |= {name: other.call.parameters[name] for name in names if name in other.call.parameters}
    pads = other.pads if PADDING in names else layer.pads
    return ModelLayer(replace(layer.call, parameters=parameters), pads)


def with_small_weights(layer: ModelLayer, dtype: np.dtype[np.generic]) -> ModelLayer:
    """Return a convolution with small whole weights, one input channel and one output channel."""
    kernel = layer.call.inputs.get("kernel")
    if kernel is None:
        return layer
    small = (np.arange(int(np.prod(kernel.shape[2:]))) + 1).reshape(1, 1, *kernel.shape[2:]).astype(dtype)
    parameters = {**layer.call.parameters, GROUPS: 1}
    call = replace(layer.call, inputs={"x": layer.call.x[:, :1], "kernel": small}, parameters=parameters)
    return ModelLayer(call, tuple(replace(pad, inputs={"x": pad.x[:, :1]}) for pad in layer.pads))


def _has_same_window(source: ModelLayer, port: ModelLayer) -> bool:
    kernels = [layer.call.inputs["kernel"].shape for layer in (source, port) if "kernel" in layer.call.inputs]
    return len({*kernels}) <= 1


def _probe(extents: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
    """Return two images: of negative numbers, so that padding with zeros shows in a maximum, and of both signs."""
    rng = np.random.default_rng(PROBE_SEED)
    values = rng.integers(1, MAX_PROBE_NUMBER + 1, (2, 1, *extents))
    values[0] *= -1
    values[1] *= rng.choice((-1, 1), (1, *extents))
    return values.astype(dtype)


def _result(layer: ModelLayer, x: Array) -> Array | None:
    try:
        return layer.expected(x).value
    except (ValueError, TypeError, IndexError):
        return None


def is_same(one: Array | None, other: Array) -> bool:
    """Whether two arrays are equal. NaN equals NaN."""
    return one is not None and one.shape == other.shape and np.array_equal(one, other, equal_nan=True)
