"""Unfold, fold and their gradients as Python loops over the cells of the columns."""

from __future__ import annotations

from math import prod

from conformance.adapters.api import INDENT, Code, Step, tuple_of
from conformance.cases.operators import BlockOrder


def _loop_lines(step: Step, planes: int, columns: str, plane: str, statement: str) -> tuple[str, ...]:
    """Return a loop over the cells of the columns that are inside the plane.

    planes: the number of channels of the plane; columns, plane: the names of the arrays. statement: copies between the
    index `column` of the columns and the index `cell` of the plane.
    """
    window, cells = step.window, prod(step.window)
    parts = (
        f"q, i = k // {planes}, k % {planes}"
        if step.parameters["order"] == BlockOrder.DCR
        else f"i, q = k // {cells}, k % {cells}"
    )
    before = tuple_of([pair[0] for pair in step.windows.pads])
    axes = f"zip(position, offset, {tuple_of(step.windows.stride)}, {tuple_of(step.dilation)}, {before})"
    return (
        f"for n, k, *position in np.ndindex({columns}.shape):",
        f"{INDENT}{parts}",
        f"{INDENT}offset = np.unravel_index(q, {tuple_of(window)})",
        f"{INDENT}at = [p * s + o * d - b for p, o, s, d, b in {axes}]",
        f"{INDENT}if all(0 <= a < e for a, e in zip(at, {plane}.shape[2:])):",
        f"{INDENT * 2}column, cell = (n, k, *position), (n, i, *at)",
        f"{INDENT * 2}{statement}",
    )


def unfold(step: Step) -> Code:
    """Return lines that copy each cell of each window to its channel."""
    loop = _loop_lines(step, step.shape[1], "y", "x", "y[column] = x[cell]")
    return (f"y = np.zeros({tuple_of(step.output)}, x.dtype)", *loop, "x = y")


def fold(step: Step) -> Code:
    """Return lines that add each channel to a cell of its window."""
    loop = _loop_lines(step, step.channels, "x", "y", "y[cell] += x[column]")
    return (f"y = np.zeros({tuple_of(step.output)}, x.dtype)", *loop, "x = y")


def unfold_gradient(step: Step) -> Code:
    """Return lines that add the gradients of all copies of each cell."""
    loop = _loop_lines(step, step.shape[1], "grad", "slope", "slope[cell] += grad[column]")
    return ("slope = np.zeros_like(x)", *loop, "x = slope")


def fold_gradient(step: Step) -> Code:
    """Return lines that copy the gradient of each cell to the channels that were added to it."""
    loop = _loop_lines(step, step.channels, "slope", "grad", "slope[column] = grad[cell]")
    return ("slope = np.zeros_like(x)", *loop, "x = slope")
