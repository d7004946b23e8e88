"""LiteRT: pooling operators, which have two spatial axes."""

from __future__ import annotations

import math
from dataclasses import replace

from conformance.adapters.api import (
    Code,
    Lowering,
    Step,
    Unsupported,
    as_lines,
    bin_bounds,
    call,
    pairs_of,
    too_many_slices,
    tuple_of,
)
from conformance.adapters.litert.options import (
    NO_LARGE_NUMBERS,
    NO_STRIDE,
    PLANE_RANK,
    VOLUME_RANK,
    axis_options,
    beyond_int32,
    first_reason,
    integers,
    node,
    padding_option,
)
from conformance.adapters.litert.padding import pad
from conformance.cases.operators import Rounding
from conformance.cases.steps import pad_step, split_padding

NOT_A_PLANE = Unsupported("pooling has two spatial axes")
NO_DILATION = Unsupported("pooling has no dilation")
NO_ROUNDING_UP = Unsupported("VALID padding rounds the output size down")
SQUARE_POWER = 2
FILTER_NAMES = ("filterHeight", "filterWidth")


def _limit(step: Step) -> Unsupported | None:
    return first_reason(
        (step.rank != PLANE_RANK, NOT_A_PLANE),
        (step.dilated, NO_DILATION),
        (beyond_int32(step), NO_LARGE_NUMBERS),
    )


def _pool(name: str, step: Step) -> Code:
    """Return one pooling operator, or the reason why it is unsupported."""
    padding = _limit(step) or padding_option(step)
    if isinstance(padding, Unsupported):
        return padding
    if step.stride is None:
        return NO_STRIDE
    if step.parameters.get("rounding", Rounding.FLOOR) != Rounding.FLOOR and any(step.windows.overhang):
        return NO_ROUNDING_UP
    extents = {key: str(int(extent)) for key, extent in zip(FILTER_NAMES, step.window, strict=True)}
    options = call("schema.Pool2DOptionsT", padding=padding, **axis_options("stride", step.stride), **extents)
    return node(name, ["x"], options)


def max_pool(step: Step) -> Code:
    """Return MAX_POOL_2D."""
    return _pool("MAX_POOL_2D", step)


def avg_pool(step: Step) -> Code:
    """Return AVERAGE_POOL_2D, which divides by the number of cells of the input."""
    if step.parameters.get("divisor") is not None:
        return Unsupported("average pooling has no divisor")
    if step.parameters.get("count_include_pad") and step.padded:
        return Unsupported("SAME padding is not counted")
    if step.dtype == "float16" and any(
        stride > extent for stride, extent in zip(step.stride or (), step.window, strict=False)
    ):
        return Unsupported("XNNPACK has no averages whose stride is larger than the window")
    return _pool("AVERAGE_POOL_2D", step)


def volume_max_pool(step: Step) -> Code:
    """Return max pooling of three axes as two operators: over planes, then over the remaining axis."""
    return _by_planes(max_pool, step) if step.rank == VOLUME_RANK else max_pool(step)


def _volume_avg_pool(step: Step) -> Code:
    if step.rank != VOLUME_RANK:
        return avg_pool(step)
    # An average of averages of integers or of 16-bit numbers would be rounded twice.
    return _by_planes(avg_pool, step) if step.dtype == "float32" else NOT_A_PLANE


def _by_planes(pool: Lowering, step: Step) -> Code:
    """Return pooling without padding over the last two axes, then over the first one, with its planes as one axis."""
    if step.rank != VOLUME_RANK or step.padded or step.dilated or any(step.windows.overhang):
        return NOT_A_PLANE
    n, c, depth, *plane = step.shape
    window, stride = step.window, step.stride or ()
    first = _plane_step(step, (n * depth, c, *plane), window[1:], stride[1:])
    second = _plane_step(step, (n, c, depth, math.prod(first.output[2:])), (window[0], 1), (stride[0], 1))
    pools = [pool(part) for part in (first, second)]
    unsupported = next((code for code in pools if isinstance(code, Unsupported)), None)
    if unsupported:
        return unsupported
    shapes = [first.shape, second.shape, step.output]
    before, between, after = (f"x = {node('RESHAPE', ['x', integers([m, *sizes, k])])}" for m, k, *sizes in shapes)
    return (before, *as_lines(pools[0]), between, *as_lines(pools[1]), after)


def _plane_step(step: Step, shape: tuple[int, ...], window: tuple[int, ...], stride: tuple[int, ...]) -> Step:
    no_padding, ones = ((0, 0),) * PLANE_RANK, (1,) * PLANE_RANK
    changed = step.with_parameters(window=window, stride=stride, padding=no_padding, dilation=ones)
    return replace(changed, shape=shape)


