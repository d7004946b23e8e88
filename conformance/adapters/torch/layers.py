"""PyTorch: how its layers and functions are read, argument by argument, with the defaults of PyTorch 2.13."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.adapters.api.layer_arguments import (
    SAME,
    ceiling,
    choice,
    count,
    flag,
    number,
    padding,
    sizes,
    unpooled,
    whole,
)
from conformance.adapters.api.layer_arguments import ends_from_last_axis as ends
from conformance.adapters.api.layer_parser import Unread
from conformance.adapters.api.layers import Call, Dialect, Layer, Reading

POOL: Mapping[str, Reading] = {
    "window": sizes("kernel_size"),
    "stride": sizes("stride"),
    "padding": sizes("padding"),
    "rounding": ceiling("ceil_mode"),
}
MAX = {**POOL, "dilation": sizes("dilation")}
AVERAGE = {**POOL, "count_include_pad": flag("count_include_pad")}
DIVIDED = {**AVERAGE, "divisor": count("divisor_override")}
NORM = {**{key: POOL[key] for key in ("window", "stride", "rounding")}, "p": number("norm_type")}
CONV = {
    "stride": sizes("stride"),
    "padding": padding("padding", SAME),
    "dilation": sizes("dilation"),
    "groups": count("groups"),
}
TRANSPOSED = {**CONV, "padding": sizes("padding"), "output_padding": sizes("output_padding")}
WEIGHTS = {
    "channels": count("in_channels"),
    "out_channels": count("out_channels"),
    "window": sizes("kernel_size"),
    "bias": flag("bias"),
}
GIVEN = {"bias": Reading("bias", lambda _call, value: value is not None)}
ELSEWHERE = ("device", "dtype")
NORMS = "an odd power keeps the sign of negative numbers in this layer; what follows takes their absolute value"


def _which(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return which operator it is: indices are returned by another one, which has no 16-bit sums to ask about."""
    del found
    return {"operator": "max_pool_with_indices"} if call.arguments["return_indices"] is True else {}


def _adaptive(call: Call, value: Any) -> Any:
    """Return the size of the output; None keeps an extent."""
    values = value if isinstance(value, tuple) else (value,) * call.axes()
    if len(values) != call.axes() or not all(size is None or whole(size) for size in values):
        raise Unread("neither a whole number nor one for each spatial axis")
    if None not in values:
        return value
    return tuple(size if extent is None else extent for extent, size in zip(values, call.extents("None"), strict=True))


MODES = {"constant": "constant", "replicate": "edge", "reflect": "reflect", "circular": "wrap"}


def _pad(mode: str, value: str = "") -> tuple[Mapping[str, Reading], Mapping[str, Any]]:
    reads = {"pads": Reading("padding", ends)}
    return (reads | {"value": number("value")} if value else reads), {"mode": mode}


def _pooling(name: str, extra: str, operator: str, reads: Mapping[str, Reading], **more: Any) -> Layer:
    return Layer(f"{name}(kernel_size, stride=None, padding=0{extra})", operator, reads, **more)


AVG = ", ceil_mode=False, count_include_pad=True"
HOLES = ", dilation=1, return_indices=False, ceil_mode=False"
WEIGHTED = "in_channels, out_channels, kernel_size, stride=1, padding=0"


def _padding(name: str, mode: str, value: str = "") -> Layer:
    reads, always = _pad(mode, value)
    return Layer(f"{name}Pad{{rank}}d(padding{value})", "pad", reads, always=always)


