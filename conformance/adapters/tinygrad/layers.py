"""tinygrad: signatures of methods of `Tensor`, with the defaults of tinygrad 0.14, for `conformance translate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api import (
    REPLICATE_AND_CIRCULAR_NAMES,
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
    operator_with_indices,
    optional_array_argument,
    rounding_argument,
    sizes_argument,
    unpooled_size,
)

# Number of axes of the default window, (2, 2).
DEFAULT_RANK = 2


def _spatial_axes(call: BoundCall) -> int:
    """Return the number of spatial axes; a single number for the window means two axes."""
    if "kernel_size" in call.arguments:
        window = call.arguments["kernel_size"]
        return len(window) if isinstance(window, tuple) else DEFAULT_RANK
    return len(call.kernel_shape) - 2 if call.kernel_shape else call.spatial_axes()


# The names end with 2d for every number of axes, so only the window gives this number.
def _read_window(call: BoundCall, value: Any) -> Any:
    return sizes_argument("kernel_size").convert(call, (value,) * DEFAULT_RANK if is_whole_number(value) else value)


def _read_padding(call: BoundCall, value: Any) -> Any:
    """Read one number, one for each axis, or one list with both ends of each axis, the last axis first."""
    axes = _spatial_axes(call)
    if is_whole_number(value):
        return value
    if not isinstance(value, tuple) or not all(map(is_whole_number, value)) or len(value) not in {axes, 2 * axes}:
        raise UnreadableLayer(f"neither an integer nor one or two for each of {axes} axes")
    # With as many numbers as axes, a list has one pad for both ends, the first axis first; with twice as many, the last
    # axis comes first.
    if len(value) == axes:
        return tuple((end, end) for end in value)
    return tuple(reversed([*zip(value[::2], value[1::2], strict=True)]))


def _read_pads(call: BoundCall, value: Any) -> Any:
    """Read one list with both ends of the last axes, the last first, or a pair or None for each axis of the array."""
    if not isinstance(value, tuple) or not any(item is None or isinstance(item, tuple) for item in value):
        return ends_from_last_axis(call, value)
    # None stands for an axis without padding.
    pairs = tuple((0, 0) if item is None else item for item in value)
    if len(pairs) <= DEFAULT_RANK or pairs[:2] != ((0, 0), (0, 0)):
        raise UnreadableLayer("not a pair for each axis of the array, with None or (0, 0) for batch and channels")
    if not all(
        isinstance(pair, tuple) and len(pair) == DEFAULT_RANK and all(map(is_whole_number, pair)) for pair in pairs
    ):
        raise UnreadableLayer("not a pair of integers, or None, for each axis of the array")
    return pairs[2:]


def _unpooled_size(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the output size: output_size, or the size that window, stride and padding give."""
    # With output_size, the window only has to be valid, so the other arguments are ignored.
    size = found.get("output_size")
    if size is not None:
        found.clear()
        return {"output_size": size}
    if found.pop("dilation") not in {1, (1,) * _spatial_axes(call)}:
        raise UnreadableLayer("dilation: only 1 can be translated without output_size")
    found["padding"] = _symmetric_padding(found["padding"])
    return unpooled_size(call, found)


def _symmetric_padding(padding: Any) -> Any:
    """Return padding as one number for each axis."""
    if is_whole_number(padding):
        return padding
    if any(before != after for before, after in padding):
        raise UnreadableLayer("padding: only equal ends can be translated without output_size")
    return tuple(before for before, _ in padding)


def _read_output_size(call: BoundCall, value: Any) -> Any:
    """Read the spatial extents of the output; batch and channels before them are ignored."""
    if value is None:
        return None
    if not isinstance(value, tuple) or not all(map(is_whole_number, value)):
        raise UnreadableLayer("not an integer for each axis")
    # The method accepts the shape of the whole output and of the plane alone.
    return value[2:] if call.shape and len(value) == len(call.shape) else value


POOLING_ARGUMENTS = {
    "window": ArgumentReading("kernel_size", _read_window),
    "stride": sizes_argument("stride"),
    "dilation": sizes_argument("dilation"),
    "padding": ArgumentReading("padding", _read_padding),
    "rounding": rounding_argument("ceil_mode"),
}
CONVOLUTION_ARGUMENTS = {
    "groups": count_argument("groups"),
    **{key: POOLING_ARGUMENTS[key] for key in ("stride", "dilation", "padding")},
    "bias": optional_array_argument("bias"),
}
POOLING_SIGNATURE = "kernel_size=(2, 2), stride=None, dilation=1, padding=0"
CONVOLUTION_SIGNATURE = "weight, bias=None, groups=1, stride=1, dilation=1, padding=0"
PADDING_MODES = {"constant": "constant", **{name: mode for mode, name in REPLICATE_AND_CIRCULAR_NAMES.items()}}

TENSOR_METHODS = (
    LayerSignature(
        f"max_pool2d({POOLING_SIGNATURE}, ceil_mode=False, return_indices=False)",
        "max_pool",
        POOLING_ARGUMENTS,
        adjust=operator_with_indices,
        has_rank_in_name=False,
    ),
    LayerSignature(
        f"avg_pool2d({POOLING_SIGNATURE}, ceil_mode=False, count_include_pad=True)",
        "avg_pool",
        {**POOLING_ARGUMENTS, "count_include_pad": flag_argument("count_include_pad")},
        has_rank_in_name=False,
    ),
    LayerSignature(
        f"max_unpool2d(indices, {POOLING_SIGNATURE}, output_size=None)",
        "max_unpool",
        {
            **{key: POOLING_ARGUMENTS[key] for key in ("window", "stride", "dilation", "padding")},
            "output_size": ArgumentReading("output_size", _read_output_size),
        },
        array_arguments=("indices",),
        adjust=_unpooled_size,
        has_rank_in_name=False,
    ),
    LayerSignature(
        f"conv2d({CONVOLUTION_SIGNATURE})",
        "conv",
        CONVOLUTION_ARGUMENTS,
        array_arguments=("weight", "bias"),
        ignored_arguments=("dtype",),
        has_rank_in_name=False,
    ),
    LayerSignature(
        f"conv_transpose2d({CONVOLUTION_SIGNATURE}, output_padding=0)",
        "conv_transpose",
        {**CONVOLUTION_ARGUMENTS, "output_padding": sizes_argument("output_padding")},
        array_arguments=("weight", "bias"),
        has_rank_in_name=False,
    ),
    LayerSignature(
        "pad(padding, mode='constant', value=0.0)",
        "pad",
        {
            "pads": ArgumentReading("padding", _read_pads),
            "mode": choice_argument("mode", PADDING_MODES),
            "value": number_argument("value"),
        },
    ),
)

# Methods after the call that change neither the operator nor its parameters.
TRAILING_METHODS = ("cast", "realize", "contiguous", "numpy")
DIALECTS = {
    "tinygrad.Tensor": Dialect(
        ("Tensor", "tinygrad.Tensor"), TENSOR_METHODS, ignored_methods=TRAILING_METHODS, methods=True
    )
}
