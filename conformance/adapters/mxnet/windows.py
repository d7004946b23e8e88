"""Apache MXNet: compositions that gather the elements of every window by their flat spatial index.

Slicing would also work, but MXNet takes a third of a millisecond per slice. Its reductions, selections and transposes
support at most five or six axes, so the windows of a channel are laid out along one axis.
"""

from __future__ import annotations

import math

from conformance.adapters.api.call_arguments import spatial_axes
from conformance.adapters.api.source_text import bins_text, number, pairs_of, tuple_of
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.mxnet.calls import FLOATING, ArrayApi
from conformance.adapters.mxnet.padding import NP_API, surround
from conformance.cases.arrays import highest_value
from conformance.cases.steps import Step, pad_step

SLIDING_WINDOW_VIEW = "np.lib.stride_tricks.sliding_window_view"


def explicit_padding(step: Step) -> Step:
    """Return the explicit padding step that replaces the padding of a pooling step."""
    return pad_step(step, step.window_reach, 0)


def _cell_index_lines(step: Step, api: ArrayApi) -> tuple[str, ...]:
    """Return lines that assign `cells`: flat indices into the padded spatial axes, one row per window."""
    walk = step.windows
    sizes = [size + before + after for size, (before, after) in zip(step.shape[2:], step.window_reach, strict=True)]
    extents = [(window - 1) * dilation + 1 for window, dilation in zip(walk.window, walk.dilation, strict=True)]
    axes = zip(sizes, extents, walk.stride, walk.output, strict=True)
    # The output size may exclude a last window that starts in the padding.
    ends = [(count - 1) * stride + 1 if size - extent >= count * stride else "" for size, extent, stride, count in axes]
    bounds = [f":{end}:{stride}" for end, stride in zip(ends, walk.stride, strict=True)]
    index = ", ".join([*bounds, *(f"::{dilation}" for dilation in walk.dilation)])
    rows = tuple_of((math.prod(walk.output), math.prod(walk.window)))
    return (
        f"plane = np.arange({math.prod(sizes)}).reshape{tuple_of(sizes)}",
        f"cells = {SLIDING_WINDOW_VIEW}(plane, {tuple_of(extents)})[{index}]",
        f"cells = {api.arrays}.array(cells.reshape{rows})",
    )


def _window_cells(step: Step, operand: str, planes: tuple[int, ...] | None = None) -> str:
    """Return the elements of each window of a padded array: (n, c, windows, elements)."""
    return f"{operand}.reshape{tuple_of((*(planes or step.shape[:2]), -1))}.take(cells, axis=2)"


def _gather_window_lines(step: Step, api: ArrayApi, value: float | None = None) -> tuple[str, ...]:
    """Return lines that assign `windows`; value: padding value, None if the step has no padding."""
    padded = "x" if value is None else surround(step, step.window_reach, value, api)
    padding = padded if isinstance(padded, tuple) else (f"x = {padded}",) if padded != "x" else ()
    return (*padding, *_cell_index_lines(step, api), f"windows = {_window_cells(step, 'x')}")


def _restore_layout(step: Step) -> str:
    return f".reshape{tuple_of(step.output)}"


def max_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the maximum of each window of a step without padding; a rewrite adds explicit padding."""
    if step.padded or step.parameters["rounding"] != "floor":
        return Unsupported("gathering elements by index does not pad")
    return (*_gather_window_lines(step, api), f"x = windows.max(-1){_restore_layout(step)}")


def min_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the minimum of each window of integers; negation does not work for their least value."""
    if step.dtype in FLOATING:
        return Unsupported("floating-point minimum pooling is negated maximum pooling")
    return (*_gather_window_lines(step, api, highest_value(step.dtype)), f"x = windows.min(-1){_restore_layout(step)}")


def lp_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the norm of each window."""
    p = step.parameters["p"]
    magnitude = f"{api.arrays}.abs(windows)"
    norms = {1: f"{magnitude}.sum(-1)", 2: f"{api.arrays}.sqrt((windows ** 2).sum(-1))"}
    norm = norms.get(p, f"({magnitude} ** {number(p)}).sum(-1) ** (1 / {number(p)})")
    return _in_float32(step, (*_gather_window_lines(step, api, 0), f"x = ({norm}){_restore_layout(step)}"))


def _in_float32(step: Step, lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines; for float16, compute in float32, since every call rounds its result."""
    if step.dtype != "float16":
        return lines
    return ('x = x.astype("float32")', *lines, 'x = x.astype("float16")')


