"""PyTorch: signatures of layers and functions, with the defaults of PyTorch 2.13, for `conformance translate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.adapters.api import (
    PADDING_MODE,
    REPLICATE_AND_CIRCULAR_NAMES,
    SAME_AND_VALID_WORDS,
    ArgumentReading,
    BoundCall,
    Dialect,
    LayerSignature,
    UnreadableLayer,
    choice_argument,
    count_argument,
    ends_from_last_axis,
    flag_argument,
    is_whole_number,
    number_argument,
    one_per_axis,
    operator_with_indices,
    optional_array_argument,
    padding_argument,
    rounding_argument,
    sizes_argument,
    unpooled_size,
)
from conformance.adapters.api.blocks.reading import block_layers
from conformance.adapters.api.columns.reading import ColumnArguments, column_layers
from conformance.adapters.api.normalization.reading import normalization_layer
from conformance.adapters.api.resizing.grid_reading import grid_sampling_layer
from conformance.adapters.torch import resizing
from conformance.cases.operators import BlockOrder, ExtraChannel, PadMode

POOLING_ARGUMENTS: Mapping[str, ArgumentReading] = {
    "window": sizes_argument("kernel_size"),
    "stride": sizes_argument("stride"),
    "padding": sizes_argument("padding"),
    "rounding": rounding_argument("ceil_mode"),
}
MAX_POOLING_ARGUMENTS = {**POOLING_ARGUMENTS, "dilation": sizes_argument("dilation")}
AVERAGE_POOLING_ARGUMENTS = {**POOLING_ARGUMENTS, "count_include_pad": flag_argument("count_include_pad")}
DIVISOR_POOLING_ARGUMENTS = {**AVERAGE_POOLING_ARGUMENTS, "divisor": count_argument("divisor_override")}
LP_POOLING_ARGUMENTS = {
    **{key: POOLING_ARGUMENTS[key] for key in ("window", "stride", "rounding")},
    "p": number_argument("norm_type"),
}
CONVOLUTION_ARGUMENTS = {
    "stride": sizes_argument("stride"),
    # Convolutions take a padding by name since PyTorch 1.9; pooling does not.
    "padding": padding_argument("padding", SAME_AND_VALID_WORDS),
    "dilation": sizes_argument("dilation"),
    "groups": count_argument("groups"),
}
TRANSPOSED_ARGUMENTS = {
    **CONVOLUTION_ARGUMENTS,
    "padding": sizes_argument("padding"),
    "output_padding": sizes_argument("output_padding"),
}
WEIGHTED_ARGUMENTS = {
    "channels": count_argument("in_channels"),
    "out_channels": count_argument("out_channels"),
    "window": sizes_argument("kernel_size"),
    "bias": flag_argument("bias"),
}
# A function gets the bias itself, a layer only whether it has one.
BIAS_ARGUMENT = {"bias": optional_array_argument("bias")}
# Arguments that change where or in which dtype a layer computes, not what.
PLACEMENT_ARGUMENTS = ("device", "dtype")


def _read_output_size(call: BoundCall, value: Any) -> Any:
    """Return the output size; None means the extent of the input."""
    values = one_per_axis(value, call.spatial_axes())
    if len(values) != call.spatial_axes() or not all(size is None or is_whole_number(size) for size in values):
        raise UnreadableLayer("neither a whole number nor one for each spatial axis")
    if None not in values:
        return value
    return tuple(
        size if extent is None else extent for extent, size in zip(values, call.input_extents("None"), strict=True)
    )


CONVOLUTION_PADDING_MODES = {
    "zeros": PadMode.CONSTANT.value,
    **{name: mode for mode, name in REPLICATE_AND_CIRCULAR_NAMES.items()},
}


def _padding_mode_note(call: BoundCall) -> str:
    """Return a note about the weights of a layer that pads in another mode than with zeros."""
    if call.arguments["padding_mode"] == "zeros" or call.arguments["padding"] in (0, "valid"):
        return ""
    return "kernel and bias of the program are zeros: replace them by the weights of the layer"


PADDING_MODES = {"constant": "constant", **{name: mode for mode, name in REPLICATE_AND_CIRCULAR_NAMES.items()}}


def _pad_parameters(mode: str, value: str = "") -> tuple[Mapping[str, ArgumentReading], Mapping[str, Any]]:
    readings = {"pads": ArgumentReading("padding", ends_from_last_axis)}
    return (readings | {"value": number_argument("value")} if value else readings), {"mode": mode}


def _pooling_layer(
    name: str, extra: str, operator: str, readings: Mapping[str, ArgumentReading], **options: Any
) -> LayerSignature:
    return LayerSignature(f"{name}(kernel_size, stride=None, padding=0{extra})", operator, readings, **options)


# The order of ceil_mode differs: it is last in MaxPool, and comes before count_include_pad in AvgPool.
AVERAGE_SIGNATURE_TAIL = ", ceil_mode=False, count_include_pad=True"
DILATION_SIGNATURE_TAIL = ", dilation=1, return_indices=False, ceil_mode=False"
CONVOLUTION_SIGNATURE = "in_channels, out_channels, kernel_size, stride=1, padding=0"


def _padding_layer(name: str, mode: str, value: str = "") -> LayerSignature:
    readings, fixed = _pad_parameters(mode, value)
    return LayerSignature(f"{name}Pad{{rank}}d(padding{value})", "pad", readings, fixed_parameters=fixed)


NN_LAYERS = (
    _pooling_layer(
        "MaxPool{rank}d", DILATION_SIGNATURE_TAIL, "max_pool", MAX_POOLING_ARGUMENTS, adjust=operator_with_indices
    ),
    # Only the layers for two and three axes have a divisor.
    _pooling_layer("AvgPool1d", AVERAGE_SIGNATURE_TAIL, "avg_pool", AVERAGE_POOLING_ARGUMENTS),
    _pooling_layer(
        "AvgPool2d|AvgPool3d", f"{AVERAGE_SIGNATURE_TAIL}, divisor_override=None", "avg_pool", DIVISOR_POOLING_ARGUMENTS
    ),
    LayerSignature(
        "LPPool{rank}d(norm_type, kernel_size, stride=None, ceil_mode=False)", "lp_pool", LP_POOLING_ARGUMENTS
    ),
    LayerSignature(
        "AdaptiveMaxPool{rank}d(output_size, return_indices=False)",
        "adaptive_max_pool",
        {"output_size": ArgumentReading("output_size", _read_output_size)},
        required_values={"return_indices": False},
    ),
    LayerSignature(
        "AdaptiveAvgPool{rank}d(output_size)",
        "adaptive_avg_pool",
        {"output_size": ArgumentReading("output_size", _read_output_size)},
    ),
    _pooling_layer(
        "MaxUnpool{rank}d",
        "",
        "max_unpool",
        {key: POOLING_ARGUMENTS[key] for key in ("window", "stride", "padding")},
        adjust=unpooled_size,
    ),
    LayerSignature(
        "FractionalMaxPool2d|FractionalMaxPool3d(kernel_size, output_size=None, output_ratio=None, "
        "return_indices=False, _random_samples=None)",
        "fractional_max_pool",
        {"window": sizes_argument("kernel_size"), "output_size": sizes_argument("output_size")},
        required_values={"output_ratio": None, "return_indices": False},
        note="the program reads the samples that place the windows from an input; the layer draws them by default",
    ),
    LayerSignature(
        f"Conv{{rank}}d({CONVOLUTION_SIGNATURE}, dilation=1, groups=1, bias=True, padding_mode='zeros')",
        "conv",
        {
            **CONVOLUTION_ARGUMENTS,
            **WEIGHTED_ARGUMENTS,
            PADDING_MODE: choice_argument("padding_mode", CONVOLUTION_PADDING_MODES),
        },
        ignored_arguments=PLACEMENT_ARGUMENTS,
        note=_padding_mode_note,
    ),
    LayerSignature(
        f"ConvTranspose{{rank}}d({CONVOLUTION_SIGNATURE}, output_padding=0, groups=1, bias=True, dilation=1, "
        "padding_mode='zeros')",
        "conv_transpose",
        {**TRANSPOSED_ARGUMENTS, **WEIGHTED_ARGUMENTS},
        ignored_arguments=PLACEMENT_ARGUMENTS,
        required_values={"padding_mode": "zeros"},
    ),
    _padding_layer("Zero", "constant"),
    _padding_layer("Constant", "constant", ", value"),
    _padding_layer("Reflection", "reflect"),
    _padding_layer("Replication", "edge"),
    _padding_layer("Circular", "wrap"),
    LayerSignature(
        "Upsample(size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None)",
        "resize",
        adjust=resizing.read_call,
    ),
    *(
        LayerSignature(
            f"Upsampling{name}2d(size=None, scale_factor=None)",
            "resize",
            fixed_parameters=rule,
            adjust=resizing.read_size,
        )
        for name, rule in resizing.LAYER_RULES.items()
    ),
)


# A layer and its function read the same parameters, but order their arguments differently: `ceil_mode` and
# `return_indices` of max_pool2d are exchanged in MaxPool2d.
def _functional_signature(layer: LayerSignature, name: str, signature: str, **changes: Any) -> LayerSignature:
    """Return the function that corresponds to a layer; the input is its first argument."""
    return replace(layer, signature=f"{name}({signature})", **{"array_arguments": ("input",), **changes})


POOLING_SIGNATURE = "input, kernel_size, stride=None, padding=0"
FUNCTIONAL_CONVOLUTION_SIGNATURE = "input, weight, bias=None, stride=1, padding=0"
MAX_POOLING_SIGNATURE = f"{POOLING_SIGNATURE}, dilation=1, ceil_mode=False, return_indices=False"
FUNCTIONAL_LAYERS = (
    _functional_signature(NN_LAYERS[0], "max_pool{rank}d", MAX_POOLING_SIGNATURE),
    _functional_signature(NN_LAYERS[1], "avg_pool1d", f"{POOLING_SIGNATURE}{AVERAGE_SIGNATURE_TAIL}"),
    _functional_signature(
        NN_LAYERS[2], "avg_pool2d|avg_pool3d", f"{POOLING_SIGNATURE}{AVERAGE_SIGNATURE_TAIL}, divisor_override=None"
    ),
    _functional_signature(
        NN_LAYERS[3], "lp_pool{rank}d", "input, norm_type, kernel_size, stride=None, ceil_mode=False"
    ),
    _functional_signature(NN_LAYERS[4], "adaptive_max_pool{rank}d", "input, output_size, return_indices=False"),
    _functional_signature(NN_LAYERS[5], "adaptive_avg_pool{rank}d", "input, output_size"),
    _functional_signature(
        NN_LAYERS[6],
        "max_unpool{rank}d",
        "input, indices, kernel_size, stride=None, padding=0, output_size=None",
        array_arguments=("input", "indices"),
        required_values={"output_size": None},
    ),
    _functional_signature(
        NN_LAYERS[7],
        "fractional_max_pool2d|fractional_max_pool3d",
        "input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None",
    ),
    LayerSignature(
        f"conv{{rank}}d({FUNCTIONAL_CONVOLUTION_SIGNATURE}, dilation=1, groups=1)",
        "conv",
        {**CONVOLUTION_ARGUMENTS, **BIAS_ARGUMENT},
        array_arguments=("input", "weight"),
    ),
    LayerSignature(
        f"conv_transpose{{rank}}d({FUNCTIONAL_CONVOLUTION_SIGNATURE}, output_padding=0, groups=1, dilation=1)",
        "conv_transpose",
        {**TRANSPOSED_ARGUMENTS, **BIAS_ARGUMENT},
        array_arguments=("input", "weight"),
    ),
    LayerSignature(
        "pad(input, pad, mode='constant', value=None)",
        "pad",
        {
            "pads": ArgumentReading("pad", ends_from_last_axis),
            "mode": choice_argument("mode", PADDING_MODES),
            "value": number_argument("value"),
        },
        array_arguments=("input",),
    ),
    LayerSignature(
        "interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None, "
        "recompute_scale_factor=None, antialias=False)",
        "resize",
        array_arguments=("input",),
        required_values={"antialias": (False, True)},
        adjust=resizing.read_call,
    ),
)

BLOCK_LAYERS = block_layers(
    {"depth_to_space": "PixelShuffle(upscale_factor)", "space_to_depth": "PixelUnshuffle(downscale_factor)"},
    BlockOrder.CRD,
)
BLOCK_FUNCTIONS = block_layers(
    {
        "depth_to_space": "pixel_shuffle(input, upscale_factor)",
        "space_to_depth": "pixel_unshuffle(input, downscale_factor)",
    },
    BlockOrder.CRD,
    array="input",
)

COLUMN_SIGNATURE = "kernel_size, dilation=1, padding=0, stride=1"
COLUMN_LAYERS = column_layers(
    {"unfold": f"Unfold({COLUMN_SIGNATURE})", "fold": f"Fold(output_size, {COLUMN_SIGNATURE})"},
    BlockOrder.CRD,
    ColumnArguments(),
)
COLUMN_FUNCTIONS = column_layers(
    {"unfold": f"unfold(input, {COLUMN_SIGNATURE})", "fold": f"fold(input, output_size, {COLUMN_SIGNATURE})"},
    BlockOrder.CRD,
    ColumnArguments(),
    array="input",
)

NORMALIZATION_TAIL = "size, alpha=0.0001, beta=0.75, k=1.0"
NORMALIZATION_LAYER = normalization_layer(f"LocalResponseNorm({NORMALIZATION_TAIL})", side=ExtraChannel.BEFORE)
GRID_FUNCTION = grid_sampling_layer(
    "grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=None)", arrays=("input", "grid")
)
NORMALIZATION_FUNCTION = normalization_layer(
    f"local_response_norm(input, {NORMALIZATION_TAIL})", side=ExtraChannel.BEFORE, array="input"
)

DIALECTS = {
    "torch.nn": Dialect(("nn", "torch.nn"), (*NN_LAYERS, *BLOCK_LAYERS, *COLUMN_LAYERS, NORMALIZATION_LAYER)),
    "torch.nn.functional": Dialect(
        ("F", "functional", "nn.functional", "torch.nn.functional"),
        (*FUNCTIONAL_LAYERS, *BLOCK_FUNCTIONS, *COLUMN_FUNCTIONS, NORMALIZATION_FUNCTION, GRID_FUNCTION),
    ),
}
