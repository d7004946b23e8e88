"""How far the output of a transposed convolution goes: frameworks say it in many ways, the catalogue in one.

Without cropping the output has (cells - 1) * stride + reach cells along an axis, where reach is dilation * (window - 1)
+ 1. `padding` takes some away at both ends, `output_padding` adds some after the end, fewer than the stride or the
dilation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.layer_source import Unread

Pairs = Sequence[tuple[int, int]]


def spread(value: Any, axes: int) -> tuple[Any, ...]:
    """Return one number for each axis."""
    return value if isinstance(value, tuple) else (value,) * axes


def reaches(window: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Return how many cells a kernel with holes covers along each axis."""
    return tuple(holes * (cells - 1) + 1 for cells, holes in zip(window, dilation, strict=True))


def cropped(ends: Pairs, stride: Sequence[int], dilation: Sequence[int]) -> Mapping[str, Any]:
    """Return padding and output_padding where so many cells are taken away before and after, or added if negative.

    Raises Unread for cells before the first, and for as many after the last as no output_padding adds.
    """
    for axis, ((before, after), *limits) in enumerate(zip(ends, stride, dilation, strict=True)):
        most = max(limits) - 1
        if before < 0:
            raise Unread(
                f"on axis {axis} its output begins {-before} before the first window, where nothing adds cells"
            )
        if -after > most:
            raise Unread(f"on axis {axis} its output goes on {-after} past the last window, where at most {most} do")
    further = tuple(max(-after, 0) for _, after in ends)
    padding = tuple((before, max(after, 0)) for before, after in ends)
    return {"padding": padding, "output_padding": further if any(further) else 0}


def around(pads: Pairs, window: Sequence[int], dilation: Sequence[int]) -> Pairs:
    """Return what is taken away by a convolution that slides over the input with holes and this padding around it."""
    covered = zip(pads, reaches(window, dilation), strict=True)
    return tuple((reach - 1 - before, reach - 1 - after) for (before, after), reach in covered)


def halved(surplus: Sequence[int]) -> Pairs:
    """Return a surplus taken away at both ends, the odd cell after; what is missing is added after the end."""
    return tuple((max(cells, 0) // 2, cells - max(cells, 0) // 2) for cells in surplus)


def up_to(sizes: Sequence[int], extents: Sequence[int], stride: Sequence[int], reach: Sequence[int]) -> tuple[int, ...]:
    """Return by how many cells the whole output is longer than the sizes that are wanted."""
    axes = zip(sizes, extents, stride, reach, strict=True)
    return tuple((extent - 1) * by + covered - size for size, extent, by, covered in axes)
