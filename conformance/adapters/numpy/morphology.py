"""Grey-scale dilation and its gradients as Python loops over windows."""

from __future__ import annotations

from conformance.adapters.api import INDENT, Code, Step, tuple_of
from conformance.adapters.numpy.pooling import is_floating, window_start_line


def _sum_lines(step: Step, output: str) -> tuple[str, ...]:
    """Return the loop over all windows, which lists their cells without padding, and adds the weights.

    output: the name of the array with an element for each window.
    """
    reach = "all(0 <= a < e for a, e in zip(at, x.shape[2:]))"
    axes = f"zip(start, offset, {tuple_of(step.dilation)})"
    return (
        f"for n, c, *position in np.ndindex({output}.shape):",
        INDENT + window_start_line(step),
        f"{INDENT}places, weights = [], []",
        f"{INDENT}for offset in np.ndindex({tuple_of(step.window)}):",
        f"{INDENT * 2}at = [a + k * d for a, k, d in {axes}]",
        f"{INDENT * 2}if {reach}:",
        f"{INDENT * 3}places.append((n, c, *at))",
        f"{INDENT * 3}weights.append((c, 0, *offset))",
        f"{INDENT}cells = np.array([x[at] for at in places], x.dtype)",
        f"{INDENT}sums = cells + np.array([kernel[at] for at in weights], x.dtype)",
    )


def dilation2d(step: Step) -> Code:
    """Return lines that compute the largest sum of each window."""
    lowest = "-np.inf" if is_floating(step) else "np.iinfo(x.dtype).min"
    return (
        f"y = np.empty({tuple_of(step.output)}, x.dtype)",
        *_sum_lines(step, "y"),
        f"{INDENT}y[(n, c, *position)] = np.max(sums, initial={lowest})",
        "x = y",
    )


def dilation2d_gradient(step: Step) -> Code:
    """Return lines that give the gradient of each window to the first cell, or weight, of the largest sum."""
    name, places = ("kernel", "weights") if step.parameters["output"] == "kernel" else ("x", "places")
    return (
        f"slope = np.zeros_like({name})",
        *_sum_lines(step, "grad"),
        f"{INDENT}if places:",
        f"{INDENT * 2}slope[{places}[np.argmax(sums)]] += grad[(n, c, *position)]",
        "x = slope",
    )
