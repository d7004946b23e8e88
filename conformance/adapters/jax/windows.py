"""Windows in JAX, in either layout: window reductions, stacks of cells, and functions compiled as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.adapters.api.source_text import (
    INDENT,
    all_axes,
    call,
    number,
    over_ones,
    own_same,
    pairs_of,
    slices,
    tuple_of,
)
from conformance.cases.arrays import DTYPES, HALF, Array
from conformance.cases.steps import Pairs, Step

LETTERS = "ijklmn"
JIT = "@jax.jit"
ONES = "jnp.ones_like(x)"


def floating(step: Step) -> bool:
    """Whether the step reads floating values."""
    return DTYPES[step.dtype].kind in "fV"


def ends(step: Step) -> Pairs:
    """Return the padding with what the last window reaches past it: XLA pads as far as it is told."""
    if own_same(step):
        return ((0, 0),) * step.rank
    if step.parameters.get("rounding", "floor") == "floor":
        return step.padding
    return tuple((before, after + over) for (before, after), over in zip(step.padding, step.walk.overhang, strict=True))


def padding_text(pairs: Pairs, step: Step | None = None) -> str:
    """Return the padding as XLA takes it, one pair an axis; its own word where the step leaves it to that."""
    if step is not None and own_same(step):
        return '"SAME"'
    return pairs_of(pairs) if any(any(pair) for pair in pairs) else '"VALID"'


def jitted(*lines: str, names: Sequence[str] = ("x",), called: str = "pool") -> tuple[str, ...]:
    """Return the lines as one compiled function: JAX compiles operator by operator otherwise, which takes longer."""
    inputs = ", ".join(names)
    body = (*(INDENT + line for line in lines if line), f"{INDENT}return x")
    return (JIT, f"def {called}({inputs}):", *body, f"x = {called}({inputs})")


def inlined(lines: Sequence[str]) -> tuple[str, ...]:
    """Return lines with what `jitted` made one function of as plain lines again, to stand in a larger one."""
    if JIT not in lines:
        return tuple(lines)
    start = list(lines).index(JIT)
    end = list(lines).index(f"{INDENT}return x", start)
    body = (line.removeprefix(INDENT) for line in lines[start + 2 : end])
    return (*lines[:start], *body, *inlined(lines[end + 2 :]))


@dataclass(frozen=True)
class Layout:
    """Where the spatial axes of an array stand: after the channels, or before them."""

    channels_last: bool

    def spread(self, values: Sequence[Any], outer: Any = 1) -> tuple[Any, ...]:
        """Return one value an axis of the array, `outer` for batch and channels."""
        return (outer, *values, outer) if self.channels_last else (outer, outer, *values)

    def axes(self, step: Step) -> str:
        """Return the spatial axes."""
        first = 1 if self.channels_last else 2
        return tuple_of(range(first, first + step.rank))

    def shape(self, step: Step, extents: Sequence[int]) -> str:
        """Return the shape of an array with other spatial extents."""
        n, channels = step.shape[:2]
        return tuple_of((n, *extents, channels) if self.channels_last else (n, channels, *extents))

    def reduce(self, step: Step, initial: str, operation: str, x: str = "x") -> str:
        """Return the window reduction over the spatial axes, `initial` taking part in every window."""
        window = tuple_of(self.spread(step.window))
        holes = tuple_of(self.spread(step.dilation)) if step.dilated else None
        where: tuple[str, ...] = ()
        if step.stride is not None:
            padding = padding_text(tuple(all_axes(ends(step), channels_last=self.channels_last)), step)
            where = (tuple_of(self.spread(step.stride)), padding)
        return call("lax.reduce_window", x, initial, operation, window, *where, window_dilation=holes)

    def zeros(self, padding: Step) -> str:
        """Return explicit padding with zeros."""
        edges = [(before, after, 0) for before, after in all_axes(padding.padding, channels_last=self.channels_last)]
        return f"lax.pad(x, jnp.array(0, x.dtype), {tuple(edges)})"

    def cells(self, step: Step, padding: float) -> tuple[str, str]:
        """Return the lines that stack the cells of every window on a new first axis."""
        walk = step.walk
        edges = [(before, after, 0) for before, after in all_axes(ends(step), channels_last=self.channels_last)]
        padded = f"padded = lax.pad(x, jnp.array({number(padding)}, x.dtype), {tuple(edges)})"
        bounds = [
            f"{letter}:{letter} + {(count - 1) * stride + 1}:{stride}"
            for letter, count, stride in zip(LETTERS, walk.output, walk.stride, strict=False)
        ]
        loops = [
            f"for {letter} in range(0, {window * dilation}, {dilation})"
            for letter, window, dilation in zip(LETTERS, walk.window, walk.dilation, strict=False)
        ]
        stack = f"windows = jnp.stack([padded{slices(bounds, channels_last=self.channels_last)} {' '.join(loops)}])"
        return padded, stack


def divisors(step: Step) -> Array:
    """Return what sums over windows are divided by: one number, or one for each output where the border differs."""
    divisor, counts = step.parameters["divisor"], step.walk.counts(step.parameters["count_include_pad"])
    if divisor is not None:
        return np.array(divisor)
    return np.array(counts.flat[0]) if (counts == counts.flat[0]).all() else counts


def divided(step: Step, total: str, counts: Array) -> tuple[str, ...]:
    """Return the lines that divide a sum, `total` being an expression in x, by one number or by that sum of ones.

    Integers round toward zero, and 0 stays 0 where no cell counts.
    """
    if counts.ndim == 0:
        if floating(step):
            return (f"x = {total} / {number(counts.item())}",)
        return (f"total = {total}", f"x = lax.div(total, jnp.full_like(total, {max(counts.item(), 1)}))")
    if step.dtype in HALF:  # which count no further than 2,048, or 256
        *made, _ = over_ones((f"x = {total}",), "")
        return (*made, "x = total(x) / total(jnp.ones_like(x, jnp.float32)).astype(x.dtype)")
    if floating(step):
        return over_ones((f"x = {total}",), ONES)
    *made, _ = over_ones((f"x = {total}",), "")
    cells = f"total({ONES})"
    return (*made, f"x = lax.div(total(x), {cells if counts.all() else f'jnp.maximum({cells}, 1)'})")


def divides(step: Step, counts: Array) -> bool:
    """Whether the dtype holds what sums are divided by."""
    largest = float(np.max(counts))
    return floating(step) or (largest.is_integer() and largest <= np.iinfo(DTYPES[step.dtype]).max)
