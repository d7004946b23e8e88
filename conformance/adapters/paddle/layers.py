"""PaddlePaddle: signatures of layers and functions, with the defaults of 3.3, for `conformance translate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.adapters.api import (
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
    is_whole_number,
    number_argument,
    optional_array_argument,
    padding_by_name,
    read_pairs,
    rounding_argument,
    sizes_argument,
    unpooled_size,
)
from conformance.adapters.api.blocks.reading import block_layers
from conformance.adapters.api.columns.reading import ColumnArguments, column_layers
from conformance.adapters.api.normalization.reading import normalization_layer
from conformance.adapters.api.resizing.grid_reading import grid_sampling_layer
from conformance.cases.operators import BlockOrder, ExtraChannel


def _read_padding(call: BoundCall, value: Any) -> Any:
    """Read a word, one number, one for each axis, both ends of each axis in a row, or a pair for each array axis."""
    if isinstance(value, str):
        return padding_by_name(value, SAME_AND_VALID_WORDS)
    if not isinstance(value, tuple):
        return sizes_argument("padding").convert(call, value)
    axes = call.spatial_axes()
    if all(isinstance(item, tuple) for item in value):
        if len(value) != axes + 2 or value[:2] != ((0, 0), (0, 0)):
            raise UnreadableLayer("not a pair for each axis of the array, with (0, 0) for batch and channels")
        return read_pairs(call, value[2:])
    if not all(map(is_whole_number, value)) or len(value) not in {axes, 2 * axes}:
        raise UnreadableLayer(f"neither an integer nor one or two for each of {axes} axes")
    return value if len(value) == axes else tuple(zip(value[::2], value[1::2], strict=True))


def _indices(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the operator: max pooling with `return_mask` also returns indices."""
    return {"operator": "max_pool_with_indices"} if call.arguments["return_mask"] is True else {}


PADDING = ArgumentReading("padding", _read_padding)
WINDOW: Mapping[str, ArgumentReading] = {
    "window": sizes_argument("kernel_size"),
    "stride": sizes_argument("stride"),
    "padding": PADDING,
}
# ceil_mode never drops a window.
POOLING: Mapping[str, ArgumentReading] = {**WINDOW, "rounding": rounding_argument("ceil_mode", "full")}
AVERAGES = {**POOLING, "count_include_pad": choice_argument("exclusive", {True: False, False: True})}
DIVISORS = {**AVERAGES, "divisor": count_argument("divisor_override")}
OUTPUT_SIZE = {"output_size": sizes_argument("output_size")}
CONVOLUTIONS: Mapping[str, ArgumentReading] = {
    "stride": sizes_argument("stride"),
    "padding": PADDING,
    "dilation": sizes_argument("dilation"),
    "groups": count_argument("groups"),
}
TRANSPOSED = {**CONVOLUTIONS, "output_padding": sizes_argument("output_padding")}
WEIGHTED: Mapping[str, ArgumentReading] = {
    "channels": count_argument("in_channels"),
    "out_channels": count_argument("out_channels"),
    "window": sizes_argument("kernel_size"),
    "bias": ArgumentReading("bias_attr", lambda _call, value: value is not False),
}
BIAS = {"bias": optional_array_argument("bias")}
PADDING_MODES = {"constant": "constant", **{name: mode for mode, name in REPLICATE_AND_CIRCULAR_NAMES.items()}}
IGNORED = ("name", "weight_attr", "device", "dtype")
NAME = ", name=None"


POOL = "kernel_size, stride=None, padding=0"
MAX_TAIL = ", return_mask=False, ceil_mode=False"
AVERAGE_TAIL = ", ceil_mode=False, exclusive=True, divisor_override=None"


def _layer(signature: str, operator: str, readings: Mapping[str, ArgumentReading], **options: Any) -> LayerSignature:
    return LayerSignature(f"{signature}{NAME})", operator, readings, ignored_arguments=IGNORED, **options)


def _with_format(layer: LayerSignature) -> tuple[LayerSignature, ...]:
    """Return the layer for each number of axes, with the name of its channels-first layout as the only one."""
    found = []
    for rank, layout in enumerate(("NCL", "NCHW", "NCDHW"), 1):
        signature = layer.signature.replace("{rank}", str(rank)).replace(NAME, f", data_format='{layout}'{NAME}")
        found.append(replace(layer, signature=signature, required_values={"data_format": layout}))
    return tuple(found)


