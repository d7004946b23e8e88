"""The factors of sweeps: how each writes its levels into an id, and what a level means on so many axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from reference import Windows

Level = Any
Writer = Callable[[Level, int], str]


def _axes(letter: str) -> Writer:
    """Return a writer of one number for each axis, or for all if they are alike: w3, w3x2."""
    return lambda level, rank: letter + _joined([_number(part) for part in along(level, rank)])


def _ends(level: Level, rank: int) -> str:
    """Write numbers before and after each axis: p1, p1.0, p1.0x0.2, same.upper."""
    if isinstance(level, str):
        return level.replace("_", ".")
    ends = (pair[:1] if pair[0] == pair[1] else pair for pair in pairs(level, rank))
    return "p" + _joined([".".join(map(_number, pair)) for pair in ends])


def _joined(parts: list[str]) -> str:
    return parts[0] if len(set(parts)) == 1 else "x".join(parts)


def _number(value: float) -> str:
    return str(value).replace("-", "m")


def _one(letter: str) -> Writer:
    return lambda level, _: letter + _number(level)


def _either(yes: str, no: str) -> Writer:
    return lambda level, _: yes if level else no


def _word(level: Level, _: int) -> str:
    return str(level)


# Factors in the order of an id: how each writes a level at a rank, and the level that it leaves out.
FACTORS: Mapping[str, tuple[Writer, Level]] = MappingProxyType(
    {
        "rank": (lambda level, _: f"{level}d", ...),
        "batch": (_one("n"), ...),
        "channels": (_one("c"), ...),
        "out": (_one("o"), ...),
        "extent": (_axes("i"), ...),
        "window": (_axes("w"), ...),
        "pads": (_ends, ...),
        "stride": (_axes("s"), ...),
        "padding": (_ends, 0),
        "dilation": (_axes("d"), 1),
        "rounding": (_word, "floor"),
        "count_include_pad": (_either("include", "exclude"), False),
        "output_size": (_axes("to"), ...),
        "output_padding": (_axes("op"), 0),
        "p": (_one("norm"), 2),
        "divisor": (lambda level, _: f"by{level}" if level else "by.count", None),
        "groups": (_one("g"), 1),
        "bias": (_either("bias", "no.bias"), False),
        "mode": (_word, "constant"),
        "value": (_one("v"), 0),
        "ties": (_one("ties."), ...),
        "output": (_one("of."), ...),
        "values": (lambda level, _: _number(level), "integers"),
        "dtype": (_word, "float32"),
    }
)

ALONG = frozenset({"window", "stride", "dilation", "output_size", "output_padding"})


@cache
def words(factor: str, levels: tuple[Level, ...], rank: int) -> tuple[str, ...]:
    """Return what the levels of a factor are called at a rank; nothing for the one that is left out."""
    write, silent = FACTORS[factor]
    usual = None if silent is ... else write(silent, rank)
    words = (write(level, rank) for level in levels)
    return tuple("" if word == usual else word for word in words)


def along(level: Level, rank: int) -> tuple[int, ...]:
    """Return a level on each of so many axes, going round a list."""
    levels = level if isinstance(level, tuple) else (level,)
    return tuple(levels[axis % len(levels)] for axis in range(rank))


def pairs(level: Level, rank: int) -> tuple[tuple[int, int], ...]:
    """Return a level on each axis as (before, after): a number, a pair for every axis, or pairs that go round."""
    if isinstance(level, int):
        level = (level, level)
    # One pair is for every axis, not one number for each.
    pairs = (level,) if isinstance(level[0], int) else level
    return tuple(pairs[axis % len(pairs)] for axis in range(rank))


def spatial(key: str, level: Level, rank: int) -> Any:
    """Return a level as a catalogue file would have it."""
    if key in {"padding", "pads"} and not isinstance(level, str):
        return [list(pair) for pair in pairs(level, rank)]
    return list(along(level, rank)) if key in ALONG else level


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
