"""OpenVINO: how calls of its opsets are read, with the defaults of opset16, https://docs.openvino.ai."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import by_name, choice, number, sizes, whole
from conformance.adapters.api.layer_parser import Reshaped, Unread
from conformance.adapters.api.layers import IMPLIED, Call, Dialect, Layer, Reading
from reference import Windows

AUTOMATIC = {"same_upper": "same_upper", "same_lower": "same_lower", "valid": 0}
MODULES = tuple(f"{home}opset{version}" for version in range(16, 0, -1) for home in ("", "ov.", "openvino."))
FIRST = tuple(module for module in MODULES if int(module.rpartition("opset")[2]) < 8)  # noqa: PLR2004 - MaxPool-8
HEIGHT = 2


def _row(argument: str) -> Reading:
    """Read a number for each spatial axis, as every list of an opset is."""

    def read(call: Call, value: Any) -> Any:
        if not isinstance(value, tuple):
            raise Unread("not a list of a whole number for each spatial axis")
        return sizes(argument).convert(call, value)

    return Reading(argument, read)


def _optional(argument: str, usual: int) -> Reading:
    return Reading(argument, lambda call, value: usual if value is None else _row(argument).convert(call, value))


def _begun(call: Call, value: Any) -> Any:
    """Read the pads before every axis together with those after it; a word stands in their place."""
    named = call.arguments.get("auto_pad")
    if isinstance(named, str) and named.lower() not in {"explicit", "notset"}:
        return by_name(call, named, AUTOMATIC)
    return _paired(value, call.arguments["pads_end"])


def _paired(before: Any, after: Any) -> Any:
    if before is None and after is None:
        return 0
    first, last = ((0,) * len(two) if one is None else one for one, two in ((before, after), (after, before)))
    both = (first, last)
    if not all(isinstance(ends, tuple) and all(map(whole, ends)) for ends in both) or len(first) != len(last):
        raise Unread("pads_begin and pads_end are not whole numbers, one each for every axis")
    return tuple(zip(first, last, strict=True))


def _every_axis(_call: Call, value: Any) -> Any:
    """Read the pads of every axis of the array, none for batch and channels."""
    found = _paired(value, _call.arguments["pads_end"])
    if found == 0 or len(found) <= HEIGHT or found[:HEIGHT] != ((0, 0), (0, 0)):
        raise Unread("not a number for each axis of the array, with none for batch and channels")
    return found[HEIGHT:]


ROUNDINGS = {"floor": "floor", "ceil": "full", "ceil_torch": "ceil"}
WINDOW = {
    "window": _row("kernel_shape"),
    "stride": _row("strides"),
    "padding": Reading("pads_begin", _begun),
    "rounding": choice("rounding_type", ROUNDINGS),
}


def _indexed(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return which operator the first or the second output is one of."""
    del found
    if call.result != 1:
        return {}
    if call.arguments.get("axis") != HEIGHT:
        raise Unread("output(1): only indices in their plane, axis=2, can be translated")
    return {"operator": "max_pool_with_indices"}


