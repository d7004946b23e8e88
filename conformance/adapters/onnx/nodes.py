"""ONNX: lowerings to single nodes of opset 26, for every runtime. See https://onnx.ai/onnx/operators/.

Each lowering writes nodes as calls, `MaxPool(x, kernel_shape=[2])`. `graph.model_lines` builds a model from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from conformance.adapters.api import (
    Code,
    Lowering,
    PerAxisPairs,
    Step,
    Unsupported,
    call,
    flat_pad_list,
    groups_argument,
    indexed_pad,
    is_framework_same,
    number,
    quoted,
    spatial_axes,
    text_unless_default,
)
from conformance.adapters.api.blocks.recipes import NO_RANK, PLANE_RANK, planes_in_order
from conformance.adapters.api.resizing.deform_conv import plane_limit
from conformance.adapters.api.resizing.grid_sampling import MODES
from conformance.adapters.api.resizing.rules import CROP, PLAIN_MODES, antialiases, excludes_outside, region_ends
from conformance.adapters.onnx import normalization, quantization
from conformance.cases.operators import (
    BlockOrder,
    Coordinates,
    OutsideMode,
    PadMode,
    Requantization,
    ResizeMode,
    Rounding,
)

# min_pool, softmax_pool and others are missing: ONNX has no node for them.
NODE_TYPES: Mapping[str, str] = {
    "max_pool": "MaxPool",
    "max_pool_with_indices": "MaxPool",
    "avg_pool": "AveragePool",
    "lp_pool": "LpPool",
    "max_unpool": "MaxUnpool",
    "global_max_pool": "GlobalMaxPool",
    "global_avg_pool": "GlobalAveragePool",
    "conv": "Conv",
    "conv_transpose": "ConvTranspose",
    "pad": "Pad",
    "resize": "Resize",
    "grid_sample": "GridSample",
    "affine_grid": "AffineGrid",
    "deform_conv": "DeformConv",
    "depth_to_space": "DepthToSpace",
    "space_to_depth": "SpaceToDepth",
    "fold": "Col2Im",
    "lrn": "LRN",
    "quantize": "QuantizeLinear",
    "dequantize": "DequantizeLinear",
    "quantized_conv": "QLinearConv",
    "conv_integer": "ConvInteger",
    "relu": "Relu",
}
POOLING_OPERATORS = frozenset({"max_pool", "max_pool_with_indices", "avg_pool", "lp_pool"})
PADDING_MODES = frozenset({"constant", "edge", "reflect", "wrap"})
# The default of p in LpPool.
SQUARE_POWER = 2
Attributes = dict[str, str | None]


def ints_text(values: Sequence[int]) -> str:
    """Return the source text of a list of integers, as used for attributes."""
    return str([int(value) for value in values])


def int_array_text(values: Sequence[int]) -> str:
    """Return the source text of an integer array, as used for inputs such as pads and axes."""
    return f"np.array({ints_text(values)})"


def begins_and_ends(pairs: PerAxisPairs) -> list[int]:
    """Return pads in the order of ONNX: those before every axis, then those after every axis."""
    return [before for before, _ in pairs] + [after for _, after in pairs]


def _window_attributes(step: Step) -> Attributes:
    """Return the attributes of a node with sliding windows. The default stride of all of them is 1."""
    padding = {
        "pads": ints_text(begins_and_ends(step.padding)) if not is_framework_same(step) and step.padded else None
    }
    return {
        "strides": ints_text(step.stride) if step.stride and set(step.stride) != {1} else None,
        # auto_pad and pads exclude each other; the specification leaves the pads of SAME to the runtime.
        **({"auto_pad": '"SAME_UPPER"'} if is_framework_same(step) else padding),
        "dilations": ints_text(step.dilation) if step.dilated else None,
    }


def pooling_node(
    step: Step, kind: str = "", operands: Sequence[str] = ("x",), **attributes: str | None
) -> str | Unsupported:
    """Return the pooling node, or the reason why it is unsupported. kind: by default that of NODE_TYPES."""
    rounding = step.parameters.get("rounding", Rounding.FLOOR)
    if rounding == Rounding.FULL:
        return Unsupported("ceil_mode drops a last window that starts in the padding")
    ceil = text_unless_default("floor", rounding, "1")
    return call(
        kind or NODE_TYPES[step.operator],
        *operands,
        kernel_shape=ints_text(step.window),
        **_window_attributes(step),
        ceil_mode=ceil,
        **attributes,
    )


def avg_pool(
    step: Step, kind: str = "AveragePool", operands: Sequence[str] = ("x",), **attributes: str | None
) -> str | Unsupported:
    """Return the AveragePool node, or another kind of the same attributes, or the reason why it is unsupported."""
    if step.parameters.get("divisor") is not None:
        return Unsupported(f"{kind} has no divisor")
    # The default of count_include_pad is 0, the opposite of PyTorch's. Without padding the argument changes nothing.
    counted = step.parameters.get("count_include_pad") and not is_framework_same(step) and step.padded
    return pooling_node(step, kind, operands, count_include_pad="1" if counted else None, **attributes)


def lp_pool(step: Step) -> Code:
    """Return the LpPool node, or the reason why it is unsupported."""
    p = step.parameters["p"]
    # The attribute p is an integer since opset 2; before, it was a float.
    if p != int(p):
        return Unsupported("p of LpPool must be an integer")
    return pooling_node(step, p=text_unless_default(SQUARE_POWER, int(p)))


def indexed_max_pool(step: Step) -> Code:
    """Return the values, or the indices if the tensor has one channel; they count through the whole tensor."""
    text = pooling_node(step)
    if isinstance(text, Unsupported) or step.parameters.get("output") != "indices":
        return text
    line = f"values, x = {text}"
    # In a tensor with one plane, an index in the tensor is an index in the plane.
    if math.prod(step.shape[:2]) == 1:
        return (line,)
    return Unsupported("indices count through the whole tensor", rejected_call=(line,))


def plane_indices(step: Step) -> Code:
    """Return the values, or the indices converted to indices in each channel."""
    text = pooling_node(step)
    if isinstance(text, Unsupported) or step.parameters.get("output") != "indices":
        return text
    return (f"values, indices = {text}", f"plane = np.array({math.prod(step.shape[2:])})", "x = Mod(indices, plane)")


def padding_covers_window(step: Step) -> bool:
    """Whether padding at one end is at least the window size; dilation does not count."""
    pairs = zip(step.padding, step.window, strict=False)
    return not is_framework_same(step) and any(max(pads) >= window for pads, window in pairs)


def max_unpool(step: Step) -> Code:
    """Return MaxUnpool with a window, strides and pads that give the output size."""
    extents, sizes = step.shape[2:], step.parameters["output_size"]
    strides = [max(size // max(extent, 1), 1) for extent, size in zip(extents, sizes, strict=True)]
    # Padding must be smaller than the window.
    # A smaller output than input occurs only if padding removes cells, since the stride is at least 1.
    pads = [max(extent - size, 0) for extent, size in zip(extents, sizes, strict=True)]
    axes = zip(extents, sizes, strides, pads, strict=True)
    attributes: Attributes = {
        "kernel_shape": ints_text([size - (extent - 1) * stride + 2 * ends for extent, size, stride, ends in axes]),
        "strides": ints_text(strides) if set(strides) != {1} else None,
        "pads": ints_text(pads * 2) if any(pads) else None,
    }
    # MaxUnpool counts its indices through the whole tensor; each channel adds the number of cells before it.
    planes = math.prod(step.shape[:2])
    if planes == 1:
        return call("MaxUnpool", "x", "indices", **attributes)
    shape = (*step.shape[:2], *(1,) * step.rank)
    first = f"first = np.arange({planes}, dtype=indices.dtype).reshape{shape} * {math.prod(sizes)}"
    return (first, f"x = {call('MaxUnpool', 'x', 'Add(indices, first)', **attributes)}")


def conv(step: Step) -> Code:
    """Return the Conv node, which takes the window size from the kernel."""
    bias = "bias" if step.bias else None
    return call("Conv", "x", "kernel", bias, **_window_attributes(step), group=groups_argument(step))


def deform_conv(step: Step) -> Code:
    """Return the DeformConv node, or the reason why it is unsupported. It has no auto_pad."""
    unsupported = plane_limit(step, "DeformConv", OutsideMode.ZEROS)
    if unsupported:
        return unsupported
    offset_groups, bias = step.parameters.get("offset_groups", 1), "bias" if step.bias else None
    return call(
        "DeformConv",
        *("x", "kernel", "offset", '""' if step.mask and not step.bias else bias, "mask" if step.mask else None),
        **_window_attributes(step),
        group=groups_argument(step),
        offset_group=None if offset_groups == 1 else str(offset_groups),
    )


def quantized_conv(formula: Requantization, step: Step) -> Code:
    """Return the QLinearConv node of a runtime with this formula."""
    attributes = {**_window_attributes(step), "group": groups_argument(step)}
    return quantization.quantized_conv(attributes, formula, step)


def conv_integer(step: Step) -> Code:
    """Return the ConvInteger node."""
    return quantization.conv_integer({**_window_attributes(step), "group": groups_argument(step)}, step)


def conv_transpose(step: Step) -> Code:
    """Return the ConvTranspose node."""
    bias, output_padding = "bias" if step.bias else None, step.parameters["output_padding"]
    attributes = {
        "group": groups_argument(step),
        "output_padding": ints_text(output_padding) if any(output_padding) else None,
    }
    return call("ConvTranspose", "x", "kernel", bias, **_window_attributes(step), **attributes)


def pad(step: Step) -> Code:
    """Return lines with the Pad node, whose pads are an input, or the reason why it is unsupported."""
    mode, flat = step.parameters["mode"], flat_pad_list(step)
    if mode not in PADDING_MODES:
        return Unsupported(f"Pad has no mode {mode}")
    # The case observes the order of flat pads, so they are passed with the axes that they belong to.
    if flat:
        return (
            f"pads = {int_array_text(flat)}",
            f"axes = {int_array_text(spatial_axes(step))}",
            'x = Pad(x, pads, "", axes)',
        )
    value = step.parameters.get("value", 0) if mode == PadMode.CONSTANT else 0
    # The value must have the dtype of x, which a Python number in a constant would not have.
    value_line = [f"value = np.array({number(value)}, x.dtype)"] if value else []
    text = call(
        "Pad", "x", "pads", "value" if value_line else None, mode=text_unless_default("constant", mode, quoted(mode))
    )
    return (f"pads = {int_array_text(begins_and_ends(((0, 0), (0, 0), *step.padding)))}", *value_line, f"x = {text}")


# Of the attributes of Resize: the values that are not written.
RESIZE_DEFAULTS = {
    "mode": "nearest",
    "coordinate_transformation_mode": "half_pixel",
    "nearest_mode": "round_prefer_floor",
    "cubic_coeff_a": -0.75,
    "antialias": 0,
    "exclude_outside": 0,
    "extrapolation_value": 0,
}
NO_RESIZE_MODE = Unsupported("Resize has the modes nearest, linear and cubic")


def resize(step: Step, *, all_axes: bool = False, names_mode: bool = False, is_old: bool = False) -> Code:
    """Return lines with the Resize node, whose scales and sizes are inputs; only one of them may be given.

    all_axes: whether scales and sizes are those of all axes, as they have to be without the attribute `axes`.
    names_mode: whether the attribute `mode` is written even if it is the default. is_old: whether the node is that of
    opset 11, as it is for coordinates that later ones do not have.
    """
    given = step.parameters
    if given["mode"] not in PLAIN_MODES:
        return NO_RESIZE_MODE
    is_old = is_old or given.get("coordinates") == Coordinates.TF_HALF_PIXEL_FOR_NN
    if is_old and antialiases(step):
        return NO_OLD_ANTIALIASING
    all_axes = all_axes or is_old  # Resize-11 has no attribute axes
    size, scale, is_nearest = given.get("size"), given.get("scale"), given["mode"] == ResizeMode.NEAREST
    if all_axes:
        size, scale = size and (*step.shape[:2], *size), scale and (1, 1, *scale)
    attributes = {
        "mode": given["mode"],
        "coordinate_transformation_mode": given.get("coordinates"),
        "nearest_mode": given.get("nearest_rounding") if is_nearest else None,
        "cubic_coeff_a": given.get("cubic_a") if given["mode"] == ResizeMode.CUBIC else None,
        "antialias": int(given.get("antialias", False)),
        "exclude_outside": int(excludes_outside(step)),
        "extrapolation_value": float(given.get("extrapolation_value", 0)),
    }
    keywords = {
        name: None
        if value is None or (value == RESIZE_DEFAULTS[name] and not (names_mode and name == "mode"))
        else quoted(value)
        if isinstance(value, str)
        else number(value)
        for name, value in attributes.items()
    }
    roi = _roi_line(step, all_axes=all_axes) if given.get("coordinates") == CROP else EMPTY_ROI * is_old
    scales = EMPTY_SCALES * is_old
    if scale is not None:
        scales = (f"scales = np.array([{', '.join(map(number, scale))}], np.float32)",)
    sizes = () if size is None else (f"sizes = {int_array_text(size)}",)
    text = call(
        "Resize",
        "x",
        "roi" if roi else '""',
        "scales" if scales else '""',
        "sizes" if sizes else None,
        axes=None if all_axes else ints_text(spatial_axes(step)),
        **keywords,
    )
    return (*roi, *scales, *sizes, f"x = {text}")


# Inputs that Resize-11 needs, also if they are not used.
EMPTY_ROI, EMPTY_SCALES = ("roi = np.array([], np.float32)",), ("scales = np.array([], np.float32)",)
NO_OLD_ANTIALIASING = Unsupported("Resize-11, the last with tf_half_pixel_for_nn, has no antialiasing")


def _roi_line(step: Step, *, all_axes: bool) -> tuple[str, ...]:
    """Return the line with the region: the starts of all axes, then the ends."""
    (start, end), whole = region_ends(step), 2 * all_axes
    ends = (*(0,) * whole, *start, *(1,) * whole, *end)
    return (f"roi = np.array([{', '.join(map(number, ends))}], np.float32)",)


# Since opset 20 the modes have names that fit any number of axes.
GRID_OPSET_WITH_NEW_NAMES = 20
GRID_MODES = {mode: mode for mode in MODES}
GRID_DEFAULTS = {"mode": ("linear", "bilinear"), "padding_mode": ("zeros",)}


def grid_sample(step: Step, *, opset_version: int = GRID_OPSET_WITH_NEW_NAMES) -> Code:
    """Return the GridSample node. opset_version: the version of the operators, which determines the names of modes."""
    given = step.parameters
    names = GRID_MODES if opset_version >= GRID_OPSET_WITH_NEW_NAMES else MODES
    attributes = {
        "mode": names[given["mode"]] if "mode" in given else None,
        "padding_mode": given.get("padding_mode"),
    }
    keywords = {
        name: None if value is None or value in GRID_DEFAULTS[name] else quoted(value)
        for name, value in attributes.items()
    }
    return call("GridSample", "x", "grid", **keywords, align_corners="1" if given.get("align_corners") else None)


def affine_grid(step: Step) -> Code:
    """Return the AffineGrid node, whose size is that of the images: (n, c, *grid_size)."""
    size = int_array_text((step.shape[0], 1, *step.parameters["grid_size"]))
    align = "1" if step.parameters.get("align_corners") else None
    return (f"size = {size}", f"x = {call('AffineGrid', 'x', 'size', align_corners=align)}")


def depth_to_space(step: Step) -> Code:
    """Return the DepthToSpace node, whose default mode is DCR."""
    if step.rank != PLANE_RANK:
        return NO_RANK
    order = step.parameters.get("order", BlockOrder.DCR)
    mode = None if order == BlockOrder.DCR else quoted(str(order).upper())
    return call("DepthToSpace", "x", blocksize=number(step.parameters["block"]), mode=mode)


def space_to_depth(step: Step) -> Code:
    """Return the SpaceToDepth node."""
    text = call("SpaceToDepth", "x", blocksize=number(step.parameters["block"]))
    return planes_in_order(step, BlockOrder.DCR, text)


def gathered_pad(step: Step) -> Code:
    """Return Gather nodes that index each axis, for modes that Pad does not have."""
    code = indexed_pad(step, lambda cells, axis: (f"cells = np.array({cells})", f"x = Gather(x, cells, axis={axis})"))
    # A program without a node is the identity; `x` alone would not be a node.
    return () if code == "x" else code


def fold(step: Step) -> Code:
    """Return the node, after a reshape to one axis for all windows. The padding is that of the output."""
    if step.parameters.get("order", BlockOrder.CRD) != BlockOrder.CRD:
        return Unsupported("Col2Im has the order crd")
    columns = (*step.shape[:2], math.prod(step.shape[2:]))
    node = call("Col2Im", "x", "image", "block", **_window_attributes(step))
    return (
        f"columns = {int_array_text(columns)}",
        f"image = {int_array_text(step.parameters['output_size'])}",
        f"block = {int_array_text(step.window)}",
        "x = Reshape(x, columns)",
        f"x = {node}",
    )


def crop(step: Step) -> Code:
    """Return the Slice node that crops by the negative pads."""
    axes = zip(step.padding, step.shape[2:], strict=True)
    return _slice_node(step, [(max(-before, 0), size - max(-after, 0), 1) for (before, after), size in axes])


def subsample(step: Step) -> Code:
    """Return the Slice node that takes every stride-th position."""
    return _slice_node(
        step, [(0, size, stride) for size, stride in zip(step.shape[2:], step.stride or (), strict=True)]
    )


def _slice_node(step: Step, bounds: Sequence[tuple[int, int, int]]) -> Code:
    # Slice takes its bounds as inputs since opset 10, so they are constants of the graph.
    names, columns = ("starts", "stops", "steps"), zip(*bounds, strict=True)
    lines = (f"{name} = {int_array_text(values)}" for name, values in zip(names, columns, strict=True))
    return (*lines, f"axes = {int_array_text(spatial_axes(step))}", "x = Slice(x, starts, stops, axes, steps)")


NODE_LOWERINGS: Mapping[str, Lowering] = {
    "max_pool": pooling_node,
    "avg_pool": avg_pool,
    "lp_pool": lp_pool,
    "max_pool_with_indices": indexed_max_pool,
    "max_unpool": max_unpool,
    "global_max_pool": lambda _step: "GlobalMaxPool(x)",
    "global_avg_pool": lambda _step: "GlobalAveragePool(x)",
    "conv": conv,
    "conv_transpose": conv_transpose,
    "deform_conv": deform_conv,
    "pad": pad,
    "resize": resize,
    "grid_sample": grid_sample,
    "affine_grid": affine_grid,
    "depth_to_space": depth_to_space,
    "space_to_depth": space_to_depth,
    "fold": fold,
    "lrn": normalization.lrn,
    "quantize": quantization.quantize,
    "dequantize": quantization.dequantize,
    "quantized_conv": partial(quantized_conv, Requantization.PRODUCT),
    "conv_integer": conv_integer,
    "relu": lambda _step: "Relu(x)",
}
BUILDING_BLOCKS: Mapping[str, Lowering] = {
    "negate": lambda _step: "Neg(x)",
    "scale": lambda _step: "Mul(x, scale)",
    "power": lambda step: (
        f"power = np.array({step.parameters['exponent']}, np.{step.dtype})",
        "x = Pow(x, power)",
    ),
    "crop": crop,
    "subsample": subsample,
}
