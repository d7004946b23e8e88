"""Apache MXNet: what is composed from the cells of every window, taken by their numbers.

Slices would do, but MXNet takes a third of a millisecond for each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from conformance.adapter import Code, Unsupported
from conformance.adapters.mxnet_calls import FLOATING, spatial
from conformance.adapters.mxnet_padding import surrounded
from conformance.code import call, number, pairs_of, tuple_of
from conformance.steps import Step
from conformance.values import DTYPES

Pairs = tuple[tuple[int, int], ...]


def _ends(step: Step) -> Pairs:
    """Return how far the windows reach past each end."""
    walk = step.walk
    return tuple((before, after + over) for (before, after), over in zip(walk.pads, walk.overhang, strict=True))


def _windows(step: Step, operand: str) -> str:
    """Return the cells of every window of an array that needs no more padding: (n, c, *(output, window))."""
    walk = step.walk
    axes = zip(walk.output, walk.stride, walk.window, walk.dilation, strict=True)
    return operand + "".join(f".take({_numbers(*axis)}, axis={2 * place})" for place, axis in enumerate(axes, 1))


def _numbers(count: int, stride: int, window: int, dilation: int) -> str:
    """Return the numbers of the cells of an axis, a row for each window."""
    starts, cells = (
        f"np.arange({length})" + part + (f" * {factor}" if factor != 1 else "")
        for length, part, factor in ((count, "[:, None]", stride), (window, "", dilation))
    )
    return f"mnp.array({starts} + {cells})"


def _apart(step: Step, operand: str) -> str:
    """Return the windows laid out (n, c, *output, *window)."""
    order = (0, 1, *range(2, 2 + 2 * step.rank, 2), *range(3, 3 + 2 * step.rank, 2))
    swap = f".transpose({', '.join(map(str, order))})" if step.rank > 1 else ""
    return _windows(step, operand) + swap


def _flat(step: Step, operand: str, batch: tuple[int, int] | None = None) -> str:
    """Return the windows laid out (n, c, *output, cells)."""
    if step.rank == 1:
        return _windows(step, operand)
    return f"{_apart(step, operand)}.reshape{tuple_of((*(batch or step.shape[:2]), *step.walk.output, -1))}"


def _last(step: Step) -> int:
    """Return the number of the axis of cells; sums along it have no gradient if it is called -1."""
    return 2 + step.rank


def _cell_axes(step: Step) -> str:
    return tuple_of(range(3, 3 + 2 * step.rank, 2))


def max_pool(step: Step) -> Code:
    """Return the largest cell of each window; explicit padding comes first, and comes from elsewhere."""
    if step.padded or step.parameters["rounding"] != "floor":
        return Unsupported("cells that are taken by their numbers have no padding")
    return (f"windows = {_windows(step, 'x')}", f"x = windows.max({_cell_axes(step)})")


def min_pool(step: Step) -> Code:
    """Return the least cell of each window of integers, whose least value has no negative."""
    if step.dtype in FLOATING:
        return Unsupported("the least cell is the largest of the negated ones")
    greatest = 1 if step.dtype == "bool" else int(np.iinfo(DTYPES[step.dtype]).max)
    lines = _padded_first(step, greatest)
    return (*lines, f"windows = {_windows(step, 'x')}", f"x = windows.min({_cell_axes(step)})")


def _padded_first(step: Step, value: float) -> tuple[str, ...]:
    padded = surrounded(step, _ends(step), value)
    return (f"x = {padded}",) if padded != "x" else ()


def lp_pool(step: Step) -> Code:
    """Return the norm of each window."""
    p = step.parameters["p"]
    power = number(p)
    norm = {1: "{}", 2: "mnp.sqrt({})"}.get(p, "({}) ** (1 / " + power + ")")
    cells = "mnp.abs(windows)" + (f" ** {power}" if p != 1 else "")
    total = f"({cells}).sum({_cell_axes(step)})" if p != 1 else f"{cells}.sum({_cell_axes(step)})"
    return (*_padded_first(step, 0), f"windows = {_windows(step, 'x')}", f"x = {norm.format(total)}")


def softmax_pool(step: Step) -> Code:
    """Return the cells of each window weighted by their softmax; padding has no weight."""
    low, zero = (surrounded(step, _ends(step), value) for value in (-math.inf, 0))
    if low == "x":
        weighted = "x = (windows * npx.softmax(windows, axis=-1)).sum(-1)"
        return (f"windows = {_flat(step, 'x')}", weighted)
    return (
        f"weights, values = {low}, {zero}",
        f"weights = npx.softmax({_flat(step, 'weights')}, axis=-1)",
        f"x = ({_flat(step, 'values')} * weights).sum(-1)",
    )


def indexed_max_pool(step: Step) -> Code:
    """Return the largest cell of each window, or its number in the plane; cells of padding have the number -1."""
    values = (*_padded_first(step, -math.inf), f"windows = {_flat(step, 'x')}")
    if step.parameters.get("output", "values") == "values":
        return (*values, "x = windows.max(-1)")
    extents, pads = step.shape[2:], _ends(step)
    plane = call("mnp.arange", "1", number(math.prod(extents) + 1), dtype='"int64"')
    plane += f".reshape{tuple_of((1, 1, *extents))}"
    padded = f"mnp.pad({plane}, {pairs_of(((0, 0), (0, 0), *pads))})" if any(map(any, pads)) else plane
    return (
        *values,
        f"places = {padded} - 1",
        f"places = mnp.broadcast_to({_flat(step, 'places', (1, 1))}, windows.shape)",
        "x = npx.pick(places, windows.argmax(-1), axis=-1)",
    )


def probabilities(step: Step) -> Code:
    """Return each cell's share of its window; a sum of 0 divides as infinity, so that every share and gradient is 0."""
    axes = tuple_of(range(2 + step.rank, 2 + 2 * step.rank))
    return (
        *_padded_first(step, 0),
        f"windows = {_apart(step, 'x')}",
        f"total = windows.sum({axes}, keepdims=True)",
        "x = windows / mnp.where(total == 0, mnp.full_like(total, np.inf), total)",
    )


