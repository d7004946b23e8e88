"""Draw the sizes of a candidate: extents, channels, windows, strides, dilation and padding.

The kind of a size is drawn first, then a number of that kind, so that rare kinds occur often enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

from conformance.cases.operators import MATRIX_AXES, OPERATORS, Geometry, PaddingWord
from conformance.catalogue.factors import FactorLevel
from conformance.exploration.rng import Rng
from reports.results.vocabulary import Word

T = TypeVar("T")
VECTOR_WIDTH_SIZES = (15, 16, 17, 31, 32, 33, 63, 64, 65)
"""Extents and numbers of channels near the widths of vector instructions."""
LONG_AXIS_CELLS = 65_536
"""Number of cells on an axis that overflows a 16-bit counter."""
VERY_LONG_AXES = (131_073, 262_145, 300_007)
"""Numbers of cells on an axis beyond 17 and 18 bits. They are rare, because few cases of this size are affordable."""
LARGE_WINDOW_CELLS = (257, 300, 512, 700, 1030)
"""Numbers of cells of a window for which accumulation in 8 or 16 bits loses accuracy."""
LONG_COUNT_INTERVAL = 3
"""One in this number of draws with a long axis has that many images or channels instead."""
LARGE_STEPS = (7, 8, 9, 16, 17, 33)
"""Strides and dilations beyond those of common models."""
ONE_AXIS_INTERVAL = 3
"""One in this number of draws with several axes has a stride, a dilation, a window or pads on one axis only."""


class ExtentKind(Enum):
    """The extent of the largest axis."""

    SMALL = "up to 4 cells"
    MIDDLE = "up to 13 cells"
    WIDE = "up to 64 cells"
    VECTOR = "one of VECTOR_WIDTH_SIZES"
    LARGE = "one of LARGE_WINDOW_CELLS"
    LONG = "LONG_AXIS_CELLS or more"


class PaddingKind(Word):
    """The padding at both ends of each axis."""

    NONE = "none"
    EQUAL = "equal"
    BEFORE = "before"
    AFTER = "after"
    UNEQUAL = "unequal"
    CROPPED = "cropped"  # negative; only the operator pad has it


def draw_sizes(operator: str, rank: int, rng: Rng, *, common: bool = False) -> dict[str, FactorLevel]:
    """Draw the levels of all factors that are sizes, for an operator and a number of spatial axes.

    common: whether the windows are a common configuration; otherwise one in three is.
    """
    described = OPERATORS[operator]
    extent = _draw_extents(rank, rng)
    # Long axes with many channels or batch items would exceed the limit on terms.
    long = max(extent) > VECTOR_WIDTH_SIZES[-1]
    levels: dict[str, FactorLevel] = {
        "extent": extent,
        "batch": 1 if long else rng.usual_or_unusual((1,), (2, 3)),
        "channels": 1 if long and max(extent) > LARGE_WINDOW_CELLS[-1] else _draw_channels(rng),
    }
    if described.has_weights and not described.has_channel_kernels:
        levels["out"] = _draw_channels(rng)
        levels["groups"] = rng.usual_or_unusual((1,), (2, 3, rng.choice((4, 8, *VECTOR_WIDTH_SIZES))))
        if levels["groups"] != 1 and rng.one_in(2):  # each channel is a group
            levels |= {"channels": 1, "out": rng.choice((1, 1, 2))}
    if max(extent) >= LONG_AXIS_CELLS and rng.one_in(LONG_COUNT_INTERVAL):
        levels |= _with_long_count(levels, rng)
        extent = levels["extent"]
    if described.has_weights or "window" in described.defaults:
        windows = _draw_usual_windows(rank, rng) if common or rng.one_in(3) else _draw_windows(extent, rng)
        levels |= {name: level for name, level in windows.items() if name in {"window", *described.defaults}}
    return levels | _draw_output_factors(described.geometry, extent, levels, rng)


def _with_long_count(levels: Mapping[str, Any], rng: Rng) -> dict[str, Any]:
    """Return the levels with the cells of a long axis as images or channels, and one or two cells on every axis."""
    names = [name for name in ("batch", "channels", "out", "groups") if name in levels]
    counts = {**dict.fromkeys(names, 1), rng.choice(names): max(levels["extent"])}
    return {"extent": tuple(rng.randint(1, 2) for _ in levels["extent"]), **counts}


def _draw_windows(extent: tuple[int, ...], rng: Rng) -> dict[str, FactorLevel]:
    """Draw windows, strides, dilation and padding independently for each axis."""
    rank = len(extent)
    window = _draw_per_axis(rank, rng, lambda axis: _draw_window(extent[axis], rng))
    return {
        "window": window,
        "stride": _draw_per_axis(rank, rng, lambda axis: _draw_stride(window[axis], rng)),
        "dilation": _draw_per_axis(rank, rng, lambda _axis: _draw_dilation(rng)),
        "padding": _draw_padding(window, rng),
    }


def _draw_usual_windows(rank: int, rng: Rng) -> dict[str, FactorLevel]:
    """Draw a common configuration of windows. Frameworks have special code paths for these."""
    window = rng.choice((1, 2, 3, 3, 3, 3, 5, 7))
    end = rng.choice((0, window // 2))
    return {
        "window": (window,) * rank,
        "stride": (rng.choice((1, 1, 2, window)),) * rank,
        "dilation": (1,) * rank,
        "padding": ((end, end),) * rank,
    }


def _draw_channels(rng: Rng) -> int:
    return rng.usual_or_unusual((1,), (2, 3, rng.choice((8, *VECTOR_WIDTH_SIZES))))


def _draw_output_factors(
    geometry: Geometry, extent: tuple[int, ...], levels: Mapping[str, Any], rng: Rng
) -> dict[str, FactorLevel]:
    """Draw the factors that determine the output size independently of windows."""
    rank = len(extent)
    if geometry is Geometry.PADS:
        pads = tuple((_draw_end_padding(size, rng), _draw_end_padding(size, rng)) for size in extent)
        return {"pads": _on_one_axis(pads, (0, 0), rng) if rng.one_in(ONE_AXIS_INTERVAL) else pads}
    if geometry is Geometry.TRANSPOSED:
        usual = rng.one_in(2)
        return {
            "output_padding": tuple(0 if usual else rng.randrange(levels["stride"][axis] + 1) for axis in range(rank))
        }
    if geometry in {Geometry.TO_BLOCKS, Geometry.FROM_BLOCKS}:
        return _draw_blocks(geometry, extent, rng)
    if geometry in CHANNEL_DRAWS:
        return CHANNEL_DRAWS[geometry](levels, rng)
    if geometry not in OUTPUT_SIZE_DRAWS:
        return {}
    name, draw = OUTPUT_SIZE_DRAWS[geometry]
    return {name: tuple(draw(size, rng) for size in extent)}


def _draw_blocks(geometry: Geometry, extent: tuple[int, ...], rng: Rng) -> dict[str, FactorLevel]:
    """Draw the extent of blocks. Cells that become channels get extents that it divides."""
    block = rng.usual_or_unusual((2, 3), (1, 4, rng.randint(5, 9)))
    whole = geometry is Geometry.FROM_BLOCKS
    return {"block": block, **({"extent": tuple(block * size for size in extent)} if whole else {})}


def _draw_local_size(levels: Mapping[str, Any], rng: Rng) -> dict[str, FactorLevel]:
    return {
        "channels": rng.randint(1, 12) if levels["channels"] == 1 else levels["channels"],
        "local_size": rng.usual_or_unusual((3, 5), (1, 2, 4, rng.randint(6, 20))),
    }


def _draw_matrices(_levels: Mapping[str, Any], rng: Rng) -> dict[str, FactorLevel]:
    axes = rng.choice(MATRIX_AXES)
    grid = tuple(rng.choice((1, 2, 3, rng.randint(4, 17))) for _ in range(axes))
    return {"channels": axes, "extent": (axes + 1,), "grid_size": grid}


def _draw_offset_groups(levels: Mapping[str, Any], rng: Rng) -> dict[str, FactorLevel]:
    return {"offset_groups": rng.usual_or_unusual((1,), (2, levels["groups"], rng.randint(3, 5)))}


CHANNEL_DRAWS: Mapping[Geometry, Callable[[Mapping[str, Any], Rng], dict[str, FactorLevel]]] = {
    Geometry.CHANNELS: _draw_local_size,
    Geometry.POINTS: _draw_matrices,
    Geometry.DEFORMED: _draw_offset_groups,
}
"""Draws of the channels, with the factors that depend on them."""
OUTPUT_SIZE_DRAWS: Mapping[Geometry, tuple[str, Callable[[int, Rng], int]]] = {
    Geometry.UNPOOLING: ("output_size", lambda size, rng: rng.randint(size, 3 * size)),
    Geometry.FRACTIONS: ("output_size", lambda size, rng: rng.randint(1, max(size - 1, 1))),
    # The extents of columns follow from those of the plane.
    Geometry.FROM_COLUMNS: ("output_size", lambda size, _rng: size),
    Geometry.SAMPLING: ("output_size", lambda size, rng: rng.choice((1, size, rng.randint(1, 9)))),
    Geometry.BINS: (
        "output_size",
        lambda size, rng: rng.choice((1, size, rng.randint(1, size + 2), rng.randint(1, 9 * size))),
    ),
    Geometry.RESAMPLING: (
        "size",
        lambda size, rng: rng.choice((1, size, 2 * size, max(size // 2, 1), rng.randint(1, 3 * size + 1))),
    ),
}
"""The parameter that gives the output size, and how its value on an axis is drawn from the extent of x."""


def _draw_per_axis(rank: int, rng: Rng, draw: Callable[[int], int]) -> tuple[int, ...]:
    """Draw a size for each axis, or use one size for all axes, or for one of several axes and 1 for the others."""
    first = draw(0)
    equal = rank == 1 or rng.usual_or_unusual((True,), (False,))
    if equal:
        return (first,) * rank
    every = (first, *(draw(axis) for axis in range(1, rank)))
    return _on_one_axis(every, 1, rng) if rng.one_in(ONE_AXIS_INTERVAL) else every


def _on_one_axis(levels: tuple[T, ...], default: T, rng: Rng) -> tuple[T, ...]:
    """Return the levels with the default on all axes but one."""
    changed = rng.randrange(len(levels))
    return tuple(level if axis == changed else default for axis, level in enumerate(levels))


def _draw_extents(rank: int, rng: Rng) -> tuple[int, ...]:
    """Draw small extents for all axes, then replace that of one axis by an extent of another kind."""
    kind = rng.usual_or_unusual(
        (ExtentKind.SMALL, ExtentKind.MIDDLE),
        (ExtentKind.MIDDLE, ExtentKind.WIDE, ExtentKind.VECTOR, ExtentKind.LARGE, ExtentKind.LONG),
    )
    extents = [rng.randint(1, 4 if kind is ExtentKind.SMALL else 9) for _ in range(rank)]
    # Three axes of 9 cells would leave few terms for windows and channels.
    extents = [min(size, 5) if rank > 2 else size for size in extents]  # noqa: PLR2004 - axes
    axis = rng.randrange(rank)
    if kind is ExtentKind.VECTOR:
        extents[axis] = rng.choice(VECTOR_WIDTH_SIZES)
    elif kind is ExtentKind.LARGE:
        extents[axis] = rng.choice(LARGE_WINDOW_CELLS)
    elif kind is ExtentKind.LONG:
        extents = [1] * rank if rng.one_in(2) else [min(size, 2) for size in extents]
        extents[axis] = rng.choice(VERY_LONG_AXES) if rng.one_in(4) else LONG_AXIS_CELLS + rng.randrange(5000)
    elif kind is ExtentKind.WIDE:
        extents[axis] = rng.randint(14, 64)
    elif kind is ExtentKind.MIDDLE:
        extents[axis] = rng.randint(5, 13)
    return tuple(extents)


def _draw_window(extent: int, rng: Rng) -> int:
    most = max(extent, 1)
    # Repeated numbers are more likely.
    return rng.choice((1, 2, 2, 3, 3, 4, rng.randint(1, 7), min(most, rng.choice(LARGE_WINDOW_CELLS)), min(most, 9)))


def _draw_stride(window: int, rng: Rng) -> int:
    larger = window + rng.randint(1, 3)
    unusual = (2, 3, window, window + 1, larger, rng.choice((*range(1, 7), rng.choice(LARGE_STEPS))))
    stride: int = rng.usual_or_unusual((1,), unusual)
    return stride


def _draw_dilation(rng: Rng) -> int:
    dilation: int = rng.usual_or_unusual((1,), (2, 3, rng.choice((*range(2, 7), rng.choice(LARGE_STEPS)))))
    return dilation


def _draw_padding(window: tuple[int, ...], rng: Rng) -> FactorLevel:
    usual, uneven = (
        (PaddingKind.NONE, PaddingKind.EQUAL),
        (PaddingKind.UNEQUAL, PaddingKind.UNEQUAL),
    )  # drawn more often
    words = (PaddingWord.SAME_UPPER, PaddingWord.SAME_LOWER)
    kind: Word = rng.usual_or_unusual(
        usual, (PaddingKind.EQUAL, PaddingKind.BEFORE, PaddingKind.AFTER, *uneven, *words)
    )
    if isinstance(kind, PaddingWord):
        return kind.value
    pairs = []
    for limit in (min(size, 6) for size in window):
        first, second = rng.randint(0, limit), rng.randint(0, limit)
        pair_of_kind: dict[Word, tuple[int, int]] = {
            PaddingKind.NONE: (0, 0),
            PaddingKind.EQUAL: (first, first),
            PaddingKind.BEFORE: (first, 0),
            PaddingKind.AFTER: (0, first),
            PaddingKind.UNEQUAL: (first, second),
        }
        pairs.append(pair_of_kind[kind])
    return _on_one_axis(tuple(pairs), (0, 0), rng) if rng.one_in(ONE_AXIS_INTERVAL) else tuple(pairs)


def _draw_end_padding(extent: int, rng: Rng) -> int:
    size = min(extent, 9)
    return rng.usual_or_unusual((0, 1), (rng.randint(1, size), size, -1, -rng.randint(1, size)))
