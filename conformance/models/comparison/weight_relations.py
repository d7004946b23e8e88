"""How the weights of a layer of a port relate to those of the source."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS, Geometry
from conformance.models.comparison.layers import ModelLayer
from conformance.translation.option_text import size_text


def weights_relation(source: Array, port: Array, layer: ModelLayer | None = None) -> str:
    """Return how the weights of a port relate to those of the source; layer: that of the source, None for a bias."""
    for text, changed in _changed_weights(source):
        if changed.shape == port.shape and np.array_equal(changed, port):
            return f"that of the source {text}"
    if source.shape != port.shape:
        return f"shape {size_text(source.shape)} in the source, {size_text(port.shape)} in the port"
    is_transposed = layer is not None and OPERATORS[layer.call.operator].geometry is Geometry.TRANSPOSED
    groups = int(layer.call.parameters.get("groups", 1)) if layer else 1
    axes = ("input", "output") if is_transposed else ("output", "input")
    moved = _moved_channels(source, port, axes, groups) or _untransposed_layout(
        source, port, is_transposed=is_transposed
    )
    if moved:
        return f"that of the source{moved}"
    if np.array_equal(np.sort(source, axis=None), np.sort(port, axis=None)):
        return "that of the source with its numbers in another order"
    largest = float(np.abs(source.astype(np.float64) - port.astype(np.float64)).max(initial=0.0))
    return f"other numbers, largest difference {largest:.3g}"


def _moved_channels(source: Array, port: Array, axes: Sequence[str], groups: int) -> str:
    """Return the order in which the channels or groups of a source are in a port; "" without one. axes: their names."""
    for axis, text in enumerate(axes[: source.ndim]):
        order = _order(source, port, axis)
        if order and (blocks := _block_order(order, groups)):
            return f" with its groups in the order {order_text(blocks)}"
        if order:
            return f" with its {text} channels in the order {order_text(order)}"
    return ""


def _changed_weights(source: Array) -> Iterator[tuple[str, Array]]:
    """Yield the layouts that weights may have by mistake, with words for them, the likely ones first."""
    spatial = tuple(range(2, source.ndim))
    orders = {"": spatial, "with its spatial axes exchanged": spatial[::-1]}
    orders |= {
        f"with its spatial axes in the order {_numbers_text(order)}": order
        for order in itertools.permutations(spatial)
        if order not in orders.values()
    }
    for exchanged in ("", "with input and output channels exchanged") if source.ndim > 1 else ("",):
        for reordered, order in orders.items():
            turned = source.transpose(*((1, 0) if exchanged else range(min(source.ndim, 2))), *order)
            for count in range(len(spatial) + 1):
                for axes in itertools.combinations(spatial, count):
                    every = "all spatial axes" if axes == spatial else f"spatial axis {_numbers_text(axes)}"
                    words = [*filter(None, (f"flipped on {every}" if axes else "", exchanged, reordered))]
                    if words:
                        yield ", ".join(words), np.flip(turned, axes)


def _untransposed_layout(source: Array, port: Array, *, is_transposed: bool) -> str:
    """Return in which layout a port reads the numbers of a kernel that has the other one; "" if it does not.

    Frameworks have the channels of a kernel before its window, or after it in the opposite order.
    """
    if source.ndim <= CHANNEL_AXES:
        return ""
    channels = ["in", "out"] if is_transposed else ["out", "in"]
    first, last = ", ".join([*channels, "*window"]), ", ".join(["*window", *channels[::-1]])
    for layout, own, other in ((last, source, port), (first, port, source)):
        if np.array_equal(own.ravel(), np.moveaxis(other, (0, 1), (-1, -2)).ravel()):
            return f", not transposed: its numbers are read in the layout ({layout})"
    return ""


def _numbers_text(axes: Sequence[int]) -> str:
    return ", ".join(str(axis - 2) for axis in axes)


def _order(source: Array, port: Array, axis: int) -> list[int] | None:
    """Return the slices of an array along an axis that are those of another one, in its order."""
    rows, wanted = (np.moveaxis(one, axis, 0).reshape(one.shape[axis], -1) for one in (source, port))
    numbers: dict[bytes, list[int]] = {}
    for number, row in enumerate(rows):
        numbers.setdefault(row.tobytes(), []).append(number)
    found = []
    for row in wanted:
        same = numbers.get(row.tobytes())
        if not same:
            return None
        # Equal slices are in their own order.
        found.append(same.pop(0))
    return found


def _block_order(order: Sequence[int], groups: int) -> list[int] | None:
    """Return the order of whole groups that is an order of channels, None if there is none."""
    extent = len(order) // groups
    blocks = [order[start] // extent for start in range(0, len(order), extent)] if groups > 1 and extent > 1 else []
    whole = [block * extent + number for block in blocks for number in range(extent)]
    return blocks if blocks and whole == list(order) else None


CHANNEL_AXES = 2
"""Number of axes of a kernel that are no axes of its window."""
MIN_RANGES = 8
"""Number of channels up to which each is shown."""
MAX_SHOWN_CHANNELS = 16
"""Maximum number of channels whose order is shown."""


def order_text(order: Sequence[int]) -> str:
    """Return an order of channels; that of blocks of channels as ranges: 4-7, 0-3."""
    runs: list[list[int]] = []
    for channel in order:
        if runs and runs[-1][-1] + 1 == channel:
            runs[-1].append(channel)
        else:
            runs.append([channel])
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    if len(order) <= MIN_RANGES or 2 * len(runs) > len(order):
        shown = list(map(str, order))
    return ", ".join([*shown[:MAX_SHOWN_CHANNELS], *(["…"] if len(shown) > MAX_SHOWN_CHANNELS else [])])
