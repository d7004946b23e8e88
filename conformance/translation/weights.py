"""Convert the weights of a model from one framework to another: NumPy arrays in, NumPy arrays out.

    weights = convert(state, source, target, {"up*": WeightedLayer(LayerKind.CONV_TRANSPOSE)})

No framework is needed. The formats are `WEIGHT_FORMATS` in `conformance.adapters.<backend>.weights`, whose docstrings
describe the names and layouts.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from conformance.adapters import registry
from conformance.adapters.api import (
    LayerKind,
    LayerWeights,
    WeightedLayer,
    WeightError,
    WeightFormat,
    WeightName,
    check_layer,
    reordered_features,
)
from conformance.system.suggestions import suggestion


def convert(
    weights: Mapping[str, Any],
    source: str,
    target: str,
    layers: Mapping[str, WeightedLayer] | None = None,
    *,
    rename: Callable[[str], str] | None = None,
    leave_out: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the weights of a model for another framework.

    weights: of the source framework, with NumPy arrays.
    source, target: names of formats, see `format_names`.
    layers: properties that the arrays do not show, by the name of the layer in the source or a glob. Transposed
        convolutions and embeddings must be here, and dense layers after a flattening if the layouts differ; a layer
        of another kind is recognized by its arrays.
    rename: returns the name of a layer in the target for its name in the source.
    leave_out: globs for names of layers that are not converted.
    Raises WeightError, a ConformanceError: for an unknown format, for arrays that do not match, with the name of the
    layer, and for a name in `layers` or `leave_out` that matches no layer.
    """
    reading, writing = _find_format(source), _find_format(target)
    globs: dict[str, WeightedLayer | None] = {**dict.fromkeys(leave_out), **(layers or {})}
    used: set[str] = set()

    def lookup(name: str) -> WeightedLayer | None:
        matching = [glob for glob in globs if fnmatch.fnmatchcase(name, glob)]
        used.update(matching)
        # The name itself goes before globs, and a glob before those after it.
        return globs[name if name in globs else matching[0]] if matching else WeightedLayer()

    found = {name: check_layer(name, one) for name, one in reading.read(weights, lookup).items()}
    for unused in (glob for glob in globs if glob not in used):
        raise WeightError(f"layers: {unused!r} matches no layer{suggestion(unused, found)}")
    if reading.channels_last != writing.channels_last:
        found = {name: _with_reordered_features(one, writing) for name, one in found.items()}
    names = {name: rename(name) if rename else name for name in found}
    if len(set(names.values())) < len(names):
        raise WeightError("rename: several layers get the same name")
    return writing.write({names[name]: one for name, one in found.items()})


def format_names() -> list[str]:
    """Return the names of the formats."""
    return sorted(registry.weight_formats())


def _find_format(name: str) -> WeightFormat:
    formats = registry.weight_formats()
    if name not in formats:
        raise WeightError(f"weights of {name!r}: unknown, known are {', '.join(format_names())}")
    return formats[name]


def _with_reordered_features(weights: LayerWeights, target: WeightFormat) -> LayerWeights:
    """Return the weights of a dense layer for an array that was flattened in the layout of the target."""
    if weights.layer.kind is not LayerKind.DENSE or not weights.layer.flattened:
        return weights
    kernel = reordered_features(
        weights.arrays[WeightName.KERNEL], weights.layer.flattened, to_channels_last=target.channels_last
    )
    return replace(weights, arrays={**weights.arrays, WeightName.KERNEL: kernel})
