"""Apache MXNet: what is composed from the cells of every window, taken by their numbers in the plane.

Slices would do, but MXNet takes a third of a millisecond for each. Its sums, choices and transposes have five or six
axes at most, so the windows of a plane are counted along one.
"""

from __future__ import annotations

import math

from conformance.adapters.api.source_text import bins_text, number, pairs_of, tuple_of
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.mxnet.calls import FLOATING, ArrayApi, spatial_axes
from conformance.adapters.mxnet.padding import NP_API, surround
from conformance.cases.arrays import highest_value
from conformance.cases.steps import Step, pad_step

SLIDING_WINDOW_VIEW = "np.lib.stride_tricks.sliding_window_view"


def explicit_padding(step: Step) -> Step:
    """Return the explicit padding with which a step needs none of its own."""
    return pad_step(step, step.window_reach, 0)


def _cell_index_lines(step: Step, api: ArrayApi) -> tuple[str, ...]:
    """Return lines that end with `cells`, the numbers of each window's cells in the padded plane, one row a window."""
    walk = step.windows
    sizes = [size + before + after for size, (before, after) in zip(step.shape[2:], step.window_reach, strict=True)]
    extents = [(window - 1) * holes + 1 for window, holes in zip(walk.window, walk.dilation, strict=True)]
    walked = zip(sizes, extents, walk.stride, walk.output, strict=True)
    # A last window that starts in the padding may be left out.
    ends = [
        (count - 1) * stride + 1 if size - extent >= count * stride else "" for size, extent, stride, count in walked
    ]
    bounds = [f":{end}:{stride}" for end, stride in zip(ends, walk.stride, strict=True)]
    chosen = ", ".join([*bounds, *(f"::{holes}" for holes in walk.dilation)])
    rows = tuple_of((math.prod(walk.output), math.prod(walk.window)))
    return (
        f"plane = np.arange({math.prod(sizes)}).reshape{tuple_of(sizes)}",
        f"cells = {SLIDING_WINDOW_VIEW}(plane, {tuple_of(extents)})[{chosen}]",
        f"cells = {api.arrays}.array(cells.reshape{rows})",
    )


def _window_cells(step: Step, operand: str, planes: tuple[int, ...] | None = None) -> str:
    """Return the windows of an array that needs no more padding: (n, c, windows, cells)."""
    return f"{operand}.reshape{tuple_of((*(planes or step.shape[:2]), -1))}.take(cells, axis=2)"


def _gather_window_lines(step: Step, api: ArrayApi, value: float | None = None) -> tuple[str, ...]:
    """Return lines that end with `windows`; the value is what padding holds."""
    around = "x" if value is None else surround(step, step.window_reach, value, api)
    first = around if isinstance(around, tuple) else (f"x = {around}",) if around != "x" else ()
    return (*first, *_cell_index_lines(step, api), f"windows = {_window_cells(step, 'x')}")


def _restore_layout(step: Step) -> str:
    return f".reshape{tuple_of(step.output)}"


def max_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the largest cell of each window; explicit padding comes first, and comes from elsewhere."""
    if step.padded or step.parameters["rounding"] != "floor":
        return Unsupported("cells that are taken by their numbers have no padding")
    return (*_gather_window_lines(step, api), f"x = windows.max(-1){_restore_layout(step)}")


def min_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the least cell of each window of integers, whose least value has no negative."""
    if step.dtype in FLOATING:
        return Unsupported("the least cell is the largest of the negated ones")
    return (*_gather_window_lines(step, api, highest_value(step.dtype)), f"x = windows.min(-1){_restore_layout(step)}")


def lp_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the norm of each window."""
    p = step.parameters["p"]
    size = f"{api.arrays}.abs(windows)"
    norms = {1: f"{size}.sum(-1)", 2: f"{api.arrays}.sqrt((windows ** 2).sum(-1))"}
    norm = norms.get(p, f"({size} ** {number(p)}).sum(-1) ** (1 / {number(p)})")
    return _in_float32(step, (*_gather_window_lines(step, api, 0), f"x = ({norm}){_restore_layout(step)}"))


def _in_float32(step: Step, lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines, in float32 where the numbers have 16 bits: each call would round."""
    if step.dtype != "float16":
        return lines
    return ('x = x.astype("float32")', *lines, 'x = x.astype("float16")')


