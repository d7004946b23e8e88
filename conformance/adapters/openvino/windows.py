"""OpenVINO: compositions that gather the elements of every window by their flat spatial index."""

from __future__ import annotations

import math

from conformance.adapters.api.source_text import number, tuple_of
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.openvino import padding
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.steps import Step, pad_step

SLIDING_WINDOW_VIEW = "np.lib.stride_tricks.sliding_window_view"


def _surround(step: Step, operand: str, value: float) -> str:
    """Return the operand, padded with the value if a window extends past it."""
    if not any(map(any, step.window_reach)):
        return operand
    padded = pad_step(step, step.window_reach, value)
    return str(padding.pad(padded)).replace("(x,", f"({operand},", 1)


def _cell_index_lines(step: Step) -> tuple[str, ...]:
    """Return lines that assign `cells`: flat indices into the padded spatial axes, one row per window."""
    walk = step.windows
    sizes = pad_step(step, step.window_reach, 0).output[2:]
    extents = [(window - 1) * dilation + 1 for window, dilation in zip(walk.window, walk.dilation, strict=True)]
    # The output size may exclude a last window that starts in the padding.
    bounds = [f":{(count - 1) * stride + 1}:{stride}" for count, stride in zip(walk.output, walk.stride, strict=True)]
    index = ", ".join([*bounds, *(f"::{dilation}" for dilation in walk.dilation)])
    rows = tuple_of((math.prod(walk.output), math.prod(walk.window)))
    return (
        f"plane = np.arange({math.prod(sizes)}).reshape{tuple_of(sizes)}",
        f"cells = {SLIDING_WINDOW_VIEW}(plane, {tuple_of(extents)})[{index}].reshape{rows}",
    )


def _window_cells(step: Step, operand: str) -> str:
    """Return the elements of each window of a padded array: (n, c, windows, elements)."""
    return f"ops.gather(ops.reshape({operand}, {[*step.shape[:2], -1]}, False), cells, 2)"


def _gather_window_lines(step: Step, value: float) -> tuple[str, ...]:
    """Return lines that assign `windows`; value: the padding value."""
    return (*_cell_index_lines(step), f"windows = {_window_cells(step, _surround(step, 'x', value))}")


def _restore_layout(step: Step, text: str) -> str:
    return f"x = ops.reshape({text}, {[*step.output]}, False)"


def min_pool(step: Step) -> Code:
    """Return the minimum of each window of integers; negation does not work for their least value."""
    kind = NUMPY_DTYPES[step.dtype].kind
    if kind in "fV":
        return Unsupported("OpenVINO has no minimum pooling")
    if step.dtype == "bool":
        return (*_gather_window_lines(step, 1), _restore_layout(step, "ops.reduce_logical_and(windows, 3)"))
    greatest = (1 << (NUMPY_DTYPES[step.dtype].itemsize * 8 - (kind == "i"))) - 1
    return (*_gather_window_lines(step, greatest), _restore_layout(step, "ops.reduce_min(windows, 3)"))


def lp_pool(step: Step) -> Code:
    """Return the norm of each window."""
    p = step.parameters["p"]
    if p in (1, 2):
        return (*_gather_window_lines(step, 0), _restore_layout(step, f"ops.reduce_l{p}(windows, 3)"))
    powers = f"ops.power(ops.abs(windows), {padding.pad_value_text(step, p)})"
    root = f"ops.power(ops.reduce_sum({powers}, 3), {padding.pad_value_text(step, 1 / p)})"
    return (*_gather_window_lines(step, 0), _restore_layout(step, root))


def softmax_pool(step: Step) -> Code:
    """Return the softmax-weighted sum of each window; padding has weight 0."""
    low, zero = (_surround(step, "x", value) for value in (-math.inf, 0))
    return (
        *_cell_index_lines(step),
        f"values = {_window_cells(step, zero)}",
        f"weights = ops.softmax({_window_cells(step, low) if low != zero else 'values'}, 3)",
        _restore_layout(step, "ops.reduce_sum(ops.multiply(values, weights), 3)"),
    )


def max_unpool(step: Step) -> Code:
    """Return zeros with each value written at its flat index, channel by channel."""
    planes = [*step.shape[:2], -1]
    cells = tuple_of((*step.shape[:2], math.prod(step.parameters["output_size"])))
    flat = [f"ops.reshape({name}, {planes}, False)" for name in ("indices", "x")]
    return (
        f"zeros = {zeros_text(step, cells)}",
        _restore_layout(step, f"ops.scatter_elements_update(zeros, {', '.join(flat)}, 2)"),
    )


def zeros_text(step: Step, shape: str) -> str:
    """Return the source text of zeros in the step's dtype."""
    if step.dtype == "bfloat16":
        return f"ops.convert(np.zeros({shape}, np.float32), ov.Type.bf16)"
    return f"np.zeros({shape}, np.{step.dtype if step.dtype != 'bool' else 'bool_'})"


def stochastic_pool_probabilities(step: Step) -> Code:
    """Return each element divided by the sum of its window; a sum of 0 is replaced by infinity, so quotients are 0."""
    return (
        *_gather_window_lines(step, 0),
        "total = ops.reduce_sum(windows, 3, True)",
        f"total = ops.select(ops.equal(total, {zero_text(step)}), {padding.pad_value_text(step, math.inf)}, total)",
        _restore_layout(step, "ops.divide(windows, total)"),
    )


def zero_text(step: Step) -> str:
    """Return the source text of 0 in the step's dtype."""
    return str(padding.pad_value_text(step, 1)).replace("(1", "(0")


def stochastic_pool(step: Step) -> Code:
    """Return the first element whose cumulative sum exceeds draw times window sum; 0 if there is none."""
    draws = f"ops.reshape(draws, {[*step.shape[:2], -1, 1]}, False)"
    cells = number(math.prod(step.window))
    return (
        *_gather_window_lines(step, 0),
        f"share = ops.multiply({draws}, ops.reduce_sum(windows, 3, True))",
        "before = ops.less_equal(ops.cum_sum(windows, 3), share)",
        'first = ops.reduce_sum(ops.convert(before, "i32"), 3, True)',
        f"drawn = ops.equal(np.arange({cells}, dtype=np.int32), first)",
        _restore_layout(step, f"ops.reduce_sum(ops.select(drawn, windows, {zero_text(step)}), 3)"),
    )
