"""OpenVINO: signatures of the calls of its opsets, with the defaults of opset16. See https://docs.openvino.ai."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api import (
    AUTO_PAD_NAMES,
    IMPLIED_GROUPS,
    ArgumentReading,
    BoundCall,
    Dialect,
    LayerSignature,
    ReshapedName,
    UnreadableLayer,
    choice_argument,
    count_argument,
    is_whole_number,
    modes_argument,
    named_padding_argument,
    number_argument,
    padding_by_name,
    sizes_argument,
)
from conformance.adapters.api.normalization.reading import normalization_layer
from conformance.adapters.openvino.blocks import MODES
from conformance.cases.operators import BlockOrder, Rounding
from reference import Windows

OPSET_MODULES = tuple(
    f"{package}opset{version}" for version in range(16, 0, -1) for package in ("", "ov.", "openvino.")
)
# MaxPool-8 added dilations before the pads, so the same positional arguments mean something else in older opsets.
ORIGINAL_OPSET_MODULES = tuple(module for module in OPSET_MODULES if int(module.rpartition("opset")[2]) < 8)  # noqa: PLR2004 - MaxPool-8
# Lists of pads for ops.pad have an entry for every axis of the array; lists for pooling have spatial axes only.
LEADING_AXES = 2
"""Number of axes before the spatial ones: batch and channels."""


def _per_axis_argument(argument: str) -> ArgumentReading:
    """Return a reading of a list with one number per spatial axis."""

    def read(call: BoundCall, value: Any) -> Any:
        if not isinstance(value, tuple):
            raise UnreadableLayer("expected a list with an integer for each spatial axis")
        return sizes_argument(argument).convert(call, value)

    return ArgumentReading(argument, read)


def _optional_argument(argument: str, default: int) -> ArgumentReading:
    return ArgumentReading(
        argument, lambda call, value: default if value is None else _per_axis_argument(argument).convert(call, value)
    )


def _read_pads(call: BoundCall, value: Any) -> Any:
    """Read pads_begin and pads_end as pairs per axis, or the padding that auto_pad names."""
    named = call.arguments.get("auto_pad")
    # With auto_pad other than EXPLICIT, OpenVINO ignores pads_begin and pads_end.
    if isinstance(named, str) and named.lower() not in {"explicit", "notset"}:
        return padding_by_name(named, AUTO_PAD_NAMES)
    return _pair_pads(value, call.arguments["pads_end"])


def _pair_pads(before: Any, after: Any) -> Any:
    if before is None and after is None:
        return 0
    # An omitted end has zeros, as many as the other end has numbers.
    first, last = ((0,) * len(two) if one is None else one for one, two in ((before, after), (after, before)))
    both = (first, last)
    if not all(isinstance(ends, tuple) and all(map(is_whole_number, ends)) for ends in both) or len(first) != len(last):
        raise UnreadableLayer("pads_begin and pads_end must each have an integer for every axis")
    return tuple(zip(first, last, strict=True))


def _read_array_pads(call: BoundCall, value: Any) -> Any:
    """Read the pads of all axes of the array; batch and channels must have no padding."""
    pairs = _pair_pads(value, call.arguments["pads_end"])
    if pairs == 0 or len(pairs) <= LEADING_AXES or pairs[:LEADING_AXES] != ((0, 0), (0, 0)):
        raise UnreadableLayer("expected a number for each axis of the array, with zeros for batch and channels")
    return pairs[LEADING_AXES:]


# Before opset 14 there was no ceil_torch: `ceil` also adds windows that start in the padding.
ROUNDING_WORDS = {"floor": "floor", "ceil": "full", "ceil_torch": "ceil"}
WINDOW_ARGUMENTS = {
    "window": _per_axis_argument("kernel_shape"),
    "stride": _per_axis_argument("strides"),
    "padding": ArgumentReading("pads_begin", _read_pads),
    "rounding": choice_argument("rounding_type", ROUNDING_WORDS),
}


def _operator_of_output(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the operator: output(1) of max_pool contains indices."""
    del found
    if call.result_index != 1:
        return {}
    # By default, axis=0, indices count through the whole tensor; axis=2 restarts them in each channel.
    if call.arguments.get("axis") != LEADING_AXES:
        raise UnreadableLayer("output(1): only indices in each channel, axis=2, can be translated")
    return {"operator": "max_pool_with_indices"}


