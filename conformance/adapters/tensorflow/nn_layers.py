"""Signatures of `tf.nn` functions and of `tf.pad`, with the defaults of TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api import (
    IMPLIED_GROUPS,
    SAME_AND_VALID_WORDS,
    ArgumentReading,
    BoundCall,
    Dialect,
    LayerSignature,
    Pairs,
    UnreadableLayer,
    batch_and_channel_entries,
    is_whole_number,
    kernel_reach,
    modes_argument,
    named_padding_argument,
    number_argument,
    one_per_axis,
    padding_by_name,
    padding_from_crop,
    read_pairs,
    sizes_argument,
    spatial_entries,
    split_surplus,
    surplus_over_size,
)
from conformance.adapters.api.blocks.reading import block_layers
from conformance.adapters.api.normalization.reading import radius_argument
from conformance.adapters.api.resizing.reading import half_pixel_interpolation, plane_size
from conformance.adapters.api.resizing.rules import ALIGN_CORNERS, ASYMMETRIC, CROP, FLOOR, PREFER_CEIL
from conformance.cases.operators import BlockOrder, ResizeMode

NON_SPATIAL_AXES = 2
"""Number of axes of an array that are not spatial: batch and channels."""


def _strides_argument(argument: str) -> ArgumentReading:
    """Read one number, one for each spatial axis, or one for each axis of the array."""

    def read(call: BoundCall, value: Any) -> Any:
        if isinstance(value, tuple) and len(value) == call.spatial_axes() + 2 != 3:  # noqa: PLR2004 - one-dimensional calls take one number
            if batch_and_channel_entries(value, channels_last=True) != (1, 1):
                raise UnreadableLayer("the strides of batch and channels must be 1")
            return spatial_entries(value, channels_last=True)
        return sizes_argument(argument, default=1).convert(call, value)

    return ArgumentReading(argument, read)


def _read_padding(call: BoundCall, value: Any) -> Any:
    """Read SAME, VALID, or a pair for each axis of the array."""
    if isinstance(value, str):
        return padding_by_name(value, SAME_AND_VALID_WORDS)
    is_list = isinstance(value, tuple) and len(value) > NON_SPATIAL_AXES
    if not is_list or batch_and_channel_entries(value, channels_last=True) != ((0, 0), (0, 0)):
        raise UnreadableLayer("expected SAME, VALID, or a pair for each axis with (0, 0) for batch and channels")
    return read_pairs(call, spatial_entries(value, channels_last=True))


def _pooling_operator(call: BoundCall, parameters: dict[str, Any]) -> Mapping[str, Any]:
    """Return the operator that `pooling_type` of `tf.nn.pool` selects."""
    del parameters
    kind = str(call.arguments["pooling_type"]).upper()
    if kind not in {"MAX", "AVG"}:
        raise UnreadableLayer(f"pooling_type={call.arguments['pooling_type']!r}: only MAX and AVG can be translated")
    return {"operator": f"{kind.lower()}_pool"}


PADDING_READING = ArgumentReading("padding", _read_padding)
POOLING_ARGUMENTS = {
    "window": _strides_argument("ksize"),
    "stride": _strides_argument("strides"),
    "padding": PADDING_READING,
}
# Channels first has the surface tf.nn.nchw of its own, whose calls are the same but for this argument.
REQUIRED_DATA_FORMAT = {"data_format": (None, "NWC", "NHWC", "NDHWC")}
CONVOLUTION_ARGUMENTS = {
    "stride": _strides_argument("strides"),
    "padding": PADDING_READING,
    "dilation": _strides_argument("dilations"),
}


TF_NN_LAYERS = (
    *(
        LayerSignature(
            f"{kind}_pool{{rank}}d(input, ksize, strides, padding, data_format=None, name=None)",
            f"{kind}_pool",
            POOLING_ARGUMENTS,
            array_arguments=("input",),
            required_values=REQUIRED_DATA_FORMAT,
        )
        for kind in ("max", "avg")
    ),
    LayerSignature(
        "pool(input, window_shape, pooling_type, strides=None, padding='VALID', data_format=None, dilations=None, "
        "name=None)",
        "max_pool",
        {
            "window": sizes_argument("window_shape"),
            "stride": sizes_argument("strides", default=1),
            "padding": named_padding_argument("padding"),
            "dilation": sizes_argument("dilations", default=1),
        },
        array_arguments=("input",),
        required_values=REQUIRED_DATA_FORMAT,
        adjust=_pooling_operator,
    ),
    *(
        LayerSignature(
            f"{name}(input, filters, {placement}, data_format=None, dilations=None, name=None)",
            "conv",
            {**CONVOLUTION_ARGUMENTS, "stride": _strides_argument(stride)},
            fixed_parameters={"groups": IMPLIED_GROUPS},
            array_arguments=("input", "filters"),
            required_values=REQUIRED_DATA_FORMAT,
        )
        for name, placement, stride in (
            ("conv1d", "stride, padding", "stride"),
            ("conv2d|conv3d", "strides, padding", "strides"),
            ("convolution", "strides=None, padding='VALID'", "strides"),
        )
    ),
)


def _read_crops(call: BoundCall, value: Any) -> Any:
    """Read SAME, VALID, or a pair for each axis of the array."""
    # Unlike SAME of a forward convolution, it does not need the input size: the output shape is an argument.
    if isinstance(value, str) and value.upper() in {"SAME", "VALID"}:
        return value.upper()
    return _read_padding(call, value)


def _padding_from_output_shape(call: BoundCall, parameters: dict[str, Any]) -> Mapping[str, Any]:
    """Return groups, padding and output padding, from the output shape that the call is given."""
    output_shape = _read_output_shape(call.arguments["output_shape"])
    size, channels = output_shape[:-1], output_shape[-1]
    kernel, extents = call.weight_shape("the cropping"), call.input_extents("the cropping")
    rank = len(kernel) - 2
    if not rank == len(size) == len(extents):
        raise UnreadableLayer(f"output_shape: expected one size for each axis of an array with {rank} spatial axes")
    # TensorFlow infers the cropping: it is what a forward convolution of the output loses.
    strides, dilation = one_per_axis(parameters["stride"], rank), one_per_axis(parameters["dilation"], rank)
    reach = kernel_reach(kernel[2:], dilation)
    _check_forward_size(call, parameters["padding"], size, strides, reach)
    surplus = surplus_over_size(size, extents, strides, reach)
    # The kernel has (in, out/groups), so the channels of the output give the number of groups.
    groups = channels // max(kernel[1], 1)
    if groups * kernel[1] != channels or groups < 1:
        raise UnreadableLayer(
            f"output_shape: {channels} channels is not a multiple of the {kernel[1]} channels of a kernel group"
        )
    return {"groups": groups, **padding_from_crop(_crop_pairs(parameters["padding"], surplus), strides, dilation)}


def _crop_pairs(padding: Any, surplus: tuple[int, ...]) -> Pairs:
    """Return the cropping before and after: all of it after for VALID, halves for SAME, or the explicit pads."""
    if padding == "SAME":
        return split_surplus(surplus)
    starts = (0,) * len(surplus) if padding == "VALID" else tuple(before for before, _ in padding)
    return tuple((before, cells - before) for before, cells in zip(starts, surplus, strict=True))


def _check_forward_size(
    call: BoundCall, padding: Any, size: tuple[int, ...], strides: Any, reach: tuple[int, ...]
) -> None:
    """Check that a forward convolution with this padding maps the output size to the input size, as TensorFlow does.

    Raises UnreadableLayer if it does not.
    """
    pads = (0,) * len(size) if isinstance(padding, str) else tuple(map(sum, padding))
    lost = [(1 if padding == "SAME" else extent) - ends for extent, ends in zip(reach, pads, strict=True)]
    forward_size = tuple((cells - less) // stride + 1 for cells, less, stride in zip(size, lost, strides, strict=True))
    if forward_size != call.input_extents("the cropping"):
        raise UnreadableLayer(
            f"output_shape: a forward convolution maps {size} to {forward_size}, which is not the input size"
        )


def _read_output_shape(value: Any) -> tuple[int, ...]:
    """Return the shape of the output without its batch. Raises UnreadableLayer if it is not a list of numbers."""
    if not isinstance(value, tuple) or not all(map(is_whole_number, value[1:])) or len(value) <= NON_SPATIAL_AXES:
        raise UnreadableLayer(f"output_shape={value}: only a list of numbers, (n, *spatial, c), can be translated")
    return tuple(value[1:])


TRANSPOSED_ARGUMENTS = {
    "stride": _strides_argument("strides"),
    "padding": ArgumentReading("padding", _read_crops),
    "dilation": _strides_argument("dilations"),
}
# conv{rank}d_transpose and conv_transpose differ only in whether the name has the rank.
TRANSPOSED_LAYER = LayerSignature(
    "conv{rank}d_transpose|conv_transpose(input, filters, output_shape, strides, padding='SAME', data_format=None, "
    "dilations=None, name=None)",
    "conv_transpose",
    TRANSPOSED_ARGUMENTS,
    array_arguments=("input", "filters"),
    required_values=REQUIRED_DATA_FORMAT,
    adjust=_padding_from_output_shape,
)
PAD_LAYER = LayerSignature(
    "pad(tensor, paddings, mode='CONSTANT', constant_values=0, name=None)",
    "pad",
    {
        "pads": ArgumentReading("paddings", _read_padding),
        "mode": modes_argument("mode", "constant", "reflect", "symmetric"),
        "value": number_argument("constant_values"),
    },
    array_arguments=("tensor",),
)


OTHER_METHODS = {"bicubic": ResizeMode.CUBIC, "area": ResizeMode.AREA}


def _resized(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size and the rule of `tf.image.resize`."""
    given = call.arguments
    read = half_pixel_interpolation(given["method"], antialias=given["antialias"], others=OTHER_METHODS)
    return {"size": plane_size(call.arguments["size"]), **read}


