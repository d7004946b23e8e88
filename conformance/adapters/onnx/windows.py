"""ONNX: what is composed of several nodes, most of it from the cells of every window, gathered by their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api.source_text import call, number, pairs_of, tuple_of
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.adapters.onnx.nodes import (
    flat_pads,
    indexed_pad,
    int_array_text,
    ints_text,
    plane_indices,
    pooling_node,
    spatial_axes,
)
from conformance.cases.arrays import SHORT_FLOATS, highest_value, lowest_value
from conformance.cases.steps import Step

FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})
BYTE_INTEGERS = frozenset({"int8", "uint8"})
ONNX_TYPES: Mapping[str, str] = {
    **{f"{sign}int{bits}": f"{sign}INT{bits}".upper() for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{"float16": "FLOAT16", "bfloat16": "BFLOAT16", "float32": "FLOAT", "float64": "DOUBLE", "bool": "BOOL"},
}
# Types that hold every number of a narrower one, for maxima, reductions and sums.
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
    """Return the line that turns x into another type."""
    return f"x = Cast(x, to=TensorProto.{ONNX_TYPES[dtype]})"


def as_lines(answer: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return lines that end with x assigned."""
    return (f"x = {answer}",) if isinstance(answer, str) else answer


def in_wider_dtype(wider: Mapping[str, str], lowering: Lowering, step: Step) -> Code:
    """Return the lines of the verb, in the type that holds all numbers of x's where there is one to use, and back."""
    if step.dtype not in wider:
        return lowering(step)
    answer = lowering(replace(step, dtype=wider[step.dtype]))
    if isinstance(answer, Unsupported):
        return answer
    return (cast_line(wider[step.dtype]), *as_lines(answer), cast_line(step.dtype))


def in_float32(lowering: Lowering, step: Step) -> Code:
    """Return several nodes on 16-bit numbers in float32 and back: each would round its result, and errors add up."""
    return in_wider_dtype(dict.fromkeys(SHORT_FLOATS, "float32"), lowering, step)


def _padding_lines(step: Step, value: float, name: str = "x") -> tuple[str, ...]:
    """Return lines that surround x with the value, none where no window reaches past it."""
    pads = step.window_reach
    if not any(any(pair) for pair in pads):
        return ()
    dtype = "" if value == 0 else f"value = np.array({number(value)}, {_numpy_dtype(step.dtype)})"
    text = f"{name} = Pad(x, pads, value)" if dtype else f"{name} = Pad(x, pads)"
    return (f"pads = {int_array_text(flat_pads(((0, 0), (0, 0), *pads)))}", *filter(None, [dtype]), text)


def _numpy_dtype(dtype: str) -> str:
    return "ml_dtypes.bfloat16" if dtype == "bfloat16" else "np.bool_" if dtype == "bool" else f"np.{dtype}"


def _cell_index_lines(step: Step) -> tuple[str, ...]:
    """Return lines that end with `cells`: the numbers of the cells of every window in the padded plane."""
    walk = step.windows
    sizes = [size + before + after for size, (before, after) in zip(step.shape[2:], step.window_reach, strict=True)]
    extents = [(window - 1) * holes + 1 for window, holes in zip(walk.window, walk.dilation, strict=True)]
    # A last window that starts in the padding may be left out.
    stops = [(count - 1) * stride + 1 for count, stride in zip(walk.output, walk.stride, strict=True)]
    chosen = [f":{stop}:{stride}" for stop, stride in zip(stops, walk.stride, strict=True)]
    chosen += [f"::{holes}" for holes in walk.dilation] if step.dilated else []
    return (
        f"plane = np.arange({math.prod(sizes)}).reshape{tuple_of(sizes)}",
        f"cells = np.lib.stride_tricks.sliding_window_view(plane, {tuple_of(extents)})[{', '.join(chosen)}]",
        f"cells = cells.reshape{tuple_of((*walk.output, math.prod(walk.window)))}",
        f"rows = {int_array_text((*step.shape[:2], -1))}",
    )


