"""Why a layer of a port differs: parameters and weights that are not those of the source, and the smallest input."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.operators import OPERATORS, PARAMETERS, Arithmetic, Geometry, PaddingWord
from conformance.models.comparison.effects import (
    PADDING,
    has_same_effect,
    is_same,
    setting_effects,
    with_small_weights,
)
from conformance.models.comparison.layers import ModelLayer, dense_kernel
from conformance.models.comparison.recording import RecordedCall
from conformance.translation.option_text import size_text
from reference import Windows

MAX_SMALL_EXTENT = 9
"""Largest extent of the inputs among which the smallest one that shows a difference is searched."""

CONSTANT = "constant"
PADDING_MODE_NAMES: Mapping[str, str] = {
    "edge": "replicate (edge)",
    "reflect": "reflect",
    "symmetric": "symmetric",
    "wrap": "circular (wrap)",
}
"""The names that frameworks have for a mode of padding."""
ZEROS = "zeros"
OUTPUT_PADDING = "output_padding"
SAME_EFFECT = "(same effect)"


def layer_reasons(source: ModelLayer, port: ModelLayer, others: Sequence[ModelLayer] = ()) -> list[str]:
    """Return what differs between two layers, as phrases: causes first, then parameters with the same effect.

    others: the other layers of the source, whose weights the layer of the port may have.
    """
    effects = setting_effects(source, port)
    is_other_operator = source.call.operator != port.call.operator
    if is_other_operator and has_same_effect(source, port):
        return []
    operator = f"operator: {source.call.operator} in the source, {port.call.operator} in the port"
    return [
        *([operator] if is_other_operator else []),
        *_groups_reasons(source, port),
        *_setting_reasons(source, port, effects.causes),
        *_weight_reasons(source, port, others),
        *(f"{reason} {SAME_EFFECT}" for reason in _setting_reasons(source, port, effects.without_effect)),
    ]


def _groups_reasons(source: ModelLayer, port: ModelLayer) -> Iterator[str]:
    if "kernel" not in source.call.inputs or "kernel" not in port.call.inputs:
        return
    one, two = (int(layer.call.parameters.get("groups", 1)) for layer in (source, port))
    if one == two:
        return
    dense = dense_kernel(source), dense_kernel(port)
    if dense[0] is None or dense[1] is None or not is_same(dense[0], dense[1]):
        yield f"groups: {one} in the source, {two} in the port"


def _setting_reasons(source: ModelLayer, port: ModelLayer, names: Sequence[str]) -> Iterator[str]:
    first, second = all_parameters(source), all_parameters(port)
    for name in PARAMETERS:
        if name not in names or name not in first or name not in second:
            continue
        crops = _crops(first), _crops(second)
        is_combined = {PADDING, OUTPUT_PADDING} <= {*names} and crops[0] != crops[1]
        if is_combined and name == PADDING:
            yield f"padding less output_padding: {_both(*crops)}"
        elif name == PADDING:
            yield from _padding_reasons(source, port)
        elif name != OUTPUT_PADDING or not is_combined:
            yield f"{name}: {_both(first[name], second[name])}"


def _crops(parameters: Mapping[str, Any]) -> Any:
    """Return what is cropped from the result of a transposed convolution. A negative number adds cells."""
    more = parameters.get(OUTPUT_PADDING)
    pads = parameters.get(PADDING)
    return more and tuple((before, after - extent) for (before, after), extent in zip(pads or (), more, strict=True))


def _both(one: Any, two: Any) -> str:
    """Return the values of both models, and whether those of the axes or of both ends are exchanged."""
    text = f"{size_text(one)} in the source, {size_text(two)} in the port"
    if isinstance(one, tuple) and isinstance(two, tuple) and one != two:
        if one[::-1] == two:
            return f"{text}: the axes are exchanged"
        if all(isinstance(pair, tuple) for pair in one) and tuple(pair[::-1] for pair in one) == two:
            return f"{text}: before and after are exchanged"
    return text


def _padding_reasons(source: ModelLayer, port: ModelLayer) -> Iterator[str]:
    arithmetic = OPERATORS[port.call.operator].arithmetic
    values = [pad.parameters.get("value", 0) for pad in port.pads]
    if values and not source.pads and arithmetic is Arithmetic.SELECTION and {*values} != {-np.inf}:
        text = " and ".join(dict.fromkeys(_pad_label(pad) for pad in port.pads)).replace(ZEROS, "0")
        yield f"padding: the port pads with {text} before {port.call.operator}, so that padding can be the result"
    one, two = _padding_by_label(source), _padding_by_label(port)
    if {*one, *two} - {ZEROS}:
        if one != two:
            texts = f"{_padding_text(one)} in the source, {_padding_text(two)} in the port"
            yield f"padding mode: {texts}{_lost_modes(one, two)}"
        return
    first, second = (all_parameters(layer) for layer in (source, port))
    if first[PADDING] != second[PADDING]:
        yield f"{PADDING}: {_both(first[PADDING], second[PADDING])}"
    elif arithmetic is Arithmetic.AVERAGE and bool(source.pads) != bool(port.pads):
        which, other = ("port", "source") if port.pads else ("source", "port")
        yield f"padding: zeros before the call count in the average of the {which}, padding of the {other} does not"


def _pad_label(pad: RecordedCall) -> str:
    mode, value = pad.parameters.get("mode", CONSTANT), pad.parameters.get("value", 0)
    if mode != CONSTANT:
        return PADDING_MODE_NAMES[mode]
    # Negative infinity is the padding of a maximum itself.
    return f"{value:g}" if value and value != -np.inf else ZEROS


def _padding_by_label(layer: ModelLayer) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the extents of each mode of padding of a layer, by the names that frameworks use."""
    axes = layer.x.ndim - 2
    own = layer.call.parameters.get("padding", 0) or ((0, 0),) * axes
    found: dict[str, tuple[tuple[int, int], ...]] = {}
    for label, extents in [*((_pad_label(pad), pad.parameters["pads"]) for pad in layer.pads), (ZEROS, own)]:
        before = found.get(label, ((0, 0),) * axes)
        found[label] = tuple((one[0] + two[0], one[1] + two[1]) for one, two in zip(before, extents, strict=True))
    return {label: extents for label, extents in found.items() if any(map(any, extents))}


