"""Sizes of a recipe: extents, channels, windows and how they walk; the kind of each is drawn, then a number of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.cases.operators import OPERATORS
from conformance.catalogue.factors import Level
from conformance.exploration.rng import Dice

WIDTHS = (15, 16, 17, 31, 32, 33, 63, 64, 65)
"""Extents and channels about the widths of vector instructions."""
LONG = 65_536
"""Cells on an axis that 16 bits do not count."""
PLENTY = (257, 300, 512, 700, 1030)
"""Cells of a window that 8 or 16 bits do not add well."""


def sizes(operator: str, rank: int, dice: Dice) -> dict[str, Level]:
    """Draw all that has a size: the kind of each first, which may be guided, then a number of the kind."""
    known = OPERATORS[operator]
    weights, forward = "kernel" in known.inputs, known.forward
    extent = _extents(rank, dice)
    vast = max(extent) > WIDTHS[-1]
    levels: dict[str, Level] = {
        "extent": extent,
        "batch": 1 if vast else dice.kind((1,), (2, 3)),
        "channels": 1 if vast and max(extent) > PLENTY[-1] else _channels(dice),
    }
    if weights:
        levels["out"] = _channels(dice)
        levels["groups"] = dice.kind((1,), (2, 3))
    if weights or "window" in known.defaults:
        walk = _usual_walk(rank, dice) if dice.chance(3) else _walk(extent, dice)
        levels |= {name: level for name, level in walk.items() if name in {"window", *known.defaults}}
    return levels | _outputs(forward, extent, levels, dice)


def _walk(extent: tuple[int, ...], dice: Dice) -> dict[str, Level]:
    """Draw how a window walks."""
    rank = len(extent)
    window = _along(rank, dice, lambda axis: _window(extent[axis], dice))
    return {
        "window": window,
        "stride": _along(rank, dice, lambda axis: _stride(window[axis], dice)),
        "dilation": _along(rank, dice, lambda _axis: _dilation(dice)),
        "padding": _padding(window, dice),
    }


def _usual_walk(rank: int, dice: Dice) -> dict[str, Level]:
    """Draw one of the walks that most models have, for which frameworks have paths of their own."""
    window = dice.one_of((1, 2, 3, 3, 5, 7))
    end = dice.one_of((0, window // 2))
    return {
        "window": (window,) * rank,
        "stride": (dice.one_of((1, 1, 2, window)),) * rank,
        "dilation": (1,) * rank,
        "padding": ((end, end),) * rank,
    }


def _channels(dice: Dice) -> int:
    return dice.kind((1,), (2, 3, dice.one_of((8, *WIDTHS))))


def _outputs(forward: str, extent: tuple[int, ...], levels: Mapping[str, Any], dice: Dice) -> dict[str, Level]:
    """Draw what says how far an output goes."""
    rank = len(extent)
    if forward == "pad":
        return {"pads": tuple((_end(size, dice), _end(size, dice)) for size in extent)}
    if forward == "conv_transpose":
        usual = dice.chance(2)
        return {"output_padding": tuple(0 if usual else dice.below(levels["stride"][axis] + 1) for axis in range(rank))}
    if forward == "max_unpool":
        return {"output_size": tuple(dice.between(size, 3 * size) for size in extent)}
    if forward == "fractional_max_pool":
        return {"output_size": tuple(dice.between(1, max(size - 1, 1)) for size in extent)}
    if forward.startswith("adaptive"):
        return {"output_size": tuple(_bins(size, dice) for size in extent)}
    return {}


def _bins(extent: int, dice: Dice) -> int:
    return dice.one_of((1, extent, dice.between(1, extent + 2), dice.between(1, 9 * extent)))


def _along(rank: int, dice: Dice, draw: Callable[[int], int]) -> tuple[int, ...]:
    """Draw for each axis; as often as not, the first for all."""
    first = draw(0)
    alike = rank == 1 or dice.kind((True,), (False,))
    return (first,) * rank if alike else (first, *(draw(axis) for axis in range(1, rank)))


def _extents(rank: int, dice: Dice) -> tuple[int, ...]:
    """Draw small extents, and one that may be of another kind."""
    kind = dice.kind(("small", "middle"), ("middle", "width", "plenty", "long"))
    usual = [dice.between(1, 4 if kind == "small" else 9) for _ in range(rank)]
    usual = [min(size, 5) if rank > 2 else size for size in usual]  # noqa: PLR2004 - axes
    axis = dice.below(rank)
    if kind == "width":
        usual[axis] = dice.one_of(WIDTHS)
    elif kind == "plenty":
        usual[axis] = dice.one_of(PLENTY)
    elif kind == "long":
        usual = [1] * rank if dice.chance(2) else [min(size, 2) for size in usual]
        usual[axis] = LONG + dice.below(5000)
    elif kind == "middle":
        usual[axis] = dice.between(5, 13)
    return tuple(usual)


def _window(extent: int, dice: Dice) -> int:
    most = max(extent, 1)
    return dice.one_of((1, 2, 2, 3, 3, 4, dice.between(1, 7), min(most, dice.one_of(PLENTY)), min(most, 9)))


def _stride(window: int, dice: Dice) -> int:
    return dice.kind((1,), (2, 3, window, window + 1, window + dice.between(1, 3), dice.between(1, 6)))


def _dilation(dice: Dice) -> int:
    return dice.kind((1,), (2, 3, dice.between(2, 6)))


def _padding(window: tuple[int, ...], dice: Dice) -> Level:
    kind = dice.kind(("none", "alike"), ("alike", "before", "after", "any", "any", "same_upper", "same_lower"))
    if kind.startswith("same"):
        return kind
    most = [min(size, 6) for size in window]
    pairs = []
    for size in most:
        first, second = dice.between(0, size), dice.between(0, size)
        ends = {"none": (0, 0), "alike": (first, first), "before": (first, 0), "after": (0, first)}
        pairs.append(ends.get(kind, (first, second)))
    return tuple(pairs)


def _end(extent: int, dice: Dice) -> int:
    size = min(extent, 9)
    return dice.kind((0, 1), (dice.between(1, size), size, -1, -dice.between(1, size)))
