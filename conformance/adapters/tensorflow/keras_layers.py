"""TensorFlow and Keras: how their layers and functions are read, with the defaults of TensorFlow 2.21 and Keras 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import (
    count_argument,
    flag_argument,
    is_whole_number,
    kernel_reach,
    named_padding_argument,
    padding_from_crop,
    read_pairs,
    sizes_argument,
    split_surplus,
)
from conformance.adapters.api.layers import ArgumentReading, BoundCall, Dialect, LayerSignature

IGNORED_ARGUMENTS = ("name", "dtype", "trainable", "input_shape", "batch_input_shape", "autocast")
IGNORED_WEIGHT_ARGUMENTS = (
    *IGNORED_ARGUMENTS,
    *(f"{of}_{what}" for of in ("kernel", "bias") for what in ("initializer", "regularizer", "constraint")),
    "activity_regularizer",
)
POOLING_ARGUMENTS = {
    "window": sizes_argument("pool_size"),
    "stride": sizes_argument("strides"),
    "padding": named_padding_argument("padding"),
}
POOLING_SIGNATURE = "strides=None, padding='valid', data_format=None, name=None"
GLOBAL_SIGNATURE = "data_format=None, keepdims=False"
CONVOLUTION_ARGUMENTS = {
    "out_channels": count_argument("filters"),
    "window": sizes_argument("kernel_size"),
    "stride": sizes_argument("strides"),
    "padding": named_padding_argument("padding"),
    "dilation": sizes_argument("dilation_rate"),
    "bias": flag_argument("use_bias"),
}


def transposed_parameters(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return how far the output of a transposed convolution of Keras goes, in layers and in keras.ops.

    Without output_padding a stride that is longer than the kernel is filled up, and `same` gives input times stride.
    With it, `same` gives (cells - 1) * stride + reach % 2 + output_padding.
    """
    further, same = found.get("output_padding"), found["padding"] == "same_upper"
    if further is None and same:
        return {}
    window = found.get("window") or call.weight_shape("how far its output goes")[2:]
    axes = call.rank or len(window)
    window, stride, holes = (_per_axis(value, axes) for value in (window, found["stride"], found["dilation"]))
    reach = kernel_reach(window, holes)
    if further is None:
        fill = tuple(max(by - cells, 0) for cells, by in zip(reach, stride, strict=True))
        return {"output_padding": fill} if any(fill) else {}
    if not same:
        return {}
    surplus = tuple(cells - cells % 2 - more for cells, more in zip(reach, _per_axis(further, axes), strict=True))
    return padding_from_crop(split_surplus(surplus), stride, holes)


def _per_axis(value: Any, axes: int) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,) * axes


def _pads_argument(sign: int) -> ArgumentReading:
    def read(call: BoundCall, value: Any) -> Any:
        spread = value
        if call.rank == 1 and isinstance(value, tuple) and len(value) == 2 and all(map(is_whole_number, value)):  # noqa: PLR2004
            spread = (value,)
        found = ((value, value),) * call.spatial_axes() if is_whole_number(value) else read_pairs(call, spread)
        return tuple((sign * before, sign * after) for before, after in found)

    return ArgumentReading("padding" if sign > 0 else "cropping", read)


def _weighted_layer(
    name: str, middle: str, last: str, operator: str, reads: Mapping[str, ArgumentReading], **more: Any
) -> LayerSignature:
    signature = f"filters, kernel_size, strides=1, padding='valid', {middle}data_format=None, dilation_rate=1, "
    return LayerSignature(
        f"{name}({signature}{last}activation=None, use_bias=True)",
        operator,
        {**CONVOLUTION_ARGUMENTS, **reads},
        required_values={"activation": None},
        ignored_arguments=IGNORED_WEIGHT_ARGUMENTS,
        **more,
    )


KERAS_LAYERS = (
    LayerSignature(
        f"MaxPooling{{rank}}D|MaxPool{{rank}}D(pool_size=2, {POOLING_SIGNATURE})",
        "max_pool",
        POOLING_ARGUMENTS,
        ignored_arguments=IGNORED_ARGUMENTS,
    ),
    LayerSignature(
        f"AveragePooling{{rank}}D|AvgPool{{rank}}D(pool_size, {POOLING_SIGNATURE})",
        "avg_pool",
        POOLING_ARGUMENTS,
        ignored_arguments=IGNORED_ARGUMENTS,
    ),
    LayerSignature(
        f"GlobalMaxPooling{{rank}}D|GlobalMaxPool{{rank}}D({GLOBAL_SIGNATURE})",
        "global_max_pool",
        ignored_arguments=IGNORED_ARGUMENTS,
    ),
    LayerSignature(
        f"GlobalAveragePooling{{rank}}D|GlobalAvgPool{{rank}}D({GLOBAL_SIGNATURE})",
        "global_avg_pool",
        ignored_arguments=IGNORED_ARGUMENTS,
    ),
    *(
        LayerSignature(
            f"Adaptive{name}Pooling{{rank}}D(output_size, data_format=None)",
            operator,
            {"output_size": sizes_argument("output_size")},
            ignored_arguments=IGNORED_ARGUMENTS,
        )
        for name, operator in (("Max", "adaptive_max_pool"), ("Average", "adaptive_avg_pool"))
    ),
    _weighted_layer("Conv{rank}D|Convolution{rank}D", "", "groups=1, ", "conv", {"groups": count_argument("groups")}),
    _weighted_layer(
        "Conv{rank}DTranspose",
        "output_padding=None, ",
        "",
        "conv_transpose",
        {"output_padding": sizes_argument("output_padding")},
        meaning=transposed_parameters,
    ),
    LayerSignature(
        "ZeroPadding{rank}D(padding=1, data_format=None)",
        "pad",
        {"pads": _pads_argument(1)},
        ignored_arguments=IGNORED_ARGUMENTS,
    ),
    LayerSignature(
        "Cropping{rank}D(cropping, data_format=None)",
        "pad",
        {"pads": _pads_argument(-1)},
        ignored_arguments=IGNORED_ARGUMENTS,
    ),
)


DIALECTS = {
    "tf.keras.layers": Dialect(("tf.keras.layers", "keras.layers", "layers", "tensorflow.keras.layers"), KERAS_LAYERS),
}