def _padding_text(found: Mapping[str, tuple[tuple[int, int], ...]]) -> str:
    return " and ".join(f"{label} by {size_text(extents)}" for label, extents in found.items()) or "none"


def _lost_modes(
    source: Mapping[str, tuple[tuple[int, int], ...]], port: Mapping[str, tuple[tuple[int, int], ...]]
) -> str:
    """Return on which axis the port has another mode, if it is not so on all axes."""
    axes = len(next(iter({**source, **port}.values())))
    modes = [
        [
            " and ".join(label for label, extents in found.items() if any(extents[axis])) or "none"
            for axis in range(axes)
        ]
        for found in (source, port)
    ]
    other = [axis for axis in range(axes) if modes[0][axis] != modes[1][axis]]
    if len(other) in {0, axes}:
        return ""
    return "".join(f"; on spatial axis {axis} {modes[1][axis]} in place of {modes[0][axis]}" for axis in other)


def all_parameters(layer: ModelLayer) -> Mapping[str, Any]:
    """Return all parameters of a layer, defaults included. Explicit padding with zeros counts as padding."""
    operator, axes = OPERATORS[layer.call.operator], layer.x.ndim - 2
    found: dict[str, Any] = {}
    for parameter in operator.parameters:
        value = layer.call.parameters.get(parameter.name, parameter.default)
        if parameter.name == "padding":
            value = ((0, 0),) * axes if value == 0 else value
        elif parameter.is_per_axis and isinstance(value, int):
            value = (value,) * axes
        found[parameter.name] = value
    if found.get("stride", 0) is None:
        found["stride"] = found.get("window")
    for pad in layer.pads if PADDING in found else ():
        if pad.parameters.get("mode", CONSTANT) == CONSTANT:
            pairs = zip(found[PADDING], pad.parameters["pads"], strict=True)
            found[PADDING] = tuple((one[0] + two[0], one[1] + two[1]) for one, two in pairs)
    return found


def _weight_reasons(source: ModelLayer, port: ModelLayer, others: Sequence[ModelLayer]) -> Iterator[str]:
    for name in ("kernel", "bias"):
        one, two = source.call.inputs.get(name), port.call.inputs.get(name)
        # A bias may be added after the call.
        if one is None or two is None or np.array_equal(one, two):
            continue
        if name == "kernel" and one.shape != two.shape and _has_other_groups(source, port):
            continue
        known = (layer for layer in others if name in layer.call.inputs and two.any())
        exchanged = next((layer for layer in known if is_same(layer.call.inputs[name], two)), None)
        own = source if name == "kernel" else None
        text = f"that of layer {exchanged.name} of the source" if exchanged else weights_relation(one, two, own)
        yield f"{name}: {text}"


def _has_other_groups(source: ModelLayer, port: ModelLayer) -> bool:
    """Whether two kernels of the same layer have other shapes because of their groups."""
    (first, one, *window), (second, two, *other) = (layer.call.inputs["kernel"].shape for layer in (source, port))
    groups = [int(layer.call.parameters.get("groups", 1)) for layer in (source, port)]
    return (first, one * groups[0], window) == (second, two * groups[1], other)


