"""Smaller layers with the same window arithmetic, so that a layer of any size is checked in a fraction of a second.

Channels are independent sums: every layer is checked with a few of them. Groups, depthwise layers and even or odd
numbers of channels stay what they are. Extents stay those of the model, unless an axis or the work of the layer is
above a limit. An axis is then shortened by a multiple of the stride. The windows at both ends have the same cells, and
the same cells remain after the last window. At least one window is inside the input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.cases.geometry import MIN_CROWDED_CELLS
from conformance.cases.operators import OPERATORS, Arithmetic, Geometry
from conformance.cases.steps import Step
from conformance.models.layer import ModelLayer
from conformance.translation.option_text import size_text

MAX_EXTENT = 4096
"""Largest extent of an axis that is not shortened."""
MAX_OPERATIONS = 10_000_000_000
"""Multiplications and additions of a layer from which its axes are shortened."""
CHANNEL_LIMITS = (16, 8, 4, 2)
"""Number of channels, or of channels of a group, with which a layer is checked: the first that is affordable."""
MAX_GROUPS = 4
MAX_TERMS = 4_000_000
"""Number of terms of a convolution that the number of channels is chosen for: about 0.1 seconds of the reference."""
MAX_CELLS = 500_000
"""Number of window cells of a pooling that the number of channels is chosen for."""
MAX_SHORTENED_TERMS = 40_000_000
"""Number of terms, with the fewest channels, from which axes are shortened."""
SMALL_PLANE = 7
"""Extent to which an axis of an operator without windows is shortened; 8 if the extent is even."""


@dataclass(frozen=True)
class CheckedLayer:
    """A layer as it is checked: with fewer channels, and `small` with the shortest axes too.

    special: the layer for one special value in a plane. It is `small`, unless the windows of a maximum have so many
    cells that a framework may use another reduction. It then has as many.
    note: what was shortened because it is above a limit; "" if the layer has the extents of the model.
    """

    layer: ModelLayer
    small: ModelLayer
    special: ModelLayer
    note: str = ""

    @property
    def channels_text(self) -> str:
        """The channels of the check, as in the text of a layer."""
        one = self.layer
        return f"{one.shape[1]} → {one.out_channels}" if one.kernel else str(one.shape[1])


def checked_layer(layer: ModelLayer) -> CheckedLayer:
    """Return the layer as it is checked."""
    small = _with_channels(shortest(layer), CHANNEL_LIMITS[1])
    longest, work = max(layer.shape[2:]), 2 * _terms(layer)
    few = _with_channels(layer, CHANNEL_LIMITS[-1])
    if longest <= MAX_EXTENT and work <= MAX_OPERATIONS and _terms(few) <= MAX_SHORTENED_TERMS:
        return CheckedLayer(_affordable(layer), small, _special(layer, layer, small))
    shortened = shortest(layer)
    reason = f"an axis of {longest:,} cells" if longest > MAX_EXTENT else f"{work / 1e9:,.1f} GFLOP"
    note = f"{reason}: checked on {size_text(shortened.shape[2:])} in place of {size_text(layer.shape[2:])}"
    return CheckedLayer(_affordable(shortened), small, _special(layer, shortened, small), note)


def _special(layer: ModelLayer, shortened: ModelLayer, small: ModelLayer) -> ModelLayer:
    """Return the layer with which special values are checked."""
    selects = OPERATORS[layer.operator].arithmetic is Arithmetic.SELECTION
    whole = layer if _terms(layer) // layer.shape[1] <= MAX_CELLS else shortened
    if not selects or _terms(whole) < MIN_CROWDED_CELLS:
        return small
    channels = -(-MIN_CROWDED_CELLS // (_terms(whole) // whole.shape[1]))
    # One more, because the number of channels stays even or odd.
    return _with_channels(whole, channels + 1)


def _affordable(layer: ModelLayer) -> ModelLayer:
    limit = MAX_TERMS if layer.kernel else MAX_CELLS
    choices = [_with_channels(layer, channels) for channels in CHANNEL_LIMITS]
    return next((one for one in choices if _terms(one) <= limit), choices[-1])


def _terms(layer: ModelLayer) -> int:
    """Return the number of terms of the output of a layer; 0 if it has no valid output."""
    step = Step(layer.operator, (1, *layer.shape[1:]), layer.dtype, _step_parameters(layer), layer.kernel)
    try:
        window = 1 if OPERATORS[layer.operator].geometry in {Geometry.PADS, Geometry.UNPOOLING} else 0
        cells = math.prod(layer.window) if layer.window else window or max(math.prod(layer.shape[2:]), 1)
        if OPERATORS[layer.operator].geometry in {Geometry.GLOBAL, Geometry.BINS}:
            return layer.shape[1] * cells
        return math.prod(step.output) * cells * (layer.shape[1] // layer.groups if layer.kernel else 1)
    except (ValueError, LookupError, TypeError):
        return 0


def _step_parameters(layer: ModelLayer) -> Mapping[str, object]:
    defaults = OPERATORS[layer.operator].defaults
    rank, per_axis = layer.rank, ("stride", "dilation", "output_padding")
    given = {name: value for name, value in {**defaults, **layer.parameters}.items() if value is not None}
    spread: dict[str, object] = {name: (given[name],) * rank for name in per_axis if isinstance(given.get(name), int)}
    if given.get("padding") == 0:
        spread["padding"] = ((0, 0),) * rank
    return {**given, **spread}


def fewer(number: int, limit: int) -> int:
    """Return the number itself, or the largest number up to the limit that is even or odd like it."""
    return number if number <= limit else max(limit - (limit - number) % 2, 1)


def _with_channels(layer: ModelLayer, limit: int) -> ModelLayer:
    """Return the layer with at most `limit` channels, or channels of each group."""
    if not layer.kernel:
        return replace(layer, shape=(1, fewer(layer.shape[1], limit), *layer.shape[2:]))
    operator, groups = OPERATORS[layer.operator], layer.groups
    few_groups = fewer(groups, MAX_GROUPS)
    channels = fewer(layer.shape[1] // groups, limit)
    out = fewer(layer.out_channels // groups, limit)
    kernel = operator.kernel_shape(channels, out, few_groups, layer.kernel[2:])
    parameters = {**layer.parameters, "groups": few_groups}
    return replace(layer, shape=(1, channels * few_groups, *layer.shape[2:]), kernel=kernel, parameters=parameters)


def shortest(layer: ModelLayer) -> ModelLayer:
    """Return the layer with the shortest axes that have the same window arithmetic."""
    shorten = SHORTEST_EXTENT.get(OPERATORS[layer.operator].geometry)
    if shorten is None:
        return layer
    extents = tuple(min(shorten(layer, axis), layer.shape[2 + axis]) for axis in range(layer.rank))
    return replace(layer, shape=(*layer.shape[:2], *extents))


def _number(layer: ModelLayer, name: str, axis: int, default: int) -> int:
    value: Any = layer.parameters.get(name, default)
    number: int = value[axis] if isinstance(value, tuple) else default if value is None else value
    return number


def _reach(layer: ModelLayer, axis: int) -> int:
    """Return the extent of the dilated window."""
    return (layer.window[axis] - 1) * _number(layer, "dilation", axis, 1) + 1


def _stride(layer: ModelLayer, axis: int) -> int:
    is_pooling = OPERATORS[layer.operator].arithmetic is not Arithmetic.SUM
    return _number(layer, "stride", axis, layer.window[axis] if is_pooling else 1)


def _same_remainder(extent: int, least: int, step: int) -> int:
    """Return the smallest extent of at least `least` that leaves the same remainder when divided by `step`."""
    return least + (extent - least) % step


def _shortest_for_windows(layer: ModelLayer, axis: int) -> int:
    stride = _stride(layer, axis)
    # Two windows side by side and one stride: one window inside, whichever positions the padding gives.
    return _same_remainder(layer.shape[2 + axis], 2 * _reach(layer, axis) + stride, stride)


def _shortest_for_transposed(layer: ModelLayer, axis: int) -> int:
    # All inputs that reach one output, twice.
    return 2 * -(-_reach(layer, axis) // _stride(layer, axis)) + 2


def _shortest_for_bins(layer: ModelLayer, axis: int) -> int:
    # The positions of bins depend on the remainder, and on whether there are fewer cells than bins.
    bins = int(layer.parameters["output_size"][axis])
    return _same_remainder(layer.shape[2 + axis], 2 * bins, bins)


def _shortest_plane(layer: ModelLayer, axis: int) -> int:
    return SMALL_PLANE + (layer.shape[2 + axis] + SMALL_PLANE) % 2


def _shortest_for_pads(layer: ModelLayer, axis: int) -> int:
    # Mirrored cells stay inside the input, and cropping leaves cells.
    before, after = layer.parameters["pads"][axis]
    return 2 * (abs(int(before)) + abs(int(after))) + 3


SHORTEST_EXTENT: Mapping[Geometry, Callable[[ModelLayer, int], int]] = {
    Geometry.WINDOWS: _shortest_for_windows,
    Geometry.TRANSPOSED: _shortest_for_transposed,
    Geometry.BINS: _shortest_for_bins,
    Geometry.GLOBAL: _shortest_plane,
    Geometry.PADS: _shortest_for_pads,
}
"""The shortest extent of an axis. It may be longer than that of the layer."""
