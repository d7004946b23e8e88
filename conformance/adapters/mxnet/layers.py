"""Apache MXNet: how the layers of Gluon and the calls of npx are read, with the defaults of MXNet 1.9.1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.adapters.api.layer_arguments import ceiling, choice, count, flag, number, sizes, whole
from conformance.adapters.api.layer_parser import Unread
from conformance.adapters.api.layers import Call, Dialect, Layer, Reading

POOL = {
    "window": sizes("pool_size"),
    "stride": sizes("strides"),
    "padding": sizes("padding"),
    "rounding": ceiling("ceil_mode", "full"),
}
AVERAGE = {**POOL, "count_include_pad": flag("count_include_pad")}
WEIGHTS = {
    "out_channels": count("channels"),
    "window": sizes("kernel_size"),
    "stride": sizes("strides"),
    "padding": sizes("padding"),
    "dilation": sizes("dilation"),
    "groups": count("groups"),
    "bias": flag("use_bias"),
    "channels": Reading("in_channels", lambda _call, value: value or None),
}
IGNORED = ("weight_initializer", "bias_initializer", "prefix", "params")


def _layers(name: str, signature: str, operator: str, reads: Mapping[str, Reading], **must: Any) -> Iterator[Layer]:
    """Yield one layer for each rank: layouts have as many letters. `layout` is where the signature has that word."""
    for rank in (1, 2, 3):
        layout = "NC" + "DHW"[-rank:]
        written = signature.replace("layout", f"layout='{layout}'")
        yield Layer(
            f"{name.format(rank)}({written})", operator, reads, ignored=IGNORED, must={"layout": (None, layout), **must}
        )


def _in_order(layers: Iterator[Layer], *ranks: int) -> Iterator[Layer]:
    """Yield the layers, those of some ranks with ceil_mode before the layout, as MXNet has them."""
    for rank, layer in enumerate(layers, 1):
        before, layout, after = layer.signature.partition(f"layout='NC{'DHW'[-rank:]}'")
        turned = f"{before}ceil_mode=False, {layout}{after.replace(', ceil_mode=False', '', 1)}"
        yield replace(layer, signature=turned) if rank in ranks else layer


POOLED = "pool_size=2, strides=None, padding=0, layout, ceil_mode=False"
FILTERED = (
    "channels, kernel_size, strides=1, padding=0, {}dilation=1, groups=1, layout, activation=None, use_bias=True, "
)
FILTERED += "weight_initializer=None, bias_initializer='zeros', in_channels=0"
GLUON = (
    *_in_order(_layers("MaxPool{}D", POOLED, "max_pool", POOL), 3),
    *_in_order(_layers("AvgPool{}D", f"{POOLED}, count_include_pad=True", "avg_pool", AVERAGE), 2, 3),
    *_layers("GlobalMaxPool{}D", "layout", "global_max_pool", {}),
    *_layers("GlobalAvgPool{}D", "layout", "global_avg_pool", {}),
    *_layers("Conv{}D", FILTERED.format(""), "conv", WEIGHTS, activation=None),
    *_layers(
        "Conv{}DTranspose",
        FILTERED.format("output_padding=0, "),
        "conv_transpose",
        {**WEIGHTS, "output_padding": sizes("output_padding")},
        activation=None,
    ),
)


def _spread(call: Call, value: Any) -> Any:
    """Return a list for each axis; an empty one leaves it to the default."""
    if value is None or value == ():
        return None
    return sizes("kernel").convert(call, value)


def _npx(argument: str) -> Reading:
    return Reading(argument, _spread)


def _kind(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the operator that pool_type and global_pool say, without the parameters that it has not."""
    kind = {"max": "max_pool", "avg": "avg_pool", "lp": "lp_pool"}.get(str(call.arguments["pool_type"]))
    if kind is None:
        raise Unread(f"pool_type={call.arguments['pool_type']!r}: only max, avg and lp can be translated")
    if call.arguments["global_pool"] is True:
        if kind == "lp_pool":
            raise Unread("global_pool=True: only max and avg can be translated")
        found.clear()
        return {"operator": f"global_{kind}"}
    if "window" not in found:
        raise Unread("kernel: pooling needs one, or global_pool=True")
    for word in {"count_include_pad", "p"} - {{"avg_pool": "count_include_pad", "lp_pool": "p"}.get(kind)}:
        found.pop(word, None)
    found.setdefault("stride", 1)
    return {"operator": kind, "stride": found["stride"]}


