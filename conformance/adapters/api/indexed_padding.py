"""Padding written as indexing: each padded axis takes its cells by index."""

from __future__ import annotations

from conformance.adapters.api.source_text import padded_indices_text
from conformance.adapters.api.surface import Code, Unsupported
from conformance.cases.steps import Step


def indexed_pad(step: Step) -> Code:
    """Return what users write for want of a mode: the cells of each axis by their indices."""
    mode = step.parameters["mode"]
    if mode == "constant":
        return Unsupported("a constant stands in no cell")
    axes = list(zip(range(step.rank), step.padding, step.shape[2:], strict=True))
    if any(size + min(before, 0) + min(after, 0) < 1 for _, (before, after), size in axes):
        return Unsupported("an axis without cells has none to repeat")
    lines = tuple(
        f"x = x[:, :, {':, ' * axis}{padded_indices_text(mode, size, before, after)}]"
        for axis, (before, after), size in axes
        if before or after
    )
    return lines or "x"
