"""Windows as a stack of shifted slices, one for each cell: what users write where a framework lacks a pooling.

`x[:, :, i:i + 5:2]` holds the i-th cell of every window; stacked, these are reduced over the new axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from conformance.adapters.api.source_text import slices
from conformance.adapters.api.surface import Code, Unsupported
from conformance.cases.steps import Step


@dataclass(frozen=True)
class StackedWindows:
    """How one framework writes it, `{}` standing for the operand.

    stack: the function that stacks a list on a new first axis; softmax, total, largest: over that axis;
    pad: the surface's explicit padding, an expression in `x`.
    """

    pad: Callable[[Step], Code]
    stack: str
    softmax: str
    sum: str = "({}).sum(0)"
    max: str = "{}.max(0)"
    channels_last: bool = False

    def max_pool(self, step: Step) -> Code:
        """Write windows with holes; explicit padding comes first, and comes from elsewhere."""
        if step.padded or step.parameters["rounding"] != "floor":
            return Unsupported("stacked windows have no padding of their own")
        return self.max.format(self.stacked_cells("x", step))

    def softmax_pool(self, step: Step) -> tuple[str, ...]:
        """Write the cells of each window weighted by their softmax.

        Padding takes no part: it is -inf for the weights and 0 for the values.
        """
        ends = step.window_reach
        if not any(any(pair) for pair in ends):
            weighted = f"windows * {self.softmax.format('windows')}"
            return (f"windows = {self.stacked_cells('x', step)}", f"x = {self.sum.format(weighted)}")
        padding = Step("pad", step.shape, step.dtype, {"mode": "constant", "pads": ends})
        low = self.pad(padding.with_parameters(value=-math.inf))
        zero = self.pad(padding.with_parameters(value=0))
        return (
            f"weights, values = {low}, {zero}",
            f"weights = {self.softmax.format(self.stacked_cells('weights', step))}",
            f"x = {self.sum.format(self.stacked_cells('values', step) + ' * weights')}",
        )

    def stacked_cells(self, name: str, step: Step) -> str:
        """Return the stack of all cells of the windows over an array that needs no more padding."""
        walk, letters = step.windows, "ijklmn"
        bounds = [
            f"{letter}:{letter} + {(count - 1) * stride + 1}:{stride}"
            for letter, count, stride in zip(letters, walk.output, walk.stride, strict=False)
        ]
        loops = [
            f"for {letter} in range(0, {window * dilation}, {dilation})"
            for letter, window, dilation in zip(letters, walk.window, walk.dilation, strict=False)
        ]
        return f"{self.stack}([{name}{slices(bounds, channels_last=self.channels_last)} {' '.join(loops)}])"
