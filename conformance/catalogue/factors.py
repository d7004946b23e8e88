"""The factors of sweeps: the text of each level in an id, and its value on each axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from conformance.cases.arrays import dtype_kind
from conformance.cases.generators import DtypeKind, GeneratorName
from conformance.cases.operators import (
    MATRIX_AXES,
    PARAMETERS,
    PER_AXIS_KINDS,
    REGION_PARAMETERS,
    Coordinates,
    Geometry,
    NearestRounding,
    PadMode,
    ParameterKind,
    QuantizedDtype,
    ResizeMode,
    Rounding,
)
from conformance.cases.parameters import plain_value
from reference import Windows, resampled_axes

FactorLevel = Any
LevelWriter = Callable[[FactorLevel, int], str]
PLANE_RANK = 2
CHANNEL_PARAMETERS = frozenset(
    one.name for one in PARAMETERS.values() if one.kind in {ParameterKind.CHANNEL_NUMBERS, ParameterKind.CHANNEL_COUNTS}
)
WEIGHT_PARAMETERS = frozenset({"w_scale", "w_zero_point"})
QUANTIZED_DTYPES = frozenset(QuantizedDtype)
MAX_INT8 = 127
DEFAULT_CUBIC_A = PARAMETERS["cubic_a"].default


def _number_writer(prefix: str) -> LevelWriter:
    return lambda level, _rank: prefix + _number_text(level)


def _per_axis_writer(prefix: str) -> LevelWriter:
    """Return a writer for one number per axis, or one number if all are equal: w3, w3x2."""
    return lambda level, rank: prefix + _join_parts([_number_text(part) for part in level_per_axis(level, rank)])


def _padding_writer(prefix: str) -> LevelWriter:
    """Return a writer for the padding before and after each axis: p1, p1.0, p1.0x0.2, same.upper."""

    def write(level: FactorLevel, rank: int) -> str:
        if isinstance(level, str):
            # The last parts of an id have no underscores.
            return level.replace("_", ".")
        ends = (pair[:1] if pair[0] == pair[1] else pair for pair in level_pairs(level, rank))
        return prefix + _join_parts([".".join(map(_number_text, pair)) for pair in ends])

    return write


def _per_channel_writer(prefix: str) -> LevelWriter:
    """Return a writer for one number, or for one of each channel: ys0.5, ys0.5x0.25."""

    def write(level: FactorLevel, _rank: int) -> str:
        return prefix + "x".join(map(_number_text, level if isinstance(level, tuple) else (level,)))

    return write


def _word_writer(prefix: str) -> LevelWriter:
    # The last parts of an id have no underscores.
    return lambda level, _rank: prefix + _number_text(level).replace("_", ".")


def _flag_writer(prefix: str) -> LevelWriter:
    return lambda level, _rank: prefix if level else f"no.{prefix}"


def _join_parts(parts: list[str]) -> str:
    return parts[0] if len(set(parts)) == 1 else "x".join(parts)


def _number_text(value: object) -> str:
    # A hyphen separates the levels of an id.
    return str(value).replace("-", "m")


_WRITERS: Mapping[ParameterKind, Callable[[str], LevelWriter]] = {
    ParameterKind.SIZES: _per_axis_writer,
    ParameterKind.SCALES: _per_axis_writer,
    ParameterKind.CHANNEL_NUMBERS: _per_channel_writer,
    ParameterKind.CHANNEL_COUNTS: _per_channel_writer,
    ParameterKind.CHOICE: _word_writer,
    ParameterKind.PADDING: _padding_writer,
    ParameterKind.PAIRS: _padding_writer,
    ParameterKind.FLAG: _flag_writer,
}


_PARAMETER_FACTORS: Mapping[str, tuple[LevelWriter, FactorLevel]] = {
    name: (
        _WRITERS.get(parameter.kind, _number_writer)(parameter.id_prefix),
        ... if parameter.always_in_id else parameter.default,
    )
    for name, parameter in PARAMETERS.items()
}
FACTORS: Mapping[str, tuple[LevelWriter, FactorLevel]] = MappingProxyType(
    {
        "rank": (lambda level, _: f"{level}d", ...),
        "batch": (_number_writer("n"), ...),
        "channels": (_number_writer("c"), ...),
        "out": (_number_writer("o"), ...),
        "extent": (_per_axis_writer("i"), ...),
        **{name: factor for name, factor in _PARAMETER_FACTORS.items() if name != "output"},
        "bias": (_flag_writer("bias"), False),
        "output": _PARAMETER_FACTORS["output"],
        "values": (_number_writer(""), GeneratorName.INTEGERS.value),
        "dtype": (_number_writer(""), "float32"),
    }
)
"""Factors in the order of an id: the writer of a level at a rank, and the default level, which the id omits.

