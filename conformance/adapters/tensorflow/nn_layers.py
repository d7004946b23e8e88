"""TensorFlow: how calls of tf.nn and tf.pad are read, with the defaults of TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api.layer_arguments import (
    SAME,
    Pairs,
    by_name,
    choice,
    cropped,
    halved,
    named_padding,
    number,
    ones,
    outer,
    pairs,
    reaches,
    sizes,
    spatial,
    spread,
    up_to,
    whole,
)
from conformance.adapters.api.layer_parser import Unread
from conformance.adapters.api.layers import IMPLIED, Call, Dialect, Layer, Reading


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


def _crops(call: Call, value: Any) -> Any:
    """Read SAME or VALID, whatever the size, or a pair for each axis of the array."""
    if isinstance(value, str) and value.upper() in {"SAME", "VALID"}:
        return value.upper()
    return _explicit(call, value)


def _to_size(call: Call, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return how much is cropped so that the output has the shape that is said."""
    sizes_said = _output(call.arguments["output_shape"])
    kernel, extents = call.weights("how far its output goes"), call.extents("how much it crops")
    rank = len(kernel) - 2
    if not rank == len(sizes_said) - 1 == len(extents):
        raise Unread(f"output_shape: not a size for each axis of an array of {rank} spatial axes")
    stride, holes = spread(found["stride"], rank), spread(found["dilation"], rank)
    reach = reaches(kernel[2:], holes)
    _leads_back(call, found["padding"], sizes_said[:-1], stride, reach)
    surplus = up_to(sizes_said[:-1], extents, stride, reach)
    groups = sizes_said[-1] // max(kernel[1], 1)
    if groups * kernel[1] != sizes_said[-1] or groups < 1:
        raise Unread(f"output_shape: {sizes_said[-1]} channels from a kernel of {kernel[1]} in each group")
    return {"groups": groups, **cropped(_taken_away(found["padding"], surplus), stride, holes)}


def _taken_away(padding: Any, surplus: tuple[int, ...]) -> Pairs:
    """Return what is cropped at both ends: all of it after the end, halves, or as the pads say."""
    if padding == "SAME":
        return halved(surplus)
    starts = (0,) * len(surplus) if padding == "VALID" else tuple(before for before, _ in padding)
    return tuple((before, cells - before) for before, cells in zip(starts, surplus, strict=True))


def _leads_back(call: Call, padding: Any, size: tuple[int, ...], stride: Any, reach: tuple[int, ...]) -> None:
    """Raise Unread unless a convolution with this padding leads from the output to the input, as TensorFlow demands."""
    pads = (0,) * len(size) if isinstance(padding, str) else tuple(map(sum, padding))
    spare = [(1 if padding == "SAME" else covered) - ends for covered, ends in zip(reach, pads, strict=True)]
    back = tuple((cells - less) // by + 1 for cells, less, by in zip(size, spare, stride, strict=True))
    if back != call.extents("how much it crops"):
        raise Unread(f"output_shape: a convolution leads from {size} to {back}, not to the size of the input")


def _output(value: Any) -> tuple[int, ...]:
    """Return the shape of the output without its batch. Raises Unread where it is no list of numbers."""
    if not isinstance(value, tuple) or not all(map(whole, value[1:])) or len(value) <= CHANNELS:
        raise Unread(f"output_shape={value}: only a list of numbers, (n, *spatial, c), can be translated")
    return tuple(value[1:])


CHANNELS = 2
TRANSPOSED = {
    "stride": _strides("strides"),
    "padding": Reading("padding", _crops),
    "dilation": _strides("dilations"),
}
TF_TRANSPOSED = Layer(
    "conv{rank}d_transpose|conv_transpose(input, filters, output_shape, strides, padding='SAME', data_format=None, "
    "dilations=None, name=None)",
    "conv_transpose",
    TRANSPOSED,
    data=("input", "filters"),
    must=AS_USUAL,
    meaning=_to_size,
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

DIALECTS = {"tf.nn": Dialect(("tf.nn", "tensorflow.nn", "nn", "tf"), (*TF_NN, TF_TRANSPOSED, TF_PAD))}