MAX_POOL = _layer(f"MaxPool{{rank}}D({POOL}{MAX_TAIL}", "max_pool", POOLING, adjust=_indices)
AVG_POOL = _layer(f"AvgPool{{rank}}D({POOL}{AVERAGE_TAIL}", "avg_pool", DIVISORS)
AVG_POOL_1D = _layer(f"AvgPool1D({POOL}, exclusive=True, ceil_mode=False", "avg_pool", AVERAGES)
LP_POOL = _layer(
    "LPPool{rank}D(norm_type, kernel_size, stride=None, padding=0, ceil_mode=False",
    "lp_pool",
    {**POOLING, "p": number_argument("norm_type")},
)
UNPOOL = _layer(f"MaxUnPool{{rank}}D({POOL}", "max_unpool", WINDOW, adjust=unpooled_size)
ADAPTIVE_AVG = _layer("AdaptiveAvgPool{rank}D(output_size", "adaptive_avg_pool", OUTPUT_SIZE)
ADAPTIVE_AVG_1D = _layer("AdaptiveAvgPool1D(output_size", "adaptive_avg_pool", OUTPUT_SIZE)
ADAPTIVE_MAX = _layer(
    "AdaptiveMaxPool{rank}D(output_size, return_mask=False",
    "adaptive_max_pool",
    OUTPUT_SIZE,
    required_values={"return_mask": False},
)
CONV = LayerSignature(
    "Conv{rank}D(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
    f"padding_mode='zeros', weight_attr=None, bias_attr=None{NAME})",
    "conv",
    {**CONVOLUTIONS, **WEIGHTED},
    ignored_arguments=IGNORED,
)
# One axis has groups before dilation, two and three axes have dilation first.
TRANSPOSED_TAILS = (", groups=1, dilation=1", ", dilation=1, groups=1")
CONV_TRANSPOSE_1D, CONV_TRANSPOSE = (
    LayerSignature(
        "Conv{rank}DTranspose(in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0"
        f"{tail}, weight_attr=None, bias_attr=None{NAME})",
        "conv_transpose",
        {**TRANSPOSED, **WEIGHTED},
        ignored_arguments=IGNORED,
    )
    for tail in TRANSPOSED_TAILS
)
PADS = {"pads": ArgumentReading("padding", ends_from_last_axis)}
PAD_LAYERS = (
    LayerSignature(
        f"Pad{{rank}}D(padding, mode='constant', value=0.0{NAME})",
        "pad",
        {**PADS, "mode": choice_argument("mode", PADDING_MODES), "value": number_argument("value")},
        ignored_arguments=IGNORED,
    ),
    LayerSignature(
        f"ZeroPad{{rank}}D(padding{NAME})",
        "pad",
        PADS,
        ignored_arguments=IGNORED,
        fixed_parameters={"mode": "constant"},
    ),
    LayerSignature(
        f"ConstantPad{{rank}}D(padding, value{NAME})",
        "pad",
        {**PADS, "value": number_argument("value")},
        ignored_arguments=IGNORED,
        fixed_parameters={"mode": "constant"},
    ),
    *(
        LayerSignature(
            f"{name}Pad{{rank}}D(padding{NAME})",
            "pad",
            PADS,
            ignored_arguments=IGNORED,
            fixed_parameters={"mode": mode},
        )
        for name, mode in {"Reflection": "reflect", "Replication": "edge", "Circular": "wrap"}.items()
    ),
)
NN_LAYERS = (
    replace(MAX_POOL, signature=MAX_POOL.signature.replace("{rank}", "1")),
    *_with_format(MAX_POOL)[1:],
    AVG_POOL_1D,
    *_with_format(AVG_POOL)[1:],
    *_with_format(LP_POOL)[:2],
    *_with_format(replace(UNPOOL, signature=UNPOOL.signature)),
    ADAPTIVE_AVG_1D,
    *_with_format(ADAPTIVE_AVG)[1:],
    ADAPTIVE_MAX,
    *(
        replace(layer, required_values={**layer.required_values, "padding_mode": "zeros"})
        for layer in _with_format(CONV)
    ),
    _with_format(CONV_TRANSPOSE_1D)[0],
    *_with_format(CONV_TRANSPOSE)[1:],
    *(one for layer in PAD_LAYERS for one in _with_format(layer)),
)