def softmax_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the softmax-weighted sum of each window; padding has weight 0."""
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
    """Return the maximum of each window or its flat spatial index; padding has index -1."""
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
    """Return each element divided by the sum of its window.

    A sum of 0 is replaced by infinity, so that all quotients and gradients are 0.
    """
    return (
        *_gather_window_lines(step, api, 0),
        "total = windows.sum(-1, keepdims=True)",
        f"total = {api.arrays}.where(total == 0, {api.arrays}.full(total.shape, np.inf, dtype=total.dtype), total)",
        f"x = (windows / total){_restore_layout(step)}",
    )


def stochastic_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the first element whose cumulative sum exceeds draw times window sum; 0 if there is none."""
    return (
        *_gather_window_lines(step, api, 0),
        f"share = draws.reshape{tuple_of((*step.shape[:2], -1, 1))} * windows.sum(-1, keepdims=True)",
        # cumsum has no gradient with axis=-1.
        f"drawn = {api.arrays}.cumsum(windows, axis=3) > share",
        'first = drawn.astype("int32").argmax(-1)',
        f"x = ({api.operators}.pick(windows, first, axis=-1) * drawn.max(-1)){_restore_layout(step)}",
    )


def max_unpool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return zeros with each value written at its flat index, channel by channel."""
    planes, cells = math.prod(step.shape[:2]), math.prod(step.shape[2:])
    shape = tuple_of((planes, math.prod(step.parameters["output_size"])))
    return (
        f'planes = {api.arrays}.arange({planes}, dtype="int64").repeat({cells})',
        f"places = {api.arrays}.stack({api.elementwise}[planes, indices.reshape(-1)]){api.to_framework}",
        f"x = mx.nd.scatter_nd(x.reshape(-1){api.to_framework}, places, shape={shape}){api.to_numpy}",
        f"x = x.reshape{tuple_of(step.output)}",
    )


def _bin_texts(step: Step) -> list[str]:
    """Return the bin boundaries of each axis as source text."""
    return [bins_text(*axis) for axis in zip(step.shape[2:], step.parameters["output_size"], strict=True)]


def adaptive_max_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the maximum of each bin, one axis after the other."""
    stack = f"{api.arrays}.stack({api.elementwise}"
    return tuple(
        f"x = {stack}[x[{':, ' * axis}i:j].max({axis}) for i, j in {bins}], axis={axis})"
        for axis, bins in enumerate(_bin_texts(step), 2)
    )


def adaptive_avg_pool(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the mean of each bin over all axes at once, so that each sum is divided once."""
    names = [*zip("ikmoqs", "jlnprt", strict=True)][: step.rank]
    bounds = ", ".join(f"{first}:{last}" for first, last in names)
    loops = " ".join(
        f"for {first}, {last} in {bins}" for (first, last), bins in zip(names, _bin_texts(step), strict=True)
    )
    means = f"[x[:, :, {bounds}].mean({tuple_of(spatial_axes(step))}) {loops}]"
    return f"{api.arrays}.stack({api.elementwise}{means}, axis=2).reshape{tuple_of(step.output)}"


def adaptive_avg_pool_2d(step: Step, api: ArrayApi = NP_API) -> Code:
    """Return the adaptive pooling call of MXNet, which takes 2-D data in mxnet.nd arrays only."""
    size = tuple_of(step.parameters["output_size"])
    text = f"mx.nd.contrib.AdaptiveAvgPooling2D(x{api.to_framework}, output_size={size}){api.to_numpy}"
    supported = step.rank == 2 and step.dtype in FLOATING  # noqa: PLR2004
    # No rejected call: other ranks and dtypes would fail for that reason.
    return text if supported else Unsupported("adaptive average pooling takes 2-D floating point data only")


def exact_adaptive_avg_pool_2d(step: Step) -> Code:
    """Return the mean of each bin; by the native call except for float16, which it does not add in float32."""
    native = None if step.dtype == "float16" else adaptive_avg_pool_2d(step)
    return native if isinstance(native, str) else adaptive_avg_pool(step)


def channel_maximum(step: Step) -> Code:
    """Return the maximum of each channel, for dtypes that pooling does not take."""
    return f"x.max({tuple_of(spatial_axes(step))}, keepdims=True)"
