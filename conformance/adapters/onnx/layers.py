"""ONNX: signatures and defaults of nodes: `helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3])`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api import (
    AUTO_PAD_NAMES,
    ArgumentReading,
    BoundCall,
    Dialect,
    LayerSignature,
    UnreadableLayer,
    choice_argument,
    count_argument,
    is_whole_number,
    kernel_reach,
    modes_argument,
    number_argument,
    one_per_axis,
    padding_by_name,
    sizes_argument,
    split_surplus,
    unpooled_size,
)
from conformance.adapters.api.normalization.reading import normalization_layer
from conformance.adapters.api.resizing.grid_reading import MODES_BY_NAME, grid_sampling_layer
from conformance.adapters.onnx.constants import constant_input, constant_list
from conformance.adapters.onnx.resizing import resize_layers
from conformance.cases.operators import BlockOrder, ExtraChannel

MAX_CONV_INPUTS = 3
# Inputs of DeformConv before the optional ones: x, the weights and the offsets.
DEFORM_CONV_INPUTS = 3
# helper.make_node has these arguments itself; all others become attributes, in any order.
NODE_PARAMETERS = "inputs, outputs, name=None, doc_string=None, domain=None, overload=None, *, "
WINDOW_SIGNATURE = "strides=None, pads=None, dilations=None, auto_pad='NOTSET'"


def _read_flat_pads(_call: BoundCall, value: Any) -> Any:
    """Read a flat list: the padding before every axis, then the padding after every axis."""
    if value is None:
        return 0
    if not isinstance(value, tuple) or len(value) % 2 or not value or not all(map(is_whole_number, value)):
        raise UnreadableLayer("expected the padding before all axes, then after all axes")
    half = len(value) // 2
    return tuple(zip(value[:half], value[half:], strict=True))


def _apply_auto_pad(call: BoundCall, found: dict[str, Any]) -> None:
    """Replace the padding by the one that auto_pad names."""
    named = call.arguments["auto_pad"]
    # With auto_pad, the specification ignores pads.
    if named != "NOTSET":
        found["padding"] = padding_by_name(named, AUTO_PAD_NAMES)


def _pooling_operator(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the operator: a MaxPool node with two outputs also returns indices."""
    _apply_auto_pad(call, found)
    outputs = call.arguments["outputs"]
    several = isinstance(outputs, tuple) and len(outputs) > 1
    return {"operator": "max_pool_with_indices", "output": "values"} if several and call.name == "MaxPool" else {}