FILTER = {
    "window": _npx("kernel"),
    "stride": _npx("stride"),
    "dilation": _npx("dilate"),
    "padding": _npx("pad"),
    "out_channels": count("num_filter"),
    "groups": count("num_group"),
    "bias": choice("no_bias", {False: True, True: False}),
}
TUNED = ("workspace", "cudnn_tune", "cudnn_off", "layout", "name")
NPX = (
    Layer(
        "pooling(data, kernel=(), pool_type='max', global_pool=False, cudnn_off=False, pooling_convention='valid', "
        "stride=(), pad=(), p_value=2, count_include_pad=True, layout=None)",
        "max_pool",
        {
            "window": _npx("kernel"),
            "stride": _npx("stride"),
            "padding": _npx("pad"),
            "rounding": choice("pooling_convention", {"valid": "floor", "full": "full"}),
            "p": number("p_value"),
            "count_include_pad": flag("count_include_pad"),
        },
        data=("data",),
        must={"layout": None},
        meaning=_kind,
    ),
    Layer(
        "convolution(data, weight, bias=None, kernel=(), stride=(), dilate=(), pad=(), num_filter=None, num_group=1, "
        "no_bias=False)",
        "conv",
        FILTER,
        data=("data", "weight", "bias"),
        ignored=TUNED,
    ),
    Layer(
        "deconvolution(data, weight, bias=None, kernel=(), stride=(), dilate=(), pad=(), adj=(), target_shape=None, "
        "num_filter=None, num_group=1, no_bias=True)",
        "conv_transpose",
        {**FILTER, "output_padding": _npx("adj")},
        data=("data", "weight", "bias"),
        must={"target_shape": None},
        ignored=TUNED,
    ),
)

OLDER = {"pooling": "Pooling", "convolution": "Convolution", "deconvolution": "Deconvolution"}


def _older(layer: Layer) -> Layer:
    """Return the same call under its name for arrays of the older kind."""
    name, bracket, arguments = layer.signature.partition("(")
    return replace(layer, signature=f"{OLDER[name]}{bracket}{arguments}")


def _flat(_call: Call, value: Any) -> Any:
    """Read two ends for each axis of the array, none for batch and channels."""
    if not isinstance(value, tuple) or len(value) % 2 or value[:4] != (0, 0, 0, 0) or not all(map(whole, value)):
        raise Unread("not two ends for each axis, with none for batch and channels")
    return tuple(zip(value[4::2], value[5::2], strict=True))


ND = (
    *map(_older, NPX),
    Layer(
        "pad|Pad(data, mode='constant', pad_width=(), constant_value=0)",
        "pad",
        {
            "pads": Reading("pad_width", _flat),
            "mode": choice("mode", {"constant": "constant", "edge": "edge", "reflect": "reflect"}),
            "value": number("constant_value"),
        },
        data=("data",),
        ignored=("name",),
    ),
    Layer(
        "AdaptiveAvgPooling2D(data, output_size)",
        "adaptive_avg_pool",
        {"output_size": sizes("output_size")},
        data=("data",),
        ignored=("name",),
    ),
)

DIALECTS = {
    "mxnet.nd": Dialect(("nd", "mx.nd", "mxnet.nd", "mx.nd.contrib", "nd.contrib"), ND),
    "mxnet.gluon": Dialect(("nn", "gluon.nn", "mxnet.gluon.nn", "mx.gluon.nn"), GLUON),
    "mxnet.npx": Dialect(("npx", "mxnet.npx", "mx.npx"), NPX),
}