def weights_relation(source: Array, port: Array, layer: ModelLayer | None = None) -> str:
    """Return how the weights of a port relate to those of the source; layer: that of the source, None for a bias."""
    for text, changed in _changed_weights(source):
        if changed.shape == port.shape and np.array_equal(changed, port):
            return f"that of the source {text}"
    if source.shape != port.shape:
        return f"shape {size_text(source.shape)} in the source, {size_text(port.shape)} in the port"
    is_transposed = layer is not None and OPERATORS[layer.call.operator].geometry is Geometry.TRANSPOSED
    groups = int(layer.call.parameters.get("groups", 1)) if layer else 1
    for axis, text in enumerate(("input", "output") if is_transposed else ("output", "input")):
        order = _order(source, port, axis) if source.ndim > axis else None
        if order and (blocks := _block_order(order, groups)):
            return f"that of the source with its groups in the order {order_text(blocks)}"
        if order:
            return f"that of the source with its {text} channels in the order {order_text(order)}"
    if np.array_equal(np.sort(source, axis=None), np.sort(port, axis=None)):
        return "that of the source with its numbers in another order"
    largest = float(np.abs(source.astype(np.float64) - port.astype(np.float64)).max(initial=0.0))
    return f"other numbers, largest difference {largest:.3g}"


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


@dataclass(frozen=True)
class SmallestDifference:
    """The smallest input for which two layers compute different results, with both results."""

    x: Array
    source: Array
    port: Array


def smallest_difference(source: ModelLayer, port: ModelLayer) -> SmallestDifference | None:
    """Return the smallest input for which the reference of two layers differs; None if none is found.

    The input has one image and as few cells as possible. Its values are negative first, so that padding with zeros
    shows, and then of both signs. Padding that may be the word `same` depends on the input size, so only sizes are
    tried for which it is the recorded padding. The models' own layers then show the difference too.
    """
    axes = source.x.ndim - 2
    if "kernel" in source.call.inputs and "kernel" in port.call.inputs:
        source, port = (with_small_weights(layer, source.x.dtype) for layer in (source, port))
    sizes = sorted(
        itertools.product(range(1, MAX_SMALL_EXTENT + 1), repeat=min(axes, 2)), key=lambda one: (np.prod(one), one)
    )
    for size in sizes:
        extents = (*size, *[size[-1]] * (axes - len(size)))
        if not all(_has_recorded_padding(layer, extents) for layer in (source, port)):
            continue
        count = int(np.prod(extents))
        for values in (-1 - np.arange(count), np.arange(count) % 5 - 2):
            x = values.reshape(1, 1, *extents).astype(source.x.dtype)
            found = _results(source, port, x)
            if found and (found[0].shape != found[1].shape or not np.array_equal(*found)):
                return SmallestDifference(x, *found)
    return None


def _has_recorded_padding(layer: ModelLayer, extents: Sequence[int]) -> bool:
    """Whether a layer has the padding of its recorded call for another input size, also if its padding is `same`."""
    call = layer.call
    if OPERATORS[call.operator].geometry is not Geometry.WINDOWS:
        return True
    found, window = all_parameters(layer), call.parameters.get("window", call.inputs.get("kernel", call.x).shape[2:])
    for word in (PaddingWord.SAME_UPPER, PaddingWord.SAME_LOWER):
        own, other = (
            Windows.of(size, window, found["stride"], word.value, found["dilation"]).pads
            for size in (call.x.shape[2:], extents)
        )
        if own == call.parameters.get("padding") and any(map(any, own)):
            return other == own
    return True


def _results(source: ModelLayer, port: ModelLayer, x: Array) -> tuple[Array, Array] | None:
    try:
        return source.expected(x).value, port.expected(x).value
    except (ValueError, TypeError, IndexError):
        return None


MAX_SHOWN_NUMBERS = 12
"""Maximum number of shown numbers of an array."""


def difference_text(found: SmallestDifference) -> Sequence[str]:
    """Return the lines that show a smallest difference."""
    return [
        f"x, shape {size_text(found.x.shape)}: {_numbers(found.x)}",
        f"source, shape {size_text(found.source.shape)}: {_numbers(found.source)}",
        f"port, shape {size_text(found.port.shape)}: {_numbers(found.port)}",
    ]


def _numbers(array: Array) -> str:
    flat = [f"{float(value):.6g}" for value in array.ravel()[:MAX_SHOWN_NUMBERS]]
    return ", ".join([*flat, "…"] if array.size > MAX_SHOWN_NUMBERS else flat)
