"""ONNX: compositions of several nodes. Most gather the elements of every window by their flat index."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from conformance.adapters.api import (
    ArrayOperations,
    Code,
    GatheredCells,
    Lowering,
    PoolingCompositions,
    Unsupported,
    as_lines,
    bin_bounds,
    call,
    in_wider_dtype,
    is_floating,
    number,
    pairs_of,
    spatial_axes,
    too_many_axes,
    too_many_slices,
    tuple_of,
)
from conformance.adapters.onnx.nodes import (
    NODE_TYPES,
    begins_and_ends,
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
OPERATIONS = ArrayOperations(
    reduction="Reduce{name}({x}, {axes}{keep})",
    reduction_names={"sum": "Sum", "max": "Max", "min": "Min"},
    kept="",
    dropped=", keepdims=0",
    reshape="shape = np.array([{dims}])\nReshape({x}, shape)",
    softmax="Softmax({x}, axis=-1)",
    norm="""\
power = np.array({p}, np.{dtype})
root = np.array(1 / {p}, np.{dtype})
Pow(ReduceSum(Pow(Abs({x}), power), {axes}, keepdims=0), root)""",
    norms={p: f"ReduceL{p}({{x}}, {{axes}}, keepdims=0)" for p in (1, 2)},
    multiply="Mul({x}, {other})",
    # A sum of 0 is replaced by infinity, so that quotients are 0.
    share="""\
zero = np.array(0, np.{dtype})
infinite = np.array(np.inf, np.{dtype})
Div({x}, Where(Equal(total, zero), infinite, total))""",
    draws="Unsqueeze(draws, last)",
    drawn="""\
