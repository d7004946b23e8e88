"""Resizing and its gradient as Python loops: the cells and weights of each output cell, from exact coordinates."""

from __future__ import annotations

from conformance.adapters.api import INDENT, Code, Step, number, tuple_of
from conformance.adapters.api.resizing.rules import PLAIN_MODES
from conformance.cases.operators import Coordinates, NearestRounding, ResizeMode

COORDINATES = {
    Coordinates.HALF_PIXEL: "(o + half) * r - half",
    Coordinates.PYTORCH_HALF_PIXEL: "(o + half) * r - half if m > 1 else Fraction(0)",
    Coordinates.ASYMMETRIC: "o * r",
    Coordinates.ALIGN_CORNERS: "Fraction(o * (e - 1), max(m - 1, 1))",
    Coordinates.HALF_PIXEL_SYMMETRIC: "(e - m * r) / 2 + (o + half) * r - half",
    Coordinates.TF_HALF_PIXEL_FOR_NN: "(o + half) * r",
    Coordinates.TF_CROP_AND_RESIZE: "(e - 1) * (s + o * (t - s) / (m - 1) if m > 1 else (s + t) * half)",
}
NEAREST_CELLS = {
    NearestRounding.FLOOR: "math.floor(at)",
    NearestRounding.CEIL: "math.ceil(at)",
    NearestRounding.ROUND_PREFER_FLOOR: "math.ceil(at - half)",
    NearestRounding.ROUND_PREFER_CEIL: "math.floor(at + half)",
}


INNER, OUTER = "((a + 2) * s - (a + 3)) * s * s + 1", "a * (((s - 5) * s + 8) * s - 4)"
SINC = "math.sin(math.pi * {s}) / (math.pi * {s})"
LANCZOS = "1 if s == 0 else 0 if s >= {n} or s % 1 == 0 else {first} * {second}"
KERNELS = {
    ResizeMode.LINEAR: "max(1 - s, 0)",
    ResizeMode.CUBIC: f"{INNER} if s <= 1 else {OUTER} if s < 2 else 0",
    ResizeMode.LANCZOS3: LANCZOS.format(n=3, first=SINC.format(s="s"), second=SINC.format(s="(s / 3)")),
    ResizeMode.LANCZOS5: LANCZOS.format(n=5, first=SINC.format(s="s"), second=SINC.format(s="(s / 5)")),
}
REACH = {ResizeMode.LINEAR: 1, ResizeMode.CUBIC: 2, ResizeMode.LANCZOS3: 3, ResizeMode.LANCZOS5: 5}


def _is_crop(step: Step) -> bool:
    return bool(step.parameters["coordinates"] == Coordinates.TF_CROP_AND_RESIZE)


def _first_lines(step: Step) -> tuple[str, ...]:
    """Return the first lines of the function `taps`, with the coordinate. In a crop no cell is beyond an end."""
    coordinate = f"{INDENT}at = {COORDINATES[Coordinates(step.parameters['coordinates'])]}"
    if not _is_crop(step):
        return "def taps(o, e, m, r):", coordinate
    return "def taps(o, e, m, r, s, t):", coordinate, f"{INDENT}if not 0 <= at <= e - 1:", f"{INDENT * 2}return []"


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
        taps = f"[(i + k, {INNER} if s <= 1 else {OUTER}) for k in (-1, 0, 1, 2) for s in [abs(t - k)]]"
    if given["mode"] not in PLAIN_MODES or given["antialias"] or given["exclude_outside"]:
        return _filtered_tap_lines(step)
    return (
        *_first_lines(step),
        f"{INDENT}i = math.floor(at)",
        f"{INDENT}t = at - i",
        f"{INDENT}return [(min(max(cell, 0), e - 1), weight) for cell, weight in {taps}]",
    )


def _filtered_tap_lines(step: Step) -> tuple[str, ...]:
    """Return the lines of the function for weights that are divided by their sum: all cells that the kernel reaches."""
    given = step.parameters
    mode, width = ResizeMode(given["mode"]), "max(r, 1)" if given["antialias"] else "1"
    cell = "cell" if given["exclude_outside"] else "min(max(cell, 0), e - 1)"
    cells = "range(e)" if given["exclude_outside"] else "range(-reach, e + reach)"
    if mode is ResizeMode.AREA:
        weight, reach, width = "min(1, r, max((r + 1) / 2 - s, 0))", "math.ceil(r)", "1"
    else:
        weight, reach = KERNELS[mode], f"{REACH[mode]} * math.ceil(w)"
    return (
        "def kernel(s, r):",
        f"{INDENT}return {weight}",
        *_first_lines(step),
        f"{INDENT}w = {width}",
        f"{INDENT}reach = {reach} + 1",
        f"{INDENT}found = [({cell}, kernel(abs(at - cell) / Fraction(w), r)) for cell in {cells}]",
        f"{INDENT}total = sum(weight for _, weight in found)",
        f"{INDENT}return [(cell, weight / total) for cell, weight in found if weight]",
    )


def _loop_lines(step: Step, output: str, body: tuple[str, ...]) -> tuple[str, ...]:
    """Return a loop over the output cells, and over the cells of x that each of them reads."""
    names = ("step", "start", "end") if _is_crop(step) else ("step",)
    numbers = [[getattr(axis, name).as_integer_ratio() for axis in step.resampled] for name in names]
    lists = ", ".join(f"[{', '.join(f'Fraction({n}, {d})' for n, d in one)}]" for one in numbers)
    parameter = f"a = Fraction({step.parameters['cubic_a']!r})"
    return (
        "half = Fraction(1, 2)",
        *(parameter,) * (step.parameters["mode"] == ResizeMode.CUBIC),
        *_tap_lines(step),
        f"for n, c, *position in np.ndindex({output}.shape):",
        f"{INDENT}axes = zip(position, x.shape[2:], {output}.shape[2:], {lists})",
        f"{INDENT}reads = [taps(*axis) for axis in axes]",
        *_extrapolation_lines(step, output),
        f"{INDENT}for terms in itertools.product(*reads):",
        f"{INDENT * 2}at = (n, c, *(cell for cell, _ in terms))",
        *(INDENT * 2 + line for line in body),
    )


def _extrapolation_lines(step: Step, output: str) -> tuple[str, ...]:
    """Return the lines for output cells of a crop that read no cell. The gradient does not depend on their value."""
    if not _is_crop(step) or output == "grad":
        return ()
    value = number(step.parameters["extrapolation_value"])
    return f"{INDENT}if not all(reads):", f"{INDENT * 2}{output}[(n, c, *position)] = {value}"


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
