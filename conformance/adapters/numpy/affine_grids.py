"""Grids of points from affine matrices and their gradient as Python loops, from exact coordinates."""

from __future__ import annotations

from conformance.adapters.api import INDENT, Code, Step, tuple_of


def _loop_lines(step: Step, shape: str, body: tuple[str, ...]) -> tuple[str, ...]:
    """Return a loop over the cells of a grid and the rows of its matrices; `point` has the numbers to multiply."""
    divisor = "max(e - 1, 1)" if step.parameters["align_corners"] else "e"
    extents = tuple_of(step.parameters["grid_size"][::-1])
    return (
        f"for n, *cell, row in np.ndindex({shape}):",
        f"{INDENT}point = [float(Fraction(2 * i + 1 - e, {divisor})) for i, e in zip(cell[::-1], {extents})] + [1]",
        *(INDENT + line for line in body),
    )


def affine_grid(step: Step) -> Code:
    """Return lines that multiply the coordinates of each cell in float64."""
    body = ("y[(n, *cell, row)] = sum(g * float(number) for g, number in zip(point, x[n, row]))",)
    return (f"y = np.zeros({tuple_of(step.output)})", *_loop_lines(step, "y.shape", body), "x = y.astype(x.dtype)")


def affine_grid_gradient(step: Step) -> Code:
    """Return lines that add the gradient of each cell, times its coordinates, in float64."""
    body = (
        "for column, g in enumerate(point):",
        f"{INDENT}slope[n, row, column] += g * float(grad[(n, *cell, row)])",
    )
    loop = _loop_lines(step, "grad.shape", body)
    return ("slope = np.zeros(x.shape)", *loop, "x = slope.astype(x.dtype)")
