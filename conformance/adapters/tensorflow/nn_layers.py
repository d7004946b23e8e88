"""TensorFlow: how calls of tf.nn and tf.pad are read, with the defaults of TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import (
    SAME_AND_VALID_WORDS,
    Pairs,
    batch_and_channel_entries,
    choice_argument,
    is_whole_number,
    kernel_reach,
    named_padding_argument,
    number_argument,
    one_per_axis,
    padding_by_name,
    padding_from_crop,
    read_pairs,
    sizes_argument,
    sizes_or_ones_argument,
    spatial_entries,
    split_surplus,
    surplus_over_size,
)
from conformance.adapters.api.layer_parser import UnreadableLayer
from conformance.adapters.api.layers import IMPLIED_GROUPS, ArgumentReading, BoundCall, Dialect, LayerSignature


def _strides_argument(argument: str) -> ArgumentReading:
    """Read one number, one for each spatial axis, or one for each axis of the array."""

    def read(call: BoundCall, value: Any) -> Any:
        if isinstance(value, tuple) and len(value) == call.spatial_axes() + 2 != 3:  # noqa: PLR2004 - one axis has one number
            if batch_and_channel_entries(value, channels_last=True) != (1, 1):
                raise UnreadableLayer("batch and channels have stride 1 here")
            return spatial_entries(value, channels_last=True)
        return sizes_or_ones_argument(argument).convert(call, value)

    return ArgumentReading(argument, read)


def _read_padding(call: BoundCall, value: Any) -> Any:
    """Read SAME, VALID, or a pair for each axis of the array."""
    if isinstance(value, str):
        return padding_by_name(call, value, SAME_AND_VALID_WORDS)
    if (
        batch_and_channel_entries(value, channels_last=True) != ((0, 0), (0, 0))
        if isinstance(value, tuple) and len(value) > 2
        else True
    ):  # noqa: PLR2004
        raise UnreadableLayer("neither SAME, VALID, nor a pair for each axis with none for batch and channels")
    return read_pairs(call, spatial_entries(value, channels_last=True))


def _pooling_operator(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the operator of tf.nn.pool."""
    del found
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
            "stride": sizes_or_ones_argument("strides"),
            "padding": named_padding_argument("padding"),
            "dilation": sizes_or_ones_argument("dilations"),
        },
        array_arguments=("input",),
        required_values=REQUIRED_DATA_FORMAT,
        adjust=_pooling_operator,
    ),
    LayerSignature(
        "conv1d(input, filters, stride, padding, data_format=None, dilations=None, name=None)",
        "conv",
        {**CONVOLUTION_ARGUMENTS, "stride": _strides_argument("stride")},
        fixed_parameters={"groups": IMPLIED_GROUPS},
        array_arguments=("input", "filters"),
        required_values=REQUIRED_DATA_FORMAT,
    ),
    LayerSignature(
        "conv2d|conv3d(input, filters, strides, padding, data_format=None, dilations=None, name=None)",
        "conv",
        CONVOLUTION_ARGUMENTS,
        fixed_parameters={"groups": IMPLIED_GROUPS},
        array_arguments=("input", "filters"),
        required_values=REQUIRED_DATA_FORMAT,
    ),
    LayerSignature(
        "convolution(input, filters, strides=None, padding='VALID', data_format=None, dilations=None, name=None)",
        "conv",
        CONVOLUTION_ARGUMENTS,
        fixed_parameters={"groups": IMPLIED_GROUPS},
        array_arguments=("input", "filters"),
        required_values=REQUIRED_DATA_FORMAT,
    ),
)


def _read_crops(call: BoundCall, value: Any) -> Any:
    """Read SAME or VALID, whatever the size, or a pair for each axis of the array."""
    if isinstance(value, str) and value.upper() in {"SAME", "VALID"}:
        return value.upper()
    return _read_padding(call, value)


