"""Padding written as indexing, for padding modes and sizes that a framework lacks."""

from __future__ import annotations

from conformance.adapters.api.source_text import padded_indices_text
from conformance.adapters.api.surface import Code, Unsupported
from conformance.cases.steps import Step


def indexed_pad(step: Step) -> Code:
    """Return lines that index each padded axis with the list of its source cells."""
    mode = step.parameters["mode"]
    if mode == "constant":
        return Unsupported("constant padding cannot be written as indexing: no cell has the value")
    axes = list(zip(range(step.rank), step.padding, step.shape[2:], strict=True))
    if any(size + min(before, 0) + min(after, 0) < 1 for _, (before, after), size in axes):
        return Unsupported("an axis without cells has no cell to repeat")
    lines = tuple(
        f"x = x[:, :, {':, ' * axis}{padded_indices_text(mode, size, before, after)}]"
        for axis, (before, after), size in axes
        if before or after
    )
    return lines or "x"