def _function(layer: LayerSignature, name: str, inputs: str, arrays: tuple[str, ...]) -> LayerSignature:
    """Return the function with the arguments of a layer; its inputs come first."""
    arguments = layer.signature.partition("(")[2]
    return replace(layer, signature=f"{name}({inputs}, {arguments}", array_arguments=arrays)


def _functions(layer: LayerSignature, name: str, ranks: tuple[int, ...] = (1, 2, 3)) -> tuple[LayerSignature, ...]:
    # In one dimension only Lp pooling, unpooling and convolutions have a data format.
    return tuple(
        _function(one, f"{name}{rank}d", "x", ("x",))
        for rank, one in enumerate(_with_format(layer), 1)
        if rank in ranks
    )


def _convolution(layer: LayerSignature, name: str, rank: int, tail: str, readings: Mapping[str, Any]) -> LayerSignature:
    formats = _with_format(layer)[rank - 1]
    return replace(
        formats,
        signature=f"{name}(x, weight, bias=None, stride=1, padding=0{tail}, data_format="
        f"'{formats.required_values['data_format']}'{NAME})",
        readings=readings,
        array_arguments=("x", "weight"),
    )


FUNCTIONAL_LAYERS = (
    _function(replace(MAX_POOL, signature=MAX_POOL.signature), "max_pool1d", "x", ("x",)),
    *_functions(MAX_POOL, "max_pool", (2, 3)),
    _function(AVG_POOL_1D, "avg_pool1d", "x", ("x",)),
    *_functions(AVG_POOL, "avg_pool", (2, 3)),
    *_functions(LP_POOL, "lp_pool", (1, 2)),
    *(
        replace(one, signature=one.signature.replace("(x, ", "(x, indices, "), array_arguments=("x", "indices"))
        for one in _functions(UNPOOL, "max_unpool")
    ),
    _function(ADAPTIVE_AVG_1D, "adaptive_avg_pool1d", "x", ("x",)),
    *_functions(ADAPTIVE_AVG, "adaptive_avg_pool", (2, 3)),
    _function(ADAPTIVE_MAX, "adaptive_max_pool{rank}d", "x", ("x",)),
    *(
        _convolution(CONV, f"conv{rank}d", rank, ", dilation=1, groups=1", {**CONVOLUTIONS, **BIAS})
        for rank in (1, 2, 3)
    ),
    *(
        _convolution(
            CONV_TRANSPOSE,
            f"conv{rank}d_transpose",
            rank,
            # The order differs: groups come before dilation for one and three axes.
            f", output_padding=0{TRANSPOSED_TAILS[rank == 2]}, output_size=None",  # noqa: PLR2004 - two axes
            {**TRANSPOSED, **BIAS},
        )
        for rank in (1, 2, 3)
    ),
    LayerSignature(
        f"pad(x, pad, mode='constant', value=0.0, data_format=None, pad_from_left_axis=True{NAME})",
        "pad",
        {
            "pads": ArgumentReading("pad", ends_from_last_axis),
            "mode": choice_argument("mode", PADDING_MODES),
            "value": number_argument("value"),
        },
        array_arguments=("x",),
        ignored_arguments=(*IGNORED, "pad_from_left_axis"),
        required_values={"data_format": None},
    ),
)
BLOCK_LAYERS = block_layers(
    {
        "depth_to_space": f"PixelShuffle(upscale_factor, data_format='NCHW'{NAME})",
        "space_to_depth": f"PixelUnshuffle(downscale_factor, data_format='NCHW'{NAME})",
    },
    BlockOrder.CRD,
    required_values={"data_format": "NCHW"},
)
COLUMN_ARGUMENTS = ColumnArguments("kernel_sizes", "strides", "paddings", "dilations", "output_sizes")


def _read_column_padding(call: BoundCall, value: Any) -> Any:
    """Read the padding of all axes: a number, one for each axis, or those before all axes and those after them."""
    rank = call.spatial_axes()
    if isinstance(value, tuple) and len(value) == 2 * rank:
        return tuple(zip(value[:rank], value[rank:], strict=True))
    return sizes_argument("paddings").convert(call, value)


