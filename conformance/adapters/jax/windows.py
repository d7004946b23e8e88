"""Window reductions and padding in JAX for both layouts, and compiled functions in programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.adapters.api import (
    INDENT,
    Code,
    InputSizes,
    Lowering,
    PerAxisPairs,
    Sizes,
    Step,
    Surface,
    Unsupported,
    as_lines,
    call,
    calls_with_other_sizes,
    crops,
    divide_by_ones,
    is_floating,
    is_framework_same,
    number,
    pairs_for_all_axes,
    pairs_of,
    quoted,
    text_unless_default,
    tuple_of,
)
from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS, Array
from conformance.cases.operators import PadMode, Rounding

JIT = "@jax.jit"
ONES_EXPRESSION = "jnp.ones_like(x)"


def padding_with_overhang(step: Step) -> PerAxisPairs:
    """Return the padding, extended at the end to the last cell of the last window.

    XLA always rounds the output size down, so `ceil` and `full` need this padding.
    """
    if is_framework_same(step):
        return ((0, 0),) * step.rank
    if step.parameters.get("rounding", Rounding.FLOOR) == Rounding.FLOOR:
        return step.padding
    return tuple(
        (before, after + over) for (before, after), over in zip(step.padding, step.windows.overhang, strict=True)
    )


def padding_text(pairs: PerAxisPairs, step: Step | None = None) -> str:
    """Return the padding as text for XLA: a pair for each axis, "VALID", or "SAME" if the case requests it by name."""
    if step is not None and is_framework_same(step):
        return '"SAME"'
    return pairs_of(pairs) if any(any(pair) for pair in pairs) else '"VALID"'


def jit_lines(*lines: str, names: Sequence[str] = ("x",), called: str = "pool") -> tuple[str, ...]:
    """Return the lines as one compiled function.

    Without it, JAX compiles each operation separately, which takes longer.
    """
    inputs = ", ".join(names)
    body = (*(INDENT + line for line in lines if line), f"{INDENT}return x")
    return (JIT, f"def {called}({inputs}):", *body, f"x = {called}({inputs})")


def symbolic_dimensions(sizes: InputSizes) -> tuple[str, list[str]]:
    """Return the dimensions of an input with a name for each extent that varies, and their constraints."""
    dimensions = [
        "n" if axis == 0 else f"d{axis}" if extent is None else str(extent)
        for axis, extent in enumerate(sizes.dimensions())
    ]
    # Without the constraints, a comparison such as whether a pad is less than the extent would have no answer.
    least = [f"{name} >= {extent}" for name, extent in zip(dimensions, sizes.shape, strict=True) if name[0] == "d"]
    return ", ".join(dimensions), least


def exported_surface(surface: Surface, sizes: Sizes) -> Surface:
    """Return the surface with functions that are exported for symbolic extents, and called with other sizes first."""
    dimensions, least = symbolic_dimensions(sizes["x"])

    def export_lines(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        *definition, _ = jit_lines(*inline_jit_lines(lines), names=names, called="forward")
        specs = ", ".join(
            f"jax.ShapeDtypeStruct({'symbols' if name == 'x' else f'{name}.shape'}, {name}.dtype)" for name in names
        )
        return (
            *definition,
            f'symbols = export.symbolic_shape("{dimensions}", constraints={least})',
            f"exported = export.export(forward)({specs})",
            *calls_with_other_sizes({"x": sizes["x"]}, names, "exported.call({})", "jnp.ones({shape}, {name}.dtype)"),
            f"x = exported.call({', '.join(names)})",
        )

    return replace(surface, wrap_program=export_lines)


def jitted(lowering: Lowering, *more_inputs: str) -> Lowering:
    """Return a lowering whose lines are one compiled function of `x` and more inputs."""

    def lower(step: Step) -> Code:
        code = lowering(step)
        return code if isinstance(code, Unsupported) else jit_lines(*as_lines(code), names=("x", *more_inputs))

    return lower


def inline_jit_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines with the functions of `jit_lines` inlined, to be compiled as part of a larger function."""
    if JIT not in lines:
        return tuple(lines)
    start = list(lines).index(JIT)
    end = list(lines).index(f"{INDENT}return x", start)
    body = (line.removeprefix(INDENT) for line in lines[start + 2 : end])
    return (*lines[:start], *body, *inline_jit_lines(lines[end + 2 :]))


