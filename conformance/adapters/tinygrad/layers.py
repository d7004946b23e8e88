"""tinygrad: how methods of `Tensor` are read, with the defaults of tinygrad 0.14; they take any number of axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import ceiling, choice, count, flag, number, sizes, unpooled, whole
from conformance.adapters.api.layer_arguments import ends_from_last_axis as ends
from conformance.adapters.api.layer_parser import Unread
from conformance.adapters.api.layers import Call, Dialect, Layer, Reading

IMAGE = 2


def _axes(call: Call) -> int:
    """Return the number of spatial axes: one number for a window means two."""
    if "kernel_size" in call.arguments:
        window = call.arguments["kernel_size"]
        return len(window) if isinstance(window, tuple) else IMAGE
    return len(call.kernel) - 2 if call.kernel else call.axes()


def _window(call: Call, value: Any) -> Any:
    return sizes("kernel_size").convert(call, (value,) * IMAGE if whole(value) else value)


def _padding(call: Call, value: Any) -> Any:
    """Read one number, one for each axis, or both ends of every axis in one list, the last axis first."""
    axes = _axes(call)
    if whole(value):
        return value
    if not isinstance(value, tuple) or not all(map(whole, value)) or len(value) not in {axes, 2 * axes}:
        raise Unread(f"not a whole number, nor one for each of {axes} axes, nor two")
    if len(value) == axes:
        return tuple((end, end) for end in value)
    return tuple(reversed([*zip(value[::2], value[1::2], strict=True)]))


def _pads(call: Call, value: Any) -> Any:
    """Read both ends of the last axes in one list, the last first, or a pair or None for every axis of the array."""
    if not isinstance(value, tuple) or not any(item is None or isinstance(item, tuple) for item in value):
        return ends(call, value)
    pairs = tuple((0, 0) if item is None else item for item in value)
    if len(pairs) <= IMAGE or pairs[:2] != ((0, 0), (0, 0)):
        raise Unread("not a pair for each axis of the array, with none for batch and channels")
    if not all(isinstance(pair, tuple) and len(pair) == IMAGE and all(map(whole, pair)) for pair in pairs):
        raise Unread("not a pair of whole numbers, or None, for each axis of the array")
    return pairs[2:]


def _indexed(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return which operator it is: indices are returned by another one."""
    del found
    return {"operator": "max_pool_with_indices"} if call.arguments["return_indices"] is True else {}


def _unpooled(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size of the output: the one that is said, or the one that a pooling of such a window comes from."""
    size = found.get("output_size")
    if size is not None:
        found.clear()
        return {"output_size": size}
    if found.pop("dilation") not in {1, (1,) * _axes(call)}:
        raise Unread("dilation: only 1 can be translated without output_size")
    found["padding"] = _symmetric(found["padding"])
    return unpooled(call, found)


def _symmetric(padding: Any) -> Any:
    """Return padding as one number an axis."""
    if whole(padding):
        return padding
    if any(before != after for before, after in padding):
        raise Unread("padding: only equal ends can be translated without output_size")
    return tuple(before for before, _ in padding)


def _of_size(call: Call, value: Any) -> Any:
    """Read the extents of the output; those of batch and channels before them say nothing."""
    if value is None:
        return None
    if not isinstance(value, tuple) or not all(map(whole, value)):
        raise Unread("not a whole number for each axis")
    return value[2:] if call.shape and len(value) == len(call.shape) else value


POOL = {
    "window": Reading("kernel_size", _window),
    "stride": sizes("stride"),
    "dilation": sizes("dilation"),
    "padding": Reading("padding", _padding),
    "rounding": ceiling("ceil_mode"),
}
CONV = {
    "groups": count("groups"),
    **{key: POOL[key] for key in ("stride", "dilation", "padding")},
    "bias": Reading("bias", lambda _call, value: value is not None),
}
POOLED = "kernel_size=(2, 2), stride=None, dilation=1, padding=0"
FILTERED = "weight, bias=None, groups=1, stride=1, dilation=1, padding=0"
MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}

TENSOR = (
    Layer(
        f"max_pool2d({POOLED}, ceil_mode=False, return_indices=False)", "max_pool", POOL, meaning=_indexed, ranked=False
    ),
    Layer(
        f"avg_pool2d({POOLED}, ceil_mode=False, count_include_pad=True)",
        "avg_pool",
        {**POOL, "count_include_pad": flag("count_include_pad")},
        ranked=False,
    ),
    Layer(
        f"max_unpool2d(indices, {POOLED}, output_size=None)",
        "max_unpool",
        {
            **{key: POOL[key] for key in ("window", "stride", "dilation", "padding")},
            "output_size": Reading("output_size", _of_size),
        },
        data=("indices",),
        meaning=_unpooled,
        ranked=False,
    ),
    Layer(f"conv2d({FILTERED})", "conv", CONV, data=("weight", "bias"), ignored=("dtype",), ranked=False),
    Layer(
        f"conv_transpose2d({FILTERED}, output_padding=0)",
        "conv_transpose",
        {**CONV, "output_padding": sizes("output_padding")},
        data=("weight", "bias"),
        ranked=False,
    ),
    Layer(
        "pad(padding, mode='constant', value=0.0)",
        "pad",
        {"pads": Reading("padding", _pads), "mode": choice("mode", MODES), "value": number("value")},
    ),
)

AFTER = ("cast", "realize", "contiguous", "numpy")
DIALECTS = {"tinygrad.Tensor": Dialect(("Tensor", "tinygrad.Tensor"), TENSOR, followed=AFTER, methods=True)}
