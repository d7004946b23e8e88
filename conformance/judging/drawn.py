"""The possible results of a call that draws the regions of pooling at random.

Documents limit the regions and do not give the numbers. So every result for regions within these limits is right, if a
second call with the same seed gives it too. For bins, the limits are those of `tf.nn.fractional_max_pool`: the first
boundary is 0, the last one the extent, and neighbouring ones differ by K or K + 1 with K = floor(extent / bins). The
starts of windows obey the same rule: the first one is 0, and the last window ends with the input.
Source: Graham, "Fractional Max-Pooling" (2014), https://arxiv.org/abs/1412.6071, section 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import reference
from conformance.cases.arrays import Array
from conformance.cases.case import DRAWN_KEY, Case, DrawnRegions
from conformance.cases.operators import OPERATORS, Arithmetic
from reference import Exact

MAX_RESULTS = 10_000
"""Maximum number of possible results of a case."""
CALLS = 2
"""Number of calls with the same seed. Their results are joined along the batch."""


class Region(NamedTuple):
    """The cells of one bin or window along one axis, from the first to the one after the last."""

    start: int
    end: int


def drawn_results(case: Case, x: Array) -> tuple[Exact, ...]:
    """Return every possible result of a case whose call draws regions, without duplicates.

    Raises ValueError if there are too many, or if the result is rounded.
    """
    drawn = DrawnRegions(case.parameters[DRAWN_KEY])
    sizes = [_divided(drawn, case.parameters, axis, extent) for axis, extent in enumerate(x.shape[2:])]
    planes = list(np.ndindex(*x.shape[:2])) if drawn is DrawnRegions.WINDOWS else [(slice(None), slice(None))]
    choices = math.prod(math.comb(parts, extent % parts) for extent, parts in sizes) ** len(planes)
    if choices > MAX_RESULTS:
        raise ValueError(f"{choices} possible choices of regions exceed the limit of {MAX_RESULTS}")
    axes = [
        [_regions(drawn, case.parameters, axis, places) for places in boundaries(*size)]
        for axis, size in enumerate(sizes)
    ]
    shape = (*x.shape[:2], *case.parameters["output_size"])
    found: dict[bytes, Array] = {}
    for regions in itertools.product(itertools.product(*axes), repeat=len(planes)):
        value = np.empty(shape, x.dtype)
        for plane, chosen in zip(planes, regions, strict=True):
            _fill_plane(case, x, value, plane, chosen)
        found.setdefault(value.tobytes(), np.concatenate([value] * CALLS))
    return tuple(map(_exact, found.values()))


def boundaries(extent: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every sequence from 0 to the extent in which neighbours differ by floor(extent / parts) or one more."""
    least, larger = divmod(extent, parts)
    for positions in itertools.combinations(range(parts), larger):
        steps = (least + (part in positions) for part in range(parts))
        yield (0, *itertools.accumulate(steps))


def _divided(drawn: DrawnRegions, parameters: Mapping[str, Any], axis: int, extent: int) -> tuple[int, int]:
    """Return the extent that is divided along one axis, and the number of parts."""
    count = parameters["output_size"][axis]
    if drawn is not DrawnRegions.WINDOWS:
        return extent, count
    if count == 1:
        raise ValueError("the place of a single window is not limited")
    # The last window starts at the difference of the extents.
    return extent - parameters["window"][axis], count - 1


def _regions(
    drawn: DrawnRegions, parameters: Mapping[str, Any], axis: int, places: Sequence[int]
) -> tuple[Region, ...]:
    """Return the windows that start at places along one axis, or the bins between the places."""
    if drawn is DrawnRegions.WINDOWS:
        return tuple(Region(start, start + parameters["window"][axis]) for start in places)
    return tuple(Region(start, min(end + drawn.overlap, places[-1])) for start, end in itertools.pairwise(places))


def _fill_plane(case: Case, x: Array, value: Array, plane: tuple[Any, Any], chosen: Sequence[Sequence[Region]]) -> None:
    """Write the results of the regions of a plane, or of all planes, into an array."""
    averages = OPERATORS[case.operator].arithmetic is Arithmetic.AVERAGE
    reduce = reference.OPERATORS["global_avg_pool" if averages else "global_max_pool"]
    cells = x if isinstance(plane[0], slice) else x[plane][None, None]
    for position, regions in zip(np.ndindex(*map(len, chosen)), itertools.product(*chosen), strict=True):
        region = (slice(None), slice(None), *(slice(*part) for part in regions))
        exact = reduce(cells[region])
        if exact.high is not None and not ((exact.low == 0).all() and (exact.value.astype(float) == exact.high).all()):
            raise ValueError("the average of a region is rounded; choose values whose averages are exact")
        place = (*plane, *position)
        value[place] = exact.value.reshape(np.shape(value[place]))


def _exact(value: Array) -> Exact:
    zeros = np.zeros(value.shape)
    # Regions are compared bit by bit: a maximum, or an average without rounding, has no error.
    return Exact(value, None, None, zeros.astype(np.int64), zeros, 0.0, exact=True)