COLUMN_PADDING = ArgumentReading("paddings", _read_column_padding)
COLUMN_LAYERS = column_layers(
    {
        "unfold": f"Unfold(kernel_sizes, dilations=1, paddings=0, strides=1{NAME})",
        "fold": f"Fold(output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1{NAME})",
    },
    BlockOrder.CRD,
    COLUMN_ARGUMENTS,
    padding=COLUMN_PADDING,
    ignored=IGNORED,
)
COLUMN_TAIL = f"kernel_sizes, strides=1, paddings=0, dilations=1{NAME}"
COLUMN_FUNCTIONS = column_layers(
    {"unfold": f"unfold(x, {COLUMN_TAIL})", "fold": f"fold(x, output_sizes, {COLUMN_TAIL})"},
    BlockOrder.CRD,
    COLUMN_ARGUMENTS,
    array="x",
    padding=COLUMN_PADDING,
    ignored=IGNORED,
)
BLOCK_FUNCTIONS = block_layers(
    {
        "depth_to_space": f"pixel_shuffle(x, upscale_factor, data_format='NCHW'{NAME})",
        "space_to_depth": f"pixel_unshuffle(x, downscale_factor, data_format='NCHW'{NAME})",
    },
    BlockOrder.CRD,
    array="x",
    required_values={"data_format": "NCHW"},
)
CHANNELS_FIRST = {"data_format": ("NCHW", "NCL", "NCDHW")}
NORMALIZATION_TAIL = f"size, alpha=0.0001, beta=0.75, k=1.0, data_format='NCHW'{NAME}"
NORMALIZATION_LAYER = normalization_layer(
    f"LocalResponseNorm({NORMALIZATION_TAIL})",
    side=ExtraChannel.BEFORE,
    ignored=IGNORED,
    required_values=CHANNELS_FIRST,
)
GRID_FUNCTION = grid_sampling_layer(
    "grid_sample(x, grid, mode='bilinear', padding_mode='zeros', align_corners=True)", arrays=("x", "grid")
)
DEFORMED_ARGUMENTS = {
    **{name: sizes_argument(name) for name in ("stride", "padding", "dilation")},
    "groups": count_argument("groups"),
    "offset_groups": count_argument("deformable_groups"),
}
DEFORMED_LAYER = LayerSignature(
    "DeformConv2D(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, deformable_groups=1, "
    "groups=1, weight_attr=None, bias_attr=None)",
    "deform_conv",
    {**DEFORMED_ARGUMENTS, **WEIGHTED},
    ignored_arguments=IGNORED,
    note="a mask is an argument of the call, not of the layer: write it with --mask",
)
DEFORMED_FUNCTION = LayerSignature(
    "deform_conv2d(x, offset, weight, bias=None, stride=1, padding=0, dilation=1, deformable_groups=1, groups=1, "
    f"mask=None{NAME})",
    "deform_conv",
    {**DEFORMED_ARGUMENTS, **BIAS, "mask": optional_array_argument("mask")},
    array_arguments=("x", "offset", "weight", "bias", "mask"),
    ignored_arguments=IGNORED,
)
VISION_MODULES = ("paddle.vision.ops", "vision.ops")
NORMALIZATION_FUNCTION = normalization_layer(
    f"local_response_norm(x, {NORMALIZATION_TAIL})",
    side=ExtraChannel.BEFORE,
    array="x",
    ignored=IGNORED,
    required_values=CHANNELS_FIRST,
)
DIALECTS = {
    "paddle.nn": Dialect(
        ("nn", "paddle.nn", *VISION_MODULES),
        (*NN_LAYERS, *BLOCK_LAYERS, *COLUMN_LAYERS, NORMALIZATION_LAYER, DEFORMED_LAYER),
    ),
    "paddle.nn.functional": Dialect(
        ("F", "functional", "nn.functional", "paddle.nn.functional", *VISION_MODULES),
        (
            *FUNCTIONAL_LAYERS,
            *BLOCK_FUNCTIONS,
            *COLUMN_FUNCTIONS,
            NORMALIZATION_FUNCTION,
            GRID_FUNCTION,
            DEFORMED_FUNCTION,
        ),
    ),
}
