"""Signatures of Keras layers, with the defaults of TensorFlow 2.21 and Keras 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from conformance.adapters.api import (
    CAUSAL,
    SAME_AND_VALID_WORDS,
    ArgumentReading,
    BoundCall,
    Dialect,
    LayerSignature,
    UnreadableLayer,
    causal_padding,
    count_argument,
    flag_argument,
    is_whole_number,
    kernel_reach,
    named_padding_argument,
    one_per_axis,
    padding_from_crop,
    read_pairs,
    sizes_argument,
    split_surplus,
)
from conformance.adapters.api.resizing.reading import half_pixel_interpolation, plane_size, whole_scales_argument
from conformance.cases.operators import PaddingWord

# Names, dtypes and initial values change no result of a case, which sets dtype and weights itself.
IGNORED_ARGUMENTS = ("name", "dtype", "trainable", "input_shape", "batch_input_shape", "autocast")
WEIGHT_ARGUMENT_ENDS = ("initializer", "regularizer", "constraint")
IGNORED_WEIGHT_ARGUMENTS = (
    *IGNORED_ARGUMENTS,
    *(f"{name}_{end}" for name in ("kernel", "bias") for end in WEIGHT_ARGUMENT_ENDS),
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


def transposed_parameters(call: BoundCall, parameters: dict[str, Any]) -> Mapping[str, Any]:
    """Return the padding and output padding of a transposed convolution of Keras, of layers and of keras.ops.

    Without output_padding, Keras adds output padding if the stride is larger than the kernel, and `same` gives
    the output size `size * stride`. With it, `same` gives `(size - 1) * stride + reach % 2 + output_padding`, where
    `reach` is the extent of the dilated kernel.
    """
    output_padding, same = parameters.get("output_padding"), parameters["padding"] == PaddingWord.SAME_UPPER
    # keras/src/backend/common/backend_utils.py computes both rules; they differ only for SAME.
    if output_padding is None and same:
        return {}
    window = parameters.get("window") or call.weight_shape("the output size")[2:]
    axes = call.rank or len(window)
    window, strides, dilation = (
        one_per_axis(value, axes) for value in (window, parameters["stride"], parameters["dilation"])
    )
    reach = kernel_reach(window, dilation)
    if output_padding is None:
        default = tuple(max(stride - extent, 0) for extent, stride in zip(reach, strides, strict=True))
        return {"output_padding": default} if any(default) else {}
    if not same:
        return {}
    added = one_per_axis(output_padding, axes)
    # The size (size - 1) * stride + reach % 2 + output_padding, as what the full output has in excess of it.
    surplus = tuple(extent - extent % 2 - more for extent, more in zip(reach, added, strict=True))
    return padding_from_crop(split_surplus(surplus), strides, dilation)


def _pads_argument(sign: int) -> ArgumentReading:
    """Read the pads of ZeroPadding (sign 1), or of Cropping (sign -1) as negative pads."""

    def read(call: BoundCall, value: Any) -> Any:
        pairs = value
        # The one-dimensional layers take one pair where the others take a tuple of pairs.
        if call.rank == 1 and isinstance(value, tuple) and len(value) == 2 and all(map(is_whole_number, value)):  # noqa: PLR2004
            pairs = (value,)
        pads = ((value, value),) * call.spatial_axes() if is_whole_number(value) else read_pairs(call, pairs)
        return tuple((sign * before, sign * after) for before, after in pads)

    return ArgumentReading("padding" if sign > 0 else "cropping", read)


def _weighted_layer(
    name: str, middle: str, last: str, operator: str, readings: Mapping[str, ArgumentReading], **fields: Any
) -> LayerSignature:
    """Return a layer with weights. middle, last: arguments that only one of the layers has, with their defaults."""
    signature = f"filters, kernel_size, strides=1, padding='valid', {middle}data_format=None, dilation_rate=1, "
    return LayerSignature(
        f"{name}({signature}{last}activation=None, use_bias=True)",
        operator,
        {**CONVOLUTION_ARGUMENTS, **readings},
        required_values={"activation": None},
        ignored_arguments=IGNORED_WEIGHT_ARGUMENTS,
        **fields,
    )


DEPTHWISE_NOTE = (
    "the kernel of the layer, (*window, in, multiplier), is that of the case, (in * multiplier, 1, *window)"
)


def _depthwise_parameters(call: BoundCall, parameters: dict[str, Any]) -> Mapping[str, Any]:
    """Return groups and output channels of a depthwise convolution, which follow from the channels of the input."""
    call.input_extents("the number of groups")
    channels = (call.shape or (0, 0))[1]
    return {"groups": channels, "channels": channels, "out_channels": channels * parameters.pop("out_channels")}


def _refuse_separable(call: BoundCall, _parameters: dict[str, Any]) -> NoReturn:
    """Raise UnreadableLayer: a case with weights has one kernel."""
    depthwise, pointwise = f"DepthwiseConv{call.rank}D", f"Conv{call.rank}D(filters, 1)"
    raise UnreadableLayer(f"{call.name} is two convolutions, translate {depthwise}(…) and {pointwise}")


# Aliases that Keras exports, MaxPool2D and Convolution2D, are names of the same signature.
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
    _weighted_layer(
        "Conv{rank}D|Convolution{rank}D",
        "",
        "groups=1, ",
        "conv",
        {
            "groups": count_argument("groups"),
            "padding": named_padding_argument("padding", {**SAME_AND_VALID_WORDS, CAUSAL: CAUSAL}),
        },
        adjust=causal_padding,
    ),
    _weighted_layer(
        "Conv{rank}DTranspose",
        "output_padding=None, ",
        "",
        "conv_transpose",
        {"output_padding": sizes_argument("output_padding")},
        adjust=transposed_parameters,
    ),
    LayerSignature(
        "DepthwiseConv{rank}D(kernel_size, strides=1, padding='valid', depth_multiplier=1, data_format=None, "
        "dilation_rate=1, activation=None, use_bias=True)",
        "conv",
        {**CONVOLUTION_ARGUMENTS, "out_channels": count_argument("depth_multiplier")},
        required_values={"activation": None},
        ignored_arguments=(*IGNORED_WEIGHT_ARGUMENTS, *(f"depthwise_{end}" for end in WEIGHT_ARGUMENT_ENDS)),
        adjust=_depthwise_parameters,
        note=DEPTHWISE_NOTE,
    ),
    LayerSignature(
        "SeparableConv{rank}D|SeparableConvolution{rank}D(filters, kernel_size, strides=1, padding='valid', "
        "data_format=None, dilation_rate=1, depth_multiplier=1, activation=None, use_bias=True)",
        "conv",
        ignored_arguments=IGNORED_WEIGHT_ARGUMENTS,
        adjust=_refuse_separable,
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


def _resized(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size and the rule of the layer `Resizing`."""
    size = plane_size((call.arguments["height"], call.arguments["width"]))
    read = half_pixel_interpolation(call.arguments["interpolation"], antialias=call.arguments["antialias"])
    return {"size": size, **read}


