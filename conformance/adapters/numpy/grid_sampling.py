"""Sampling at the points of a grid and its gradients as Python loops, from exact coordinates."""

from __future__ import annotations

from conformance.adapters.api import INDENT, Code, Step, tuple_of
from conformance.cases.operators import OutsideMode, ResizeMode

# The cell of x at a cell of the continued plane, on an axis of e cells; None outside x.
SOURCES = {
    (OutsideMode.ZEROS, False): "cell if 0 <= cell < e else None",
    (OutsideMode.BORDER, False): "min(max(cell, 0), e - 1)",
    (OutsideMode.REFLECTION, False): "min(cell % (2 * e), 2 * e - 1 - cell % (2 * e))",
    (OutsideMode.REFLECTION, True): "e - 1 - abs(e - 1 - cell % max(2 * e - 2, 1))",
}
# Weights of the cells around a coordinate at distance t after cell i, and their derivatives.
WEIGHTS = {
    # Between two cells the even one.
    ResizeMode.NEAREST: "[(i + int(2 * t > 1 or (2 * t == 1 and i % 2 == 1)), 1)]",
    ResizeMode.LINEAR: "[(i, 1 - t), (i + 1, t)]",
    ResizeMode.CUBIC: "[(i + k, inner(abs(t - k)) if abs(t - k) <= 1 else outer(abs(t - k))) for k in (-1, 0, 1, 2)]",
}
SLOPES = {
    ResizeMode.LINEAR: "[(i, -1), (i + 1, 1)]",
    ResizeMode.CUBIC: "[(i + k, inner(t - k) if abs(t - k) <= 1 else outer(t - k)) for k in (-1, 0, 1, 2)]",
}
CUBIC = ("(5 * s - 9) * s * s / 4 + 1", "-3 * (((s - 5) * s + 8) * s - 4) / 4")
# The derivatives of both parts with respect to s, which may be negative.
CUBIC_SLOPES = ("(15 * abs(s) - 18) * s / 4", "-3 * ((3 * abs(s) - 10) * s + (8 if s > 0 else -8)) / 4")


def _table_lines(step: Step, name: str, taps: str, cubic: tuple[str, str]) -> tuple[str, ...]:
    """Return the lines of a function that lists the cells of x at a number of the grid, with their weights."""
    given = step.parameters
    mode, aligned = OutsideMode(given["padding_mode"]), given["align_corners"]
    source = SOURCES[mode, aligned and mode is OutsideMode.REFLECTION]
    parts = [f"{INDENT}{part} = lambda s: {text}" for part, text in zip(("inner", "outer"), cubic, strict=True)]
    return (
        f"def {name}(g, e):",
        f"{INDENT}at = (g + 1) * Fraction({'e - 1' if aligned else 'e'}, 2){'' if aligned else ' - Fraction(1, 2)'}",
        f"{INDENT}i = math.floor(at)",
        f"{INDENT}t = at - i",
        *(parts if given["mode"] == ResizeMode.CUBIC else ()),
        f"{INDENT}cells = [({source}, weight) for cell, weight in {taps}]",
        f"{INDENT}return [(cell, weight) for cell, weight in cells if weight and cell is not None]",
    )


def _loop_lines(
    step: Step, output: str, tables: str, body: tuple[str, ...], skipped: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return a loop over the output cells, and over the cells of x that each of them reads.

    skipped: the first lines of the loop, for points that are not numbers.
    """
    return (
        *_table_lines(step, "taps", WEIGHTS[ResizeMode(step.parameters["mode"])], CUBIC),
        f"for n, c, *position in np.ndindex({output}.shape):",
        *(INDENT + line for line in skipped),
        f"{INDENT}point = [(Fraction(float(g)), e) for g, e in zip(grid[(n, *position)][::-1], x.shape[2:])]",
        f"{INDENT}for terms in itertools.product(*{tables}):",
        f"{INDENT * 2}at = (n, c, *(cell for cell, _ in terms))",
        f"{INDENT * 2}weight = math.prod(weight for _, weight in terms)",
        *(INDENT * 2 + line for line in body),
    )


TAPS = "(taps(g, e) for g, e in point)"
# The result at a coordinate of NaN or infinity. A fraction is finite.
NOT_FINITE = (
    "if not np.isfinite(grid[(n, *position)]).all():",
    f"{INDENT}y[(n, c, *position)] = np.nan",
    f"{INDENT}continue",
)


def grid_sample(step: Step) -> Code:
    """Return lines that add the weighted cells of each output cell in float64; the mode nearest copies one cell."""
    if step.parameters["mode"] == ResizeMode.NEAREST:
        loop = _loop_lines(step, "y", TAPS, ("y[(n, c, *position)] = x[at]",), NOT_FINITE)
        return (f"y = np.zeros({tuple_of(step.output)}, x.dtype)", *loop, "x = y")
    loop = _loop_lines(step, "y", TAPS, ("y[(n, c, *position)] += float(weight) * float(x[at])",), NOT_FINITE)
    return (f"y = np.zeros({tuple_of(step.output)})", *loop, "x = y.astype(x.dtype)")


def grid_sample_gradient(step: Step) -> Code:
    """Return lines that compute the gradient with respect to x or to the grid, in float64."""
    if step.parameters["output"] == "grid":
        return _gradient_of_grid(step)
    body = ("slope[at] += float(weight) * float(grad[(n, c, *position)])",)
    return ("slope = np.zeros(x.shape)", *_loop_lines(step, "grad", TAPS, body), "x = slope.astype(x.dtype)")


def _gradient_of_grid(step: Step) -> Code:
    mode = ResizeMode(step.parameters["mode"])
    if mode is ResizeMode.NEAREST:
        return "np.zeros_like(grid)"
    scale = (
        "Fraction(x.shape[2 + axis] - 1, 2)" if step.parameters["align_corners"] else "Fraction(x.shape[2 + axis], 2)"
    )
    tables = "[slopes(*one) if number == axis else taps(*one) for number, one in enumerate(point)]"
    body = (
        "product = float(x[at]) * float(grad[(n, c, *position)])",
        f"slope[(n, *position, {step.rank - 1} - axis)] += float(weight * {scale}) * product",
    )
    loop = (INDENT + line for line in _loop_lines(step, "grad", tables, body))
    return (
        *_table_lines(step, "slopes", SLOPES[mode], CUBIC_SLOPES),
        "slope = np.zeros(grid.shape)",
        f"for axis in range({step.rank}):",
        *loop,
        "x = slope.astype(grid.dtype)",
    )
