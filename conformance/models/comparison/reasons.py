"""Why a layer of a port differs: parameters and weights that are not those of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.cases.operators import OPERATORS, PARAMETERS, Arithmetic
from conformance.models.comparison.effects import (
    PADDING,
    has_same_effect,
    is_same,
    setting_effects,
)
from conformance.models.comparison.layers import ModelLayer, dense_kernel
from conformance.models.comparison.recording import RecordedCall
from conformance.models.comparison.weight_relations import weights_relation
from conformance.translation.option_text import size_text

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
COUNT_INCLUDE_PAD = "count_include_pad"
SAME_EFFECT = "(same effect)"
COUNTED_TEXT = "padding: zeros before the call count in the average of the {}, padding of the {} does not"


def layer_reasons(source: ModelLayer, port: ModelLayer, others: Sequence[ModelLayer] = ()) -> list[str]:
    """Return what differs between two layers, as phrases: causes first, then parameters with the same effect.

    others: the other layers of the source, whose weights the layer of the port may have.
    """
    counted = _with_counted_padding(port) if not source.pads else None
    if counted and all_parameters(source).get(PADDING) != all_parameters(counted)[PADDING]:
        reasons = layer_reasons(source, counted, others)
        shown = f"{COUNT_INCLUDE_PAD}: {_both(False, True)}"
        return [one.replace(shown, COUNTED_TEXT.format("port", "source")) for one in reasons]
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


def _with_counted_padding(layer: ModelLayer) -> ModelLayer | None:
    """Return an average of explicit zeros as one with padding that counts; None if there are none or it is not so."""
    names = {parameter.name for parameter in OPERATORS[layer.call.operator].parameters}
    if not layer.pads or COUNT_INCLUDE_PAD not in names or {*map(_pad_label, layer.pads)} != {ZEROS}:
        return None
    parameters = {**layer.call.parameters, PADDING: all_parameters(layer)[PADDING], COUNT_INCLUDE_PAD: True}
    call = replace(layer.call, parameters=parameters, inputs={**layer.call.inputs, "x": layer.x})
    counted = ModelLayer(call)
    return counted if has_same_effect(layer, counted) else None


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
        yield COUNTED_TEXT.format(which, other)


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