def stochastic_pool(step: Step) -> Code:
    """Return the first cell at which the running sum exceeds the draw's share, nothing where none does."""
    return (
        *_padded_first(step, 0),
        f"windows = {_flat(step, 'x')}",
        "share = mnp.expand_dims(draws, -1) * windows.sum(-1, keepdims=True)",
        f"drawn = mnp.cumsum(windows, axis={_last(step)}) > share",
        'first = drawn.astype("int32").argmax(-1)',
        "x = npx.pick(windows, first, axis=-1) * mnp.any(drawn, axis=-1)",
    )


def max_unpool(step: Step) -> Code:
    """Return zeros with the cells written at their numbers, plane by plane."""
    planes, cells = math.prod(step.shape[:2]), math.prod(step.shape[2:])
    shape = tuple_of((planes, math.prod(step.parameters["output_size"])))
    return (
        f'planes = mnp.arange({planes}, dtype="int64").repeat({cells})',
        "places = mnp.stack([planes, indices.reshape(-1)]).as_nd_ndarray()",
        f"x = mx.nd.scatter_nd(x.reshape(-1).as_nd_ndarray(), places, shape={shape}).as_np_ndarray()",
        f"x = x.reshape{tuple_of(step.output)}",
    )


def _bins(step: Step) -> list[Pairs]:
    """Return the bins of each axis: from ⌊i·n/m⌋ to ⌈(i + 1)·n/m⌉."""
    sizes = zip(step.shape[2:], step.parameters["output_size"], strict=True)
    return [tuple((i * cells // bins, -(-(i + 1) * cells // bins)) for i in range(bins)) for cells, bins in sizes]


def adaptive_max_pool(step: Step) -> Code:
    """Return the largest of each bin, one axis after the other."""
    return tuple(
        f"x = mnp.stack([x[{':, ' * axis}i:j].max({axis}) for i, j in {pairs_of(bins)}], axis={axis})"
        for axis, bins in enumerate(_bins(step), 2)
    )


def adaptive_avg_pool(step: Step) -> Code:
    """Return the average of each bin; of all axes at once, so that each sum is divided once."""
    names = [("i", "j"), ("k", "l"), ("m", "n"), ("o", "p")][: step.rank]
    bounds = ", ".join(f"{first}:{last}" for first, last in names)
    loops = " ".join(
        f"for {first}, {last} in {pairs_of(bins)}" for (first, last), bins in zip(names, _bins(step), strict=True)
    )
    means = f"[x[:, :, {bounds}].mean({tuple_of(spatial(step))}) {loops}]"
    return f"mnp.stack({means}, axis=2).reshape{tuple_of(step.output)}"


def planar_avg_pool(step: Step) -> Code:
    """Return the one adaptive pooling that MXNet has: it is for planes, and for arrays of the older kind."""
    # It adds float16 in float16, while a mean adds it in float32.
    if step.rank != 2 or step.dtype == "float16":  # noqa: PLR2004 - planes
        return adaptive_avg_pool(step)
    size: Any = tuple_of(step.parameters["output_size"])
    pooled = call("mx.nd.contrib.AdaptiveAvgPooling2D", "x.as_nd_ndarray()", output_size=size)
    return f"{pooled}.as_np_ndarray()"


def channel_maximum(step: Step) -> Code:
    """Return the largest cell of each channel, for dtypes that pooling does not take."""
    return f"x.max({tuple_of(spatial(step))}, keepdims=True)"
