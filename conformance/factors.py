"""The factors of sweeps: how each writes its levels into an id, and what a level means on so many axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

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
