"""Pooling in JAX, for both layouts: `lax.reduce_window`, and compositions with `jax.numpy`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from conformance.adapters.api.source_text import bins_text, number
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.jax.windows import Layout, divide_lines, divisors, fits_divisor, is_floating, jit_lines
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.steps import Step, split_counted_zeros

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


@dataclass(frozen=True)
class LayoutPooling:
    """Pooling lowerings for one layout."""

    layout: Layout

    def extreme_pool(self, step: Step) -> Code:
        """Return a window reduction with the maximum or minimum."""
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
        return jit_lines(*self.layout.stacked_cells(step, edge), f"x = windows.{'max' if largest else 'min'}(0)")

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
        return jit_lines(f"x = jnp.sqrt({total})" if p == 2 else f"x = ({total}) ** (1 / {number(p)})")  # noqa: PLR2004

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
            return f"x.mean({axes}, keepdims=True)"
        counts = np.array(math.prod(step.shape[2:]))
        if not fits_divisor(step, counts):
            return DIVISOR_TOO_LARGE
        return divide_lines(step, f"x.sum({axes}, x.dtype, keepdims=True)", counts)

    def adaptive_pool(self, step: Step) -> Code:
        """Return one reduction for each bin."""
        axes, outputs = self.layout.spatial_axes(step), step.output[2:]
        bins = [
            [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
            for size, count in zip(step.shape[2:], outputs, strict=True)
        ]
        counts = np.array([math.prod(b - a for a, b in cell) for cell in product(*bins)]).reshape(outputs)
        texts = map(bins_text, step.shape[2:], outputs)
        # The loop variables are the start and the stop of the bin on each axis.
        letters = [*zip("acegik", "bdfhjl", strict=True)][: step.rank]
        bounds = ", ".join(f"{start}:{stop}" for start, stop in letters)
        part = f"x[:, {bounds}]" if self.layout.channels_last else f"x[:, :, {bounds}]"
        loops = " ".join(f"for {a}, {b} in {axis}" for (a, b), axis in zip(letters, texts, strict=True))
        reduce = {"adaptive_max_pool": f"max({axes})"}.get(
            step.operator, f"mean({axes})" if is_floating(step) else f"sum({axes}, x.dtype)"
        )
        axis = 1 if self.layout.channels_last else 2
        stacked = f"jnp.stack([{part}.{reduce} {loops}], {axis}).reshape{self.layout.shape(step, outputs)}"
        if is_floating(step) or step.operator == "adaptive_max_pool":
            return jit_lines(f"x = {stacked}")
        if not fits_divisor(step, counts):
            return DIVISOR_TOO_LARGE
        return jit_lines(*divide_lines(step, stacked, counts))

    def stochastic_pool_probabilities(self, step: Step) -> Code:
        """Return each cell divided by the sum of its window, with the window axes at the end."""
        cells = -2 if self.layout.channels_last else -1
        shape = self.layout.shape(step, (*step.windows.output, *step.windows.window))
        # The probabilities of a window whose sum is 0 are 0. The inner `where` avoids a division by zero.
        return jit_lines(
            *self.layout.stacked_cells(step, 0),
            "total = windows.sum(0)",
            "shares = jnp.where(total > 0, windows / jnp.where(total > 0, total, 1), 0)",
            f"x = jnp.moveaxis(shares, 0, {cells}).reshape{shape}",
        )

    def stochastic_pool(self, step: Step) -> Code:
        """Return the first cell of each window at which the cumulative sum exceeds the drawn share of the total."""
        return jit_lines(
            *self.layout.stacked_cells(step, 0),
            "running = windows.cumsum(0)",
            "drawn = (running > draws * running[-1]).argmax(0)",
            "x = jnp.take_along_axis(windows, drawn[None], 0)[0]",
            names=("x", "draws"),
        )


def fractional_max_pool(_step: Step) -> Code:
    """Return unsupported: JAX has no fractional pooling."""
    return Unsupported("JAX has no fractional pooling, whose window positions depend on the samples")
