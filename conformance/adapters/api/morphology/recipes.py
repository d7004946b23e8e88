"""Grey-scale dilation as array operations, written once for all frameworks: the cells of windows plus the kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from conformance.adapters.api.compositions import PoolingCompositions
from conformance.adapters.api.dtypes import is_floating, unsupported_lowering
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.adapters.api.window_cells import LOOP_VARIABLES, StackedCells
from conformance.cases.steps import Step

NO_INTEGER_PADDING = Unsupported("integers have no -inf, and their least value plus a weight can be the maximum")
NOT_WRITTEN: Mapping[str, Lowering] = {
    "dilation2d": unsupported_lowering("the adapter does not write grey-scale dilation yet")
}
"""Lowering of surfaces that are made from others, and for which the formula is not tested."""


@dataclass(frozen=True)
class DilationRecipe:
    """Dilation from the cells of all windows of a framework, padded with -inf.

    compositions: how the framework reads the cells. reduction: the name of its maximum.
    """

    compositions: PoolingCompositions
    reduction: str = "max"

    def __call__(self, step: Step) -> Code:
        """Return lines that add the kernel to the cells of each window, and reduce them."""
        if not is_floating(step) and step.padded:
            return NO_INTEGER_PADDING
        cells, operations = self.compositions.cells, self.compositions.operations
        *lines, last = self.compositions.window_lines(step, -math.inf, one_axis=True)
        if isinstance(cells, StackedCells):
            sums = cells.stack.format(list=cells.slice_list("x", step, f" + {self._weight(step)}"), axis="")
        else:
            lines, sums = [*lines, last], operations.add.format(x="windows", other=self._broadcast_kernel(step))
        reduced = operations.reduce(self.reduction, sums, cells.axes(step, one_axis=True))
        shape = cells.output_shape(step)
        return (*lines, f"x = {operations.reshaped(reduced, shape) if shape else reduced}")

    def _weight(self, step: Step) -> str:
        """Return the weights of one cell of the window, one for each channel, in the loop over the cells."""
        loops = zip(LOOP_VARIABLES, step.dilation, strict=False)
        index = ", ".join(letter if distance == 1 else f"{letter} // {distance}" for letter, distance in loops)
        if self.compositions.channels_last:
            return f"kernel[{index}, 0]"
        return f"kernel[:, 0, {index}{', None' * step.rank}]"

    def _broadcast_kernel(self, step: Step) -> str:
        """Return the kernel with an axis of extent 1 for each axis of the windows, and one for their cells."""
        windows = 1 if self.compositions.cells.output_shape(step) else step.rank
        shape = (step.kernel[0], *(1,) * windows, math.prod(step.window))
        return self.compositions.operations.reshaped("kernel", shape)
