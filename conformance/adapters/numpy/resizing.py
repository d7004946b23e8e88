"""Resizing and its gradient as Python loops: the cells and weights of each output cell, from exact coordinates."""

from __future__ import annotations

from conformance.adapters.api import INDENT, Code, Step, tuple_of
from conformance.cases.operators import Coordinates, NearestRounding, ResizeMode

COORDINATES = {
    Coordinates.HALF_PIXEL: "(o + half) * r - half",
    Coordinates.PYTORCH_HALF_PIXEL: "(o + half) * r - half if m > 1 else Fraction(0)",
    Coordinates.ASYMMETRIC: "o * r",
    Coordinates.ALIGN_CORNERS: "Fraction(o * (e - 1), max(m - 1, 1))",
}
NEAREST_CELLS = {
    NearestRounding.FLOOR: "math.floor(at)",
    NearestRounding.CEIL: "math.ceil(at)",
    NearestRounding.ROUND_PREFER_FLOOR: "math.ceil(at - half)",
    NearestRounding.ROUND_PREFER_CEIL: "math.floor(at + half)",
}


def _tap_lines(step: Step) -> tuple[str, ...]:
    """Return the lines of a function that lists the cells of x for one output cell of an axis, and their weights.

    Its arguments: the position, the extent of x and of the output, and the cells of x for each output cell.
    """
    given = step.parameters
    if given["mode"] == ResizeMode.NEAREST:
        taps = f"[({NEAREST_CELLS[NearestRounding(given['nearest_rounding'])]}, 1)]"
    elif given["mode"] == ResizeMode.LINEAR:
        taps = "[(i, 1 - t), (i + 1, t)]"
    else:
        outer, inner = "a * (((s - 5) * s + 8) * s - 4)", "((a + 2) * s - (a + 3)) * s * s + 1"
        taps = f"[(i + k, {inner} if s <= 1 else {outer}) for k in (-1, 0, 1, 2) for s in [abs(t - k)]]"
    return (
        "def taps(o, e, m, r):",
        f"{INDENT}at = {COORDINATES[Coordinates(given['coordinates'])]}",
        f"{INDENT}i = math.floor(at)",
        f"{INDENT}t = at - i",
        f"{INDENT}return [(min(max(cell, 0), e - 1), weight) for cell, weight in {taps}]",
    )


def _loop_lines(step: Step, output: str, body: tuple[str, ...]) -> tuple[str, ...]:
    """Return a loop over the output cells, and over the cells of x that each of them reads."""
    steps = ", ".join(f"Fraction({axis.step.numerator}, {axis.step.denominator})" for axis in step.resampled)
    parameter = f"a = Fraction({step.parameters['cubic_a']!r})"
    return (
        "half = Fraction(1, 2)",
        *(parameter,) * (step.parameters["mode"] == ResizeMode.CUBIC),
        *_tap_lines(step),
        f"for n, c, *position in np.ndindex({output}.shape):",
        f"{INDENT}axes = zip(position, x.shape[2:], {output}.shape[2:], [{steps}])",
        f"{INDENT}for terms in itertools.product(*(taps(*axis) for axis in axes)):",
        f"{INDENT * 2}at = (n, c, *(cell for cell, _ in terms))",
        *(INDENT * 2 + line for line in body),
    )


def resize(step: Step) -> Code:
    """Return lines that add the weighted cells of each output cell in float64; the mode nearest copies one cell."""
    if step.parameters["mode"] == ResizeMode.NEAREST:
        body = ("y[(n, c, *position)] = x[at]",)
        return (f"y = np.zeros({tuple_of(step.output)}, x.dtype)", *_loop_lines(step, "y", body), "x = y")
    body = ("y[(n, c, *position)] += float(math.prod(weight for _, weight in terms)) * float(x[at])",)
    return (f"y = np.zeros({tuple_of(step.output)})", *_loop_lines(step, "y", body), "x = y.astype(x.dtype)")


def resize_gradient(step: Step) -> Code:
    """Return lines that add the weighted gradient of each output cell to the cells that it reads, in float64."""
    body = ("slope[at] += float(math.prod(weight for _, weight in terms)) * float(grad[(n, c, *position)])",)
    return ("slope = np.zeros(x.shape)", *_loop_lines(step, "grad", body), "x = slope.astype(x.dtype)")
