"""Windows in JAX, in either layout: window reductions, stacks of cells, and functions compiled as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.adapters.api.source_text import (
    INDENT,
    call,
    divide_by_ones,
    is_framework_same,
    number,
    pairs_for_all_axes,
    pairs_of,
    slices,
    tuple_of,
)
from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS, Array
from conformance.cases.steps import PerAxisPairs, Step

LOOP_VARIABLES = "ijklmn"
JIT = "@jax.jit"
ONES_EXPRESSION = "jnp.ones_like(x)"


def is_floating(step: Step) -> bool:
    """Whether the step reads floating values."""
    return NUMPY_DTYPES[step.dtype].kind in "fV"


def padding_with_overhang(step: Step) -> PerAxisPairs:
    """Return the padding with what the last window reaches past it: XLA pads as far as it is told."""
    if is_framework_same(step):
        return ((0, 0),) * step.rank
    if step.parameters.get("rounding", "floor") == "floor":
        return step.padding
    return tuple(
        (before, after + over) for (before, after), over in zip(step.padding, step.windows.overhang, strict=True)
    )


def padding_text(pairs: PerAxisPairs, step: Step | None = None) -> str:
    """Return the padding as XLA takes it, one pair an axis; its own word where the step leaves it to that."""
    if step is not None and is_framework_same(step):
        return '"SAME"'
    return pairs_of(pairs) if any(any(pair) for pair in pairs) else '"VALID"'


def jit_lines(*lines: str, names: Sequence[str] = ("x",), called: str = "pool") -> tuple[str, ...]:
    """Return the lines as one compiled function: JAX compiles operator by operator otherwise, which takes longer."""
    inputs = ", ".join(names)
    body = (*(INDENT + line for line in lines if line), f"{INDENT}return x")
    return (JIT, f"def {called}({inputs}):", *body, f"x = {called}({inputs})")


def inline_jit_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return lines with what `jitted` made one function of as plain lines again, to stand in a larger one."""
    if JIT not in lines:
        return tuple(lines)
    start = list(lines).index(JIT)
    end = list(lines).index(f"{INDENT}return x", start)
    body = (line.removeprefix(INDENT) for line in lines[start + 2 : end])
    return (*lines[:start], *body, *inline_jit_lines(lines[end + 2 :]))


@dataclass(frozen=True)
class Layout:
    """Where the spatial axes of an array stand: after the channels, or before them."""

    channels_last: bool

    def per_array_axis(self, values: Sequence[Any], outer: Any = 1) -> tuple[Any, ...]:
        """Return one value an axis of the array, `outer` for batch and channels."""
        return (outer, *values, outer) if self.channels_last else (outer, outer, *values)

    def spatial_axes(self, step: Step) -> str:
        """Return the spatial axes."""
        first = 1 if self.channels_last else 2
        return tuple_of(range(first, first + step.rank))

    def shape(self, step: Step, extents: Sequence[int]) -> str:
        """Return the shape of an array with other spatial extents."""
        n, channels = step.shape[:2]
        return tuple_of((n, *extents, channels) if self.channels_last else (n, channels, *extents))

    def reduce_window(self, step: Step, initial: str, operation: str, x: str = "x") -> str:
        """Return the window reduction over the spatial axes, `initial` taking part in every window."""
        window = tuple_of(self.per_array_axis(step.window))
        holes = tuple_of(self.per_array_axis(step.dilation)) if step.dilated else None
        where: tuple[str, ...] = ()
        if step.stride is not None:
            padding = padding_text(
                tuple(pairs_for_all_axes(padding_with_overhang(step), channels_last=self.channels_last)), step
            )
            where = (tuple_of(self.per_array_axis(step.stride)), padding)
        return call("lax.reduce_window", x, initial, operation, window, *where, window_dilation=holes)

    def zero_padding(self, padding: Step) -> str:
        """Return explicit padding with zeros."""
        edges = [
            (before, after, 0)
            for before, after in pairs_for_all_axes(padding.padding, channels_last=self.channels_last)
        ]
        return f"lax.pad(x, jnp.array(0, x.dtype), {tuple(edges)})"

    def stacked_cells(self, step: Step, padding: float) -> tuple[str, str]:
        """Return the lines that stack the cells of every window on a new first axis."""
        walk = step.windows
        edges = [
            (before, after, 0)
            for before, after in pairs_for_all_axes(padding_with_overhang(step), channels_last=self.channels_last)
        ]
        padded = f"padded = lax.pad(x, jnp.array({number(padding)}, x.dtype), {tuple(edges)})"
        bounds = [
            f"{letter}:{letter} + {(count - 1) * stride + 1}:{stride}"
            for letter, count, stride in zip(LOOP_VARIABLES, walk.output, walk.stride, strict=False)
        ]
        loops = [
            f"for {letter} in range(0, {window * dilation}, {dilation})"
            for letter, window, dilation in zip(LOOP_VARIABLES, walk.window, walk.dilation, strict=False)
        ]
        stack = f"windows = jnp.stack([padded{slices(bounds, channels_last=self.channels_last)} {' '.join(loops)}])"
        return padded, stack


def divisors(step: Step) -> Array:
    """Return what sums over windows are divided by: one number, or one for each output where the border differs."""
    divisor, counts = step.parameters["divisor"], step.windows.counts(step.parameters["count_include_pad"])
    if divisor is not None:
        return np.array(divisor)
    return np.array(counts.flat[0]) if (counts == counts.flat[0]).all() else counts


def divide_lines(step: Step, total: str, counts: Array) -> tuple[str, ...]:
    """Return the lines that divide a sum, `total` being an expression in x, by one number or by that sum of ones.

    Integers round toward zero, and 0 stays 0 where no cell counts.
    """
    if counts.ndim == 0:
        if is_floating(step):
            return (f"x = {total} / {number(counts.item())}",)
        return (f"total = {total}", f"x = lax.div(total, jnp.full_like(total, {max(counts.item(), 1)}))")
    if step.dtype in SHORT_FLOATS:  # which count no further than 2,048, or 256
        *made, _ = divide_by_ones((f"x = {total}",), "")
        return (*made, "x = total(x) / total(jnp.ones_like(x, jnp.float32)).astype(x.dtype)")
    if is_floating(step):
        return divide_by_ones((f"x = {total}",), ONES_EXPRESSION)
    *made, _ = divide_by_ones((f"x = {total}",), "")
    cells = f"total({ONES_EXPRESSION})"
    return (*made, f"x = lax.div(total(x), {cells if counts.all() else f'jnp.maximum({cells}, 1)'})")


def fits_divisor(step: Step, counts: Array) -> bool:
    """Whether the dtype holds what sums are divided by."""
    largest = float(np.max(counts))
    return is_floating(step) or (largest.is_integer() and largest <= np.iinfo(NUMPY_DTYPES[step.dtype]).max)