def _window_text(name: str = "x") -> str:
    """Return the cells of the windows of a padded array: (n, c, *output, cells)."""
    return f"Gather(Reshape({name}, rows), cells, axis=2)"


def gather_window_lines(step: Step, value: float = 0) -> tuple[str, ...]:
    """Return lines that end with `windows`, (n, c, *output, cells); the value is what padding holds."""
    return (*_padding_lines(step, value), *_cell_index_lines(step), f"windows = {_window_text()}", LAST_AXIS_LINE)


def _extreme_pool(step: Step, reduce: str, padding: float) -> Code:
    """Return the largest or least cell of each window of integers, in a type that has the node."""
    wide = replace(step, dtype=EXTREME_DTYPES.get(step.dtype, step.dtype))
    return _reduce_in_wider_dtype(
        EXTREME_DTYPES, step, (*gather_window_lines(wide, padding), f"x = {reduce}(windows, last, keepdims=0)")
    )


def max_pool(limit: NodeLimit, step: Step) -> Code:
    """Return maxima of integers in a floating type that holds them all, or the largest cell of each window."""
    if step.dtype in FLOATING:
        return Unsupported("explicit padding comes first")
    if step.dtype in WIDER_DTYPES:
        answer = in_wider_dtype(WIDER_DTYPES, lambda wide: limit(wide) or pooling_node(wide), step)
        if not isinstance(answer, Unsupported):
            return answer
    return _extreme_pool(step, "ReduceMax", lowest_value(step.dtype))


def min_pool(step: Step) -> Code:
    """Return the least cell of each window of integers, whose least value has no negative."""
    if step.dtype in FLOATING:
        return Unsupported("the least cell is the largest of the negated ones")
    return _extreme_pool(step, "ReduceMin", highest_value(step.dtype))


def avg_pool(step: Step) -> Code:
    """Return sums over each window by their divisors; those of integers wrap, and are divided toward zero."""
    divisor, counts = step.parameters["divisor"], step.windows.counts(step.parameters["count_include_pad"])
    if divisor is None and not counts.all():
        return Unsupported("a window of padding only has no average")
    wide = replace(step, dtype=SUM_DTYPES.get(step.dtype, step.dtype))
    total = _reduce_in_wider_dtype(
        SUM_DTYPES, step, (*gather_window_lines(wide), "x = ReduceSum(windows, last, keepdims=0)")
    )
    if divisor is None and (counts != counts.flat[0]).any():
        made = _divisor_lines(step)
    else:
        made = (f"divisor = {_constant_text(divisor if divisor is not None else counts.flat[0], step.dtype)}",)
    return (*total, *made, "x = Div(x, divisor)")


def _divisor_lines(step: Step) -> tuple[str, ...]:
    """Return lines that end with `divisor`, how many cells of each window count: ones in the place of x, summed."""
    walk = step.windows
    counted = [(before, after) if step.parameters["count_include_pad"] else (0, 0) for before, after in walk.pads]
    sizes = [size + sum(pair) for size, pair in zip(step.shape[2:], counted, strict=True)]
    beyond = [
        (reach[0] - inner[0], reach[1] - inner[1]) for reach, inner in zip(step.window_reach, counted, strict=True)
    ]
    return (
        f"ones = np.pad(np.ones({tuple_of(sizes)}), {pairs_of(beyond)})",
        f"divisor = ones.reshape(-1)[cells].sum(-1).astype({_numpy_dtype(step.dtype)})",
    )


def _constant_text(value: float, dtype: str) -> str:
    return f"np.array({number(value)}, {_numpy_dtype(dtype)})"


def lp_pool(step: Step) -> Code:
    """Return the norm of each window."""
    p = step.parameters["p"]
    if p in NORM_NODES:
        return (*gather_window_lines(step), f"x = {NORM_NODES[p]}(windows, last, keepdims=0)")
    powers = f"power = np.array({number(p)}, {_numpy_dtype(step.dtype)})"
    root = f"root = np.array(1 / {number(p)}, {_numpy_dtype(step.dtype)})"
    return (
        *gather_window_lines(step),
        powers,
        root,
        "x = Pow(ReduceSum(Pow(Abs(windows), power), last, keepdims=0), root)",
    )