def _check_divisor(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Raise UnreadableLayer if the divisor counts elements that no parameter of the catalogue counts.

    If padding counts and any axis has padding, elements of a last window past the padded input count too. Without
    padding they do not. Observed with OpenVINO 2026.4 on the CPU.
    """
    # Without rounding up, no window extends past the padded input, so nothing is left to count.
    no_overhang_counts = found["rounding"] == Rounding.FLOOR or not found["count_include_pad"]
    padding = found["padding"]
    has_padding = isinstance(padding, str) or (padding != 0 and any(map(any, padding)))
    if no_overhang_counts or not has_padding:
        return {}
    extents = call.input_extents("whether a last window extends past the padding, where elements count,")
    walk = Windows.of(extents, *(found[key] for key in ("window", "stride", "padding", "dilation", "rounding")))
    if any(walk.overhang):
        raise UnreadableLayer("exclude_pad=False: elements past the padding count, which the catalogue cannot express")
    return {}


def _read_groups(call: BoundCall, _value: Any) -> Any:
    """Return the number of groups: the first size of the filters, if they are reshaped in the call."""
    filters = call.arguments["filters"]
    if isinstance(filters, ReshapedName):
        return filters.shape[0]
    if call.name.endswith("backprop_data"):
        raise UnreadableLayer("the number of groups is unknown: write ops.reshape(filters, [groups, …], False)")
    return IMPLIED_GROUPS


GROUP_ARGUMENTS = {"groups": ArgumentReading("filters", _read_groups)}
CONVOLUTION_ARGUMENTS = {
    **{key: WINDOW_ARGUMENTS[key] for key in ("stride", "padding")},
    "dilation": _per_axis_argument("dilations"),
}
TRANSPOSED_ARGUMENTS = {
    **CONVOLUTION_ARGUMENTS,
    "dilation": _optional_argument("dilations", 1),
    "output_padding": _optional_argument("output_padding", 0),
}
POOLING_SIGNATURE = "pads_begin, pads_end, kernel_shape"
CONVOLUTION_SIGNATURE = "strides, pads_begin, pads_end, dilations, auto_pad='EXPLICIT', name=None"
TRANSPOSED_SIGNATURE = "pads_begin=None, pads_end=None, dilations=None, auto_pad=None, output_padding=None, name=None"
OPERAND_NAMES = ("data", "filters")


def _convolution_layer(
    name: str, arguments: str, operator: str, readings: Mapping[str, ArgumentReading], **options: Any
) -> LayerSignature:
    return LayerSignature(
        f"{name}(data, filters, {arguments})", operator, readings, array_arguments=OPERAND_NAMES, **options
    )


# With an output_shape, OpenVINO derives the pads from it, in a way that depends on auto_pad.
REQUIRED_TRANSPOSED_VALUES = {"output_shape": None, "auto_pad": (None, "EXPLICIT", "explicit", "VALID", "valid")}
OPSET_LAYERS = (
    LayerSignature(
        f"max_pool(data, strides, dilations, {POOLING_SIGNATURE}, rounding_type='floor', auto_pad=None, "
        "index_element_type='i64', axis=0, name=None)",
        "max_pool",
        {**WINDOW_ARGUMENTS, "dilation": _per_axis_argument("dilations")},
        array_arguments=("data",),
        adjust=_operator_of_output,
        result_count=2,
    ),
    LayerSignature(
        f"{'|'.join(f'{module}.max_pool' for module in ORIGINAL_OPSET_MODULES)}(data, strides, "
        f"{POOLING_SIGNATURE}, rounding_type='floor', auto_pad=None, name=None)",
        "max_pool",
        WINDOW_ARGUMENTS,
        array_arguments=("data",),
        result_count=1,
    ),
    LayerSignature(
        # The order of the arguments of avg_pool differs from that of max_pool, which has dilations third.
        f"avg_pool(data_batch, strides, {POOLING_SIGNATURE}, exclude_pad, rounding_type='floor', "
        "auto_pad=None, dilations=None, name=None)",
        "avg_pool",
        {
            **WINDOW_ARGUMENTS,
            "dilation": _optional_argument("dilations", 1),
            "count_include_pad": choice_argument("exclude_pad", {True: False, False: True}),
        },
        array_arguments=("data_batch",),
        adjust=_check_divisor,
        result_count=1,
    ),
    LayerSignature(
        "adaptive_avg_pool(data, output_shape, name=None)",
        "adaptive_avg_pool",
        {"output_size": sizes_argument("output_shape")},
        array_arguments=("data",),
    ),
    LayerSignature(
        "adaptive_max_pool(data, output_shape, index_element_type='i64', name=None)",
        "adaptive_max_pool",
        {"output_size": sizes_argument("output_shape")},
        array_arguments=("data",),
        result_count=1,
    ),
    _convolution_layer("convolution", CONVOLUTION_SIGNATURE, "conv", CONVOLUTION_ARGUMENTS),
    _convolution_layer(
        "group_convolution", CONVOLUTION_SIGNATURE, "conv", {**CONVOLUTION_ARGUMENTS, **GROUP_ARGUMENTS}
    ),
    _convolution_layer(
        "convolution_backprop_data",
        f"strides, output_shape=None, {TRANSPOSED_SIGNATURE}",
        "conv_transpose",
        TRANSPOSED_ARGUMENTS,
        required_values=REQUIRED_TRANSPOSED_VALUES,
    ),
    _convolution_layer(
        "group_convolution_backprop_data",
        f"strides, output_shape=None, {TRANSPOSED_SIGNATURE}",
        "conv_transpose",
        {**TRANSPOSED_ARGUMENTS, **GROUP_ARGUMENTS},
        required_values=REQUIRED_TRANSPOSED_VALUES,
    ),
    LayerSignature(
        "pad(arg, pads_begin, pads_end, pad_mode, arg_pad_value=None, name=None)",
        "pad",
        {
            "pads": ArgumentReading("pads_begin", _read_array_pads),
            "mode": modes_argument("pad_mode", "constant", "edge", "reflect", "symmetric"),
            "value": number_argument("arg_pad_value"),
        },
        array_arguments=("arg",),
    ),
)

BLOCK_MODES = {mode: order.value for order, mode in MODES.items()}
BLOCK_LAYERS = tuple(
    LayerSignature(
        f"{operator}({array}, mode, block_size=1, name=None)",
        operator,
        {"block": count_argument("block_size"), "order": choice_argument("mode", BLOCK_MODES)},
        array_arguments=(array,),
    )
    for operator, array in (("depth_to_space", "node"), ("space_to_depth", "data"))
)

PATCHES_LAYER = LayerSignature(
    "extract_image_patches(image, sizes, strides, rates, auto_pad, name=None)",
    "unfold",
    {
        "window": sizes_argument("sizes"),
        "stride": sizes_argument("strides"),
        "dilation": sizes_argument("rates"),
        "padding": named_padding_argument("auto_pad", AUTO_PAD_NAMES),
    },
    array_arguments=("image",),
    fixed_parameters={"order": BlockOrder.DCR.value},
)

NORMALIZATION_LAYER = normalization_layer(
    "lrn(data, axes, alpha=1, beta=0.5, bias=1, size=5, name=None)",
    side=None,
    bias="bias",
    array="data",
    ignored=("name",),
    required_values={"axes": ((1,), 1)},
)

DIALECTS = {
    "openvino.opset": Dialect(
        ("ops", "opset", *OPSET_MODULES), (*OPSET_LAYERS, *BLOCK_LAYERS, PATCHES_LAYER, NORMALIZATION_LAYER)
    )
}
