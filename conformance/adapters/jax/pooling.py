"""Pooling in JAX, for both layouts: `lax.reduce_window`, and compositions with `jax.numpy`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from conformance.adapters.api import (
    ArrayOperations,
    Code,
    PoolingCompositions,
    StackedCells,
    Step,
    Unsupported,
    divisors,
    is_floating,
    number,
)
from conformance.adapters.jax.windows import Layout, divide_lines, fits_divisor, jit_lines, jitted
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.steps import split_counted_zeros

DIVISOR_TOO_LARGE = Unsupported("the dtype cannot represent the divisor")
# A NaN is larger than every number. Of equal values, or of two NaNs, the one with the smaller index wins.
FIRST_LARGEST_LINES = (
    "def first_largest(one, other):",
    "    (a, i), (b, j) = one, other",
    "    same = (a == b) | (a != a) & (b != b)",
    "    later = (b > a) | (b != b) & (a == a) | same & (j < i)",
    "    return jnp.where(later, b, a), jnp.where(later, j, i)",
)


def neutral_value(step: Step, *, largest: bool) -> str:
    """Return the neutral element of a maximum or minimum, which `lax.reduce_window` adds to every window."""
    kind = NUMPY_DTYPES[step.dtype].kind
    if kind in "fV":
        return "-jnp.inf" if largest else "jnp.inf"
    if kind == "b":
        return str(not largest)
    return f"jnp.{step.dtype}(jnp.iinfo(x.dtype).{'min' if largest else 'max'})"


OPERATIONS = ArrayOperations(
    stack="jnp.stack({list}{axis})",
    softmax="jax.nn.softmax({x}, axis=0)",
    # A sum of 0 becomes inf, so that quotients and gradients are 0 instead of NaN.
    share="{x} / jnp.where(total == 0, jnp.inf, total)",
    drawn="""\