def softmax_pool(step: Step) -> Code:
    """Return the cells of each window weighted by their softmax; padding has no weight."""
    low, zero = _padding_lines(step, -math.inf, "low"), _padding_lines(step, 0, "x")
    shares = f"Softmax({_window_text('low')}, axis=-1)" if low else "Softmax(windows, axis=-1)"
    lines = (*low, *zero, *_cell_index_lines(step), f"windows = {_window_text()}", LAST_AXIS_LINE)
    return (*lines, f"x = ReduceSum(Mul(windows, {shares}), last, keepdims=0)")


def indexed_max_pool(limit: NodeLimit, step: Step) -> Code:
    """Return the largest cell of each window, or its number in the plane; cells of padding have the number -1."""
    if not step.windows.counts(False).all():
        return Unsupported("a window of padding only has no index")
    answer = limit(step) or plane_indices(step)
    if not isinstance(answer, Unsupported):
        return answer
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
    """Return zeros with the cells written at their numbers, plane by plane."""
    zeros = tuple_of((*step.shape[:2], math.prod(step.parameters["output_size"])))
    return (
        f"zeros = np.zeros({zeros}, x.dtype)",
        f"rows = {int_array_text((*step.shape[:2], -1))}",
        f"shape = {int_array_text(step.output)}",
        "x = Reshape(ScatterElements(zeros, Reshape(indices, rows), Reshape(x, rows), axis=2), shape)",
    )


def channel_maximum(step: Step) -> Code:
    """Return the largest cell of each channel."""
    return _channel_reduction(EXTREME_DTYPES, "ReduceMax", step)


def channel_average(step: Step) -> Code:
    """Return the sum of each channel by the number of its cells."""
    cells = _constant_text(math.prod(step.shape[2:]), step.dtype)
    return (*_channel_reduction(SUM_DTYPES, "ReduceSum", step), f"divisor = {cells}", "x = Div(x, divisor)")


def _channel_reduction(wider: Mapping[str, str], reduce: str, step: Step) -> tuple[str, ...]:
    return _reduce_in_wider_dtype(
        wider, step, (f"axes = {int_array_text(spatial_axes(step))}", f"x = {reduce}(x, axes)")
    )


def _reduce_in_wider_dtype(wider: Mapping[str, str], step: Step, lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return lines that reduce integers in a type that has the node, and come back."""
    return (cast_line(wider[step.dtype]), *lines, cast_line(step.dtype)) if step.dtype in wider else lines


def adaptive_pool(step: Step) -> Code:
    """Return pooling by bins that the extents can be divided into."""
    sizes = list(zip(step.shape[2:], step.parameters["output_size"], strict=True))
    if any(extent % bins for extent, bins in sizes):
        return Unsupported("bins of unequal extent have no node")
    window = ints_text([extent // bins for extent, bins in sizes])
    return call(ADAPTIVE_NODES[step.operator], "x", kernel_shape=window, strides=window)


def stochastic_pool_probabilities(step: Step) -> Code:
    """Return each cell's share of its window; a sum of 0 divides as infinity, so that every share is 0."""
    return (
        *gather_window_lines(step),
        "total = ReduceSum(windows, last)",
        f"zero = np.array(0, {_numpy_dtype(step.dtype)})",
        f"infinite = np.array(np.inf, {_numpy_dtype(step.dtype)})",
        f"shape = {int_array_text(step.output)}",
        "x = Reshape(Div(windows, Where(Equal(total, zero), infinite, total)), shape)",
    )


def stochastic_pool(step: Step) -> Code:
    """Return the first cell at which the running sum exceeds the draw's share, nothing where none does."""
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
"""Why a node is refused that can be written, None where it is not."""


def fallbacks(limit: NodeLimit) -> Mapping[str, Lowering]:
    """Return the compositions, for a runtime that refuses some nodes."""
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
    "pad": indexed_pad,
}
