"""Pooling and its gradients as Python loops over windows.

A program first lists the positions of the elements of one window, which is a sliding window, a bin or a sampled region.
Then it reduces the elements to one number or, for a gradient, computes one number for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conformance.adapters.api import INDENT, Code, Step, number, tuple_of
from conformance.cases.arrays import NUMPY_DTYPES

OUTPUT_CELL = "y[(n, c, *position)]"
GRADIENT_CELL = "grad[(n, c, *position)]"
BINNED_OPERATORS = {"adaptive_max_pool", "adaptive_avg_pool", "global_max_pool", "global_avg_pool"}


def is_floating(step: Step) -> bool:
    """Whether the step reads floating values."""
    return NUMPY_DTYPES[step.dtype].kind in "fV"


def window_start_line(step: Step) -> str:
    """Return the line that assigns the start of a window."""
    before = tuple_of([pair[0] for pair in step.padding])
    stride = tuple_of(step.stride or step.window)
    return f"start = [p * s - b for p, s, b in zip(position, {stride}, {before})]"


def _window_position_lines(step: Step) -> tuple[str, ...]:
    """Return the lines that list the positions of a window on each axis."""
    if step.operator in BINNED_OPERATORS:
        bins = "zip(position, x.shape[2:], y.shape[2:])"
        return (f"reach = [range(p * e // m, -(-(p + 1) * e // m)) for p, e, m in {bins}]",)
    if step.operator == "fractional_max_pool":
        axes = f"zip(position, samples[n, c], x.shape[2:], {tuple_of(step.window)}, y.shape[2:])"
        steps = "(Fraction(e - w, max(m - 1, 1)), Fraction(float(u)), p, m, e - w)"
        return (
            f"axes = [{steps} for p, u, e, w, m in {axes}]",
            "start = [last if p == m - 1 else int((p + u) * r) - int(u * r) for r, u, p, m, last in axes]",
            f"reach = [range(a, a + w) for a, w in zip(start, {tuple_of(step.window)})]",
        )
    sizes = f"zip(start, {tuple_of(step.window)}, {tuple_of(step.dilation)})"
    return (window_start_line(step), f"reach = [range(a, a + w * d, d) for a, w, d in {sizes}]")


def _window_loop(step: Step) -> tuple[str, ...]:
    """Return the loop over all windows, which lists the elements of each without padding."""
    inside = "all(0 <= a < e for a, e in zip(at, x.shape[2:]))"
    return (
        "for n, c, *position in np.ndindex(y.shape):",
        *(INDENT + line for line in _window_position_lines(step)),
        f"{INDENT}places = [(n, c, *at) for at in itertools.product(*reach) if {inside}]",
        f"{INDENT}cells = np.array([x[at] for at in places], x.dtype)",
    )


def window_pool(step: Step) -> Code:
    """Return lines that compute one number for each window."""
    dtype = "np.int64" if step.parameters.get("output") == "indices" else "x.dtype"
    return (
        f"y = np.empty({tuple_of(step.output)}, {dtype})",
        *_window_loop(step),
        *(INDENT + line for line in REDUCTIONS[step.operator].value(step)),
        "x = y",
    )


def window_pool_gradient(step: Step) -> Code:
    """Return lines that add the gradient of each window to the gradients of its elements."""
    return (
        "y, slope = grad, np.zeros_like(x)",
        *_window_loop(step),
        *(INDENT + line for line in REDUCTIONS[step.operator].slope(step)),
        f"{INDENT}for at, given in zip(places, slopes):",
        f"{INDENT * 2}slope[at] += given",
        "x = slope",
    )


def _neutral_value(step: Step, *, largest: bool) -> str:
    if is_floating(step):
        return "-np.inf" if largest else "np.inf"
    return str(not largest) if step.dtype == "bool" else f"np.iinfo(x.dtype).{'min' if largest else 'max'}"


def _divisor_text(step: Step) -> list[str]:
    if step.parameters.get("divisor") is not None:
        return [f"divisor = {number(step.parameters['divisor'])}"]
    if not step.parameters.get("count_include_pad"):
        return ["divisor = len(cells)"]
    ends = tuple_of([pair[1] for pair in step.padding])
    return [
        f"ends = [e + after for e, after in zip(x.shape[2:], {ends})]",
        "divisor = np.prod([sum(a < e for a in axis) for axis, e in zip(reach, ends)])",
    ]


def _average_lines(step: Step) -> list[str]:
    if is_floating(step):
        # A divisor of 65,520 or more is infinite in float16.
        return [*_divisor_text(step), f"{OUTPUT_CELL} = np.float64(np.sum(cells, dtype=x.dtype)) / divisor"]
    # // rounds down, and integer averages round toward zero, so a negative total is negated before the division.
    quotient = "total // divisor if total >= 0 else -(-total // divisor)"
    return [
        *_divisor_text(step),
        "divisor, total = max(int(divisor), 1), int(np.sum(cells, dtype=x.dtype))",
        f"{OUTPUT_CELL} = {quotient}",
    ]


# The result is rounded to the dtype of x when it is assigned to y or added to slope.
WIDEN_LINE = "wide = cells.astype(np.float64)"
# Without the maximum subtracted, exp would overflow for large values.
SOFTMAX_WEIGHT_LINES = [
    "if not places:",
    f"{INDENT}continue",
    WIDEN_LINE,
    "weights = np.exp(wide - np.max(wide))",
    "weights = weights / np.sum(weights)",
]
# np.argmax of bool is the first True: the first cell whose running sum exceeds the drawn share of the total.
DRAW_LINES = [
    "running = np.cumsum(cells)",
    "drawn = np.argmax(running > draws[(n, c, *position)] * running[-1]) if places else None",
]


def _selection_lines(step: Step, name: str) -> Sequence[str]:
    """Return the lines that select the largest or the smallest element, by the name of a NumPy function."""
    if step.parameters.get("output") == "indices":
        plane = "np.ravel_multi_index(places[np.argmax(cells)][2:], x.shape[2:])"
        return [f"{OUTPUT_CELL} = {plane} if places else -1"]
    return [f"{OUTPUT_CELL} = np.{name}(cells, initial={_neutral_value(step, largest=name == 'max')})"]


def _selection_slope_lines(position: str) -> Sequence[str]:
    """Return the lines that give the gradient to one element; position: the NumPy function that selects it."""
    return [
        f"winner = np.{position}(cells) if places else None",
        f"slopes = [{GRADIENT_CELL} if at == winner else 0 for at in range(len(places))]",
    ]


def _average_slope_lines(step: Step) -> Sequence[str]:
    return [*_divisor_text(step), f"slopes = [np.float64({GRADIENT_CELL}) / divisor] * len(places)"]


def _norm_lines(step: Step) -> Sequence[str]:
    p = number(step.parameters["p"])
    return [WIDEN_LINE, f"{OUTPUT_CELL} = np.sum(np.abs(wide) ** {p}) ** (1 / {p})"]


def _norm_slope_lines(step: Step) -> Sequence[str]:
    p = number(step.parameters["p"])
    return [
        WIDEN_LINE,
        f"norm = np.sum(np.abs(wide) ** {p}) ** (1 / {p})",
        f"slopes = {GRADIENT_CELL} * np.sign(wide) * (np.abs(wide) / (norm or 1)) ** ({p} - 1)",
    ]


def _softmax_lines(_step: Step) -> Sequence[str]:
    return [f"{OUTPUT_CELL} = 0", *SOFTMAX_WEIGHT_LINES, f"{OUTPUT_CELL} = np.sum(wide * weights)"]


def _softmax_slope_lines(_step: Step) -> Sequence[str]:
    return [*SOFTMAX_WEIGHT_LINES, f"slopes = {GRADIENT_CELL} * weights * (1 + wide - np.sum(wide * weights))"]


def _draw_lines(_step: Step) -> Sequence[str]:
    return [*DRAW_LINES, f"{OUTPUT_CELL} = cells[drawn] if places else 0"]


def _draw_slope_lines(_step: Step) -> Sequence[str]:
    return [*DRAW_LINES, f"slopes = [{GRADIENT_CELL} if at == drawn else 0 for at in range(len(places))]"]


@dataclass(frozen=True)
class Reduction:
    """The lines of one window.

    value: they reduce the elements to one number. slope: they compute the gradient of each element.
    """

    value: Callable[[Step], Sequence[str]]
    slope: Callable[[Step], Sequence[str]]


MAXIMUM = Reduction(lambda step: _selection_lines(step, "max"), lambda _step: _selection_slope_lines("argmax"))
MINIMUM = Reduction(lambda step: _selection_lines(step, "min"), lambda _step: _selection_slope_lines("argmin"))
AVERAGE = Reduction(_average_lines, _average_slope_lines)
# By forward operator. An operator without an entry has no translation.
REDUCTIONS = {
    "max_pool": MAXIMUM,
    "max_pool_with_indices": MAXIMUM,
    "global_max_pool": MAXIMUM,
    "adaptive_max_pool": MAXIMUM,
    "fractional_max_pool": MAXIMUM,
    "min_pool": MINIMUM,
    "avg_pool": AVERAGE,
    "global_avg_pool": AVERAGE,
    "adaptive_avg_pool": AVERAGE,
    "lp_pool": Reduction(_norm_lines, _norm_slope_lines),
    "softmax_pool": Reduction(_softmax_lines, _softmax_slope_lines),
    "stochastic_pool": Reduction(_draw_lines, _draw_slope_lines),
}


def _share_loop(step: Step) -> tuple[str, ...]:
    """Return the loop over all windows that pairs the position of each element with that of its probability."""
    walk = step.windows
    windows = f"zip(itertools.product(*reach), np.ndindex{tuple_of(walk.window)})"
    inside = "all(0 <= a < e for a, e in zip(at, x.shape[2:]))"
    found = "((n, c, *at), (n, c, *position, *offset))"
    return (
        f"for n, c, *position in np.ndindex{tuple_of((*step.shape[:2], *walk.output))}:",
        *(INDENT + line for line in _window_position_lines(step)),
        f"{INDENT}found = [{found} for at, offset in {windows} if {inside}]",
        f"{INDENT}total = np.sum([x[at] for at, _ in found], dtype=x.dtype) or x.dtype.type(1)",
        f"{INDENT}for at, share in found:",
    )


def stochastic_pool_probabilities(step: Step) -> Code:
    """Return lines that divide each element by the sum of its window."""
    lines = (f"y = np.zeros({tuple_of(step.output)}, x.dtype)", *_share_loop(step))
    return (*lines, f"{INDENT * 2}y[share] = x[at] / total", "x = y")


def stochastic_pool_probabilities_gradient(step: Step) -> Code:
    """Return lines for the gradient of the quotients.

    Each quotient contributes its gradient less the mean of the window's gradients, weighted by the quotients.
    """
    *lines, loop = _share_loop(step)
    mean = "mean = np.sum([grad[share] * x[at] for at, share in found], dtype=x.dtype) / total"
    return (
        "slope = np.zeros_like(x)",
        *lines,
        f"{INDENT}{mean}",
        loop,
        f"{INDENT * 2}slope[at] += (grad[share] - mean) / total",
        "x = slope",
    )
