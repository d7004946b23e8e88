"""ONNX: what its operators can say, for whatever runs them; opset 26, https://onnx.ai/onnx/operators/.

Each verb writes nodes as calls, `MaxPool(x, kernel_shape=[2])`, which `onnx_graph` makes a model of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from conformance.adapters.api.source_text import (
    call,
    flat_pad_list,
    is_framework_same,
    number,
    padded_indices_text,
    quoted,
    text_unless_default,
)
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.cases.steps import PerAxisPairs, Step

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
    "relu": "Relu",
}
POOLING_OPERATORS = frozenset({"max_pool", "max_pool_with_indices", "avg_pool", "lp_pool"})
PADDING_MODES = frozenset({"constant", "edge", "reflect", "wrap"})
SQUARE_POWER = 2
Attributes = dict[str, str | None]


def ints_text(values: Sequence[int]) -> str:
    """Return a list of numbers as text, as attributes are written."""
    return str([int(value) for value in values])


def int_array_text(values: Sequence[int]) -> str:
    """Return an array of whole numbers as text, as inputs such as pads and axes are written."""
    return f"np.array({ints_text(values)})"


def spatial_axes(step: Step) -> tuple[int, ...]:
    """Return the numbers of the spatial axes."""
    return tuple(range(2, 2 + step.rank))


def flat_pads(pairs: PerAxisPairs) -> list[int]:
    """Return pairs as ONNX has them: all that come before, then all that come after."""
    return [before for before, _ in pairs] + [after for _, after in pairs]


def _window_attributes(step: Step) -> Attributes:
    """Return the attributes of a node that walks windows; a stride of 1 is the default of all of them."""
    padding = {"pads": ints_text(flat_pads(step.padding)) if not is_framework_same(step) and step.padded else None}
    return {
        "strides": ints_text(step.stride) if step.stride and set(step.stride) != {1} else None,
        **({"auto_pad": '"SAME_UPPER"'} if is_framework_same(step) else padding),
        "dilations": ints_text(step.dilation) if step.dilated else None,
    }


def pooling_node(step: Step, **attributes: str | None) -> str | Unsupported:
    """Return the node, or why there is none."""
    rounding = step.parameters.get("rounding", "floor")
    if rounding == "full":
        return Unsupported("ceil_mode drops a last window that would start in the padding")
    ceil = text_unless_default("floor", rounding, "1")
    return call(
        NODE_TYPES[step.operator],
        "x",
        kernel_shape=ints_text(step.window),
        **_window_attributes(step),
        ceil_mode=ceil,
        **attributes,
    )


def avg_pool(step: Step) -> Code:
    """Return the node, or why there is none."""
    if step.parameters.get("divisor") is not None:
        return Unsupported("AveragePool has no divisor")
    counted = step.parameters.get("count_include_pad") and not is_framework_same(step) and step.padded
    return pooling_node(step, count_include_pad="1" if counted else None)


def lp_pool(step: Step) -> Code:
    """Return the node, or why there is none."""
    p = step.parameters["p"]
    if p != int(p):
        return Unsupported("the p of LpPool is a whole number")
    return pooling_node(step, p=text_unless_default(SQUARE_POWER, int(p)))


def indexed_max_pool(step: Step) -> Code:
    """Return the values or the indices, which count through the whole tensor."""
    text = pooling_node(step)
    if isinstance(text, Unsupported) or step.parameters.get("output") != "indices":
        return text
    line = f"values, x = {text}"
    if math.prod(step.shape[:2]) == 1:
        return (line,)
    return Unsupported("indices count through the whole tensor", rejected_call=(line,))


def plane_indices(step: Step) -> Code:
    """Return the same with indices in their plane."""
    text = pooling_node(step)
    if isinstance(text, Unsupported) or step.parameters.get("output") != "indices":
        return text
    return (f"values, indices = {text}", f"plane = np.array({math.prod(step.shape[2:])})", "x = Mod(indices, plane)")


def padding_covers_window(step: Step) -> bool:
    """Whether the padding is as large as the window, holes not counted."""
    pairs = zip(step.padding, step.window, strict=False)
    return not is_framework_same(step) and any(max(pads) >= window for pads, window in pairs)


def max_unpool(step: Step) -> Code:
    """Return the node with the window and strides of a pooling that leads to such an output."""
    extents, sizes = step.shape[2:], step.parameters["output_size"]
    strides = [max(size // max(extent, 1), 1) for extent, size in zip(extents, sizes, strict=True)]
    pads = [max(extent - size, 0) for extent, size in zip(extents, sizes, strict=True)]  # less than the window
    axes = zip(extents, sizes, strides, pads, strict=True)
    attributes: Attributes = {
        "kernel_shape": ints_text([size - (extent - 1) * stride + 2 * ends for extent, size, stride, ends in axes]),
        "strides": ints_text(strides) if set(strides) != {1} else None,
        "pads": ints_text(pads * 2) if any(pads) else None,
    }
    planes = math.prod(step.shape[:2])
    if planes == 1:
        return call("MaxUnpool", "x", "indices", **attributes)
    shape = (*step.shape[:2], *(1,) * step.rank)
    first = f"first = np.arange({planes}).reshape{shape} * {math.prod(sizes)}"
    return (first, f"x = {call('MaxUnpool', 'x', 'Add(indices, first)', **attributes)}")


def conv(step: Step) -> Code:
    """Return the node; it takes the window from the kernel."""
    bias = "bias" if step.bias else None
    return call(
        "Conv", "x", "kernel", bias, **_window_attributes(step), group=text_unless_default(1, step.parameters["groups"])
    )


def conv_transpose(step: Step) -> Code:
    """Return the node, or why there is none."""
    bias, further = "bias" if step.bias else None, step.parameters["output_padding"]
    attributes = {
        "group": text_unless_default(1, step.parameters["groups"]),
        "output_padding": ints_text(further) if any(further) else None,
    }
    return call("ConvTranspose", "x", "kernel", bias, **_window_attributes(step), **attributes)


def pad(step: Step) -> Code:
    """Return the node, or why there is none; pads are an input, and stand for every axis."""
    mode, flat = step.parameters["mode"], flat_pad_list(step)
    if mode not in PADDING_MODES:
        return Unsupported(f"Pad has no mode {mode}")
    if flat:
        return (
            f"pads = {int_array_text(flat)}",
            f"axes = {int_array_text(spatial_axes(step))}",
            'x = Pad(x, pads, "", axes)',
        )
    value = step.parameters.get("value", 0) if mode == "constant" else 0
    filled = [f"value = np.array({number(value)}, x.dtype)"] if value else []
    text = call(
        "Pad", "x", "pads", "value" if filled else None, mode=text_unless_default("constant", mode, quoted(mode))
    )
    return (f"pads = {int_array_text(flat_pads(((0, 0), (0, 0), *step.padding)))}", *filled, f"x = {text}")


def indexed_pad(step: Step) -> Code:
    """Return the cells of each axis by their numbers, for what Pad has no mode for."""
    mode = step.parameters["mode"]
    if mode == "constant":
        return Unsupported("cells that are taken by their numbers hold no new value")
    lines: tuple[str, ...] = ()
    for axis, ((before, after), size) in enumerate(zip(step.padding, step.shape[2:], strict=True), 2):
        if before or after:
            cells = f"cells = np.array({padded_indices_text(mode, size, before, after)})"
            lines += (cells, f"x = Gather(x, cells, axis={axis})")
    return lines


def crop(step: Step) -> Code:
    """Return the slice that takes away what the negative pads say."""
    axes = zip(step.padding, step.shape[2:], strict=True)
    return _slice_node(step, [(max(-before, 0), size - max(-after, 0), 1) for (before, after), size in axes])


def subsample(step: Step) -> Code:
    """Return the slice that keeps every stride-th position."""
    return _slice_node(
        step, [(0, size, stride) for size, stride in zip(step.shape[2:], step.stride or (), strict=True)]
    )


def _slice_node(step: Step, bounds: Sequence[tuple[int, int, int]]) -> Code:
    names, kept = ("starts", "stops", "steps"), zip(*bounds, strict=True)
    lines = (f"{name} = {int_array_text(values)}" for name, values in zip(names, kept, strict=True))
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
    "pad": pad,
    "relu": lambda _step: "Relu(x)",
}
BUILDING_BLOCKS: Mapping[str, Lowering] = {
    "negate": lambda _step: "Neg(x)",
    "scale": lambda _step: "Mul(x, scale)",
    "crop": crop,
    "subsample": subsample,
}
