"""The factors of sweeps: how each writes its levels into an id, and what a level means on so many axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from reference import Windows

FactorLevel = Any
LevelWriter = Callable[[FactorLevel, int], str]


def _per_axis_writer(letter: str) -> LevelWriter:
    """Return a writer of one number for each axis, or for all if they are alike: w3, w3x2."""
    return lambda level, rank: letter + _join_parts([_number_text(part) for part in level_per_axis(level, rank)])


def _write_ends(level: FactorLevel, rank: int) -> str:
    """Write numbers before and after each axis: p1, p1.0, p1.0x0.2, same.upper."""
    if isinstance(level, str):
        return level.replace("_", ".")
    ends = (pair[:1] if pair[0] == pair[1] else pair for pair in level_pairs(level, rank))
    return "p" + _join_parts([".".join(map(_number_text, pair)) for pair in ends])


def _join_parts(parts: list[str]) -> str:
    return parts[0] if len(set(parts)) == 1 else "x".join(parts)


def _number_text(value: float) -> str:
    return str(value).replace("-", "m")


def _number_writer(letter: str) -> LevelWriter:
    return lambda level, _: letter + _number_text(level)


def _flag_writer(yes: str, no: str) -> LevelWriter:
    return lambda level, _: yes if level else no


def _write_word(level: FactorLevel, _: int) -> str:
    return str(level)


# Factors in the order of an id: how each writes a level at a rank, and the level that it leaves out.
FACTORS: Mapping[str, tuple[LevelWriter, FactorLevel]] = MappingProxyType(
    {
        "rank": (lambda level, _: f"{level}d", ...),
        "batch": (_number_writer("n"), ...),
        "channels": (_number_writer("c"), ...),
        "out": (_number_writer("o"), ...),
        "extent": (_per_axis_writer("i"), ...),
        "window": (_per_axis_writer("w"), ...),
        "pads": (_write_ends, ...),
        "stride": (_per_axis_writer("s"), ...),
        "padding": (_write_ends, 0),
        "dilation": (_per_axis_writer("d"), 1),
        "rounding": (_write_word, "floor"),
        "count_include_pad": (_flag_writer("include", "exclude"), False),
        "output_size": (_per_axis_writer("to"), ...),
        "output_padding": (_per_axis_writer("op"), 0),
        "p": (_number_writer("norm"), 2),
        "divisor": (lambda level, _: f"by{level}" if level else "by.count", None),
        "groups": (_number_writer("g"), 1),
        "bias": (_flag_writer("bias", "no.bias"), False),
        "mode": (_write_word, "constant"),
        "value": (_number_writer("v"), 0),
        "ties": (_number_writer("ties."), ...),
        "output": (_number_writer("of."), ...),
        "values": (lambda level, _: _number_text(level), "integers"),
        "dtype": (_write_word, "float32"),
    }
)

PER_AXIS_FACTORS = frozenset({"window", "stride", "dilation", "output_size", "output_padding"})


@cache
def level_names(factor: str, levels: tuple[FactorLevel, ...], rank: int) -> tuple[str, ...]:
    """Return what the levels of a factor are called at a rank; nothing for the one that is left out."""
    write, silent = FACTORS[factor]
    usual = None if silent is ... else write(silent, rank)
    words = (write(level, rank) for level in levels)
    return tuple("" if word == usual else word for word in words)


def level_per_axis(level: FactorLevel, rank: int) -> tuple[int, ...]:
    """Return a level on each of so many axes, going round a list."""
    levels = level if isinstance(level, tuple) else (level,)
    return tuple(levels[axis % len(levels)] for axis in range(rank))


def level_pairs(level: FactorLevel, rank: int) -> tuple[tuple[int, int], ...]:
    """Return a level on each axis as (before, after): a number, a pair for every axis, or pairs that go round."""
    if isinstance(level, int):
        level = (level, level)
    # One pair is for every axis, not one number for each.
    pairs = (level,) if isinstance(level[0], int) else level
    return tuple(pairs[axis % len(pairs)] for axis in range(rank))


def spatial_value(key: str, level: FactorLevel, rank: int) -> Any:
    """Return a level as a catalogue file would have it."""
    if key in {"padding", "pads"} and not isinstance(level, str):
        return [list(pair) for pair in level_pairs(level, rank)]
    return list(level_per_axis(level, rank)) if key in PER_AXIS_FACTORS else level


FactorLevels = Mapping[str, FactorLevel]


def has_valid_windows(level: FactorLevels, size: Sequence[int], rank: int, *, allow_padding_only: bool = False) -> bool:
    """Whether windows walk: output everywhere, and in every window a cell of the input, unless some may be bare."""
    padding, rounding = level.get("padding", 0), level.get("rounding", "floor")
    if isinstance(padding, str) and rounding != "floor":
        return False
    walked = padding if isinstance(padding, str) else level_pairs(padding, rank)
    window, stride, dilation = (level_per_axis(level.get(name, 1), rank) for name in ("window", "stride", "dilation"))
    try:
        counts = Windows.of(size, window, stride, walked, dilation, rounding).counts(False)
    except ValueError:
        return False
    return bool(counts.size and (allow_padding_only or counts.all()))


def has_unused_dilation(level: FactorLevels, rank: int) -> bool:
    """Whether a dilation lies on axes alone where the window is one cell, so that it means nothing."""
    window, dilation = (level_per_axis(level.get(name, 1), rank) for name in ("window", "dilation"))
    dilated = [cells for cells, hole in zip(window, dilation, strict=True) if hole > 1]
    return bool(dilated) and max(dilated) == 1


# How many more cells than the kept ones an end may ask for, by the mode that takes them from the input.
PADDING_REACH: Mapping[str, int] = MappingProxyType({"reflect": -1, "symmetric": 0, "wrap": 0})


def has_valid_pads(level: FactorLevels, size: Sequence[int], rank: int, *, far: bool = False) -> bool:
    """Whether something is left after the crop, and has enough cells to mirror or to go round, or may go far."""
    mode = level.get("mode", "constant")
    for extent, pair in zip(size, level_pairs(level["pads"], rank), strict=True):
        left = extent + sum(min(end, 0) for end in pair)
        if left <= 0 or (mode in PADDING_REACH and not far and max(pair) > left + PADDING_REACH[mode]):
            return False
    return True


def _has_valid_transpose(level: FactorLevels, size: Sequence[int], rank: int) -> bool:
    """Whether a transposed convolution has an output, and less output padding than a stride or a dilation."""
    padding, names = level.get("padding", 0), ("window", "stride", "dilation")
    window, stride, dilation = (level_per_axis(level.get(name, 1), rank) for name in names)
    further = level_per_axis(level.get("output_padding", 0), rank)
    if isinstance(padding, str):
        return not any(further)
    axes = zip(size, window, stride, dilation, level_pairs(padding, rank), further, strict=True)
    return all(
        more < max(step, hole) and (extent - 1) * step + hole * (cells - 1) + 1 + more > sum(ends)
        for extent, cells, step, hole, ends, more in axes
    )


def _has_valid_unpooling(level: FactorLevels, size: Sequence[int], rank: int) -> bool:
    return math.prod(level_per_axis(level["output_size"], rank)) >= math.prod(size)


def _has_valid_fractions(level: FactorLevels, size: Sequence[int], rank: int) -> bool:
    axes = zip(size, level_per_axis(level["window"], rank), level_per_axis(level["output_size"], rank), strict=True)
    return all(window + output - 1 <= extent for extent, window, output in axes)


def _is_always_possible(_level: FactorLevels, _size: Sequence[int], _rank: int) -> bool:
    return True


# What makes a geometry possible, of the operators that do not walk over their input.
GEOMETRY_CHECKS: Mapping[str, Callable[[FactorLevels, Sequence[int], int], bool]] = MappingProxyType(
    {
        "pad": has_valid_pads,
        "conv_transpose": _has_valid_transpose,
        "max_unpool": _has_valid_unpooling,
        "fractional_max_pool": _has_valid_fractions,
        "adaptive_max_pool": _is_always_possible,
        "adaptive_avg_pool": _is_always_possible,
        "global_max_pool": _is_always_possible,
        "global_avg_pool": _is_always_possible,
    }
)
