"""Unfold and fold: the shape of flat columns, and recipes that reorder the cells of windows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from conformance.adapters.api.blocks.recipes import BlockRecipe
from conformance.adapters.api.compositions import PoolingCompositions
from conformance.adapters.api.source_text import tuple_of
from conformance.adapters.api.surface import Code
from conformance.adapters.api.window_cells import StackedCells
from conformance.cases.operators import BlockOrder
from conformance.cases.steps import Step

PLANE_RANK = 2


def column_shape(step: Step) -> tuple[int, ...] | None:
    """Return the shape of the output of unfold, with stride 1 by default; None if the parameters are invalid."""
    stride = step.stride or (1,) * step.rank
    try:
        return step.with_parameters(stride=stride).output
    except (TypeError, ValueError):
        return None


def with_window_axes(step: Step, text: str, reshape: str = "x.reshape({})") -> str | tuple[str, ...]:
    """Return a call whose columns have one axis for all windows, and its result with an axis for each spatial axis.

    A call that must be rejected has no shape.
    """
    shape = column_shape(step)
    if shape is None:
        return text
    return (f"x = {text}", f"x = {reshape.format(', '.join(map(str, shape)))}")


def with_one_window_axis(step: Step, text: str, reshape: str = "x.reshape({})") -> tuple[str, ...]:
    """Return the columns with one axis for all windows, and a call of fold that takes them."""
    shape = (*step.shape[:2], math.prod(step.shape[2:]))
    return (f"x = {reshape.format(', '.join(map(str, shape)))}", f"x = {text}")


@dataclass(frozen=True)
class UnfoldRecipe:
    """Unfold from the cells of all windows of a framework, whose axes are transposed and joined.

    compositions: how the framework reads the cells; transposition: its calls that reshape and transpose.
    """

    compositions: PoolingCompositions
    transposition: BlockRecipe

    def __call__(self, step: Step) -> Code:
        """Return lines that copy the cells of each window, and move them to the channels."""
        lines = self.compositions.window_lines(step, one_axis=True)
        spatial = (
            ["windows"] if self.compositions.cells.output_shape(step) else [f"o{axis}" for axis in range(step.rank)]
        )
        last = self.compositions.channels_last
        image = ["n", *spatial, "c"] if last else ["n", "c", *spatial]
        is_first = isinstance(self.compositions.cells, StackedCells)
        parts = ["cells", *image] if is_first else [*image, "cells"]
        channels = ["cells", "c"] if step.parameters["order"] == BlockOrder.DCR else ["c", "cells"]
        ordered = ["n", *spatial, *channels] if last else ["n", *channels, *spatial]
        batch, count, *extents = step.output
        shape = (batch, *extents, count) if last else (batch, count, *extents)
        moved = [] if parts == ordered else [self._line("transpose", [parts.index(part) for part in ordered])]
        return (*lines[:-1], lines[-1].replace("windows = ", "x = ", 1), *moved, self._line("reshape", list(shape)))

    def _line(self, name: str, numbers: list[int]) -> str:
        template: str = getattr(self.transposition, name)
        return f"x = {template.format(tuple_of(numbers)[1:-1].rstrip(','))}"
