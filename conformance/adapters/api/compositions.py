"""Pooling operators composed from array operations, written once for all frameworks.

An adapter supplies a table of its array operations, how it reads the cells of a window, and its explicit padding. Then
it lists which of these compositions its surfaces use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from conformance.adapters.api.array_operations import ArrayOperations, assigned, fill
from conformance.adapters.api.dtypes import is_floating
from conformance.adapters.api.source_text import bins_text, divide_by_ones, number, pairs_for_all_axes, pairs_of
from conformance.adapters.api.surface import Code, Lowering, Unsupported, UnsupportedStep
from conformance.adapters.api.window_cells import StackedCells, WindowCells, planes_text
from conformance.cases.arrays import Array, highest_value, lowest_value
from conformance.cases.steps import Step, pad_step, split_counted_zeros

# As many axes as the catalogue allows. Not "o": the list of the bins counts with it.
AXIS_VARIABLES = tuple(zip("ikmprt", "jlnqsu", strict=True))
"""Names of the start and the stop of a bin on each axis."""


@dataclass(frozen=True)
class PoolingCompositions:
    """Compositions of one framework.

    pad: writes explicit padding with a constant value, as an expression in `x` or as lines that assign `x`.
    flattens_softmax: whether the cells of a step have more axes than softmax accepts.
    """

    operations: ArrayOperations
    cells: WindowCells
    pad: Lowering
    channels_last: bool = False
    flattens_softmax: Callable[[Step], bool] = lambda _step: False

    def extreme_pool(self, reduction: str, padding: float, step: Step) -> tuple[str, ...]:
        """Return the maximum or minimum of each window. padding: the value of cells outside the input."""
        return self._reduction(step, lambda x, axes: self.operations.reduce(reduction, x, axes), padding)

    def integer_min_pool(self, step: Step, reduction: str = "min") -> Code:
        """Return the minimum of each window of integers, or of bool with another reduction."""
        # Negation does not work for them: the least integer has no negative.
        if is_floating(step):
            return Unsupported("floating-point minimum pooling is negated maximum pooling")
        return self.extreme_pool(reduction, highest_value(step.dtype), step)

    def window_sum(self, step: Step) -> tuple[str, ...]:
        """Return the sum of each window."""
        return self._reduction(step, lambda x, axes: self.operations.reduce("sum", x, axes))

    def average_pool(self, step: Step) -> tuple[str, ...]:
        """Return window sums divided by one number, or by window sums of ones if the counts differ at the border."""
        counts = divisors(step)
        if not counts.ndim:
            divisor, quotient = number(counts.item()), self.operations.quotient
            return self._reduction(
                step, lambda x, axes: fill(quotient, x=self.operations.reduce("sum", x, axes), count=divisor)
            )
        # Counted zeros are padded first, so that the ones cover them. The other padding is zero in the ones too.
        counted, rest = split_counted_zeros(step)
        zeros = (line for padding in counted for line in as_lines(self.pad(padding)))
        return (*zeros, *divide_by_ones(self.window_sum(rest), self.operations.ones, quotient=self.operations.quotient))

    def lp_pool(self, step: Step) -> tuple[str, ...]:
        """Return the norm of each window. Zero padding adds nothing to it."""
        p = step.parameters["p"]
        return self._reduction(
            step, lambda x, axes: self.operations.norm_of(p, x, axes, step.dtype, gradient=step.gradient)
        )

    def softmax_pool(self, step: Step) -> tuple[str, ...]:
        """Return the sum of each window's cells weighted by their softmax.

        Padding does not contribute: it is -inf for the weights and 0 for the values.
        """
        flat = self.flattens_softmax(step)
        softmax = self.operations.flat_softmax if flat else self.operations.softmax
        if not any(map(any, step.padding_to_last_window)):
            lines = self.window_lines(step, one_axis=True)
            return (*lines, *self._weighted_sum(step, "windows", fill(softmax, x="windows")))
        weights, values = (self.cells.expression(name, step, one_axis=True) for name in ("weights", "values"))
        return (
            *_padded_arrays(self.pad, step, {"weights": -math.inf, "values": 0}),
            *self.cells.index_lines(step),
            *((f"weights = {weights}",) if flat else ()),
            f"weights = {fill(softmax, x='weights' if flat else weights)}",
            *self._weighted_sum(step, values, "weights"),
        )

    def _weighted_sum(self, step: Step, values: str, weights: str) -> tuple[str, ...]:
        product = self.operations.multiply.format(x=values, other=weights)
        return self._result(step, self.operations.reduce("sum", product, self.cells.axes(step, one_axis=True)))

    def stochastic_pool_probabilities(self, step: Step) -> tuple[str, ...]:
        """Return each cell divided by the sum of its window, with the window axes after the output axes."""
        lines = self.window_lines(step)
        total = self.operations.reduce("sum", "windows", self.cells.axes(step), keep=not self._cells_first)
        share = fill(self.operations.share, x="windows", dtype=step.dtype, total="total")
        lines = (*lines, f"total = {total}")
        if not self._cells_first:
            return (*lines, *self._result(step, share))
        rank, walk = step.rank, step.windows
        position = rank + 1 if self.channels_last else rank + 2
        order = [*range(1, rank + 3)]
        order.insert(position, 0)
        moved = fill(self.operations.move_cells, x="shares", position=position, order=tuple(order))
        extents = (*walk.output, *walk.window)
        return (*lines, f"shares = {share}", f"x = {self.operations.reshaped(moved, self._array_shape(step, extents))}")

    def stochastic_pool(self, step: Step) -> tuple[str, ...]:
        """Return the first cell of each window at which the cumulative sum exceeds draw times window sum, or 0."""
        lines = self.window_lines(step, one_axis=True)
        axes = self.cells.axes(step, one_axis=True)
        # Cells on the first axis broadcast without it; on the last axis, the sum keeps an axis of size 1.
        total = self.operations.reduce("sum", "windows", axes, keep=not self._cells_first)
        draws = self.operations.draws.format(planes=planes_text(step, math.prod(step.output[2:])))
        share = self.operations.multiply.format(x=draws, other=total)
        drawn = self.operations.drawn.format(dtype=step.dtype, rank=2 + step.rank, cells=math.prod(step.window))
        return (*lines, f"share = {share}", *self._result(step, drawn))

    def max_pool_with_indices(self, step: Step) -> tuple[str, ...]:
        """Return the maximum of each window or its index, as the step requests."""
        if step.parameters.get("output") == "indices":
            return self.max_indices(step)
        return self.extreme_pool("max", lowest_value(step.dtype), step)

    def max_indices(self, step: Step) -> tuple[str, ...]:
        """Return the index in its plane of the first largest cell of each window. Unfolded cells have no index."""
        return self._indices_by_equality(step) if self._cells_first else self._indices_by_argmax(step)

    def _indices_by_equality(self, step: Step) -> tuple[str, ...]:
        """Return the smallest index of the cells that equal the maximum of their window."""
        spatial, cells = step.shape[2:], math.prod(step.shape[2:])
        places = f"np.arange({cells}).reshape{(1, *spatial, 1) if self.channels_last else (1, 1, *spatial)}"
        if any(map(any, step.padding_to_last_window)):
            # Padding gets an index past the end, so that it is never the smallest.
            pads = pairs_of(pairs_for_all_axes(step.padding_to_last_window, channels_last=self.channels_last))
            places = f"np.pad({places}, {pads}, constant_values={cells})"
        assert isinstance(self.cells, StackedCells)  # noqa: S101 - stacked cells are the only ones on the first axis
        lines = self.window_lines(step, lowest_value(step.dtype))
        largest = self.operations.reduce("max", "windows", "0")
        stacked = f"np.stack({self.cells.slice_list('places', step)})"
        chosen = self.operations.where.format(condition="largest", x=stacked, other=cells)
        return (
            *lines,
            f"largest = windows == {largest}",
            f"places = {places}",
            f"x = {self.operations.reduce('min', chosen, '0')}",
        )

    def _indices_by_argmax(self, step: Step) -> tuple[str, ...]:
        """Return the element of an array of indices at the position of the largest cell. Padding has the index -1."""
        lines = self.window_lines(step, lowest_value(step.dtype))
        places, pads = f"np.arange({math.prod(step.shape[2:])})", step.padding_to_last_window
        if any(map(any, pads)):
            places = f"np.pad({places}.reshape{step.shape[2:]}, {pairs_of(pads)}, constant_values=-1).reshape(-1)"
        windows = (math.prod(step.windows.output),) if self.cells.output_shape(step) else step.windows.output
        shape = (*step.shape[:2], *windows, math.prod(step.window))
        picked = fill(self.operations.pick, x="places", rank=2 + step.rank)
        return (*lines, f"places = np.broadcast_to({places}[cells], {shape})", *self._result(step, picked))

    def window_lines(self, step: Step, value: float = 0, *, one_axis: bool = False) -> tuple[str, ...]:
        """Return lines that assign `windows`, the cells of every window. value: that of the padding."""
        # Padding reaches as far as the last window, full or not.
        reach = step.padding_to_last_window
        padding = as_lines(self.pad(pad_step(step, reach, value))) if any(map(any, reach)) else ()
        return (
            *padding,
            *self.cells.index_lines(step),
            f"windows = {self.cells.expression('x', step, one_axis=one_axis)}",
        )

    def _reduction(self, step: Step, reduce: Callable[[str, str], str], value: float = 0) -> tuple[str, ...]:
        """Return lines that reduce the cells of every window. reduce: returns text for the cells and their axes."""
        lines = self.window_lines(step, value)
        name = "windows"
        if not self.cells.has_variable:
            *lines_before, last = lines
            lines, name = tuple(lines_before), last.removeprefix("windows = ")
        return (*lines, *self._result(step, reduce(name, self.cells.axes(step))))

    def _result(self, step: Step, text: str) -> tuple[str, ...]:
        """Return lines that assign a reduction of the cells to `x`, in the shape of the output."""
        shape = self.cells.output_shape(step)
        *constants, expression = text.split("\n")
        return (*constants, *assigned("x", self.operations.reshaped(expression, shape) if shape else expression))

    @property
    def _cells_first(self) -> bool:
        return isinstance(self.cells, StackedCells)

    def _array_shape(self, step: Step, extents: tuple[int, ...]) -> tuple[int, ...]:
        n, c = step.shape[:2]
        return (n, *extents, c) if self.channels_last else (n, c, *extents)

    def global_pool(self, reduction: str, step: Step) -> str:
        """Return the reduction of all spatial axes."""
        return self.operations.reduce(reduction, "x", self._spatial_axes(step), keep=True)

    def _spatial_axes(self, step: Step) -> str:
        first = 1 if self.channels_last else 2
        return str(tuple(range(first, first + step.rank)))

    def adaptive_pool_by_axis(self, reduction: str, step: Step) -> Code:
        """Return the reduction of the bins, one axis after the other."""
        lines = []
        for axis, (size, bins) in enumerate(_bins(step), 1 if self.channels_last else 2):
            if bins == 1:
                # One reduction of the whole axis, which does not depend on its extent.
                lines += [f"x = {self.operations.reduce(reduction, 'x', str(axis), keep=True)}"] if size != 1 else []
                continue
            part = self.operations.reduce(reduction, f"x[{':, ' * axis}i:j]", str(axis))
            stacked = self.operations.stack_list(f"[{part} for i, j in {bins_text(size, bins)}]", axis)
            # An axis with as many bins as cells is unchanged.
            lines += [f"x = {stacked}"] if bins != size else []
        return tuple(lines) or "x"

    def adaptive_pool_at_once(self, reduction: str, step: Step) -> str:
        """Return the reduction of the bins over all axes at once, so that each sum is divided, or rounded, once."""
        if step.has_one_bin:
            return self.global_pool(reduction, step)
        names = AXIS_VARIABLES[: step.rank]
        texts = (bins_text(*axis) for axis in _bins(step))
        bounds = ", ".join(f"{start}:{stop}" for start, stop in names)
        loops = " ".join(f"for {start}, {stop} in {bins}" for (start, stop), bins in zip(names, texts, strict=True))
        part = f"x[:, {bounds}]" if self.channels_last else f"x[:, :, {bounds}]"
        parts = f"[{self.operations.reduce(reduction, part, self._spatial_axes(step))} {loops}]"
        stacked = self.operations.stack_list(parts, 1 if self.channels_last else 2)
        return self.operations.reshaped(stacked, self._array_shape(step, step.output[2:]))


def _bins(step: Step) -> list[tuple[int, int]]:
    """Return the extent and the number of bins of each axis."""
    return list(zip(step.shape[2:], step.parameters["output_size"], strict=True))


def _padded_arrays(pad: Lowering, step: Step, values: Mapping[str, float]) -> tuple[str, ...]:
    """Return lines that assign `x` with different values of the padding to several names."""
    lines: list[str] = []
    expressions = []
    for name, value in values.items():
        *constants, last = as_lines(pad(pad_step(step, step.padding_to_last_window, value)))
        expressions.append(last.removeprefix("x = "))
        # Constants that both need, such as the amounts of padding, are assigned once.
        lines += [line for line in (*constants, f"{name} = {expressions[-1]}") if line not in lines]
    if len(lines) == len(expressions):
        return (f"{', '.join(values)} = {', '.join(expressions)}",)
    return tuple(lines)


def divisors(step: Step) -> Array:
    """Return the divisors of window sums: one number, or one for each output if the counts differ at the border."""
    divisor, counts = step.parameters["divisor"], step.windows.counts(step.parameters["count_include_pad"])
    if divisor is not None:
        return np.array(divisor)
    return np.array(counts.flat[0]) if (counts == counts.flat[0]).all() else counts


def as_lines(code: Code) -> tuple[str, ...]:
    """Return code as lines of which the last assigns `x`. Raises UnsupportedStep."""
    if isinstance(code, Unsupported):
        raise UnsupportedStep(code)
    return (f"x = {code}",) if isinstance(code, str) else code


def in_wider_dtype(cast: Callable[[str], str], wider: Mapping[str, str], lowering: Lowering, step: Step) -> Code:
    """Return lines that compute in a wider dtype where the table has one, and convert the result back.

    16-bit floats need this, since every call rounds its result.
    cast: writes the conversion of `x` to a dtype.
    """
    if step.dtype not in wider:
        return lowering(step)
    code = lowering(replace(step, dtype=wider[step.dtype]))
    if isinstance(code, Unsupported):
        return code
    there, back = (f"x = {cast(dtype)}" for dtype in (wider[step.dtype], step.dtype))
    return (there, *as_lines(code), back)
