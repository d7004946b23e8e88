"""Padding written as indexing, for padding modes and sizes that a framework lacks."""

from __future__ import annotations

from collections.abc import Callable

from conformance.adapters.api.source_text import padded_indices_text
from conformance.adapters.api.surface import Code, Unsupported
from conformance.cases.operators import PadMode
from conformance.cases.steps import Step

IndexWriter = Callable[[str, int], tuple[str, ...]]
"""Writes the lines that index one axis of `x`, from the list of its source cells and the number of the axis."""


def _slice_lines(cells: str, axis: int) -> tuple[str, ...]:
    return (f"x = x[{':, ' * axis}{cells}]",)


def indexed_pad(step: Step, write_lines: IndexWriter = _slice_lines, *, first_axis: int = 2) -> Code:
    """Return lines that index each padded axis with the list of its source cells; "x" if nothing is padded.

    write_lines: the gather of the framework; by default, `x` is sliced like a NumPy array.
    first_axis: the number of the first spatial axis.
    """
    mode = step.parameters["mode"]
    if mode == PadMode.CONSTANT:
        return Unsupported("indexing cannot insert a constant")
    axes = list(zip(range(first_axis, first_axis + step.rank), step.padding, step.shape[2:], strict=True))
    if any(size + min(before, 0) + min(after, 0) < 1 for _, (before, after), size in axes):
        return Unsupported("an axis without cells has no cell to repeat")
    # One axis a line: lists for several axes in one index would be paired instead of combined.
    lines = tuple(
        line
        for axis, (before, after), size in axes
        if before or after
        for line in write_lines(padded_indices_text(mode, size, before, after), axis)
    )
    return lines or "x"
