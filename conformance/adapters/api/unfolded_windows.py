"""Views of the cells of every window, for array libraries whose arrays have `unfold`."""

from __future__ import annotations

from conformance.adapters.api.source_text import tuple_of
from conformance.adapters.api.surface import Lowering, Unsupported
from conformance.cases.steps import Step


def window_lines(pad: Lowering, step: Step) -> tuple[str, ...] | Unsupported:
    """Return lines that end with `windows`, the cells of every window, zeros for padding.

    It is laid out (n, c, *output, *window).
    """
    walk = step.windows
    extents = [(window - 1) * holes + 1 for window, holes in zip(walk.window, walk.dilation, strict=True)]
    padding = Step("pad", step.shape, step.dtype, {"pads": step.window_reach, "mode": "constant", "value": 0})
    reached = zip(padding.output[2:], extents, walk.stride, walk.output, strict=True)
    if any((size - extent) // stride + 1 != count for size, extent, stride, count in reached):
        return Unsupported("the last windows would start in the padding")
    unfolded = zip(range(2, 2 + step.rank), extents, walk.stride, strict=True)
    text = "x" + "".join(f".unfold({axis}, {extent}, {stride})" for axis, extent, stride in unfolded)
    holes = ", ".join(f"::{holes}" for holes in walk.dilation)
    padded = pad(padding) if any(any(pair) for pair in step.window_reach) else None
    if isinstance(padded, Unsupported):
        return padded
    return (*([f"x = {padded}"] if padded else []), f"windows = {text}" + (f"[..., {holes}]" if step.dilated else ""))


def cell_axes(step: Step, first: int | None = None) -> str:
    """Return the axes of the cells of a window, or of a plane where `first` is given."""
    start = -step.rank if first is None else first
    return tuple_of(range(start, start + step.rank))