A factor with `...` has no default.
"""


@cache
def level_names(factor: str, levels: tuple[FactorLevel, ...], rank: int) -> tuple[str, ...]:
    """Return the text of each level of a factor at a rank; "" for the default level."""
    write, default = FACTORS[factor]
    omitted = None if default is ... else write(default, rank)
    words = (write(level, rank) for level in levels)
    return tuple("" if word == omitted else word for word in words)


def level_per_axis(level: FactorLevel, rank: int) -> tuple[int, ...]:
    """Return the value of a level on each axis; a list is repeated over the axes."""
    levels = level if isinstance(level, tuple) else (level,)
    return tuple(levels[axis % len(levels)] for axis in range(rank))


def level_pairs(level: FactorLevel, rank: int) -> tuple[tuple[int, int], ...]:
    """Return a level as a pair (before, after) for each axis.

    level: a number, one pair for every axis, or pairs that are repeated over the axes.
    """
    if isinstance(level, int):
        level = (level, level)
    # Two numbers are one (before, after) pair, not one number per axis.
    pairs = (level,) if isinstance(level[0], int) else level
    return tuple(pairs[axis % len(pairs)] for axis in range(rank))


def spatial_value(key: str, level: FactorLevel, rank: int) -> Any:
    """Return a level of a parameter in the form of a case in a YAML file."""
    kind = PARAMETERS[key].kind
    if kind in {ParameterKind.SIZES, ParameterKind.SCALES}:
        return list(level_per_axis(level, rank))
    if kind in PER_AXIS_KINDS and not isinstance(level, str):
        return [list(pair) for pair in level_pairs(level, rank)]
    return level


FactorLevels = Mapping[str, FactorLevel]


def has_valid_windows(level: FactorLevels, size: Sequence[int], rank: int, *, allow_padding_only: bool = False) -> bool:
    """Whether the output has windows, each with a cell of the input.

    allow_padding_only: allow windows without a cell of the input.
    """
    padding, rounding = level.get("padding", 0), level.get("rounding", Rounding.FLOOR)
    # With a word for the padding, no rounding rule determines the number of windows.
    if isinstance(padding, str) and rounding != Rounding.FLOOR:
        return False
    pads = padding if isinstance(padding, str) else level_pairs(padding, rank)
    window, stride, dilation = (level_per_axis(level.get(name, 1), rank) for name in ("window", "stride", "dilation"))
    try:
        counts = Windows.of(size, window, stride, pads, dilation, rounding).counts(False)
    except ValueError:
        return False
    return bool(counts.size and (allow_padding_only or counts.all()))


def has_unused_dilation(level: FactorLevels, rank: int) -> bool:
    """Whether all dilated axes have a window of one cell, so that the dilation has no effect."""
    window, dilation = (level_per_axis(level.get(name, 1), rank) for name in ("window", "dilation"))
    dilated = [cells for cells, distance in zip(window, dilation, strict=True) if distance > 1]
    return bool(dilated) and max(dilated) == 1


# For modes that copy cells of the input: the largest pad, as a difference to the extent after cropping.
PADDING_REACH: Mapping[str, int] = MappingProxyType(
    {PadMode.REFLECT.value: -1, PadMode.SYMMETRIC.value: 0, PadMode.WRAP.value: 0}
)


def has_valid_pads(level: FactorLevels, size: Sequence[int], rank: int, *, far: bool = False) -> bool:
    """Whether cells remain after cropping, enough for the padding mode to copy.

    far: allow pads that are larger than the input.
    """
    mode = level.get("mode", PadMode.CONSTANT)
    for extent, pair in zip(size, level_pairs(level["pads"], rank), strict=True):
        cropped = extent + sum(min(end, 0) for end in pair)
        if cropped <= 0 or (mode in PADDING_REACH and not far and max(pair) > cropped + PADDING_REACH[mode]):
            return False
    return True


def _has_valid_transpose(level: FactorLevels, size: Sequence[int], rank: int) -> bool:
    """Whether a transposed convolution has an output, and an output padding smaller than the stride or dilation."""
    padding, names = level.get("padding", 0), ("window", "stride", "dilation")
    window, stride, dilation = (level_per_axis(level.get(name, 1), rank) for name in names)
    output_padding = level_per_axis(level.get("output_padding", 0), rank)
    if isinstance(padding, str):
        return not any(output_padding)
    axes = zip(size, window, stride, dilation, level_pairs(padding, rank), output_padding, strict=True)
    return all(
        extra < max(step, distance) and (extent - 1) * step + distance * (cells - 1) + 1 + extra > sum(ends)
        for extent, cells, step, distance, ends, extra in axes
    )


def _has_valid_unpooling(level: FactorLevels, size: Sequence[int], rank: int) -> bool:
    return math.prod(level_per_axis(level["output_size"], rank)) >= math.prod(size)


def _has_valid_fractions(level: FactorLevels, size: Sequence[int], rank: int) -> bool:
    axes = zip(size, level_per_axis(level["window"], rank), level_per_axis(level["output_size"], rank), strict=True)
    return all(window + output - 1 <= extent for extent, window, output in axes)


def _has_valid_resampling(level: FactorLevels, size: Sequence[int], rank: int) -> bool:
    """Whether the output has cells, and no cell depends on the rounding of a coordinate.

    In the mode nearest, a coordinate at which the selected cell changes must be exact in every floating type, which
    it is if the step is a binary fraction. Conventions test other such coordinates, and those that float32 may round
    to one.
    """
    names = ("size", "scale", *REGION_PARAMETERS)
    given = {name: plain_value(level_per_axis(level[name], rank)) for name in names if level.get(name) is not None}
    sizes, coordinates = (given.pop("size", None), given.pop("scale", None)), level.get("coordinates", "half_pixel")
    try:
        axes = resampled_axes(size, *sizes, coordinates, **given)
    except ValueError:
        return False
    if any(axis.has_inexact_ends for axis in axes) or not _has_effective_flags(level):
        return False
    rule = level.get("nearest_rounding", NearestRounding.ROUND_PREFER_FLOOR.value)
    if level.get("mode") != ResizeMode.NEAREST:
        # Other modes have no rounding rule, and only the cubic one has a parameter.
        has_own = level.get("cubic_a", DEFAULT_CUBIC_A) == DEFAULT_CUBIC_A or level.get("mode") == ResizeMode.CUBIC
        return rule == NearestRounding.ROUND_PREFER_FLOOR and has_own
    return not any(axis.has_inexact_steps_at(rule) for axis in axes)


def _has_effective_flags(level: FactorLevels) -> bool:
    """Whether the mode and the coordinates have the options of the level, and they change weights."""
    mode, antialias = level.get("mode"), level.get("antialias", False)
    is_crop = level.get("coordinates") == Coordinates.TF_CROP_AND_RESIZE
    if antialias if is_crop else level.get("extrapolation_value", 0):
        return False
    if mode in {ResizeMode.NEAREST, ResizeMode.AREA}:
        is_centred = mode == ResizeMode.NEAREST or level.get("coordinates", "half_pixel") == "half_pixel"
        return is_centred and not antialias and not level.get("exclude_outside", False)
    return mode != ResizeMode.LINEAR or antialias or not level.get("exclude_outside", False)


def _has_valid_sampling(level: FactorLevels, _size: Sequence[int], rank: int) -> bool:
    """Whether the mode exists for the rank: cubic interpolation is for planes."""
    return level.get("mode") != ResizeMode.CUBIC or rank == PLANE_RANK


def _has_valid_matrices(level: FactorLevels, _size: Sequence[int], rank: int) -> bool:
    """Whether the grid has 2 or 3 axes, and two cells on every axis to align. Its matrices have one spatial axis."""
    grid = level["grid_size"]
    return rank == 1 and len(grid) in MATRIX_AXES and not (level.get("align_corners") and 1 in grid)


def _has_whole_blocks(level: FactorLevels, size: Sequence[int], _rank: int) -> bool:
    """Whether the block divides every extent."""
    return not any(extent % level["block"] for extent in size)


def _has_valid_columns(level: FactorLevels, _size: Sequence[int], rank: int) -> bool:
    """Whether the output of fold has windows. The extents of x are their numbers, for every level of `extent`."""
    return has_valid_windows(level, level_per_axis(level["output_size"], rank), rank, allow_padding_only=True)


def _fits_channels(level: FactorLevels, _size: Sequence[int], _rank: int) -> bool:
    """Whether each list has a number for each channel, and zero points are numbers of the output's dtype.

    Lists of weights, which are int8, have a number for each output channel.
    """
    lists = {name: value for name, value in level.items() if name in CHANNEL_PARAMETERS and isinstance(value, tuple)}
    outputs = level.get("out", 1) * level.get("groups", 1)
    return has_valid_zero_points(level) and all(
        len(value) == (outputs if name in WEIGHT_PARAMETERS else level["channels"]) for name, value in lists.items()
    )


def has_valid_zero_points(level: FactorLevels) -> bool:
    """Whether zero points are numbers of the dtype of quantized numbers. Weights of unsigned numbers can be signed."""
    is_unsigned = level.get("output_dtype", level["dtype"]) == QuantizedDtype.UINT8
    given = [number for name in ("x_zero_point", "y_zero_point") for number in np.ravel(level.get(name, 0))]
    signed = [] if is_unsigned else [*given, *np.ravel(level.get("w_zero_point", 0))]
    return not any(number > MAX_INT8 for number in signed) and not (is_unsigned and any(number < 0 for number in given))


def has_valid_dtype(geometry: Geometry, level: FactorLevels) -> bool:
    """Whether the operator accepts the dtype with the other levels: only the mode nearest resizes integers."""
    is_floating = dtype_kind(level["dtype"]) is DtypeKind.FLOATING
    is_resizable = geometry is not Geometry.RESAMPLING or is_floating or level.get("mode") == ResizeMode.NEAREST
    return is_resizable and has_valid_zero_points(level)


def _has_valid_quantized_windows(level: FactorLevels, size: Sequence[int], rank: int) -> bool:
    """Whether the windows are valid, and the numbers of quantization fit channels and dtypes."""
    is_quantized = level["dtype"] in QUANTIZED_DTYPES
    return has_valid_windows(level, size, rank) and (not is_quantized or _fits_channels(level, size, rank))


def _is_always_possible(_level: FactorLevels, _size: Sequence[int], _rank: int) -> bool:
    return True


GEOMETRY_CHECKS: Mapping[Geometry, Callable[[FactorLevels, Sequence[int], int], bool]] = MappingProxyType(
    {
        Geometry.WINDOWS: _has_valid_quantized_windows,
        Geometry.DEFORMED: has_valid_windows,
        Geometry.TRANSPOSED: _has_valid_transpose,
        Geometry.PADS: has_valid_pads,
        Geometry.UNPOOLING: _has_valid_unpooling,
        Geometry.FRACTIONS: _has_valid_fractions,
        Geometry.BINS: _is_always_possible,
        Geometry.GLOBAL: _is_always_possible,
        Geometry.CHANNELS: _is_always_possible,
        Geometry.CELLS: _fits_channels,
        Geometry.RESAMPLING: _has_valid_resampling,
        Geometry.SAMPLING: _has_valid_sampling,
        Geometry.POINTS: _has_valid_matrices,
        # The number of channels of a row is a multiple of the cells of a block.
        Geometry.TO_BLOCKS: _is_always_possible,
        Geometry.FROM_BLOCKS: _has_whole_blocks,
        Geometry.TO_COLUMNS: has_valid_windows,
        Geometry.FROM_COLUMNS: _has_valid_columns,
    }
)
"""Whether the levels describe a valid geometry; arguments: the levels, the extents of x and the rank."""