def _divided(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Leave the meaning as it is, unless the divisor counts cells that no word of the catalogue does.

    Where padding counts and there is some, along whatever axis, cells of a last window past it count too; without any
    they do not (seen with OpenVINO 2026.4 on the CPU).
    """
    plain = found["rounding"] == "floor" or not found["count_include_pad"]
    if plain or found["padding"] == 0 or not _some(found["padding"]):
        return {}
    extents = call.extents("whether a last window reaches past the padding, whose cells count here,")
    walk = Windows.of(extents, *(found[key] for key in ("window", "stride", "padding", "dilation", "rounding")))
    if any(walk.overhang):
        raise Unread("exclude_pad=False: cells past the padding count here, which has no words in the catalogue")
    return {}


def _some(padding: Any) -> bool:
    return isinstance(padding, str) or any(map(any, padding))


def _grouped(call: Call, _value: Any) -> Any:
    """Read the groups off the filters: their first axis, where it is written beside them."""
    filters = call.arguments["filters"]
    if isinstance(filters, Reshaped):
        return filters.shape[0]
    if call.name.endswith("backprop_data"):
        raise Unread("its groups are an axis that nothing here says: write ops.reshape(filters, [groups, …], False)")
    return IMPLIED


GROUPS = {"groups": Reading("filters", _grouped)}
CONV = {**{key: WINDOW[key] for key in ("stride", "padding")}, "dilation": _row("dilations")}
TRANSPOSED = {**CONV, "dilation": _optional("dilations", 1), "output_padding": _optional("output_padding", 0)}
POOLED = "pads_begin, pads_end, kernel_shape"
WALKED = "strides, pads_begin, pads_end, dilations, auto_pad='EXPLICIT', name=None"
SAID = "pads_begin=None, pads_end=None, dilations=None, auto_pad=None, output_padding=None, name=None"
OPERANDS = ("data", "filters")


def _convolution(name: str, arguments: str, operator: str, reads: Mapping[str, Reading], **more: Any) -> Layer:
    return Layer(f"{name}(data, filters, {arguments})", operator, reads, data=OPERANDS, **more)


AS_SAID = {"output_shape": None, "auto_pad": (None, "EXPLICIT", "explicit", "VALID", "valid")}
OPSET = (
    Layer(
        f"max_pool(data, strides, dilations, {POOLED}, rounding_type='floor', auto_pad=None, index_element_type='i64', "
        "axis=0, name=None)",
        "max_pool",
        {**WINDOW, "dilation": _row("dilations")},
        data=("data",),
        meaning=_indexed,
        results=2,
    ),
    Layer(
        f"{'|'.join(f'{module}.max_pool' for module in FIRST)}(data, strides, {POOLED}, rounding_type='floor', "
        "auto_pad=None, name=None)",
        "max_pool",
        WINDOW,
        data=("data",),
        results=1,
    ),
    Layer(
        f"avg_pool(data_batch, strides, {POOLED}, exclude_pad, rounding_type='floor', auto_pad=None, dilations=None, "
        "name=None)",
        "avg_pool",
        {
            **WINDOW,
            "dilation": _optional("dilations", 1),
            "count_include_pad": choice("exclude_pad", {True: False, False: True}),
        },
        data=("data_batch",),
        meaning=_divided,
        results=1,
    ),
    Layer(
        "adaptive_avg_pool(data, output_shape, name=None)",
        "adaptive_avg_pool",
        {"output_size": sizes("output_shape")},
        data=("data",),
    ),
    Layer(
        "adaptive_max_pool(data, output_shape, index_element_type='i64', name=None)",
        "adaptive_max_pool",
        {"output_size": sizes("output_shape")},
        data=("data",),
        results=1,
    ),
    _convolution("convolution", WALKED, "conv", CONV),
    _convolution("group_convolution", WALKED, "conv", {**CONV, **GROUPS}),
    _convolution(
        "convolution_backprop_data", f"strides, output_shape=None, {SAID}", "conv_transpose", TRANSPOSED, must=AS_SAID
    ),
    _convolution(
        "group_convolution_backprop_data",
        f"strides, output_shape=None, {SAID}",
        "conv_transpose",
        {**TRANSPOSED, **GROUPS},
        must=AS_SAID,
    ),
    Layer(
        "pad(arg, pads_begin, pads_end, pad_mode, arg_pad_value=None, name=None)",
        "pad",
        {
            "pads": Reading("pads_begin", _every_axis),
            "mode": choice("pad_mode", {mode: mode for mode in ("constant", "edge", "reflect", "symmetric")}),
            "value": number("arg_pad_value"),
        },
        data=("arg",),
    ),
)

DIALECTS = {"openvino.opset": Dialect(("ops", "opset", *MODULES), OPSET)}