def softmax_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the cells of each window weighted by their softmax; padding has no weight."""
    softmax = f"{api.operators}.softmax"
    low, zero = (surround(step, step.window_reach, value, api) for value in (-math.inf, 0))
    if low == "x":
        weighted = f"x = (windows * {softmax}(windows, axis=-1)).sum(-1){_restore_layout(step)}"
        return _in_float32(step, (*_gather_window_lines(step, api), weighted))
    lines = (
        f"weights, values = {low}, {zero}",
        *_cell_index_lines(step, api),
        f"weights = {softmax}({_window_cells(step, 'weights')}, axis=-1)",
        f"x = ({_window_cells(step, 'values')} * weights).sum(-1){_restore_layout(step)}",
    )
    return _in_float32(step, lines)


def indexed_max_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the largest cell of each window, or its number in the plane; cells of padding have the number -1."""
    values = _gather_window_lines(step, api, -math.inf)
    if step.parameters.get("output", "values") == "values":
        return (*values, f"x = windows.max(-1){_restore_layout(step)}")
    extents = step.shape[2:]
    places = f"np.arange(1, {math.prod(extents) + 1}).reshape{tuple_of((1, 1, *extents))}"
    if any(map(any, step.window_reach)):
        places = f"np.pad({places}, {pairs_of(((0, 0), (0, 0), *step.window_reach))})"
    return (
        *values,
        f'places = {api.arrays}.array({places} - 1, dtype="int64")',
        f"places = {api.arrays}.broadcast_to({_window_cells(step, 'places', (1, 1))}, windows.shape)",
        f"x = {api.operators}.pick(places, windows.argmax(-1), axis=-1){_restore_layout(step)}",
    )


def stochastic_pool_probabilities(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return each cell's share of its window; a sum of 0 divides as infinity, so that every share and gradient is 0."""
    return (
        *_gather_window_lines(step, api, 0),
        "total = windows.sum(-1, keepdims=True)",
        f"total = {api.arrays}.where(total == 0, {api.arrays}.full(total.shape, np.inf, dtype=total.dtype), total)",
        f"x = (windows / total){_restore_layout(step)}",
    )


def stochastic_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the first cell at which the running sum exceeds the draw's share, nothing where none does."""
    return (
        *_gather_window_lines(step, api, 0),
        f"share = draws.reshape{tuple_of((*step.shape[:2], -1, 1))} * windows.sum(-1, keepdims=True)",
        # With axis=-1 the call has no gradient.
        f"drawn = {api.arrays}.cumsum(windows, axis=3) > share",
        'first = drawn.astype("int32").argmax(-1)',
        f"x = ({api.operators}.pick(windows, first, axis=-1) * drawn.max(-1)){_restore_layout(step)}",
    )


def max_unpool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return zeros with the cells written at their numbers, plane by plane."""
    planes, cells = math.prod(step.shape[:2]), math.prod(step.shape[2:])
    shape = tuple_of((planes, math.prod(step.parameters["output_size"])))
    return (
        f'planes = {api.arrays}.arange({planes}, dtype="int64").repeat({cells})',
        f"places = {api.arrays}.stack({api.elementwise}[planes, indices.reshape(-1)]){api.to_framework}",
        f"x = mx.nd.scatter_nd(x.reshape(-1){api.to_framework}, places, shape={shape}){api.to_numpy}",
        f"x = x.reshape{tuple_of(step.output)}",
    )


def _bin_texts(step: Step) -> list[str]:
    """Return the bins of each axis as text."""
    return [bins_text(*axis) for axis in zip(step.shape[2:], step.parameters["output_size"], strict=True)]


def adaptive_max_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the largest of each bin, one axis after the other."""
    stack = f"{api.arrays}.stack({api.elementwise}"
    return tuple(
        f"x = {stack}[x[{':, ' * axis}i:j].max({axis}) for i, j in {bins}], axis={axis})"
        for axis, bins in enumerate(_bin_texts(step), 2)
    )


def adaptive_avg_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the average of each bin; of all axes at once, so that each sum is divided once."""
    names = [*zip("ikmoqs", "jlnprt", strict=True)][: step.rank]
    bounds = ", ".join(f"{first}:{last}" for first, last in names)
    loops = " ".join(
        f"for {first}, {last} in {bins}" for (first, last), bins in zip(names, _bin_texts(step), strict=True)
    )
    means = f"[x[:, :, {bounds}].mean({tuple_of(spatial_axes(step))}) {loops}]"
    return f"{api.arrays}.stack({api.elementwise}{means}, axis=2).reshape{tuple_of(step.output)}"


def adaptive_avg_pool_2d(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the one adaptive pooling that MXNet has: it is for planes, and for arrays of the older kind."""
    size = tuple_of(step.parameters["output_size"])
    text = f"mx.nd.contrib.AdaptiveAvgPooling2D(x{api.to_framework}, output_size={size}){api.to_numpy}"
    planes = step.rank == 2 and step.dtype in FLOATING  # noqa: PLR2004
    # Asked about anything else, it would refuse for that.
    return text if planes else Unsupported("adaptive average pooling is for planes of floating point numbers")


def exact_adaptive_avg_pool_2d(step: Step) -> Code:
    """Return the average of each bin, by the call for planes where it adds in float32, as a mean does."""
    planes = None if step.dtype == "float16" else adaptive_avg_pool_2d(step)
    return planes if isinstance(planes, str) else adaptive_avg_pool(step)


def channel_maximum(step: Step) -> Code:
    """Return the largest cell of each channel, for dtypes that pooling does not take."""
    return f"x.max({tuple_of(spatial_axes(step))}, keepdims=True)"
