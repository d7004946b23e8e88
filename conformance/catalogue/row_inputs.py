"""Inputs of the rows of a sweep: shapes, dtypes, and generators with a seed for each input."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any

from conformance.cases.arrays import FLOATING_DTYPES, NUMPY_DTYPES, dtype_kind
from conformance.cases.generators import (
    DEFAULT_HIGH,
    DEFAULT_LOW,
    GENERATORS,
    SPECIAL_VALUES,
    DtypeKind,
    GeneratorName,
)
from conformance.cases.operators import INPUTS, Geometry, Operator
from conformance.catalogue.factors import FactorLevels, level_pairs, level_per_axis
from reference import Windows


def raw_inputs(
    operator: Operator, common: Mapping[str, Any], levels: FactorLevels, case_id: str
) -> dict[str, dict[str, Any]]:
    """Return every input of a row in the form of a case in a YAML file; an empty mapping for an omitted input.

    common: the keys that all rows share; levels: the level of every factor, or its default.
    """
    shapes = _shapes(operator, levels)
    inputs: dict[str, dict[str, Any]] = {name: {} for name in operator.inputs}
    for name in inputs.keys() & common.keys():
        # The seed is made from the id of the case, so that it never changes.
        seed = zlib.crc32(f"{operator.name}/{case_id}/{name}".encode())
        dtype = operator.dtypes.get(name) or _input_dtype(name, levels["dtype"])
        inputs[name] = _raw_array(name, dtype, {**common[name], "seed": seed}, shapes.get(name), levels)
    return inputs


def _shapes(operator: Operator, levels: FactorLevels) -> dict[str, list[int]]:
    """Return the shapes of x, kernel and bias; those of other inputs are derived from the case."""
    rank, groups, channels, out = (levels[name] for name in ("rank", "groups", "channels", "out"))
    window = level_per_axis(levels.get("window", 1), rank)
    multiple, extents = operator.channel_multiple(levels, rank), _extents(operator, levels)
    if operator.geometry is Geometry.POINTS:
        channels = len(levels["grid_size"])
    return {
        "x": [levels["batch"], channels * multiple, *extents],
        "kernel": list(operator.kernel_shape(channels * multiple // groups, out, groups, window)),
        "bias": [out * groups],
    }


def _extents(operator: Operator, levels: FactorLevels) -> tuple[int, ...]:
    """Return the spatial extents of x. Those of columns and matrices follow from the output."""
    rank = levels["rank"]
    if operator.geometry is Geometry.POINTS:
        return (len(levels["grid_size"]) + 1,)
    if operator.geometry is not Geometry.FROM_COLUMNS:
        return level_per_axis(levels["extent"], rank)
    size, window, stride, dilation = (
        level_per_axis(levels.get(name, 1), rank) for name in ("output_size", "window", "stride", "dilation")
    )
    padding = levels.get("padding", 0)
    pads = padding if isinstance(padding, str) else level_pairs(padding, rank)
    return Windows.of(size, window, stride, pads, dilation).output


def _raw_array(
    name: str, dtype: str, common: Mapping[str, Any], shape: list[int] | None, levels: FactorLevels
) -> dict[str, Any]:
    """Return one input of a row. Unsigned dtypes start at 0, bool ends at 1."""
    raw = {**_generator_options(common, name, levels["values"]), "dtype": dtype}
    options = GENERATORS[raw["values"]].options
    is_bool = dtype_kind(dtype) is DtypeKind.BOOL
    is_unsigned = NUMPY_DTYPES[dtype].kind == "u"
    if name == "indices":
        outputs = math.prod(level_per_axis(levels["output_size"], levels["rank"]))
        raw |= {"low": raw.get("low", 0), "high": outputs - 1}
    elif raw["values"] != GeneratorName.DISTINCT and "low" in options:
        low, high = raw.get("low", DEFAULT_LOW), raw.get("high", DEFAULT_HIGH)
        raw |= {"low": max(low, 0) if is_unsigned or is_bool else low, "high": min(high, 1) if is_bool else high}
    elif raw["values"] == GeneratorName.DISTINCT and is_unsigned:
        raw["low"] = 0
    # The keys of the sweep are for all its generators; each generator takes its own.
    raw = {key: value for key, value in raw.items() if key in options or key in {"values", "dtype"}}
    return raw if shape is None else {**raw, "shape": shape}


def _generator_options(common: Mapping[str, Any], name: str, values: str) -> dict[str, Any]:
    """Return the generator of an input and its options. Special values and distinct numbers are used for x only."""
    x_only = values in SPECIAL_VALUES or values == GeneratorName.DISTINCT
    if values == GeneratorName.INTEGERS or INPUTS[name].is_position or (name != "x" and x_only):
        return dict(common)
    if values in SPECIAL_VALUES:
        return {**common, "values": GeneratorName.MARKED.value, "mark": values}
    return {**common, "values": values}


def _input_dtype(name: str, dtype: str) -> str:
    """Return the dtype of an input, given that of x."""
    if INPUTS[name].dtype:
        return INPUTS[name].dtype
    return "float32" if INPUTS[name].is_position and dtype not in FLOATING_DTYPES else dtype
