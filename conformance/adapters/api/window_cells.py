"""The cells of every window of an array, as source text: stacked slices, unfolded views, or elements by their index.

Each class writes an expression for the cells of an array that is padded already. `one_axis` requests all cells of a
window on one axis, for operations that work along one axis only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from conformance.adapters.api.array_operations import fill
from conformance.adapters.api.source_text import slices, tuple_of
from conformance.cases.steps import Step, pad_step

LOOP_VARIABLES = "ijklmn"


class WindowCells:
    """How a framework reads the cells of every window."""

    has_variable = True
    """Whether programs assign the cells to a variable, or use the expression in place."""

    def index_lines(self, _step: Step) -> tuple[str, ...]:
        """Return lines that the first expression needs before it."""
        return ()

    def expression(self, name: str, step: Step, *, one_axis: bool = False) -> str:
        """Return the cells of the windows over the array `name`."""
        raise NotImplementedError

    def axes(self, step: Step, *, one_axis: bool = False) -> str:
        """Return the axis or the axes of the cells."""
        raise NotImplementedError

    def output_shape(self, _step: Step) -> tuple[int, ...] | None:
        """Return the shape to which a result for the cells is reshaped, None if it has the shape of the output."""
        return None


@dataclass(frozen=True)
class StackedCells(WindowCells):
    """The cells on a new first axis: `x[:, :, i:i + 5:2]` contains the i-th cell of every window.

    stack: template of the function that stacks the list `{list}`.
    """

    has_variable = False
    stack: str
    channels_last: bool = False

    def expression(self, name: str, step: Step, *, one_axis: bool = False) -> str:
        """Return the cells: (cells, n, c, *output), or with channels last (cells, n, *output, c)."""
        del one_axis  # they always are
        return self.stack.format(list=self.slice_list(name, step), axis="")

    def slice_list(self, name: str, step: Step, added: str = "") -> str:
        """Return a list with one slice for each cell of the window. added: text after each slice."""
        walk = step.windows
        bounds = [
            f"{letter}:{letter} + {(count - 1) * stride + 1}:{stride}"
            for letter, count, stride in zip(LOOP_VARIABLES, walk.output, walk.stride, strict=False)
        ]
        loops = [
            f"for {letter} in range(0, {window * dilation}, {dilation})"
            for letter, window, dilation in zip(LOOP_VARIABLES, walk.window, walk.dilation, strict=False)
        ]
        return f"[{name}{slices(bounds, channels_last=self.channels_last)}{added} {' '.join(loops)}]"

    def axes(self, _step: Step, *, one_axis: bool = False) -> str:
        """Return the axis of the cells."""
        del one_axis
        return "0"


@dataclass(frozen=True)
class UnfoldedCells(WindowCells):
    """Views of the cells, for frameworks whose arrays have the method `unfold`."""

    def expression(self, name: str, step: Step, *, one_axis: bool = False) -> str:
        """Return the cells: (n, c, *output, *window), or (n, c, *output, cells)."""
        walk = step.windows
        unfolded = zip(range(2, 2 + step.rank), walk.extent, walk.stride, strict=True)
        text = name + "".join(f".unfold({axis}, {extent}, {stride})" for axis, extent, stride in unfolded)
        if step.dilated:
            # A dilated window is unfolded with its extent; a slice then selects every dilation-th cell.
            text += f"[..., {', '.join(f'::{dilation}' for dilation in walk.dilation)}]"
        return text + f".flatten(-{step.rank})" * (one_axis and step.rank > 1)

    def axes(self, step: Step, *, one_axis: bool = False) -> str:
        """Return the axes of the cells."""
        return "-1" if one_axis else tuple_of(range(-step.rank, 0))


@dataclass(frozen=True)
class GatheredCells(WindowCells):
    """Elements by their flat index, for frameworks in which slices are slow or a graph cannot contain them.

    gather: template that indexes the spatial axes of `{x}` with the NumPy array `cells`; `{planes}` is the shape
        (n, c, -1) without parentheses, with a number for -1 if the array is empty.
    axis: the last axis as text.
    flat: whether all windows of a channel are on one axis, for frameworks whose operations take few axes. A reduction
        of the cells is then reshaped to the output.
    more_lines: further lines before the first use, for example for constants of a graph.
    """

    gather: str
    axis: str = "-1"
    flat: bool = False
    more_lines: tuple[str, ...] = ()

    def index_lines(self, step: Step) -> tuple[str, ...]:
        """Return lines that assign `cells`: flat indices into the padded spatial axes for every window."""
        walk, sizes = step.windows, pad_step(step, step.padding_to_last_window, 0).output[2:]
        # The padded axis has no further windows: it is padded for the last one, full or not.
        index = [f"::{stride}" for stride in walk.stride]
        index += [f"::{dilation}" for dilation in walk.dilation] if step.dilated else []
        windows = (math.prod(walk.output),) if self.flat else walk.output
        view = f"np.lib.stride_tricks.sliding_window_view(plane, {tuple_of(walk.extent)})[{', '.join(index)}]"
        return (
            f"plane = np.arange({math.prod(sizes)}).reshape{tuple_of(sizes)}",
            f"cells = {view}.reshape{tuple_of((*windows, math.prod(walk.window)))}",
            *(line.format(planes=self._planes(step)) for line in self.more_lines),
        )

    def expression(self, name: str, step: Step, *, one_axis: bool = False) -> str:
        """Return the cells: (n, c, *output, cells), or (n, c, windows, cells) if `flat`."""
        del one_axis  # they always are
        return fill(self.gather, x=name, planes=self._planes(step))

    def axes(self, _step: Step, *, one_axis: bool = False) -> str:
        """Return the axis of the cells."""
        del one_axis
        return self.axis

    def output_shape(self, step: Step) -> tuple[int, ...] | None:
        """Return the shape to which a result for the cells is reshaped, None if it has the shape of the output."""
        # The cells are on one axis, in the output of this operator on as many as the window has.
        one_axis = step.operator == "stochastic_pool_probabilities"
        return step.output if self.flat or one_axis else None

    @staticmethod
    def _planes(step: Step) -> str:
        return planes_text(step, math.prod(pad_step(step, step.padding_to_last_window, 0).output[2:]))


def planes_text(step: Step, cells: int) -> str:
    """Return the extents of an array with all cells of a channel on one axis, separated by commas.

    The last extent is -1. If the array is empty, it is `cells`, because frameworks cannot infer it.
    """
    return ", ".join(map(str, (*step.shape[:2], -1 if all(step.shape[:2]) else cells)))