def _has_bias(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return whether the node has a bias, its third input."""
    _apply_auto_pad(call, found)
    inputs = call.arguments["inputs"]
    # Inputs are names, and an empty name is an input that is left out.
    return {"bias": isinstance(inputs, tuple) and len(inputs) >= MAX_CONV_INPUTS and inputs[-1] != ""}


def _optional_inputs(call: BoundCall, _found: dict[str, Any]) -> Mapping[str, Any]:
    """Return whether a DeformConv node has a bias and a mask, its last inputs. An empty name is no input."""
    inputs = call.arguments["inputs"]
    more = inputs[DEFORM_CONV_INPUTS:] if isinstance(inputs, tuple) else ()
    names = dict(zip(("bias", "mask"), more, strict=False))
    return {name: names.get(name, "") != "" for name in ("bias", "mask")}


def _transposed_parameters(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return whether the node has a bias, and the padding if auto_pad names it.

    With the padding SAME, the output has `size * stride` cells. Cells that output padding adds are cropped again. For a
    full output that is smaller, the specification gives negative pads, and ONNX Runtime returns the full output.
    """
    more = _has_bias(call, found)
    padding, added = found["padding"], found["output_padding"]
    if not isinstance(padding, str):
        return more
    window = found.get("window") or call.weight_shape("the padding")[2:]
    axes = [one_per_axis(value, len(window)) for value in (found["stride"], added)]
    reach = kernel_reach(window, one_per_axis(found["dilation"], len(window)))
    surplus = [extent - step + more_cells for extent, step, more_cells in zip(reach, *axes, strict=True)]
    if min(surplus) < 0:
        raise UnreadableLayer("auto_pad: the stride exceeds the kernel and its output padding")
    pads = split_surplus(surplus)
    return {**more, "padding": pads if padding == "same_upper" else tuple(pair[::-1] for pair in pads)}


def _read_array_pads(call: BoundCall, value: Any) -> Any:
    """Read a flat list of pads for all axes of the array; batch and channels must have no padding."""
    if constant_input(call, PAD_INPUTS, "axes") is not None:
        raise UnreadableLayer("inputs: axes cannot be read: write the pads of all axes")
    value = constant_list(call, PAD_INPUTS, "pads") if value is None else value
    if value is None:
        raise UnreadableLayer("pads are needed, as an input or as the attribute of opsets 2 to 10")
    found = _read_flat_pads(call, value)
    if len(found) < ARRAY_ARGUMENT_COUNT or found[:2] != ((0, 0), (0, 0)):
        raise UnreadableLayer(
            "expected the padding before all axes, then after all axes, with zeros for batch and channels"
        )
    return found[2:]


def _unpooled_size(call: BoundCall, found: dict[str, Any]) -> Mapping[str, Any]:
    """Return the output size that follows from window, stride and padding."""
    inputs = call.arguments["inputs"]
    # Its value is known only when the model runs.
    if isinstance(inputs, tuple) and len(inputs) > UNPOOL_INPUT_COUNT:
        raise UnreadableLayer("inputs: output_shape given as an input cannot be read")
    return unpooled_size(call, found)


def _read_value(call: BoundCall, value: Any) -> Any:
    given = constant_input(call, PAD_INPUTS, "value")
    return number_argument("value").convert(call, value if given is None else given)


UNPOOL_INPUT_COUNT = 2
PAD_INPUTS = ("x", "pads", "value", "axes")
ARRAY_ARGUMENT_COUNT = 3
TENSOR_INDICES_NOTE = "its indices count through the whole tensor; the programs below take indices in each channel"


WINDOW_ARGUMENTS = {
    "window": sizes_argument("kernel_shape"),
    "stride": sizes_argument("strides", default=1),
    "padding": ArgumentReading("pads", _read_flat_pads),
    "dilation": sizes_argument("dilations", default=1),
    "rounding": choice_argument("ceil_mode", {0: "floor", 1: "ceil"}),
}
CONVOLUTION_ARGUMENTS = {
    **{key: WINDOW_ARGUMENTS[key] for key in ("window", "stride", "padding", "dilation")},
    "groups": count_argument("group"),
}

SUPPORTED_NODES = (
    LayerSignature(
        # storage_order=1 would count the indices by columns, which no parameter of the catalogue expresses.
        f"MaxPool({NODE_PARAMETERS}kernel_shape, {WINDOW_SIGNATURE}, ceil_mode=0, storage_order=0)",
        "max_pool",
        WINDOW_ARGUMENTS,
        required_values={"storage_order": 0},
        adjust=_pooling_operator,
    ),
    LayerSignature(
        f"AveragePool({NODE_PARAMETERS}kernel_shape, {WINDOW_SIGNATURE}, ceil_mode=0, count_include_pad=0)",
        "avg_pool",
        {**WINDOW_ARGUMENTS, "count_include_pad": choice_argument("count_include_pad", {0: False, 1: True})},
        adjust=_pooling_operator,
    ),
    LayerSignature(
        f"LpPool({NODE_PARAMETERS}kernel_shape, {WINDOW_SIGNATURE}, ceil_mode=0, p=2)",
        "lp_pool",
        {**WINDOW_ARGUMENTS, "p": number_argument("p")},
        adjust=_pooling_operator,
    ),
    LayerSignature(f"GlobalMaxPool({NODE_PARAMETERS.removesuffix(', *, ')})", "global_max_pool"),
    LayerSignature(f"GlobalAveragePool({NODE_PARAMETERS.removesuffix(', *, ')})", "global_avg_pool"),
    LayerSignature(
        f"Conv({NODE_PARAMETERS}kernel_shape=None, {WINDOW_SIGNATURE}, group=1)",
        "conv",
        CONVOLUTION_ARGUMENTS,
        adjust=_has_bias,
    ),
    LayerSignature(
        f"ConvTranspose({NODE_PARAMETERS}kernel_shape=None, {WINDOW_SIGNATURE}, group=1, "
        "output_padding=None, output_shape=None)",
        "conv_transpose",
        {
            **CONVOLUTION_ARGUMENTS,
            "output_padding": sizes_argument("output_padding", default=0),
        },
        # With an output_shape, the pads follow from it.
        required_values={"output_shape": None},
        adjust=_transposed_parameters,
    ),
)
DEFORMED_NODE = LayerSignature(
    f"DeformConv({NODE_PARAMETERS}kernel_shape=None, strides=None, pads=None, dilations=None, group=1, offset_group=1)",
    "deform_conv",
    {**CONVOLUTION_ARGUMENTS, "offset_groups": count_argument("offset_group")},
    adjust=_optional_inputs,
)
UNPOOLING_NODES = (
    LayerSignature(
        f"MaxUnpool({NODE_PARAMETERS}kernel_shape, strides=None, pads=None)",
        "max_unpool",
        {key: WINDOW_ARGUMENTS[key] for key in ("window", "stride", "padding")},
        adjust=_unpooled_size,
        note=TENSOR_INDICES_NOTE,
    ),
    LayerSignature(
        # Pads and value are attributes until opset 10 and inputs from 11 on.
        f"Pad({NODE_PARAMETERS}mode='constant', pads=None, value=0.0)",
        "pad",
        {
            "pads": ArgumentReading("pads", _read_array_pads),
            "mode": modes_argument("mode", "constant", "edge", "reflect", "wrap"),
            "value": ArgumentReading("value", _read_value),
        },
    ),
)
# SpaceToDepth has a mode since opset 28. Its default is the only order of older opsets.
BLOCK_NODES = tuple(
    LayerSignature(
        f"{node}({NODE_PARAMETERS}blocksize, mode='DCR')",
        operator,
        {"block": count_argument("blocksize"), "order": modes_argument("mode", *map(str, BlockOrder))},
    )
    for node, operator in (("DepthToSpace", "depth_to_space"), ("SpaceToDepth", "space_to_depth"))
)
NORMALIZATION_NODE = normalization_layer(
    f"LRN({NODE_PARAMETERS}size, alpha=0.0001, beta=0.75, bias=1.0)", side=ExtraChannel.AFTER, bias="bias"
)
GRID_NODE = grid_sampling_layer(
    f"GridSample({NODE_PARAMETERS}mode='linear', padding_mode='zeros', align_corners=0)",
    modes={**MODES_BY_NAME, **{mode: mode for mode in MODES_BY_NAME.values()}},
    flags={0: False, 1: True},
)
NODE_DIALECT = Dialect(
    ("helper", "onnx.helper"),
    (
        *SUPPORTED_NODES,
        DEFORMED_NODE,
        *UNPOOLING_NODES,
        *BLOCK_NODES,
        NORMALIZATION_NODE,
        GRID_NODE,
        *resize_layers(NODE_PARAMETERS),
    ),
    name_function="make_node",
    constants=True,
)
DIALECTS = {"onnx.reference": NODE_DIALECT, "onnxruntime": NODE_DIALECT}
