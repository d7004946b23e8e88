"""All phrases that may be conditions of a finding: the features of its cases, and finer ones.

The features of a case describe any axis, window or size. A cause is often in one place: two properties of one axis or
one window, the first or the last axis, a size up to a limit, or a default that is required. Reports do not need these.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from conformance.cases import geometry
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.case import WORDS_KEY, Case
from conformance.cases.features.case_features import NAMED_PARAMETERS, case_features
from conformance.cases.features.numbers import number_features
from conformance.cases.geometry import parameter_per_axis
from conformance.cases.operators import OPERATORS, Geometry
from conformance.exploration.conditions.windows import place_features

LIMITS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 25, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 65_535, 65_536)
"""Sizes up to which, and above which, a cause may show."""
FACTORS = (2, 4, 8, 16, 32, 64)
"""Widths of blocks. A cause may need a number of channels that is a multiple of one, or that is not."""

MAX_COMPUTED_BINS = 65_536
"""Maximum number of bins of an axis whose edges are computed."""


@dataclass(frozen=True)
class Axis:
    """One spatial axis.

    output: number of cells of the output. more: output padding. bins: output size, else 0. is_sampled: whether the
    output size is a number of windows that start at positions of random samples, not of bins.
    """

    extent: int
    output: int
    before: int = 0
    after: int = 0
    window: int = 1
    stride: int = 1
    dilation: int = 1
    more: int = 0
    bins: int = 0
    is_sampled: bool = False

    @property
    def reach(self) -> int:
        """Extent of a window, including the gaps of the dilation."""
        return (self.window - 1) * self.dilation + 1

    @property
    def left(self) -> int:
        """Number of cells behind the last complete window."""
        return (self.extent + self.before + self.after - self.reach) % self.stride

    @property
    def has_partial_window_behind(self) -> bool:
        """Whether a partial last window would start behind the input. Rounding up does not count such a window."""
        start = ((self.extent + self.before + self.after - self.reach) // self.stride + 1) * self.stride
        return self.left > 0 and start >= self.before + self.extent

    @property
    def has_rounded_bins(self) -> bool:
        """Whether an edge of a bin changes if it is computed as a multiple of the bin size, rounded to float32."""
        if not 0 < self.bins <= MAX_COMPUTED_BINS or self.is_sampled:
            return False
        index = np.arange(self.bins + 1)
        edges = index.astype(np.float32) * np.float32(self.extent / self.bins)
        starts, ends = index[:-1] * self.extent // self.bins, -(-index[1:] * self.extent // self.bins)
        is_exact = (np.floor(edges[:-1]) == starts) & (np.minimum(np.ceil(edges[1:]), self.extent) == ends)
        return not bool(is_exact.all())

    @property
    def cells_beyond_bins(self) -> int:
        """Remainder of the cells if they are divided by the bins; 0 without bins.

        Bin i contains the cells from ⌊i · extent / bins⌋ to ⌈(i + 1) · extent / bins⌉. With remainder 0 or 1, all bins
        have the same size and the same distance.
        """
        return self.extent % self.bins if self.bins > 0 and not self.is_sampled else 0

    @property
    def has_bins_of_different_sizes(self) -> bool:
        """Whether bins differ in size. They do not if each inner edge of the remainder is an edge of a bin."""
        return self.bins % max(self.cells_beyond_bins, 1) > 0

    @property
    def depends_on_sample(self) -> bool:
        """Whether another sample u moves a window. Window i starts at ⌊(i + u)α⌋ − ⌊uα⌋, the last one at the end.

        α is the number of cells outside a window divided by the number of further windows. If it is a whole number or
        the reciprocal of one, all samples place the windows at the same cells.
        """
        cells, further = self.extent - self.window, self.bins - 1
        return self.is_sampled and min(cells, further) > 0 and cells % further > 0 and further % cells > 0


AXIS_FEATURES: Mapping[str, Callable[[Axis], bool]] = MappingProxyType(
    {
        "one cell": lambda axis: axis.extent == 1,
        "several cells": lambda axis: axis.extent > 1,
        "an even number of cells": lambda axis: axis.extent % 2 == 0,
        "an odd number of cells, above 1": lambda axis: axis.extent % 2 == 1 and axis.extent > 1,
        "one cell of output": lambda axis: axis.output == 1,
        "several cells of output": lambda axis: axis.output > 1,
        "padding": lambda axis: axis.before > 0 or axis.after > 0,
        "no padding": lambda axis: axis.before == axis.after == 0,
        "padding before": lambda axis: axis.before > 0,
        "padding after": lambda axis: axis.after > 0,
        "padding before only": lambda axis: axis.before > 0 and axis.after <= 0,
        "padding after only": lambda axis: axis.after > 0 and axis.before <= 0,
        "more padding before than after": lambda axis: axis.before > axis.after,
        "more padding after than before": lambda axis: axis.after > axis.before,
        "different padding at its ends": lambda axis: axis.before != axis.after,
        "the same padding at both ends": lambda axis: axis.before == axis.after > 0,
        "padding at both ends": lambda axis: min(axis.before, axis.after) > 0,
        "an odd number of cells of padding": lambda axis: (axis.before + axis.after) % 2 == 1,
        "padding that is not spread evenly": lambda axis: not 0 <= axis.after - axis.before <= 1,
        "padding before at least as wide as its cells": lambda axis: axis.before >= axis.extent > 0,
        "padding before wider than its cells": lambda axis: axis.before > axis.extent,
        "padding after at least as wide as its cells": lambda axis: axis.after >= axis.extent > 0,
        "padding after wider than its cells": lambda axis: axis.after > axis.extent,
        "padding as wide as its cells less one": lambda axis: max(axis.before, axis.after) >= max(axis.extent - 1, 1),
        "a crop before": lambda axis: axis.before < 0,
        "a crop after": lambda axis: axis.after < 0,
        "a window of one cell": lambda axis: axis.window == 1,
        "a window of several cells": lambda axis: axis.window > 1,
        "a window of two cells": lambda axis: axis.window == 2,  # noqa: PLR2004 - the text names it
        "a window of other than two cells": lambda axis: axis.window != 2,  # noqa: PLR2004
        "a window of three cells": lambda axis: axis.window == 3,  # noqa: PLR2004
        "a window of other than three cells": lambda axis: axis.window != 3,  # noqa: PLR2004
        "a stride": lambda axis: axis.stride > 1,
        "stride 1": lambda axis: axis.stride == 1,
        "dilation": lambda axis: axis.dilation > 1,
        "windows that overlap": lambda axis: axis.stride < axis.reach,
        "windows that share one cell": lambda axis: axis.window > 1 and axis.stride == axis.reach - 1,
        "a window of all its cells": lambda axis: axis.window == axis.extent,
        "a window larger than its cells": lambda axis: axis.window > axis.extent,
        "gaps between windows": lambda axis: axis.stride > axis.reach,
        "cells left over": lambda axis: axis.left > 0,
        "a partial window behind its cells": lambda axis: axis.has_partial_window_behind,
        "no cells left over": lambda axis: axis.left == 0,
        "output padding": lambda axis: axis.more > 0,
        "one bin": lambda axis: axis.bins == 1,
        "several bins": lambda axis: axis.bins > 1,
        "fewer bins than cells": lambda axis: 0 < axis.bins < axis.extent,
        "more bins than cells": lambda axis: axis.bins > axis.extent,
        "as many bins as cells": lambda axis: axis.bins == axis.extent > 0,
        "bins whose edges change if their size is rounded": lambda axis: axis.has_rounded_bins,
        "a number of bins that does not divide its cells": lambda axis: axis.cells_beyond_bins > 0,
        "bins of different sizes": lambda axis: axis.has_bins_of_different_sizes,
        "bins at different distances": lambda axis: axis.cells_beyond_bins > 1,
        "windows that depend on its sample": lambda axis: axis.depends_on_sample,
    }
)
"""Properties of one axis."""


def condition_features(case: Case) -> frozenset[str]:
    """Return all phrases that are true for a case. Each follows "cases with"."""
    # Many cases have the same phrases.
    return frozenset(map(sys.intern, chain(case_features(case), _finer_features(case))))


TWO_PROPERTIES = re.compile(
    "(an axis|a window) with .+ and |a (first|middle|last) axis with |several axes with .+|a last window with "
    "|a window (of the last channel|after the first image) with |(at most|more than) [0-9,]+ |a number of "
    "|several cells as the divisor|a sample of zero on an axis with "
)
"""Conditions that state two properties: two of one axis or window, one in a place, or a size and its limit."""


@cache
def count_properties(condition: str) -> int:
    """Return how many properties a condition states. At equal agreement, simple conditions are preferred."""
    return 2 if TWO_PROPERTIES.match(condition) else 1


def number_phrases(case: Case) -> frozenset[str]:
    """Return the phrases that are true for a case because of its numbers."""
    small = {name: spec.make() for name, spec in case.inputs.items() if geometry.is_inspected(spec)}
    return frozenset(chain(number_features(case, small), place_features(case), _sample_features(case)))


def _finer_features(case: Case) -> Iterator[str]:
    yield from _axis_features(case_axes(case))
    yield from _absent_features(case)
    yield from _size_features(case)
    yield from place_features(case)
    yield from _sample_features(case)


def case_axes(case: Case) -> list[Axis]:
    """Return the spatial axes of a case. Padding that is a word is computed."""
    extents, output = case.shape[2:], geometry.output_shape(case)[2:]
    pairs = geometry.number_pairs(case)
    windows = None if pairs or geometry.is_transposed(case) else geometry.case_windows(case)
    columns: dict[str, Sequence[Any]] = {
        "output": output,
        "before": [pair[0] for pair in (windows.pads if windows else pairs)],
        "after": [pair[1] for pair in (windows.pads if windows else pairs)],
        "more": parameter_per_axis(case, "output_padding"),
        "bins": parameter_per_axis(case, "output_size"),
        **{name: parameter_per_axis(case, name) for name in ("window", "stride", "dilation")},
    }
    common = {"output": 0, "is_sampled": OPERATORS[case.operator].geometry is Geometry.FRACTIONS}
    # An invalid case may have parameters for another number of axes.
    known = {name: column for name, column in columns.items() if len(column) == len(extents)}
    axes = [
        {"extent": size, **common, **{name: column[axis] for name, column in known.items()}}
        for axis, size in enumerate(extents)
    ]
    return [Axis(**axis) for axis in axes if min(axis.get("stride", 1), axis.get("window", 1)) > 0]


def _axis_features(axes: list[Axis]) -> Iterator[str]:
    """Yield which properties the first, the last and all axes have, and which two properties one axis has."""
    if not axes:
        return
    true = [[phrase for phrase, is_true in AXIS_FEATURES.items() if is_true(axis)] for axis in axes]
    yield from (f"an axis with {phrase}" for phrase in dict.fromkeys(phrase for one in true for phrase in one))
    yield from (f"a first axis with {phrase}" for phrase in true[0])
    yield from (f"a last axis with {phrase}" for phrase in true[-1])
    if len(axes) == 3:  # noqa: PLR2004 - the axes of volumes
        yield from (f"a middle axis with {phrase}" for phrase in true[1])
    counted = Counter(phrase for one in true for phrase in one)
    yield from (f"several axes with {phrase}" for phrase, count in counted.items() if count > 1)
    yield from (f"{phrase} on every axis" for phrase in true[0] if all(phrase in one for one in true))
    pairs = dict.fromkeys(pair for one in true for pair in combinations(one, 2))
    yield from (f"an axis with {first} and {second}" for first, second in pairs)
    if len({(axis.before, axis.after) for axis in axes}) == 1:
        yield "the same padding on every axis"
    for name in ("stride", "dilation", "window"):
        if len({getattr(axis, name) for axis in axes}) == 1:
            yield f"the same {name} on every axis"
    for name, text in (("extent", "extents"), ("output", "output extents"), ("bins", "numbers of bins")):
        if len({getattr(axis, name) for axis in axes}) > 1:
            yield f"{text} that differ between axes"


def _sample_features(case: Case) -> Iterator[str]:
    """Yield whether a sample is zero, (n, c, axes), on an axis whose windows depend on it."""
    axes = case_axes(case)
    columns = [number for number, axis in enumerate(axes) if axis.depends_on_sample]
    if "samples" not in case.inputs or case.inputs["samples"].shape != (*case.shape[:2], len(axes)) or not columns:
        return
    if (case.inputs["samples"].make().astype(np.float64)[..., columns] == 0).any():
        yield "a sample of zero on an axis with windows that depend on it"


def _absent_features(case: Case) -> Iterator[str]:
    """Yield the defaults of a case: a cause may need them."""
    given, described = case.parameters, OPERATORS[case.operator]
    if "bias" in described.inputs and "bias" not in case.inputs:
        yield "no bias"
    if given.get("groups") == 1:
        yield "one group"
    if given.get("count_include_pad") is False:
        yield "count_include_pad = False"
    for name in NAMED_PARAMETERS:
        if name in given and given[name] == described.defaults.get(name):
            yield f"{name} = {given[name]}"
    if isinstance(divisor := given.get("divisor"), int) and (window := parameter_per_axis(case, "window")):
        is_same = divisor == math.prod(window)
        yield f"a divisor {'equal to' if is_same else 'other than'} the number of cells in a window"
    dtype = NUMPY_DTYPES[case.dtype]
    yield "floating-point numbers" if dtype.kind in "fV" else "no floating-point numbers"
    yield f"{8 * dtype.itemsize}-bit numbers"
    yield {0: "no image", 1: "one image"}.get(case.shape[0], "several images")
    if len(case.shape) == 3:  # noqa: PLR2004 - batch, channels and one axis
        yield "one axis"
    if not given.get("arrays"):
        yield "contiguous arrays"
    if not case.then and not case.via:
        yield "no other operator"
    if given.get(WORDS_KEY):
        yield "words of the framework"


def _size_features(case: Case) -> Iterator[str]:
    for what, size in _sizes(case):
        yield from (f"at most {limit:,} {what}" for limit in LIMITS if size <= limit)
        yield from (
            f"more than {limit:,} {what}" if limit > 1 else f"several {what}" for limit in LIMITS if size > limit
        )
        for factor in FACTORS:
            yield f"a number of {what} that is {'' if size % factor == 0 else 'not '}a multiple of {factor}"


def _sizes(case: Case) -> Iterator[tuple[str, int]]:
    """Yield the sizes of a case, with their names."""
    batch, channels, *extents = case.shape
    yield from (("images", batch), ("channels", channels), ("planes", batch * channels))
    yield "cells in a plane", math.prod(extents)
    yield "cells on the longest axis", max(extents, default=0)
    yield "cells on the last axis", extents[-1] if extents else 0
    output = geometry.output_shape(case)[2:]
    yield "cells of output in a plane", math.prod(output)
    yield "cells of output on the longest axis", max(output, default=0)
    window = parameter_per_axis(case, "window")
    if window:
        yield "cells in a window", math.prod(window)
    groups, kernel = case.parameters.get("groups"), case.inputs["kernel"].shape if "kernel" in case.inputs else ()
    if isinstance(groups, int) and groups > 0 and len(kernel) > 1:
        transposed = geometry.is_transposed(case)
        yield "groups", groups
        yield "input channels in a group", kernel[0] // groups if transposed else kernel[1]
        yield "output channels in a group", kernel[1] if transposed else kernel[0] // groups
        yield "output channels", kernel[1] * groups if transposed else kernel[0]
    divisor = case.parameters.get("divisor")
    if isinstance(divisor, int):
        yield "cells as the divisor", divisor
