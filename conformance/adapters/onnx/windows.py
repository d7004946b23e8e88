"""ONNX: compositions of several nodes. Most gather the elements of every window by their flat index."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api.call_arguments import spatial_axes
from conformance.adapters.api.source_text import call, number, pairs_of, tuple_of
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.adapters.onnx.nodes import (
    flat_pads,
    gathered_pad,
    int_array_text,
    ints_text,
    plane_indices,
    pooling_node,
)
from conformance.cases.arrays import SHORT_FLOATS, highest_value, lowest_value
from conformance.cases.steps import Step

FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})
BYTE_INTEGERS = frozenset({"int8", "uint8"})
ONNX_TYPES: Mapping[str, str] = {
    **{f"{sign}int{bits}": f"{sign}INT{bits}".upper() for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{"float16": "FLOAT16", "bfloat16": "BFLOAT16", "float32": "FLOAT", "float64": "DOUBLE", "bool": "BOOL"},
}
# For types without the node: a type that represents all their values exactly, for MaxPool, for ReduceMax and ReduceMin,
# and for sums.
WIDER_DTYPES: Mapping[str, str] = {
    "bool": "uint8",
    **dict.fromkeys(("int16", "uint16"), "float32"),
    **dict.fromkeys(("int32", "uint32"), "float64"),
}
EXTREME_DTYPES: Mapping[str, str] = {"int16": "int32", "uint16": "int32", "uint32": "int64"}
SUM_DTYPES: Mapping[str, str] = {**dict.fromkeys(("int8", "uint8", "int16", "uint16"), "int32"), "uint32": "int64"}
NORM_NODES: Mapping[float, str] = {1: "ReduceL1", 2: "ReduceL2"}
LAST_AXIS_LINE = "last = np.array([-1])"


def cast_line(dtype: str) -> str:
    """Return the line that casts x to another type."""
    return f"x = Cast(x, to=TensorProto.{ONNX_TYPES[dtype]})"


def as_lines(answer: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return an answer as lines that end with an assignment to x."""
    return (f"x = {answer}",) if isinstance(answer, str) else answer


def in_wider_dtype(wider: Mapping[str, str], lowering: Lowering, step: Step) -> Code:
    """Return the lines of a lowering, computed in a wider type where the table has one, and cast back."""
    if step.dtype not in wider:
        return lowering(step)
    answer = lowering(replace(step, dtype=wider[step.dtype]))
    if isinstance(answer, Unsupported):
        return answer
    return (cast_line(wider[step.dtype]), *as_lines(answer), cast_line(step.dtype))


def in_float32(lowering: Lowering, step: Step) -> Code:
    """Return the lines of a lowering; for 16-bit floats, compute in float32, since every node rounds its result."""
    return in_wider_dtype(dict.fromkeys(SHORT_FLOATS, "float32"), lowering, step)


def _padding_lines(step: Step, value: float, name: str = "x") -> tuple[str, ...]:
    """Return lines that pad x with the value; no lines if no window extends past x."""
    pads = step.window_reach
    if not any(any(pair) for pair in pads):
        return ()
    value_line = "" if value == 0 else f"value = np.array({number(value)}, {_numpy_dtype(step.dtype)})"
    text = f"{name} = Pad(x, pads, value)" if value_line else f"{name} = Pad(x, pads)"
    return (f"pads = {int_array_text(flat_pads(((0, 0), (0, 0), *pads)))}", *filter(None, [value_line]), text)


def _numpy_dtype(dtype: str) -> str:
    return "ml_dtypes.bfloat16" if dtype == "bfloat16" else "np.bool_" if dtype == "bool" else f"np.{dtype}"


def _cell_index_lines(step: Step) -> tuple[str, ...]:
    """Return lines that assign `cells`: flat indices of the elements of every window, into the padded spatial axes."""
    walk = step.windows
    sizes = [size + before + after for size, (before, after) in zip(step.shape[2:], step.window_reach, strict=True)]
    extents = [(window - 1) * dilation + 1 for window, dilation in zip(walk.window, walk.dilation, strict=True)]
    # The output size may exclude a last window that starts in the padding.
    stops = [(count - 1) * stride + 1 for count, stride in zip(walk.output, walk.stride, strict=True)]
    index = [f":{stop}:{stride}" for stop, stride in zip(stops, walk.stride, strict=True)]
    index += [f"::{dilation}" for dilation in walk.dilation] if step.dilated else []
    return (
        f"plane = np.arange({math.prod(sizes)}).reshape{tuple_of(sizes)}",
        f"cells = np.lib.stride_tricks.sliding_window_view(plane, {tuple_of(extents)})[{', '.join(index)}]",
        f"cells = cells.reshape{tuple_of((*walk.output, math.prod(walk.window)))}",
        f"rows = {int_array_text((*step.shape[:2], -1))}",
    )


def _window_text(name: str = "x") -> str:
    """Return the expression for the windows of a padded array: (n, c, *output, elements)."""
    return f"Gather(Reshape({name}, rows), cells, axis=2)"


