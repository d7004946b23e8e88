"""ONNX: how nodes are read, `helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3])`, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import by_name, choice, count, number, sizes, spread, whole
from conformance.adapters.api.layer_parser import Unread
from conformance.adapters.api.layers import Call, Dialect, Layer, Reading

AUTOMATIC = {"same_upper": "same_upper", "same_lower": "same_lower", "valid": 0}
INPUTS = 3
NAMED = "inputs, outputs, name=None, doc_string=None, domain=None, overload=None, *, "
WALK = "strides=None, pads=None, dilations=None, auto_pad='NOTSET'"


def _pads(_call: Call, value: Any) -> Any:
    """Read all that comes before, then all that comes after."""
    if value is None:
        return 0
    if not isinstance(value, tuple) or len(value) % 2 or not value or not all(map(whole, value)):
        raise Unread("not the starts of all axes, then their ends")
    half = len(value) // 2
    return tuple(zip(value[:half], value[half:], strict=True))


def _automatic(call: Call, found: dict[str, Any]) -> None:
    """Put the padding that auto_pad names in the place of the numbers."""
    named = call.arguments["auto_pad"]
    if named != "NOTSET":
        found["padding"] = by_name(call, named, AUTOMATIC)


def _pooled(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the operator that gives as many results."""
    _automatic(call, found)
    results = call.arguments["outputs"]
    two = isinstance(results, tuple) and len(results) > 1
    return {"operator": "max_pool_with_indices", "output": "values"} if two and call.name == "MaxPool" else {}


def _weighted(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return whether there is a bias: it is the third input."""
    _automatic(call, found)
    inputs = call.arguments["inputs"]
    return {"bias": isinstance(inputs, tuple) and len(inputs) >= INPUTS and inputs[-1] != ""}


def _every_axis(call: Call, value: Any) -> Any:
    """Read the starts and ends of every axis of the array, none for batch and channels."""
    if value is None:
        raise Unread("an input of the node is not read: write the attribute pads=[…], as in opsets 2 to 10")
    found = _pads(call, value)
    if len(found) < ARRAY or found[:2] != ((0, 0), (0, 0)):
        raise Unread("not the starts of all axes, then their ends, with none for batch and channels")
    return found[2:]


def _unpooled(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size of the output, which a third input would say."""
    inputs = call.arguments["inputs"]
    if isinstance(inputs, tuple) and len(inputs) > UNPOOLED:
        raise Unread("inputs: output_shape is one of them, and is not read")
    window = found.pop("window")
    rank = len(window) if isinstance(window, tuple) else call.axes()
    stride, padding = spread(found.pop("stride"), rank), found.pop("padding") or ((0, 0),) * rank
    axes = zip(call.extents("the size of the output"), stride, padding, spread(window, rank), strict=False)
    return {"output_size": tuple((extent - 1) * by - sum(ends) + cells for extent, by, ends, cells in axes)}


UNPOOLED = 2
ARRAY = 3
THROUGHOUT = "its indices count through the whole tensor, what follows takes those of each plane"


def _ones(argument: str) -> Reading:
    return Reading(argument, lambda call, value: 1 if value is None else sizes(argument).convert(call, value))


WINDOW = {
    "window": sizes("kernel_shape"),
    "stride": _ones("strides"),
    "padding": Reading("pads", _pads),
    "dilation": _ones("dilations"),
    "rounding": choice("ceil_mode", {0: "floor", 1: "ceil"}),
}
CONV = {**{key: WINDOW[key] for key in ("window", "stride", "padding", "dilation")}, "groups": count("group")}

LAYERS = (
    Layer(
        f"MaxPool({NAMED}kernel_shape, {WALK}, ceil_mode=0, storage_order=0)",
        "max_pool",
        WINDOW,
        must={"storage_order": 0},
        meaning=_pooled,
    ),
    Layer(
        f"AveragePool({NAMED}kernel_shape, {WALK}, ceil_mode=0, count_include_pad=0)",
        "avg_pool",
        {**WINDOW, "count_include_pad": choice("count_include_pad", {0: False, 1: True})},
        meaning=_pooled,
    ),
    Layer(
        f"LpPool({NAMED}kernel_shape, {WALK}, ceil_mode=0, p=2)",
        "lp_pool",
        {**WINDOW, "p": number("p")},
        meaning=_pooled,
    ),
    Layer(f"GlobalMaxPool({NAMED.removesuffix(', *, ')})", "global_max_pool"),
    Layer(f"GlobalAveragePool({NAMED.removesuffix(', *, ')})", "global_avg_pool"),
    Layer(f"Conv({NAMED}kernel_shape=None, {WALK}, group=1)", "conv", CONV, meaning=_weighted),
    Layer(
        f"ConvTranspose({NAMED}kernel_shape=None, {WALK}, group=1, output_padding=None, output_shape=None)",
        "conv_transpose",
        {**CONV, "output_padding": Reading("output_padding", lambda call, value: sizes("x").convert(call, value) or 0)},
        must={"output_shape": None, "auto_pad": ("NOTSET", "VALID")},
        meaning=_weighted,
    ),
)
FURTHER = (
    Layer(
        f"MaxUnpool({NAMED}kernel_shape, strides=None, pads=None)",
        "max_unpool",
        {key: WINDOW[key] for key in ("window", "stride", "padding")},
        meaning=_unpooled,
        note=THROUGHOUT,
    ),
    Layer(
        f"Pad({NAMED}mode='constant', pads=None, value=0.0)",
        "pad",
        {
            "pads": Reading("pads", _every_axis),
            "mode": choice("mode", {mode: mode for mode in ("constant", "edge", "reflect", "wrap")}),
            "value": number("value"),
        },
    ),
)
NODES = Dialect(("helper", "onnx.helper"), (*LAYERS, *FURTHER), naming="make_node")
DIALECTS = {"onnx.reference": NODES, "onnxruntime": NODES}
