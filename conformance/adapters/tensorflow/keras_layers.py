"""TensorFlow and Keras: how their layers and functions are read, with the defaults of TensorFlow 2.21 and Keras 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import (
    count,
    cropped,
    flag,
    halved,
    named_padding,
    pairs,
    reaches,
    sizes,
    whole,
)
from conformance.adapters.api.layers import Call, Dialect, Layer, Reading

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


def filled(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return how far the output of a transposed convolution of Keras goes, in layers and in keras.ops.

    Without output_padding a stride that is longer than the kernel is filled up, and `same` gives input times stride.
    With it, `same` gives (cells - 1) * stride + reach % 2 + output_padding.
    """
    further, same = found.get("output_padding"), found["padding"] == "same_upper"
    if further is None and same:
        return {}
    window = found.get("window") or call.weights("how far its output goes")[2:]
    axes = call.rank or len(window)
    window, stride, holes = (_each(value, axes) for value in (window, found["stride"], found["dilation"]))
    reach = reaches(window, holes)
    if further is None:
        fill = tuple(max(by - cells, 0) for cells, by in zip(reach, stride, strict=True))
        return {"output_padding": fill} if any(fill) else {}
    if not same:
        return {}
    surplus = tuple(cells - cells % 2 - more for cells, more in zip(reach, _each(further, axes), strict=True))
    return cropped(halved(surplus), stride, holes)


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
        meaning=filled,
    ),
    Layer("ZeroPadding{rank}D(padding=1, data_format=None)", "pad", {"pads": _ends(1)}, ignored=IGNORED),
    Layer("Cropping{rank}D(cropping, data_format=None)", "pad", {"pads": _ends(-1)}, ignored=IGNORED),
)


DIALECTS = {
    "tf.keras.layers": Dialect(("tf.keras.layers", "keras.layers", "layers", "tensorflow.keras.layers"), KERAS),
}