def _resized_by_old_rule(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size and the rule of a function of tf.compat.v1, which has other coordinates."""
    aligned = call.arguments["align_corners"] is True
    rule = {"coordinates": ALIGN_CORNERS if aligned else ASYMMETRIC}
    if "nearest" in call.name:
        rule |= {"nearest_rounding": PREFER_CEIL if aligned else FLOOR}
    return {"size": plane_size(call.arguments["size"]), **rule}


CROP_METHODS = {"bilinear": ResizeMode.LINEAR, "nearest": ResizeMode.NEAREST}


def _cropped(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the size, the mode and the region of `tf.image.crop_and_resize` with the same box for each image."""
    given = call.arguments
    y1, x1, y2, x2 = _box_of_each_image(given["boxes"], given["box_indices"])
    mode = CROP_METHODS[given["method"]]
    return {
        "size": plane_size(given["crop_size"]),
        "mode": mode.value,
        "coordinates": CROP,
        **({"nearest_rounding": PREFER_CEIL} if mode is ResizeMode.NEAREST else {}),
        "roi_start": (y1, x1),
        "roi_end": (y2, x2),
    }


def _box_of_each_image(boxes: Any, images: Any) -> tuple[float, ...]:
    is_list = isinstance(boxes, tuple) and boxes and all(isinstance(box, tuple) and len(box) == 4 for box in boxes)  # noqa: PLR2004 - y1, x1, y2, x2
    if not is_list or not all(isinstance(one, (int, float)) for box in boxes for one in box):
        raise UnreadableLayer("boxes: not a list of boxes [y1, x1, y2, x2]")
    if len(set(boxes)) != 1 or images != tuple(range(len(boxes))):
        raise UnreadableLayer("boxes: only one box, the same for each image in order, can be translated")
    return tuple(boxes[0])


CROP_LAYER = LayerSignature(
    "tf.image.crop_and_resize|tensorflow.image.crop_and_resize(image, boxes, box_indices, crop_size, "
    "method='bilinear', extrapolation_value=0.0, name=None)",
    "resize",
    {"extrapolation_value": number_argument("extrapolation_value")},
    array_arguments=("image",),
    required_values={"method": tuple(CROP_METHODS)},
    adjust=_cropped,
)
PATCHES_LAYER = LayerSignature(
    "tf.image.extract_patches|tensorflow.image.extract_patches(images, sizes, strides, rates, padding, name=None)",
    "unfold",
    {
        "window": _strides_argument("sizes"),
        "stride": _strides_argument("strides"),
        "dilation": _strides_argument("rates"),
        "padding": named_padding_argument("padding"),
    },
    array_arguments=("images",),
    fixed_parameters={"order": BlockOrder.DCR.value},
)
OLD_MODULES = ("tf.compat.v1.image", "tensorflow.compat.v1.image")
RESIZING_LAYERS = (
    CROP_LAYER,
    LayerSignature(
        "tf.image.resize|tensorflow.image.resize(images, size, method='bilinear', preserve_aspect_ratio=False, "
        "antialias=False, name=None)",
        "resize",
        array_arguments=("images",),
        required_values={"preserve_aspect_ratio": False, "antialias": (False, True)},
        adjust=_resized,
    ),
    *(
        LayerSignature(
            f"{'|'.join(f'{module}.resize_{name}' for module in OLD_MODULES)}(images, size, align_corners=False, "
            "name=None, half_pixel_centers=False)",
            "resize",
            array_arguments=("images",),
            required_values={"align_corners": (False, True), "half_pixel_centers": False},
            fixed_parameters={"mode": mode.value},
            adjust=_resized_by_old_rule,
            note="the call rounds coordinates to 1/1024 of a cell" if mode is ResizeMode.CUBIC else "",
        )
        for name, mode in (
            ("bilinear", ResizeMode.LINEAR),
            ("nearest_neighbor", ResizeMode.NEAREST),
            ("bicubic", ResizeMode.CUBIC),
        )
    ),
)
BLOCK_LAYERS = block_layers(
    {
        operator: f"{operator}(input, block_size, data_format='NHWC', name=None)"
        for operator in ("depth_to_space", "space_to_depth")
    },
    BlockOrder.DCR,
    array="input",
    required_values={"data_format": "NHWC"},
)
NORMALIZATION_LAYER = LayerSignature(
    "local_response_normalization|lrn(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None)",
    "lrn",
    {
        "local_size": radius_argument("depth_radius"),
        "alpha": number_argument("alpha"),
        "beta": number_argument("beta"),
        "k": number_argument("bias"),
    },
    array_arguments=("input",),
    ignored_arguments=("name",),
    fixed_parameters={"alpha_over_size": False},
)
DILATION_LAYER = LayerSignature(
    "dilation2d(input, filters, strides, padding, data_format, dilations, name=None)",
    "dilation2d",
    {
        "stride": _strides_argument("strides"),
        "padding": named_padding_argument("padding"),
        "dilation": _strides_argument("dilations"),
    },
    array_arguments=("input", "filters"),
    ignored_arguments=("name",),
    required_values={"data_format": "NHWC"},
)
DIALECTS = {
    "tf.nn": Dialect(
        ("tf.nn", "tensorflow.nn", "nn", "tf", "tf.image", "tensorflow.image", *OLD_MODULES),
        (
            *TF_NN_LAYERS,
            TRANSPOSED_LAYER,
            PAD_LAYER,
            PATCHES_LAYER,
            *RESIZING_LAYERS,
            *BLOCK_LAYERS,
            NORMALIZATION_LAYER,
            DILATION_LAYER,
        ),
    )
}
