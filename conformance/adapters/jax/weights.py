"""Flax: variables of a Linen module, `{"params": …, "batch_stats": …}`, and the state of an NNX module, by path.

Layers keep their names. The parts of a name are the levels of the dictionary: `block.conv1` is `["block"]["conv1"]`. In
Linen, the members of a list have names with an underscore, so `layer1.0.conv1` is `["layer1_0"]["conv1"]`; in NNX, they
have integers as keys.

Kernels have the layout (*window, in/groups, out). A transposed convolution with `transpose_kernel=True` has the layout
(*window, out, in) and flips its kernel; without it, the layout is (*window, in, out) and the kernel is not flipped.
Flax has no groups in a transposed convolution: their kernels, (*window, out/groups, in/groups) each, follow one another
on the last axis.
Sources: https://flax-linen.readthedocs.io/en/latest/api_reference/flax.linen/layers.html,
https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/linear.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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

PARAMS, STATISTICS = "params", "batch_stats"
"""Collections of Linen variables."""
NORM_NAMES = {
    "scale": WeightName.SCALE,
    "bias": WeightName.OFFSET,
    "mean": WeightName.MEAN,
    "var": WeightName.VARIANCE,
}
KERNEL_NAMES = {"kernel": WeightName.KERNEL, "bias": WeightName.BIAS}
EMBEDDING_NAMES = {"embedding": WeightName.KERNEL}
STATISTIC_NAMES = ("mean", "var")
LIST_MEMBER = re.compile(r"\.(\d+)(?=\.|$)")
MAX_DEPTH = 64
"""Number of levels of nested dictionaries."""


def _names(kind: LayerKind | None) -> Mapping[str, WeightName]:
    return {LayerKind.NORM: NORM_NAMES, LayerKind.EMBEDDING: EMBEDDING_NAMES}.get(kind or LayerKind.CONV, KERNEL_NAMES)


def _leaves(tree: Mapping[Any, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if len(path) > MAX_DEPTH:
        raise WeightError(f"more than {MAX_DEPTH} levels of dictionaries")
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, str(key)))
        else:
            yield (*path, str(key)), value


def _read_linen(weights: Mapping[str, Any], lookup: LayerLookup) -> Mapping[str, LayerWeights]:
    other = [key for key in weights if key not in (PARAMS, STATISTICS)]
    if other:
        raise WeightError(f"{other[0]!r}: expected the collections {PARAMS!r} and {STATISTICS!r}")
    return _read_leaves([leaf for tree in weights.values() for leaf in _leaves(tree)], lookup)


def _read_nnx(weights: Mapping[str, Any], lookup: LayerLookup) -> Mapping[str, LayerWeights]:
    return _read_leaves(list(_leaves(weights)), lookup)


def _read_leaves(leaves: list[tuple[tuple[str, ...], Any]], lookup: LayerLookup) -> Mapping[str, LayerWeights]:
    layers: dict[str, dict[str, Any]] = {}
    for (*path, name), value in leaves:
        layers.setdefault(".".join(path), {})[name] = value
    found = ((name, lookup(name), arrays) for name, arrays in layers.items())
    return {name: _read_layer(name, arrays, layer) for name, layer, arrays in found if layer}


def _read_layer(name: str, values: Mapping[str, Any], layer: WeightedLayer) -> LayerWeights:
    arrays = {key: check_array(name, value, key) for key, value in values.items()}
    if "embedding" in arrays and layer.kind is None:
        layer = WeightedLayer(LayerKind.EMBEDDING)
    layer = inferred_kind(name, layer, arrays.get("kernel", arrays.get("embedding", arrays.get("scale"))))
    names = _names(layer.kind)
    other = [one for one in arrays if one not in names]
    if other:
        raise WeightError(f"{name}: {other[0]!r} is not an array of a {layer.kind.value if layer.kind else None} layer")
    found = {names[one]: array for one, array in arrays.items()}
    if WeightName.KERNEL in found:
        found[WeightName.KERNEL] = _to_catalogue(layer, found[WeightName.KERNEL])
    return LayerWeights(layer, found)


def _flip(kernel: Array) -> Array:
    """Return a kernel of the catalogue's layout, reversed along every spatial axis."""
    return np.flip(kernel, tuple(range(2, kernel.ndim)))


def _to_catalogue(layer: WeightedLayer, kernel: Array) -> Array:
    if layer.kind is LayerKind.EMBEDDING:
        return kernel
    if layer.kind is LayerKind.CONV_TRANSPOSE and layer.flipped:
        return np.ascontiguousarray(_flip(np.moveaxis(kernel, (-2, -1), (0, 1))))
    return channels_first_kernel(kernel)


def _from_catalogue(name: str, layer: WeightedLayer, kernel: Array) -> Array:
    if layer.kind is LayerKind.EMBEDDING:
        return kernel
    if layer.kind is LayerKind.CONV_TRANSPOSE and layer.flipped:
        if layer.groups != 1:
            raise WeightError(f"{name}: several groups need a kernel of transpose_kernel=True, without flipped")
        return np.ascontiguousarray(np.moveaxis(_flip(kernel), (0, 1), (-2, -1)))
    return channels_last_kernel(kernel)


def _written_arrays(name: str, weights: LayerWeights) -> dict[str, Array]:
    own = {weight: flax_name for flax_name, weight in _names(weights.layer.kind).items()}
    found = {own[weight]: np.ascontiguousarray(array) for weight, array in weights.arrays.items()}
    if WeightName.KERNEL in weights.arrays:
        kernel = _from_catalogue(name, weights.layer, weights.arrays[WeightName.KERNEL])
        found[own[WeightName.KERNEL]] = kernel
    return found


def _insert(tree: dict[Any, Any], path: list[Any], arrays: Mapping[str, Array]) -> None:
    for part in path:
        tree = tree.setdefault(part, {})
    tree |= arrays


def _write_linen(layers: Mapping[str, LayerWeights]) -> dict[str, Any]:
    found: dict[str, Any] = {PARAMS: {}}
    for name, weights in layers.items():
        path = LIST_MEMBER.sub(r"_\1", name).split(".") if name else []
        arrays = _written_arrays(name, weights)
        for collection, is_statistic in ((PARAMS, False), (STATISTICS, True)):
            chosen = {key: array for key, array in arrays.items() if (key in STATISTIC_NAMES) == is_statistic}
            if chosen:
                _insert(found.setdefault(collection, {}), path, chosen)
    return found


def _write_nnx(layers: Mapping[str, LayerWeights]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, weights in layers.items():
        path = [int(part) if part.isdigit() else part for part in name.split(".")] if name else []
        _insert(found, path, _written_arrays(name, weights))
    return found


LINEN_FORMAT = WeightFormat(_read_linen, _write_linen, channels_last=True)
WEIGHT_FORMATS = {
    "flax": LINEN_FORMAT,
    "flax.linen": LINEN_FORMAT,
    "flax.nnx": WeightFormat(_read_nnx, _write_nnx, channels_last=True),
}