def gather_window_lines(step: Step, value: float = 0) -> tuple[str, ...]:
    """Return lines that assign `windows`, (n, c, *output, elements); value: the padding value."""
    return (*_padding_lines(step, value), *_cell_index_lines(step), f"windows = {_window_text()}", LAST_AXIS_LINE)


def _extreme_pool(step: Step, reduce: str, padding: float) -> Code:
    """Return the maximum or minimum of each window of integers, in a type that has the node."""
    wide = replace(step, dtype=EXTREME_DTYPES.get(step.dtype, step.dtype))
    return _reduce_in_wider_dtype(
        EXTREME_DTYPES, step, (*gather_window_lines(wide, padding), f"x = {reduce}(windows, last, keepdims=0)")
    )


def max_pool(limit: NodeLimit, step: Step) -> Code:
    """Return MaxPool of integers in a type that represents them exactly, or the maximum of gathered windows."""
    if step.dtype in FLOATING:
        return Unsupported("explicit padding comes first")
    if step.dtype in WIDER_DTYPES:
        code = in_wider_dtype(WIDER_DTYPES, lambda wide: limit(wide) or pooling_node(wide), step)
        if not isinstance(code, Unsupported):
            return code
    return _extreme_pool(step, "ReduceMax", lowest_value(step.dtype))


def min_pool(step: Step) -> Code:
    """Return the minimum of each window of integers; negation does not work for their least value."""
    if step.dtype in FLOATING:
        return Unsupported("floating-point minimum pooling is negated maximum pooling")
    return _extreme_pool(step, "ReduceMin", highest_value(step.dtype))


def avg_pool(step: Step) -> Code:
    """Return the sum of each window divided by its divisor; integer sums wrap and are divided toward zero."""
    divisor, counts = step.parameters["divisor"], step.windows.counts(step.parameters["count_include_pad"])
    if divisor is None and not counts.all():
        return Unsupported("a window that contains only padding has no average")
    wide = replace(step, dtype=SUM_DTYPES.get(step.dtype, step.dtype))
    total = _reduce_in_wider_dtype(
        SUM_DTYPES, step, (*gather_window_lines(wide), "x = ReduceSum(windows, last, keepdims=0)")
    )
    if divisor is None and (counts != counts.flat[0]).any():
        divisor_lines = _divisor_lines(step)
    else:
        divisor_lines = (f"divisor = {_constant_text(divisor if divisor is not None else counts.flat[0], step.dtype)}",)
    return (*total, *divisor_lines, "x = Div(x, divisor)")


def _divisor_lines(step: Step) -> tuple[str, ...]:
    """Return lines that assign `divisor`, the number of counted elements of each window, as sums over ones."""
    walk = step.windows
    counted = [(before, after) if step.parameters["count_include_pad"] else (0, 0) for before, after in walk.pads]
    sizes = [size + sum(pair) for size, pair in zip(step.shape[2:], counted, strict=True)]
    uncounted = [
        (reach[0] - inner[0], reach[1] - inner[1]) for reach, inner in zip(step.window_reach, counted, strict=True)
    ]
    return (
        f"ones = np.pad(np.ones({tuple_of(sizes)}), {pairs_of(uncounted)})",
        f"divisor = ones.reshape(-1)[cells].sum(-1).astype({_numpy_dtype(step.dtype)})",
    )


def _constant_text(value: float, dtype: str) -> str:
    return f"np.array({number(value)}, {_numpy_dtype(dtype)})"


def lp_pool(step: Step) -> Code:
    """Return the norm of each window."""
    p = step.parameters["p"]
    if p in NORM_NODES:
        return (*gather_window_lines(step), f"x = {NORM_NODES[p]}(windows, last, keepdims=0)")
    power = f"power = np.array({number(p)}, {_numpy_dtype(step.dtype)})"
    root = f"root = np.array(1 / {number(p)}, {_numpy_dtype(step.dtype)})"
    return (
        *gather_window_lines(step),
        power,
        root,
        "x = Pow(ReduceSum(Pow(Abs(windows), power), last, keepdims=0), root)",
    )


def softmax_pool(step: Step) -> Code:
    """Return the softmax-weighted sum of each window; padding has weight 0."""
    low, zero = _padding_lines(step, -math.inf, "low"), _padding_lines(step, 0, "x")
    shares = f"Softmax({_window_text('low')}, axis=-1)" if low else "Softmax(windows, axis=-1)"
    lines = (*low, *zero, *_cell_index_lines(step), f"windows = {_window_text()}", LAST_AXIS_LINE)
    return (*lines, f"x = ReduceSum(Mul(windows, {shares}), last, keepdims=0)")


def indexed_max_pool(limit: NodeLimit, step: Step) -> Code:
    """Return the maximum of each window or its flat spatial index; padding has index -1."""
    if not step.windows.counts(False).all():
        return Unsupported("a window that contains only padding has no index")
    native = limit(step) or plane_indices(step)
    if not isinstance(native, Unsupported):
        return native
    values = gather_window_lines(step, lowest_value(step.dtype))
    if step.parameters.get("output", "values") == "values":
        return (*values, "x = ReduceMax(windows, last, keepdims=0)")
    extents, pads = step.shape[2:], step.window_reach
    shape = tuple_of((*step.shape[:2], *step.windows.output, math.prod(step.window)))
    plane = f"np.arange({math.prod(extents)}).reshape{tuple_of(extents)}"
    return (
        *values,
        f"places = np.pad({plane}, {pairs_of(pads)}, constant_values=-1)"
        if any(map(any, pads))
        else f"places = {plane}",
        f"places = np.broadcast_to(places.reshape(-1)[cells], {shape})",
        f"x = GatherND(places, ArgMax(windows, axis=-1), batch_dims={2 + step.rank})",
    )


