"""ONNX: nodes with `auto_pad` and `storage_order`, and earlier nodes that resize."""

from __future__ import annotations

import math
from collections.abc import Mapping

from conformance.adapters.api import (
    Code,
    Lowering,
    Step,
    Unsupported,
    call,
    groups_argument,
    named_padding,
    number,
    quoted,
)
from conformance.adapters.api.resizing.rules import antialiases, excludes_outside
from conformance.adapters.onnx import nodes
from conformance.adapters.onnx.nodes import NODE_TYPES, SQUARE_POWER, int_array_text, ints_text
from conformance.cases.operators import Coordinates, PaddingWord, ResizeMode

PADDING_NAMES = {
    PaddingWord.VALID: "VALID",
    PaddingWord.SAME_UPPER: "SAME_UPPER",
    PaddingWord.SAME_LOWER: "SAME_LOWER",
}
NO_NAME = Unsupported("auto_pad has no name for the padding")
NO_COLUMNS = Unsupported("storage_order applies to indices of one plane")
PLANE_RANK = 2


def _window_attributes(step: Step) -> dict[str, str | None]:
    return {
        "strides": ints_text(step.stride or ()),
        "auto_pad": named_padding(step, PADDING_NAMES),
        "dilations": ints_text(step.dilation) if step.dilated else None,
    }


def pooling(step: Step) -> Code:
    """Return the pooling node with `auto_pad`."""
    attributes = _window_attributes(step)
    if attributes["auto_pad"] is None or step.parameters.get("divisor") is not None:
        return NO_NAME
    if "count_include_pad" in step.parameters:
        attributes["count_include_pad"] = str(int(step.parameters["count_include_pad"]))
    if step.parameters.get("p", SQUARE_POWER) != SQUARE_POWER:
        attributes["p"] = str(int(step.parameters["p"]))
    return call(NODE_TYPES[step.operator], "x", kernel_shape=ints_text(step.window), **attributes)


def column_indices(step: Step) -> Code:
    """Return the indices in column-major order, converted to row-major order."""
    if step.parameters.get("output") != "indices" or step.rank != PLANE_RANK or math.prod(step.shape[:2]) != 1:
        return NO_COLUMNS
    attributes = _window_attributes(step)
    if attributes["auto_pad"] is None:
        return NO_NAME
    height, width = step.shape[2:]
    node = call("MaxPool", "x", kernel_shape=ints_text(step.window), **attributes, storage_order="1")
    return (
        f"values, indices = {node}",
        f"height = {int_array_text([height])}",
        f"width = {int_array_text([width])}",
        "row = Mul(Mod(indices, height), width)",
        "x = Add(row, Div(indices, height))",
    )


def convolution(step: Step) -> Code:
    """Return the convolution node with `auto_pad`."""
    attributes = _window_attributes(step)
    bias = "bias" if step.bias else None
    if attributes["auto_pad"] is None:
        return NO_NAME
    return call(NODE_TYPES[step.operator], "x", "kernel", bias, **attributes, group=groups_argument(step))


NO_ANTIALIASING = Unsupported("Resize-11 and earlier nodes have no antialiasing")
NO_SCALE = Unsupported("Upsample-9 and Resize-10 take a scale")


def resize(step: Step) -> Code:
    """Return Upsample-9 or Resize-10 for asymmetric coordinates, which have no word, and Resize-11 for others."""
    given = step.parameters
    if antialiases(step):
        return NO_ANTIALIASING
    if given.get("coordinates") != Coordinates.ASYMMETRIC:
        return nodes.resize(step, is_old=True, names_mode=True)
    if given.get("scale") is None:
        return NO_SCALE
    return _resize_by_scale(step)


def _resize_by_scale(step: Step) -> Code:
    """Return a node whose coordinates are asymmetric. Nearest cells are those before a coordinate."""
    given = step.parameters
    is_floor = given["mode"] == ResizeMode.NEAREST and given["nearest_rounding"] == "floor"
    if excludes_outside(step) or not (is_floor or given["mode"] == ResizeMode.LINEAR):
        return Unsupported("Upsample-9 and Resize-10 have the modes linear and nearest, which rounds down")
    scales = (1, 1, *given["scale"])
    name = "Upsample" if min(scales) >= 1 else "Resize"
    return (
        f"scales = np.array([{', '.join(map(number, scales))}], np.float32)",
        f"x = {call(name, 'x', 'scales', mode=quoted(given['mode']))}",
    )


NODE_WORDS: Mapping[str, Lowering] = {
    **dict.fromkeys(("max_pool", "avg_pool", "lp_pool"), pooling),
    "max_pool_with_indices": column_indices,
    **dict.fromkeys(("conv", "conv_transpose"), convolution),
    "resize": resize,
}
