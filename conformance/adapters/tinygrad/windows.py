"""tinygrad: operators composed from views of the cells of every window, made with `unfold`."""

from __future__ import annotations

from conformance.adapters.api.source_text import bins_text, number, tuple_of
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.api.unfolded_windows import cell_axes, window_lines
from conformance.adapters.tinygrad.calls import max_pool
from conformance.adapters.tinygrad.padding import pad
from conformance.cases.arrays import NUMPY_DTYPES, lowest_value
from conformance.cases.steps import Step, split_padding

SHORT_FLOATS = ("float16", "bfloat16")


def _in_float32(step: Step, lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines, computed in float32 for 16-bit floats: in 16 bits, each call would round its result."""
    if step.dtype not in SHORT_FLOATS:
        return lines
    return ("x = x.float()", *lines, f"x = x.cast(dtypes.{step.dtype})")


def min_pool(step: Step) -> Code:
    """Return integer min pooling as max pooling of ~x. Unlike -x, ~x does not overflow for the least integer."""
    if NUMPY_DTYPES[step.dtype].kind in "fV":
        return Unsupported("tinygrad has no minimum pooling")
    answer = max_pool(step)
    padded: tuple[str, ...] = ()
    if isinstance(answer, Unsupported):
        padding, unpadded = split_padding(step, lowest_value(step.dtype))
        padded, answer = tuple(f"x = {pad(part)}" for part in padding), max_pool(unpadded)
    return ("x = ~x", *padded, f"x = {answer}", "x = ~x")


def lp_pool(step: Step) -> Code:
    """Return the norm of each window."""
    lines = window_lines(pad, step)
    if isinstance(lines, Unsupported):
        return lines
    p, axes = step.parameters["p"], cell_axes(step)
    norms = {1: f"windows.abs().sum({axes})", 2: f"windows.square().sum({axes}).sqrt()"}
    norm = norms.get(p, f"(windows.abs() ** {number(p)}).sum({axes}) ** (1 / {number(p)})")
    return _in_float32(step, (*lines, f"x = {norm}"))


def softmax_pool(step: Step) -> Code:
    """Return the sum of each window's cells weighted by their softmax; padding has weight 0."""
    lines = window_lines(pad, step)
    if isinstance(lines, Unsupported):
        return lines
    *padded, view = lines
    cells = view.removeprefix("windows = ") + (f".flatten(-{step.rank})" if step.rank > 1 else "")
    if not padded:
        return _in_float32(step, (f"windows = {cells}", "x = (windows * windows.softmax(-1)).sum(-1)"))
    low = padded[0].removeprefix("x = ").removesuffix(")") + ", value=-np.inf)"
    weights = f"weights = low{cells.removeprefix('x')}.softmax(-1)"
    return _in_float32(step, (f"low = {low}", *padded, weights, f"x = ({cells} * weights).sum(-1)"))


def _bin_texts(step: Step) -> list[str]:
    """Return the bins of each axis as text."""
    return [bins_text(*axis) for axis in zip(step.shape[2:], step.parameters["output_size"], strict=True)]


def adaptive_max_pool(step: Step) -> Code:
    """Return the largest value of each bin, one axis after the other."""
    return tuple(
        f"x = Tensor.stack([x[{':, ' * axis}i:j].max({axis}) for i, j in {bins}], dim={axis})"
        for axis, bins in enumerate(_bin_texts(step), 2)
    )


def adaptive_avg_pool(step: Step) -> Code:
    """Return the average of each bin, over all axes at once, so that each sum is divided only once."""
    names = [*zip("ikmoqs", "jlnprt", strict=True)][: step.rank]
    bounds = ", ".join(f"{first}:{last}" for first, last in names)
    loops = " ".join(
        f"for {first}, {last} in {bins}" for (first, last), bins in zip(names, _bin_texts(step), strict=True)
    )
    means = f"[x[:, :, {bounds}].mean({tuple_of(range(2, 2 + step.rank))}) {loops}]"
    return f"Tensor.stack({means}, dim=2).reshape{tuple_of(step.output)}"


def stochastic_pool_probabilities(step: Step) -> Code:
    """Return each cell divided by the sum of its window; a sum of 0 becomes inf, so results and gradients are 0."""
    lines = window_lines(pad, step)
    if isinstance(lines, Unsupported):
        return lines
    total = f"total = windows.sum({cell_axes(step)}, keepdim=True)"
    return _in_float32(step, (*lines, total, "x = windows / (total == 0).where(np.inf, total)"))


def stochastic_pool(step: Step) -> Code:
    """Return the first cell at which the running sum exceeds draw times the sum of the window, or 0."""
    lines = window_lines(pad, step)
    if isinstance(lines, Unsupported):
        return lines
    flat = [f"windows = windows.flatten(-{step.rank})"] if step.rank > 1 else []
    drawn = "drawn = windows.cumsum(-1) > draws.unsqueeze(-1) * windows.sum(-1, keepdim=True)"
    first = "first = drawn.int().argmax(-1, keepdim=True)"
    chosen = "x = windows.gather(-1, first).squeeze(-1) * drawn.any(-1)"
    return _in_float32(step, (*lines, *flat, drawn, first, chosen))
