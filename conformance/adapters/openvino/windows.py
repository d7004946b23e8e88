"""OpenVINO: what is composed from the cells of every window, gathered by their numbers in the plane."""

from __future__ import annotations

import math

from conformance.adapters.api.source_text import number, tuple_of
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.openvino import padding
from conformance.cases.arrays import DTYPES
from conformance.cases.steps import Step, pad_step

VIEW = "np.lib.stride_tricks.sliding_window_view"


def _around(step: Step, operand: str, value: float) -> str:
    """Return the operand with pads of a value around it, where it needs any."""
    if not any(map(any, step.reach)):
        return operand
    padded = pad_step(step, step.reach, value)
    return str(padding.pad(padded)).replace("(x,", f"({operand},", 1)


def _cells(step: Step) -> tuple[str, ...]:
    """Return lines that end with `cells`, the numbers of each window's cells in the padded plane, one row a window."""
    walk = step.walk
    sizes = pad_step(step, step.reach, 0).output[2:]
    extents = [(window - 1) * holes + 1 for window, holes in zip(walk.window, walk.dilation, strict=True)]
    # A last window that starts in the padding may be left out.
    bounds = [f":{(count - 1) * stride + 1}:{stride}" for count, stride in zip(walk.output, walk.stride, strict=True)]
    chosen = ", ".join([*bounds, *(f"::{holes}" for holes in walk.dilation)])
    rows = tuple_of((math.prod(walk.output), math.prod(walk.window)))
    return (
        f"plane = np.arange({math.prod(sizes)}).reshape{tuple_of(sizes)}",
        f"cells = {VIEW}(plane, {tuple_of(extents)})[{chosen}].reshape{rows}",
    )


def _windows(step: Step, operand: str) -> str:
    """Return the windows of an array that needs no more padding: (n, c, windows, cells)."""
    return f"ops.gather(ops.reshape({operand}, {[*step.shape[:2], -1]}, False), cells, 2)"


def _gathered(step: Step, value: float) -> tuple[str, ...]:
    """Return lines that end with `windows`; the value is what padding holds."""
    return (*_cells(step), f"windows = {_windows(step, _around(step, 'x', value))}")


def _back(step: Step, text: str) -> str:
    return f"x = ops.reshape({text}, {[*step.output]}, False)"


def min_pool(step: Step) -> Code:
    """Return the least cell of each window of integers, whose least value has no negative."""
    kind = DTYPES[step.dtype].kind
    if kind in "fV":
        return Unsupported("OpenVINO has no minimum pooling")
    if step.dtype == "bool":
        return (*_gathered(step, 1), _back(step, "ops.reduce_logical_and(windows, 3)"))
    greatest = (1 << (DTYPES[step.dtype].itemsize * 8 - (kind == "i"))) - 1
    return (*_gathered(step, greatest), _back(step, "ops.reduce_min(windows, 3)"))


def lp_pool(step: Step) -> Code:
    """Return the norm of each window."""
    p = step.parameters["p"]
    if p in (1, 2):
        return (*_gathered(step, 0), _back(step, f"ops.reduce_l{p}(windows, 3)"))
    powers = f"ops.power(ops.abs(windows), {padding.value_of(step, p)})"
    root = f"ops.power(ops.reduce_sum({powers}, 3), {padding.value_of(step, 1 / p)})"
    return (*_gathered(step, 0), _back(step, root))


def softmax_pool(step: Step) -> Code:
    """Return the cells of each window weighted by their softmax; padding has no weight."""
    low, zero = (_around(step, "x", value) for value in (-math.inf, 0))
    return (
        *_cells(step),
        f"values = {_windows(step, zero)}",
        f"weights = ops.softmax({_windows(step, low) if low != zero else 'values'}, 3)",
        _back(step, "ops.reduce_sum(ops.multiply(values, weights), 3)"),
    )


def max_unpool(step: Step) -> Code:
    """Return zeros with the cells written at their numbers, plane by plane."""
    planes = [*step.shape[:2], -1]
    cells = tuple_of((*step.shape[:2], math.prod(step.parameters["output_size"])))
    flat = [f"ops.reshape({name}, {planes}, False)" for name in ("indices", "x")]
    return (
        f"zeros = {zeros_text(step, cells)}",
        _back(step, f"ops.scatter_elements_update(zeros, {', '.join(flat)}, 2)"),
    )


def zeros_text(step: Step, shape: str) -> str:
    """Return zeros of the step's dtype."""
    if step.dtype == "bfloat16":
        return f"ops.convert(np.zeros({shape}, np.float32), ov.Type.bf16)"
    return f"np.zeros({shape}, np.{step.dtype if step.dtype != 'bool' else 'bool_'})"


def probabilities(step: Step) -> Code:
    """Return each cell's share of its window; a sum of 0 divides as infinity, so that every share is 0."""
    return (
        *_gathered(step, 0),
        "total = ops.reduce_sum(windows, 3, True)",
        f"total = ops.select(ops.equal(total, {zero(step)}), {padding.value_of(step, math.inf)}, total)",
        _back(step, "ops.divide(windows, total)"),
    )


def zero(step: Step) -> str:
    """Return 0 in the step's dtype."""
    return str(padding.value_of(step, 1)).replace("(1", "(0")


def stochastic_pool(step: Step) -> Code:
    """Return the first cell at which the running sum exceeds the draw's share, nothing where none does."""
    draws = f"ops.reshape(draws, {[*step.shape[:2], -1, 1]}, False)"
    cells = number(math.prod(step.window))
    return (
        *_gathered(step, 0),
        f"share = ops.multiply({draws}, ops.reduce_sum(windows, 3, True))",
        "before = ops.less_equal(ops.cum_sum(windows, 3), share)",
        'first = ops.reduce_sum(ops.convert(before, "i32"), 3, True)',
        f"drawn = ops.equal(np.arange({cells}, dtype=np.int32), first)",
        _back(step, f"ops.reduce_sum(ops.select(drawn, windows, {zero(step)}), 3)"),
    )