def _crop_to_size(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return how much is cropped so that the output has the shape that is said."""
    sizes_said = _read_output_shape(call.arguments["output_shape"])
    kernel, extents = call.weight_shape("how far its output goes"), call.input_extents("how much it crops")
    rank = len(kernel) - 2
    if not rank == len(sizes_said) - 1 == len(extents):
        raise UnreadableLayer(f"output_shape: not a size for each axis of an array of {rank} spatial axes")
    stride, holes = one_per_axis(found["stride"], rank), one_per_axis(found["dilation"], rank)
    reach = kernel_reach(kernel[2:], holes)
    _check_forward_size(call, found["padding"], sizes_said[:-1], stride, reach)
    surplus = surplus_over_size(sizes_said[:-1], extents, stride, reach)
    groups = sizes_said[-1] // max(kernel[1], 1)
    if groups * kernel[1] != sizes_said[-1] or groups < 1:
        raise UnreadableLayer(f"output_shape: {sizes_said[-1]} channels from a kernel of {kernel[1]} in each group")
    return {"groups": groups, **padding_from_crop(_crop_pairs(found["padding"], surplus), stride, holes)}


def _crop_pairs(padding: Any, surplus: tuple[int, ...]) -> Pairs:
    """Return what is cropped at both ends: all of it after the end, halves, or as the pads say."""
    if padding == "SAME":
        return split_surplus(surplus)
    starts = (0,) * len(surplus) if padding == "VALID" else tuple(before for before, _ in padding)
    return tuple((before, cells - before) for before, cells in zip(starts, surplus, strict=True))


def _check_forward_size(
    call: BoundCall, padding: Any, size: tuple[int, ...], stride: Any, reach: tuple[int, ...]
) -> None:
    """Raise Unread unless a convolution with this padding leads from the output to the input, as TensorFlow demands."""
    pads = (0,) * len(size) if isinstance(padding, str) else tuple(map(sum, padding))
    spare = [(1 if padding == "SAME" else covered) - ends for covered, ends in zip(reach, pads, strict=True)]
    back = tuple((cells - less) // by + 1 for cells, less, by in zip(size, spare, stride, strict=True))
    if back != call.input_extents("how much it crops"):
        raise UnreadableLayer(f"output_shape: a convolution leads from {size} to {back}, not to the size of the input")


def _read_output_shape(value: Any) -> tuple[int, ...]:
    """Return the shape of the output without its batch. Raises Unread where it is no list of numbers."""
    if not isinstance(value, tuple) or not all(map(is_whole_number, value[1:])) or len(value) <= CHANNEL_AXIS_COUNT:
        raise UnreadableLayer(f"output_shape={value}: only a list of numbers, (n, *spatial, c), can be translated")
    return tuple(value[1:])


CHANNEL_AXIS_COUNT = 2
TRANSPOSED_ARGUMENTS = {
    "stride": _strides_argument("strides"),
    "padding": ArgumentReading("padding", _read_crops),
    "dilation": _strides_argument("dilations"),
}
TRANSPOSED_LAYER = LayerSignature(
    "conv{rank}d_transpose|conv_transpose(input, filters, output_shape, strides, padding='SAME', data_format=None, "
    "dilations=None, name=None)",
    "conv_transpose",
    TRANSPOSED_ARGUMENTS,
    array_arguments=("input", "filters"),
    required_values=REQUIRED_DATA_FORMAT,
    adjust=_crop_to_size,
)
PAD_LAYER = LayerSignature(
    "pad(tensor, paddings, mode='CONSTANT', constant_values=0, name=None)",
    "pad",
    {
        "pads": ArgumentReading("paddings", _read_padding),
        "mode": choice_argument("mode", {"constant": "constant", "reflect": "reflect", "symmetric": "symmetric"}),
        "value": number_argument("constant_values"),
    },
    array_arguments=("tensor",),
)

DIALECTS = {"tf.nn": Dialect(("tf.nn", "tensorflow.nn", "nn", "tf"), (*TF_NN_LAYERS, TRANSPOSED_LAYER, PAD_LAYER))}
