"""TensorFlow and Keras: how their layers and functions are read, with the defaults of TensorFlow 2.21 and Keras 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.layer_arguments import (
    SAME,
    by_name,
    choice,
    count,
    flag,
    named_padding,
    number,
    ones,
    outer,
    pairs,
    sizes,
    spatial,
    whole,
)
from conformance.layer_source import Unread
from conformance.layers import Call, Dialect, Layer, Reading
from conformance.requests import IMPLIED

IGNORED = ("name", "dtype", "trainable", "input_shape", "batch_input_shape", "autocast")
WEIGHT_IGNORED = (
    *IGNORED,
    *(f"{of}_{what}" for of in ("kernel", "bias") for what in ("initializer", "regularizer", "constraint")),
    "activity_regularizer",
)
POOL = {"window": sizes("pool_size"), "stride": sizes("strides"), "padding": named_padding("padding")}
POOLED = "strides=None, padding='valid', data_format=None, name=None"
WHOLE = "data_format=None, keepdims=False"
CONV = {
    "out_channels": count("filters"),
    "window": sizes("kernel_size"),
    "stride": sizes("strides"),
    "padding": named_padding("padding"),
    "dilation": sizes("dilation_rate"),
    "bias": flag("use_bias"),
}


def _filled(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return how far the output of a transposed layer goes: without output_padding a long stride is filled up."""
    further = found.get("output_padding")
    if found["padding"] == "same_upper":
        if further is not None:
            raise Unread("output_padding beside padding='same' has no words here")
        return {}
    if further is not None:
        return {}
    axes = call.rank or 1
    window, stride, holes = (_each(found[key], axes) for key in ("window", "stride", "dilation"))
    fill = tuple(max(by - (w - 1) * d - 1, 0) for w, by, d in zip(window, stride, holes, strict=True))
    return {"output_padding": fill} if any(fill) else {}


def _each(value: Any, axes: int) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,) * axes


def _ends(sign: int) -> Reading:
    def read(call: Call, value: Any) -> Any:
        spread = value
        if call.rank == 1 and isinstance(value, tuple) and len(value) == 2 and all(map(whole, value)):  # noqa: PLR2004
            spread = (value,)
        found = ((value, value),) * call.axes() if whole(value) else pairs(call, spread)
        return tuple((sign * before, sign * after) for before, after in found)

    return Reading("padding" if sign > 0 else "cropping", read)


def _filters(name: str, middle: str, last: str, operator: str, reads: Mapping[str, Reading], **more: Any) -> Layer:
    signature = f"filters, kernel_size, strides=1, padding='valid', {middle}data_format=None, dilation_rate=1, "
    return Layer(
        f"{name}({signature}{last}activation=None, use_bias=True)",
        operator,
        {**CONV, **reads},
        must={"activation": None},
        ignored=WEIGHT_IGNORED,
        **more,
    )


KERAS = (
    Layer(f"MaxPooling{{rank}}D|MaxPool{{rank}}D(pool_size=2, {POOLED})", "max_pool", POOL, ignored=IGNORED),
    Layer(f"AveragePooling{{rank}}D|AvgPool{{rank}}D(pool_size, {POOLED})", "avg_pool", POOL, ignored=IGNORED),
    Layer(f"GlobalMaxPooling{{rank}}D|GlobalMaxPool{{rank}}D({WHOLE})", "global_max_pool", ignored=IGNORED),
    Layer(f"GlobalAveragePooling{{rank}}D|GlobalAvgPool{{rank}}D({WHOLE})", "global_avg_pool", ignored=IGNORED),
    *(
        Layer(
            f"Adaptive{name}Pooling{{rank}}D(output_size, data_format=None)",
            operator,
            {"output_size": sizes("output_size")},
            ignored=IGNORED,
        )
        for name, operator in (("Max", "adaptive_max_pool"), ("Average", "adaptive_avg_pool"))
    ),
    _filters("Conv{rank}D|Convolution{rank}D", "", "groups=1, ", "conv", {"groups": count("groups")}),
    _filters(
        "Conv{rank}DTranspose",
        "output_padding=None, ",
        "",
        "conv_transpose",
        {"output_padding": sizes("output_padding")},
        meaning=_filled,
    ),
    Layer("ZeroPadding{rank}D(padding=1, data_format=None)", "pad", {"pads": _ends(1)}, ignored=IGNORED),
    Layer("Cropping{rank}D(cropping, data_format=None)", "pad", {"pads": _ends(-1)}, ignored=IGNORED),
)


