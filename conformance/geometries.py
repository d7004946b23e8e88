"""Which geometries are possible: output everywhere, and enough cells of the input for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from conformance.factors import Level, along, pairs
from reference import Windows

Levels = Mapping[str, Level]


def walks(level: Levels, size: Sequence[int], rank: int, *, bare: bool = False) -> bool:
    """Whether windows walk: output everywhere, and in every window a cell of the input, unless some may be bare."""
    padding, rounding = level.get("padding", 0), level.get("rounding", "floor")
    if isinstance(padding, str) and rounding != "floor":
        return False
    walked = padding if isinstance(padding, str) else pairs(padding, rank)
    window, stride, dilation = (along(level.get(name, 1), rank) for name in ("window", "stride", "dilation"))
    try:
        counts = Windows.of(size, window, stride, walked, dilation, rounding).counts(False)
    except ValueError:
        return False
    return bool(counts.size and (bare or counts.all()))


def holes_in_nothing(level: Levels, rank: int) -> bool:
    """Whether a dilation lies on axes alone where the window is one cell, so that it means nothing."""
    window, dilation = (along(level.get(name, 1), rank) for name in ("window", "dilation"))
    dilated = [cells for cells, hole in zip(window, dilation, strict=True) if hole > 1]
    return bool(dilated) and max(dilated) == 1


# How many more cells than the kept ones an end may ask for, by the mode that takes them from the input.
REACH: Mapping[str, int] = MappingProxyType({"reflect": -1, "symmetric": 0, "wrap": 0})


def pads(level: Levels, size: Sequence[int], rank: int, *, far: bool = False) -> bool:
    """Whether something is left after the crop, and has enough cells to mirror or to go round, or may go far."""
    mode = level.get("mode", "constant")
    for extent, pair in zip(size, pairs(level["pads"], rank), strict=True):
        left = extent + sum(min(end, 0) for end in pair)
        if left <= 0 or (mode in REACH and not far and max(pair) > left + REACH[mode]):
            return False
    return True


def _transposes(level: Levels, size: Sequence[int], rank: int) -> bool:
    """Whether a transposed convolution has an output, and less output padding than a stride or a dilation."""
    padding, names = level.get("padding", 0), ("window", "stride", "dilation")
    window, stride, dilation = (along(level.get(name, 1), rank) for name in names)
    further = along(level.get("output_padding", 0), rank)
    if isinstance(padding, str):
        return not any(further)
    axes = zip(size, window, stride, dilation, pairs(padding, rank), further, strict=True)
    return all(
        more < max(step, hole) and (extent - 1) * step + hole * (cells - 1) + 1 + more > sum(ends)
        for extent, cells, step, hole, ends, more in axes
    )


def _unpools(level: Levels, size: Sequence[int], rank: int) -> bool:
    return math.prod(along(level["output_size"], rank)) >= math.prod(size)


def _fractions(level: Levels, size: Sequence[int], rank: int) -> bool:
    axes = zip(size, along(level["window"], rank), along(level["output_size"], rank), strict=True)
    return all(window + output - 1 <= extent for extent, window, output in axes)


def _always(_level: Levels, _size: Sequence[int], _rank: int) -> bool:
    return True


# What makes a geometry possible, of the operators that do not walk over their input.
POSSIBLE: Mapping[str, Callable[[Levels, Sequence[int], int], bool]] = MappingProxyType(
    {
        "pad": pads,
        "conv_transpose": _transposes,
        "max_unpool": _unpools,
        "fractional_max_pool": _fractions,
        "adaptive_max_pool": _always,
        "adaptive_avg_pool": _always,
        "global_max_pool": _always,
        "global_avg_pool": _always,
    }
)
