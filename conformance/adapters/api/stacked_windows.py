"""Pooling written as a reduction over a stack of shifted slices, for frameworks that lack the pooling operator.

`x[:, :, i:i + 5:2]` contains the i-th cell of every window. The slices are stacked and reduced over the new axis.
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
    """Calls of one framework; `{}` is the operand.

    pad: writes the surface's explicit padding, as an expression in `x`.
    stack: name of the function that stacks a list on a new first axis.
    softmax, sum, max: reductions over this axis.
    """

    pad: Callable[[Step], Code]
    stack: str
    softmax: str
    sum: str = "({}).sum(0)"
    max: str = "{}.max(0)"
    channels_last: bool = False

    def max_pool(self, step: Step) -> Code:
        """Write max pooling, for example with dilation. The caller writes padding before it."""
        if step.padded or step.parameters["rounding"] != "floor":
            return Unsupported("stacked windows do not support padding, and round the output size down")
        return self.max.format(self.stacked_cells("x", step))

    def softmax_pool(self, step: Step) -> tuple[str, ...]:
        """Write the sum of each window's cells weighted by their softmax.

        Padding does not contribute: it is -inf for the weights and 0 for the values.
        """
        pads = step.window_reach
        if not any(any(pair) for pair in pads):
            weighted = f"windows * {self.softmax.format('windows')}"
            return (f"windows = {self.stacked_cells('x', step)}", f"x = {self.sum.format(weighted)}")
        padding = Step("pad", step.shape, step.dtype, {"mode": "constant", "pads": pads})
        low = self.pad(padding.with_parameters(value=-math.inf))
        zero = self.pad(padding.with_parameters(value=0))
        return (
            f"weights, values = {low}, {zero}",
            f"weights = {self.softmax.format(self.stacked_cells('weights', step))}",
            f"x = {self.sum.format(self.stacked_cells('values', step) + ' * weights')}",
        )

    def stacked_cells(self, name: str, step: Step) -> str:
        """Return the stack of all cells of the windows over an array that is padded already."""
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
