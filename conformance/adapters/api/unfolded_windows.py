"""Views of the cells of every window, for frameworks whose arrays have the method `unfold`."""

from __future__ import annotations

from conformance.adapters.api.source_text import tuple_of
from conformance.adapters.api.surface import Lowering, Unsupported
from conformance.cases.steps import Step


def window_lines(pad: Lowering, step: Step) -> tuple[str, ...] | Unsupported:
    """Return lines that assign `windows`, an array (n, c, *output, *window) with zeros for padding."""
    walk = step.windows
    extents = [(window - 1) * dilation + 1 for window, dilation in zip(walk.window, walk.dilation, strict=True)]
    padding = Step("pad", step.shape, step.dtype, {"pads": step.window_reach, "mode": "constant", "value": 0})
    reached = zip(padding.output[2:], extents, walk.stride, walk.output, strict=True)
    if any((size - extent) // stride + 1 != count for size, extent, stride, count in reached):
        return Unsupported("the last windows would start in the padding after the input")
    unfolded = zip(range(2, 2 + step.rank), extents, walk.stride, strict=True)
    text = "x" + "".join(f".unfold({axis}, {extent}, {stride})" for axis, extent, stride in unfolded)
    # A dilated window is unfolded with its extent; a slice then selects every dilation-th cell.
    dilated = ", ".join(f"::{dilation}" for dilation in walk.dilation)
    padded = pad(padding) if any(any(pair) for pair in step.window_reach) else None
    if isinstance(padded, Unsupported):
        return padded
    return (*([f"x = {padded}"] if padded else []), f"windows = {text}" + (f"[..., {dilated}]" if step.dilated else ""))


def cell_axes(step: Step, first: int | None = None) -> str:
    """Return the axes of the window cells in `windows`, or, with `first`, as many axes starting there."""
    start = -step.rank if first is None else first
    return tuple_of(range(start, start + step.rank))