def _strides(argument: str) -> Reading:
    """Read one number, one for each spatial axis, or one for each axis of the array."""

    def read(call: Call, value: Any) -> Any:
        if isinstance(value, tuple) and len(value) == call.axes() + 2 != 3:  # noqa: PLR2004 - one axis has one number
            if outer(value, channels_last=True) != (1, 1):
                raise Unread("batch and channels have stride 1 here")
            return spatial(value, channels_last=True)
        return ones(argument).convert(call, value)

    return Reading(argument, read)


def _explicit(call: Call, value: Any) -> Any:
    """Read SAME, VALID, or a pair for each axis of the array."""
    if isinstance(value, str):
        return by_name(call, value, SAME)
    if outer(value, channels_last=True) != ((0, 0), (0, 0)) if isinstance(value, tuple) and len(value) > 2 else True:  # noqa: PLR2004
        raise Unread("neither SAME, VALID, nor a pair for each axis with none for batch and channels")
    return pairs(call, spatial(value, channels_last=True))


def _chosen(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the operator of tf.nn.pool."""
    del found
    kind = str(call.arguments["pooling_type"]).upper()
    if kind not in {"MAX", "AVG"}:
        raise Unread(f"pooling_type={call.arguments['pooling_type']!r}: only MAX and AVG can be translated")
    return {"operator": f"{kind.lower()}_pool"}


PADDING = Reading("padding", _explicit)
WINDOWED = {"window": _strides("ksize"), "stride": _strides("strides"), "padding": PADDING}
AS_USUAL = {"data_format": (None, "NWC", "NHWC", "NDHWC")}
FILTERED = {"stride": _strides("strides"), "padding": PADDING, "dilation": _strides("dilations")}


TF_NN = (
    *(
        Layer(
            f"{kind}_pool{{rank}}d(input, ksize, strides, padding, data_format=None, name=None)",
            f"{kind}_pool",
            WINDOWED,
            data=("input",),
            must=AS_USUAL,
        )
        for kind in ("max", "avg")
    ),
    Layer(
        "pool(input, window_shape, pooling_type, strides=None, padding='VALID', data_format=None, dilations=None, "
        "name=None)",
        "max_pool",
        {
            "window": sizes("window_shape"),
            "stride": ones("strides"),
            "padding": named_padding("padding"),
            "dilation": ones("dilations"),
        },
        data=("input",),
        must=AS_USUAL,
        meaning=_chosen,
    ),
    Layer(
        "conv1d(input, filters, stride, padding, data_format=None, dilations=None, name=None)",
        "conv",
        {**FILTERED, "stride": _strides("stride")},
        always={"groups": IMPLIED},
        data=("input", "filters"),
        must=AS_USUAL,
    ),
    Layer(
        "conv2d|conv3d(input, filters, strides, padding, data_format=None, dilations=None, name=None)",
        "conv",
        FILTERED,
        always={"groups": IMPLIED},
        data=("input", "filters"),
        must=AS_USUAL,
    ),
    Layer(
        "convolution(input, filters, strides=None, padding='VALID', data_format=None, dilations=None, name=None)",
        "conv",
        FILTERED,
        always={"groups": IMPLIED},
        data=("input", "filters"),
        must=AS_USUAL,
    ),
)
TF_PAD = Layer(
    "pad(tensor, paddings, mode='CONSTANT', constant_values=0, name=None)",
    "pad",
    {
        "pads": Reading("paddings", _explicit),
        "mode": choice("mode", {"constant": "constant", "reflect": "reflect", "symmetric": "symmetric"}),
        "value": number("constant_values"),
    },
    data=("tensor",),
)

DIALECTS = {
    "tf.keras.layers": Dialect(("tf.keras.layers", "keras.layers", "layers", "tensorflow.keras.layers"), KERAS),
    "tf.nn": Dialect(("tf.nn", "tensorflow.nn", "nn", "tf"), (*TF_NN, TF_PAD)),
}