first = (windows.cumsum(0) > share).argmax(0)
jnp.take_along_axis(windows, first[None], 0)[0]""",
    move_cells="jnp.moveaxis({x}, 0, {position})",
)
# Without a dtype, sums of narrow integers are int64. In the dtype of x they wrap, as in the suite.
INTEGER_OPERATIONS = replace(OPERATIONS, reduction="{x}.{name}({axes}, x.dtype{keep})")


@dataclass(frozen=True)
class LayoutPooling:
    """Pooling lowerings for one layout."""

    layout: Layout

    @property
    def composed(self) -> PoolingCompositions:
        """The compositions of array operations."""
        last = self.layout.channels_last
        cells = StackedCells(OPERATIONS.stack, channels_last=last)
        return PoolingCompositions(OPERATIONS, cells, self.layout.jnp_pad, channels_last=last)

    def extreme_pool(self, step: Step) -> Code:
        """Return a window reduction with the maximum or minimum."""
        # Sums have a gradient with window_dilation, so averages and norms need no such check.
        if step.dilated and step.gradient:
            return Unsupported("the gradient of a maximum or minimum with window_dilation is not implemented")
        largest = step.operator != "min_pool"
        return self.layout.reduce_window(
            step, neutral_value(step, largest=largest), "lax.max" if largest else "lax.min"
        )

    def stacked_extreme_pool(self, step: Step) -> Code:
        """Return the maximum or minimum of the stacked cells, which has a gradient for dilated windows."""
        largest = step.operator != "min_pool"
        if not is_floating(step):
            return Unsupported("stacked windows are padded with infinities")
        edge = -math.inf if largest else math.inf
        return jitted(partial(self.composed.extreme_pool, "max" if largest else "min", edge))(step)

    def extreme_pool_or_stacked(self, step: Step) -> Code:
        """Return the window reduction, or the stacked cells where the reduction has no gradient."""
        code = self.extreme_pool(step)
        return self.stacked_extreme_pool(step) if isinstance(code, Unsupported) else code

    def average_pool(self, step: Step) -> Code:
        """Return window sums divided by one number, or by window sums of ones if the counts differ at the border."""
        counts = divisors(step)
        if not fits_divisor(step, counts):
            return DIVISOR_TOO_LARGE
        padding, rest = split_counted_zeros(step) if counts.ndim else ((), step)
        total = self.layout.reduce_window(rest, "0.0" if is_floating(step) else "0", "lax.add")
        return (*(f"x = {self.layout.zero_padding(part)}" for part in padding), *divide_lines(step, total, counts))

    def lp_pool(self, step: Step) -> Code:
        """Return the root of the window sum of powers."""
        p = step.parameters["p"]
        if p == 1:
            return self.layout.reduce_window(step, "0.0", "lax.add", "jnp.abs(x)")
        power = "x * x" if p == 2 else f"jnp.abs(x) ** {number(p)}"  # noqa: PLR2004
        total = self.layout.reduce_window(step, "0.0", "lax.add", power)
        # The root is not differentiable at 0: without another value there the gradient of a window of zeros is NaN.
        lines = (f"total = {total}", "total = jnp.where(total == 0, 1, total)") if step.gradient else ()
        total = "total" if lines else total
        root = f"jnp.sqrt({total})" if p == 2 else f"({total}) ** (1 / {number(p)})"  # noqa: PLR2004
        return jit_lines(*lines, f"x = {root}")

    def max_pool_with_indices(self, step: Step) -> Code:
        """Return the maximum, or its indices by a reduction of (value, index) pairs; the first of equal values wins."""
        if step.parameters.get("output", "values") == "values":
            return self.extreme_pool_or_stacked(step)
        extents = step.shape[2:]
        size = math.prod(extents)
        cells = (
            f"jnp.arange({size}).reshape{self.layout.shape(Step(step.operator, (1, 1, *extents), step.dtype), extents)}"
        )
        start = f"(jnp.array({neutral_value(step, largest=True)}, x.dtype), jnp.array({size}))"
        pairs = self.layout.reduce_window(step, start, "first_largest", "(x, jnp.broadcast_to(cells, x.shape))")
        # A window of padding only has the initial index, `size`, which becomes −1.
        empty = (f"x = jnp.where(x == {size}, -1, x)",) * bool((step.windows.counts(False) == 0).any())
        return jit_lines(*FIRST_LARGEST_LINES, f"cells = {cells}", f"_, x = {pairs}", *empty)

    def max_unpool(self, step: Step) -> Code:
        """Return an array of zeros with each value at its index. The index −1 is dropped."""
        (n, channels), size = step.shape[:2], math.prod(step.output[2:])
        rows, columns = f"jnp.arange({n})[:, None, None]", f"jnp.arange({channels})"
        flat = Step(step.operator, step.shape, step.dtype)
        planes, moved = self.layout.shape(flat, (size,)), self.layout.shape(flat, (-1,))
        at = f"rows, places, {columns}" if self.layout.channels_last else f"rows, {columns}[:, None], places"
        # JAX would count a negative index from the end, while an index past the end is dropped.
        return jit_lines(
            f"rows, places = {rows}, jnp.where(indices < 0, {size}, indices).reshape{moved}",
            f'x = jnp.zeros({planes}, x.dtype).at[{at}].set(x.reshape{moved}, mode="drop")',
            f"x = x.reshape{self.layout.shape(step, step.output[2:])}",
            names=("x", "indices"),
        )

    def global_pool(self, step: Step) -> Code:
        """Return one reduction of all spatial axes."""
        axes = self.layout.spatial_axes(step)
        if step.operator == "global_max_pool":
            if math.prod(step.shape[2:]):  # a reduction of no cells requires an initial value
                return f"x.max({axes}, keepdims=True)"
            return f"x.max({axes}, keepdims=True, initial={neutral_value(step, largest=True)})"
        if is_floating(step):
            return self.composed.global_pool("mean", step)
        counts = np.array(math.prod(step.shape[2:]))
        if not fits_divisor(step, counts):
            return DIVISOR_TOO_LARGE
        total = replace(self.composed, operations=INTEGER_OPERATIONS).global_pool("sum", step)
        return divide_lines(step, total, counts)

    def adaptive_pool(self, step: Step) -> Code:
        """Return one reduction for each bin."""
        if step.operator == "adaptive_max_pool" or is_floating(step):
            pool = partial(
                self.composed.adaptive_pool_at_once, "max" if step.operator == "adaptive_max_pool" else "mean"
            )
            return pool(step) if step.has_one_bin else jitted(pool)(step)
        bins = [
            [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
            for size, count in zip(step.shape[2:], step.output[2:], strict=True)
        ]
        counts = np.array([math.prod(b - a for a, b in cell) for cell in product(*bins)]).reshape(step.output[2:])
        if not fits_divisor(step, counts):
            return DIVISOR_TOO_LARGE
        total = replace(self.composed, operations=INTEGER_OPERATIONS).adaptive_pool_at_once("sum", step)
        return jit_lines(*divide_lines(step, total, counts))
