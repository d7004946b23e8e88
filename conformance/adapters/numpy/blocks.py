"""Depth to space, space to depth and their gradients as Python loops over the cells of the larger plane."""

from __future__ import annotations

from conformance.adapters.api import INDENT, Code, Step, tuple_of
from conformance.cases.operators import BlockOrder


def _loop_lines(step: Step, wide: str, statement: str) -> tuple[str, ...]:
    """Return a loop over the cells of the array with the larger planes.

    wide: its name. statement: copies between its cell, with channel `k`, and the index `deep` of the other array.
    """
    block, channels = step.parameters["block"], min(step.shape[1], step.channels)
    blocks = (block,) * step.rank
    channel = f"q * {channels} + k" if step.parameters["order"] == BlockOrder.DCR else f"k * {block**step.rank} + q"
    return (
        f"for n, k, *cell in np.ndindex({wide}.shape):",
        f"{INDENT}q = np.ravel_multi_index([p % {block} for p in cell], {tuple_of(blocks)})",
        f"{INDENT}deep = (n, {channel}, *(p // {block} for p in cell))",
        f"{INDENT}{statement}",
    )


def depth_to_space(step: Step) -> Code:
    """Return lines that copy each cell of the output from a channel of x."""
    loop = _loop_lines(step, "y", "y[(n, k, *cell)] = x[deep]")
    return (f"y = np.zeros({tuple_of(step.output)}, x.dtype)", *loop, "x = y")


def space_to_depth(step: Step) -> Code:
    """Return lines that copy each cell of x to a channel of the output."""
    loop = _loop_lines(step, "x", "y[deep] = x[(n, k, *cell)]")
    return (f"y = np.zeros({tuple_of(step.output)}, x.dtype)", *loop, "x = y")


def depth_to_space_gradient(step: Step) -> Code:
    """Return lines that copy the gradient of each cell to the channel that it was copied from."""
    return ("slope = np.zeros_like(x)", *_loop_lines(step, "grad", "slope[deep] = grad[(n, k, *cell)]"), "x = slope")


def space_to_depth_gradient(step: Step) -> Code:
    """Return lines that copy the gradient of each channel to the cell that it was copied from."""
    return ("slope = np.zeros_like(x)", *_loop_lines(step, "slope", "slope[(n, k, *cell)] = grad[deep]"), "x = slope")