axis = np.array(-1)
drawn = Cast(Greater(CumSum(windows, axis), share), to=TensorProto.INT32)
cell = GatherND(windows, ArgMax(drawn, axis=-1), batch_dims={rank})
Mul(cell, CastLike(ReduceMax(drawn, last, keepdims=0), cell))""",
    pick="GatherND({x}, ArgMax(windows, axis=-1), batch_dims={rank})",
)
CELLS = GatheredCells(
    "Gather(Reshape({x}, rows), cells, axis=2)",
    axis="last",
    # Nodes read axes and shapes from arrays.
    more_lines=("rows = np.array([{planes}])", "last = np.array([-1])"),
)


def _cast(dtype: str) -> str:
    return f"Cast(x, to=TensorProto.{ONNX_TYPES[dtype]})"


# Every node rounds its result to 16 bits.
in_float32 = partial(in_wider_dtype, _cast, dict.fromkeys(SHORT_FLOATS, "float32"))


def _pad(step: Step) -> tuple[str, ...]:
    """Return lines that pad x with a constant. Its dtype is not that of the input, where x was cast."""
    value = step.parameters["value"]
    pads = f"pads = {int_array_text(begins_and_ends(((0, 0), (0, 0), *step.padding)))}"
    if value == 0:
        return (pads, "x = Pad(x, pads)")
    return (pads, f"value = {_constant_text(value, step.dtype)}", "x = Pad(x, pads, value)")


def _numpy_dtype(dtype: str) -> str:
    return "ml_dtypes.bfloat16" if dtype == "bfloat16" else "np.bool_" if dtype == "bool" else f"np.{dtype}"


COMPOSED = PoolingCompositions(OPERATIONS, CELLS, _pad)


def _extreme_pool(step: Step, reduction: str, padding: float) -> Code:
    """Return the maximum or minimum of each window of integers, in a type that has the node."""
    return in_wider_dtype(_cast, EXTREME_DTYPES, partial(COMPOSED.extreme_pool, reduction, padding), step)


def max_pool(limit: NodeLimit, step: Step) -> Code:
    """Return MaxPool of integers in a type that represents them exactly, or the maximum of gathered windows."""
    if step.dtype in FLOATING:
        return Unsupported("explicit padding comes first")
    if step.dtype in WIDER_DTYPES:
        code = in_wider_dtype(_cast, WIDER_DTYPES, lambda wide: limit(wide) or pooling_node(wide), step)
        if not isinstance(code, Unsupported):
            return code
    return _extreme_pool(step, "max", lowest_value(step.dtype))


def min_pool(step: Step) -> Code:
    """Return the minimum of each window of integers; negation does not work for their least value."""
    if step.dtype in FLOATING:
        return Unsupported("floating-point minimum pooling is negated maximum pooling")
    return _extreme_pool(step, "min", highest_value(step.dtype))


def avg_pool(step: Step) -> Code:
    """Return the sum of each window divided by its divisor; integer sums wrap and are divided toward zero."""
    divisor, counts = step.parameters["divisor"], step.windows.counts(step.parameters["count_include_pad"])
    if divisor is None and not counts.all():
        return Unsupported("a window that contains only padding has no average")
    total = as_lines(in_wider_dtype(_cast, SUM_DTYPES, COMPOSED.window_sum, step))
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
        (reach[0] - inner[0], reach[1] - inner[1])
        for reach, inner in zip(step.padding_to_last_window, counted, strict=True)
    ]
    return (
        f"ones = np.pad(np.ones({tuple_of(sizes)}), {pairs_of(uncounted)})",
        f"divisor = ones.reshape(-1)[cells].sum(-1).astype({_numpy_dtype(step.dtype)})",
    )


def _constant_text(value: float, dtype: str) -> str:
    return f"np.array({number(value)}, {_numpy_dtype(dtype)})"


def indexed_max_pool(limit: NodeLimit, step: Step) -> Code:
    """Return the maximum of each window or its flat spatial index; padding has index -1."""
    if not step.windows.counts(False).all():
        return Unsupported("a window that contains only padding has no index")
    native = limit(step) or plane_indices(step)
    if not isinstance(native, Unsupported):
        return native
    return COMPOSED.max_pool_with_indices(step)


def max_unpool(step: Step) -> Code:
    """Return zeros with each value written at its flat index, channel by channel."""
    zeros = tuple_of((*step.shape[:2], math.prod(step.parameters["output_size"])))
    return (
        f"zeros = np.zeros({zeros}, x.dtype)",
        f"rows = {int_array_text((*step.shape[:2], -1))}",
        f"shape = {int_array_text(step.output)}",
        "x = Reshape(ScatterElements(zeros, Reshape(indices, rows), Reshape(x, rows), axis=2), shape)",
    )


def stochastic_pool(step: Step) -> Code:
    """Return the drawn cell of each window."""
    # Mul takes operands of one type only, so draws is cast with x.
    draws = ("draws = Cast(draws, to=TensorProto.FLOAT)",) if step.dtype in SHORT_FLOATS else ()
    return (*draws, *as_lines(in_float32(COMPOSED.stochastic_pool, step)))


def channel_maximum(step: Step) -> Code:
    """Return the maximum of each channel."""
    return _channel_reduction(EXTREME_DTYPES, "ReduceMax", step)


def channel_average(step: Step) -> Code:
    """Return the sum of each channel divided by its number of elements."""
    count = _constant_text(math.prod(step.shape[2:]), step.dtype)
    return (*_channel_reduction(SUM_DTYPES, "ReduceSum", step), f"divisor = {count}", "x = Div(x, divisor)")


def _channel_reduction(wider: Mapping[str, str], reduce: str, step: Step) -> tuple[str, ...]:
    lines = (f"axes = {int_array_text(spatial_axes(step))}", f"x = {reduce}(x, axes)")
    return as_lines(in_wider_dtype(_cast, wider, lambda _step: lines, step))


def adaptive_pool(limit: NodeLimit, step: Step) -> Code:
    """Return adaptive pooling as global pooling if there is one bin, or as ordinary pooling if all bins are equal."""
    whole = replace(step, operator=step.operator.replace("adaptive", "global"), parameters={})
    if step.has_one_bin and not limit(whole):
        return f"{NODE_TYPES[whole.operator]}(x)"
    sizes = list(zip(step.shape[2:], step.parameters["output_size"], strict=True))
    if any(not bins or extent % bins for extent, bins in sizes):
        return Unsupported("no node has bins of unequal size")
    unsupported = too_many_axes(step)
    if unsupported:
        return unsupported
    window = ints_text([extent // bins for extent, bins in sizes])
    return call(ADAPTIVE_NODES[step.operator], "x", kernel_shape=window, strides=window)


def sliced_pool(limit: NodeLimit, step: Step) -> Code:
    """Return adaptive pooling; unequal bins are reductions of slices, joined one axis after the other."""
    found, is_maximum = adaptive_pool(limit, step), step.operator == "adaptive_max_pool"
    if not isinstance(found, Unsupported) or 0 in (*step.shape, *step.output) or not (is_maximum or is_floating(step)):
        return found
    if is_maximum:
        return too_many_slices(step) or in_wider_dtype(_cast, EXTREME_DTYPES, partial(_slices, "ReduceMax"), step)
    return too_many_slices(step) or in_float32(partial(_slices, "ReduceMean"), step)


def _slices(reduce: str, step: Step) -> tuple[str, ...]:
    lines: list[str] = []
    for axis, (extent, bins) in enumerate(zip(step.shape[2:], step.parameters["output_size"], strict=True), 2):
        if bins in (1, extent):
            lines += [f"axis = np.array([{axis}])", f"x = {reduce}(x, axis)"] if extent > bins else []
            continue
        lines.append(f"axis = np.array([{axis}])")
        for index, (start, stop) in enumerate(bin_bounds(extent, bins)):
            lines += [f"start = np.array([{start}])", f"stop = np.array([{stop}])"]
            lines.append(f"bin{index} = {reduce}(Slice(x, start, stop, axis), axis)")
        lines.append(f"x = Concat({', '.join(f'bin{index}' for index in range(bins))}, axis={axis})")
    return tuple(lines)


ADAPTIVE_NODES: Mapping[str, str] = {"adaptive_max_pool": "MaxPool", "adaptive_avg_pool": "AveragePool"}
NodeLimit = Callable[[Step], Unsupported | None]
"""Function that returns the reason not to use a node, None if the node can be used."""


def fallbacks(limit: NodeLimit) -> Mapping[str, Lowering]:
    """Return the compositions, for a runtime that cannot use some nodes."""
    indices = partial(indexed_max_pool, limit)
    adaptive = dict.fromkeys(("adaptive_max_pool", "adaptive_avg_pool"), partial(adaptive_pool, limit))
    return {**FALLBACKS, "max_pool": partial(max_pool, limit), "max_pool_with_indices": indices, **adaptive}


FALLBACKS: Mapping[str, Lowering] = {
    "min_pool": min_pool,
    "avg_pool": partial(in_float32, avg_pool),
    "lp_pool": partial(in_float32, COMPOSED.lp_pool),
    "softmax_pool": partial(in_float32, COMPOSED.softmax_pool),
    "max_unpool": max_unpool,
    "global_max_pool": channel_maximum,
    "global_avg_pool": partial(in_float32, channel_average),
    "stochastic_pool_probabilities": partial(in_float32, COMPOSED.stochastic_pool_probabilities),
    "stochastic_pool": stochastic_pool,
    "pad": gathered_pad,
}
