"""PyTorch: `state_dict()` as NumPy arrays, `{"conv1.weight": …}`. Kernels have the layout of the catalogue.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html and the pages of the other layers, sections
"Variables".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from conformance.adapters.api import (
    LayerKind,
    LayerLookup,
    LayerWeights,
    WeightedLayer,
    WeightError,
    WeightFormat,
    WeightName,
    check_array,
    inferred_kind,
)

NORM_NAMES = {
    "weight": WeightName.SCALE,
    "bias": WeightName.OFFSET,
    "running_mean": WeightName.MEAN,
    "running_var": WeightName.VARIANCE,
}
KERNEL_NAMES = {"weight": WeightName.KERNEL, "bias": WeightName.BIAS}
IGNORED_NAMES = frozenset({"num_batches_tracked"})
"""A counter that changes no result of a trained model."""


def _read(weights: Mapping[str, Any], lookup: LayerLookup) -> Mapping[str, LayerWeights]:
    layers: dict[str, dict[str, Any]] = {}
    for key, value in weights.items():
        layer, _, name = key.rpartition(".")
        if name not in IGNORED_NAMES:
            layers.setdefault(layer, {})[name] = value
    found = ((name, lookup(name), arrays) for name, arrays in layers.items())
    return {name: _read_layer(name, arrays, layer) for name, layer, arrays in found if layer}


def _read_layer(name: str, values: Mapping[str, Any], layer: WeightedLayer) -> LayerWeights:
    arrays = {key: check_array(name, value, key) for key, value in values.items()}
    layer = inferred_kind(name, layer, arrays.get("weight"))
    names = NORM_NAMES if layer.kind is LayerKind.NORM else KERNEL_NAMES
    other = [one for one in arrays if one not in names]
    if other:
        raise WeightError(f"{name}: {other[0]!r} is not an array of a {layer.kind.value if layer.kind else None} layer")
    return LayerWeights(layer, {names[one]: array for one, array in arrays.items()})


def _write(layers: Mapping[str, LayerWeights]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, weights in layers.items():
        names = NORM_NAMES if weights.layer.kind is LayerKind.NORM else KERNEL_NAMES
        own = {weight: torch_name for torch_name, weight in names.items()}
        prefix = f"{name}." if name else ""
        found |= {f"{prefix}{own[weight]}": np.ascontiguousarray(array) for weight, array in weights.arrays.items()}
    return found


WEIGHT_FORMATS = {"torch": WeightFormat(_read, _write, channels_last=False)}