def rescaled_avg_pool(step: Step) -> Code:
    """Return an average of windows padded with zeros, multiplied by the cells of a window per counted cell.

    Windows with equal counts need one factor only, for which there is a rewrite.
    """
    counts = step.windows.counts(step.parameters["count_include_pad"])
    if step.parameters["divisor"] is not None or not counts.size or (counts == counts.flat[0]).all() or step.dilated:
        return _volume_avg_pool(step)
    if step.dtype != "float32":
        return Unsupported("MUL rounds its result to 16 bits")
    walk = step.windows
    inner = [(before, after) if step.parameters["count_include_pad"] else (0, 0) for before, after in walk.pads]
    sizes = [size + sum(pair) for size, pair in zip(step.shape[2:], inner, strict=True)]
    reach = zip(step.padding_to_last_window, inner, strict=True)
    outer = [(whole[0] - pair[0], whole[1] - pair[1]) for whole, pair in reach]
    average = _volume_avg_pool(split_padding(step.with_parameters(count_include_pad=False), 0)[1])
    if isinstance(average, Unsupported):
        return average
    axes = tuple_of(range(-step.rank, 0))
    bounds = ", ".join(f"::{stride}" for stride in walk.stride)
    view = f"np.lib.stride_tricks.sliding_window_view(ones, {tuple_of(walk.window)})[{bounds}]"
    return (
        *as_lines(pad(pad_step(step, step.padding_to_last_window, 0))),
        *as_lines(average),
        f"ones = np.pad(np.ones({tuple_of(sizes)}), {pairs_of(outer)})",
        f"scale = {math.prod(walk.window)} / {view}.sum({axes})",
        f"x = {node('MUL', ['x', f'np.{step.dtype}(scale[None, ..., None])'], 'schema.MulOptionsT()')}",
    )


def lp_pool(step: Step) -> Code:
    """Return L2_POOL_2D times the root of the number of cells; it divides the sum of squares by this number."""
    if step.parameters["p"] != SQUARE_POWER:
        return Unsupported("L2_POOL_2D has p = 2")
    padding, unpadded = split_padding(step, 0)
    pool = _pool("L2_POOL_2D", unpadded)
    if isinstance(pool, Unsupported):
        return pool
    root = f"np.sqrt(np.{step.dtype}({math.prod(step.window)}))"
    return (
        *(line for part in padding for line in as_lines(pad(part))),
        f"x = {pool}",
        f"x = {node('MUL', ['x', root], 'schema.MulOptionsT()')}",
    )


def global_pool(step: Step) -> Code:
    """Return the reduction of all spatial axes."""
    name = "REDUCE_MAX" if step.operator == "global_max_pool" else "MEAN"
    axes = integers(range(1, 1 + step.rank))
    return node(name, ["x", axes], "schema.ReducerOptionsT(keepDims=True)")


def adaptive_pool(step: Step) -> Code:
    """Return adaptive pooling with one bin, or with bins of one size, as another operator."""
    kind = step.operator.replace("adaptive_", "")
    if step.has_one_bin:
        return global_pool(replace(step, operator=f"global_{kind}", parameters={}))
    sizes = list(zip(step.shape[2:], step.parameters["output_size"], strict=True))
    if any(not bins or extent % bins for extent, bins in sizes):
        return Unsupported("no operator has bins of unequal size")
    window = tuple(extent // bins for extent, bins in sizes)
    pooled = replace(step, operator=kind, parameters={"window": window, "stride": window})
    return max_pool(pooled) if kind == "max_pool" else avg_pool(pooled)


def adaptive_max_pool(step: Step) -> Code:
    """Return adaptive maxima as another operator, and as the maxima of slices for bins of unequal size."""
    found = adaptive_pool(step)
    return pool_of_slices(step) if isinstance(found, Unsupported) and not step.has_one_bin else found


def pool_of_slices(step: Step) -> Code:
    """Return adaptive pooling as reductions of slices, joined one axis after the other, for bins of any size."""
    if 0 in (*step.shape, *step.output):
        return Unsupported("no operator has empty bins")
    if reason := too_many_slices(step):
        return reason
    reduce = "REDUCE_MAX" if step.operator == "adaptive_max_pool" else "MEAN"
    lines: list[str] = []
    for axis, (extent, bins) in enumerate(zip(step.shape[2:], step.parameters["output_size"], strict=True), 1):
        options, reduced = "schema.ReducerOptionsT(keepDims=True)", integers([axis])
        if bins in (1, extent):
            lines += [f"x = {node(reduce, ['x', reduced], options)}"] if extent > bins else []
            continue
        begins, sizes = (["0"] * len(step.shape), ["-1"] * len(step.shape))
        begins[axis], sizes[axis] = "i", "j - i"
        part = node("SLICE", ["x", *(f"np.int32([{', '.join(values)}])" for values in (begins, sizes))])
        reduction = node(reduce, [part, reduced], options)
        joined = f"schema.ConcatenationOptionsT(axis={axis})"
        lines.append(
            f'x = graph.node("CONCATENATION", [{reduction} for i, j in {pairs_of(bin_bounds(extent, bins))}], {joined})'
        )
    return tuple(lines) or "x"