LAYERS = (
    _pooling("MaxPool{rank}d", HOLES, "max_pool", MAX, meaning=_which),
    _pooling("AvgPool1d", AVG, "avg_pool", AVERAGE),
    _pooling("AvgPool2d|AvgPool3d", f"{AVG}, divisor_override=None", "avg_pool", DIVIDED),
    Layer("LPPool{rank}d(norm_type, kernel_size, stride=None, ceil_mode=False)", "lp_pool", NORM),
    Layer(
        "AdaptiveMaxPool{rank}d(output_size, return_indices=False)",
        "adaptive_max_pool",
        {"output_size": Reading("output_size", _adaptive)},
        must={"return_indices": False},
    ),
    Layer(
        "AdaptiveAvgPool{rank}d(output_size)", "adaptive_avg_pool", {"output_size": Reading("output_size", _adaptive)}
    ),
    _pooling(
        "MaxUnpool{rank}d",
        "",
        "max_unpool",
        {key: POOL[key] for key in ("window", "stride", "padding")},
        meaning=unpooled,
    ),
    Layer(
        "FractionalMaxPool2d|FractionalMaxPool3d(kernel_size, output_size=None, output_ratio=None, "
        "return_indices=False, _random_samples=None)",
        "fractional_max_pool",
        {"window": sizes("kernel_size"), "output_size": sizes("output_size")},
        must={"output_ratio": None, "return_indices": False},
        note="the samples that place its windows are an input here; the layer draws them itself where it is given none",
    ),
    Layer(
        f"Conv{{rank}}d({WEIGHTED}, dilation=1, groups=1, bias=True, padding_mode='zeros')",
        "conv",
        {**CONV, **WEIGHTS},
        ignored=ELSEWHERE,
        must={"padding_mode": "zeros"},
    ),
    Layer(
        f"ConvTranspose{{rank}}d({WEIGHTED}, output_padding=0, groups=1, bias=True, dilation=1, padding_mode='zeros')",
        "conv_transpose",
        {**TRANSPOSED, **WEIGHTS},
        ignored=ELSEWHERE,
        must={"padding_mode": "zeros"},
    ),
    _padding("Zero", "constant"),
    _padding("Constant", "constant", ", value"),
    _padding("Reflection", "reflect"),
    _padding("Replication", "edge"),
    _padding("Circular", "wrap"),
)


def _function(layer: Layer, name: str, signature: str, **more: Any) -> Layer:
    """Return the function that does the same on an input that it is given."""
    return replace(layer, signature=f"{name}({signature})", **{"data": ("input",), **more})


X = "input, kernel_size, stride=None, padding=0"
FILTERED = "input, weight, bias=None, stride=1, padding=0"
MAXED = f"{X}, dilation=1, ceil_mode=False, return_indices=False"
FUNCTIONS = (
    _function(LAYERS[0], "max_pool{rank}d", MAXED),
    _function(LAYERS[1], "avg_pool1d", f"{X}{AVG}"),
    _function(LAYERS[2], "avg_pool2d|avg_pool3d", f"{X}{AVG}, divisor_override=None"),
    _function(LAYERS[3], "lp_pool{rank}d", "input, norm_type, kernel_size, stride=None, ceil_mode=False"),
    _function(LAYERS[4], "adaptive_max_pool{rank}d", "input, output_size, return_indices=False"),
    _function(LAYERS[5], "adaptive_avg_pool{rank}d", "input, output_size"),
    _function(
        LAYERS[6],
        "max_unpool{rank}d",
        "input, indices, kernel_size, stride=None, padding=0, output_size=None",
        data=("input", "indices"),
        must={"output_size": None},
    ),
    _function(
        LAYERS[7],
        "fractional_max_pool2d|fractional_max_pool3d",
        "input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None",
    ),
    Layer(f"conv{{rank}}d({FILTERED}, dilation=1, groups=1)", "conv", {**CONV, **GIVEN}, data=("input", "weight")),
    Layer(
        f"conv_transpose{{rank}}d({FILTERED}, output_padding=0, groups=1, dilation=1)",
        "conv_transpose",
        {**TRANSPOSED, **GIVEN},
        data=("input", "weight"),
    ),
    Layer(
        "pad(input, pad, mode='constant', value=None)",
        "pad",
        {"pads": Reading("pad", ends), "mode": choice("mode", MODES), "value": number("value")},
        data=("input",),
    ),
)

DIALECTS = {
    "torch.nn": Dialect(("nn", "torch.nn"), LAYERS),
    "torch.nn.functional": Dialect(("F", "functional", "nn.functional", "torch.nn.functional"), FUNCTIONS),
}