def max_unpool(step: Step) -> Code:
    """Return zeros with each value written at its flat index, channel by channel."""
    zeros = tuple_of((*step.shape[:2], math.prod(step.parameters["output_size"])))
    return (
        f"zeros = np.zeros({zeros}, x.dtype)",
        f"rows = {int_array_text((*step.shape[:2], -1))}",
        f"shape = {int_array_text(step.output)}",
        "x = Reshape(ScatterElements(zeros, Reshape(indices, rows), Reshape(x, rows), axis=2), shape)",
    )


def channel_maximum(step: Step) -> Code:
    """Return the maximum of each channel."""
    return _channel_reduction(EXTREME_DTYPES, "ReduceMax", step)


def channel_average(step: Step) -> Code:
    """Return the sum of each channel divided by its number of elements."""
    count = _constant_text(math.prod(step.shape[2:]), step.dtype)
    return (*_channel_reduction(SUM_DTYPES, "ReduceSum", step), f"divisor = {count}", "x = Div(x, divisor)")


def _channel_reduction(wider: Mapping[str, str], reduce: str, step: Step) -> tuple[str, ...]:
    return _reduce_in_wider_dtype(
        wider, step, (f"axes = {int_array_text(spatial_axes(step))}", f"x = {reduce}(x, axes)")
    )


def _reduce_in_wider_dtype(wider: Mapping[str, str], step: Step, lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines; where the table has a wider type, cast to it first and cast the result back."""
    return (cast_line(wider[step.dtype]), *lines, cast_line(step.dtype)) if step.dtype in wider else lines


def adaptive_pool(step: Step) -> Code:
    """Return adaptive pooling as ordinary pooling, which works if the bins have equal size."""
    sizes = list(zip(step.shape[2:], step.parameters["output_size"], strict=True))
    if any(extent % bins for extent, bins in sizes):
        return Unsupported("no node has bins of unequal size")
    window = ints_text([extent // bins for extent, bins in sizes])
    return call(ADAPTIVE_NODES[step.operator], "x", kernel_shape=window, strides=window)


def stochastic_pool_probabilities(step: Step) -> Code:
    """Return each element divided by the sum of its window; a sum of 0 is replaced by infinity, so quotients are 0."""
    return (
        *gather_window_lines(step),
        "total = ReduceSum(windows, last)",
        f"zero = np.array(0, {_numpy_dtype(step.dtype)})",
        f"infinite = np.array(np.inf, {_numpy_dtype(step.dtype)})",
        f"shape = {int_array_text(step.output)}",
        "x = Reshape(Div(windows, Where(Equal(total, zero), infinite, total)), shape)",
    )


def stochastic_pool(step: Step) -> Code:
    """Return the first element whose cumulative sum exceeds draw times window sum; 0 if there is none."""
    return (
        *gather_window_lines(step),
        "share = Mul(Unsqueeze(draws, last), ReduceSum(windows, last))",
        "axis = np.array(-1)",
        "drawn = Cast(Greater(CumSum(windows, axis), share), to=TensorProto.INT32)",
        f"cell = GatherND(windows, ArgMax(drawn, axis=-1), batch_dims={2 + step.rank})",
        "x = Mul(cell, CastLike(ReduceMax(drawn, last, keepdims=0), cell))",
    )


ADAPTIVE_NODES: Mapping[str, str] = {"adaptive_max_pool": "MaxPool", "adaptive_avg_pool": "AveragePool"}
NodeLimit = Callable[[Step], Unsupported | None]
"""Function that returns the reason not to use a node, None if the node can be used."""


def fallbacks(limit: NodeLimit) -> Mapping[str, Lowering]:
    """Return the compositions, for a runtime that cannot use some nodes."""
    indices = partial(indexed_max_pool, limit)
    return {**FALLBACKS, "max_pool": partial(max_pool, limit), "max_pool_with_indices": indices}


FALLBACKS: Mapping[str, Lowering] = {
    "min_pool": min_pool,
    "avg_pool": partial(in_float32, avg_pool),
    "lp_pool": partial(in_float32, lp_pool),
    "softmax_pool": partial(in_float32, softmax_pool),
    "max_unpool": max_unpool,
    "global_max_pool": channel_maximum,
    "global_avg_pool": partial(in_float32, channel_average),
    "adaptive_max_pool": adaptive_pool,
    "adaptive_avg_pool": adaptive_pool,
    "stochastic_pool_probabilities": partial(in_float32, stochastic_pool_probabilities),
    "stochastic_pool": partial(in_float32, stochastic_pool),
    "pad": gathered_pad,
}