@dataclass(frozen=True)
class Layout:
    """The position of the channel axis of an array: before or after the spatial axes."""

    channels_last: bool

    def per_array_axis(self, values: Sequence[Any], outer: Any = 1) -> tuple[Any, ...]:
        """Return one value for each axis of the array, `outer` for batch and channels."""
        return (outer, *values, outer) if self.channels_last else (outer, outer, *values)

    def spatial_axes(self, step: Step) -> str:
        """Return the spatial axes as text."""
        first = 1 if self.channels_last else 2
        return tuple_of(range(first, first + step.rank))

    def shape(self, step: Step, extents: Sequence[int]) -> str:
        """Return the shape of the step with other spatial extents, as text."""
        n, channels = step.shape[:2]
        return tuple_of((n, *extents, channels) if self.channels_last else (n, channels, *extents))

    def reduce_window(self, step: Step, initial: str, operation: str, x: str = "x") -> str:
        """Return `lax.reduce_window` over the spatial axes. `initial` is an operand of every window."""
        window = tuple_of(self.per_array_axis(step.window))
        dilation = tuple_of(self.per_array_axis(step.dilation)) if step.dilated else None
        placement: tuple[str, ...] = ()
        if step.stride is not None:  # only convention cases omit the stride
            padding = padding_text(
                tuple(pairs_for_all_axes(padding_with_overhang(step), channels_last=self.channels_last)), step
            )
            placement = (tuple_of(self.per_array_axis(step.stride)), padding)
        return call("lax.reduce_window", x, initial, operation, window, *placement, window_dilation=dilation)

    def zero_padding(self, padding: Step) -> str:
        """Return explicit zero padding."""
        edges = [
            (before, after, 0)
            for before, after in pairs_for_all_axes(padding.padding, channels_last=self.channels_last)
        ]
        return f"lax.pad(x, jnp.array(0, x.dtype), {tuple(edges)})"

    def jnp_pad(self, step: Step) -> Code:
        """Return `jnp.pad`."""
        if crops(step):
            return Unsupported("jnp.pad cannot crop")
        mode = step.parameters["mode"]
        pairs = pairs_of(pairs_for_all_axes(step.padding, channels_last=self.channels_last))
        if mode != PadMode.CONSTANT:
            return call("jnp.pad", "x", pairs, mode=quoted(mode))
        return call("jnp.pad", "x", pairs, constant_values=text_unless_default(0, step.parameters["value"]))


def divide_lines(step: Step, total: str, counts: Array) -> tuple[str, ...]:
    """Return lines that divide a window sum by one number, or by the same window sum of ones.

    total: the window sum, an expression in x. Integer averages round toward zero; an empty window gives 0.
    """
    if counts.ndim == 0:
        if is_floating(step):
            return (f"x = {total} / {number(counts.item())}",)
        return (f"total = {total}", f"x = lax.div(total, jnp.full_like(total, {max(counts.item(), 1)}))")
    ones, quotient = ONES_EXPRESSION, "{x} / {count}"
    if step.dtype in SHORT_FLOATS:  # count in float32: float16 is exact up to 2,048 only, bfloat16 up to 256
        ones, quotient = "jnp.ones_like(x, jnp.float32)", "{x} / {count}.astype(x.dtype)"
    elif not is_floating(step):
        quotient = "lax.div({x}, {count})" if counts.all() else "lax.div({x}, jnp.maximum({count}, 1))"
    return divide_by_ones((f"x = {total}",), ones, quotient=quotient)


def fits_divisor(step: Step, counts: Array) -> bool:
    """Whether the dtype can represent the divisors of the sums."""
    largest = float(np.max(counts))
    return is_floating(step) or (largest.is_integer() and largest <= np.iinfo(NUMPY_DTYPES[step.dtype]).max)