def _upsampled(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the rule of upsampling by whole numbers. The scale has been read."""
    return half_pixel_interpolation(call.arguments.get("interpolation", "nearest"))


WHOLE_IMAGE = {"crop_to_aspect_ratio": False, "pad_to_aspect_ratio": False, "antialias": (False, True)}
"""Arguments of resizing that use the whole image."""
FILL_ARGUMENTS = ("fill_mode", "fill_value")
RESIZING_LAYERS = (
    LayerSignature(
        "Resizing(height, width, interpolation='bilinear', crop_to_aspect_ratio=False, pad_to_aspect_ratio=False, "
        "antialias=False, data_format=None)",
        "resize",
        required_values=WHOLE_IMAGE,
        ignored_arguments=(*IGNORED_ARGUMENTS, *FILL_ARGUMENTS),
        adjust=_resized,
    ),
    LayerSignature(
        "UpSampling1D(size=2)",
        "resize",
        {"scale": whole_scales_argument("size")},
        ignored_arguments=IGNORED_ARGUMENTS,
        adjust=_upsampled,
    ),
    LayerSignature(
        "UpSampling2D(size=2, data_format=None, interpolation='nearest')",
        "resize",
        {"scale": whole_scales_argument("size")},
        ignored_arguments=IGNORED_ARGUMENTS,
        adjust=_upsampled,
    ),
    LayerSignature(
        "UpSampling3D(size=2, data_format=None)",
        "resize",
        {"scale": whole_scales_argument("size")},
        ignored_arguments=IGNORED_ARGUMENTS,
        adjust=_upsampled,
    ),
)
DIALECTS = {
    "tf.keras.layers": Dialect(
        ("tf.keras.layers", "keras.layers", "layers", "tensorflow.keras.layers"), (*KERAS_LAYERS, *RESIZING_LAYERS)
    ),
}
