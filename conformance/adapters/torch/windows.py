"""PyTorch: operators composed from views of the cells of every window, made with `unfold`."""

from __future__ import annotations

import math

from conformance.adapters.api.source_text import divide_by_ones, number
from conformance.adapters.api.surface import Code, Lowering, Unsupported
from conformance.adapters.api.unfolded_windows import cell_axes, window_lines
from conformance.cases.steps import Step, split_counted_zeros

ONES_EXPRESSION = "torch.ones_like(x)"


def integer_avg_pool(pad: Lowering, step: Step) -> Code:
    """Return integer averages: sums that wrap in the dtype of `x`, divided with rounding toward zero."""
    divisor, counts = step.parameters["divisor"], step.windows.counts(step.parameters["count_include_pad"])
    one_divisor = divisor is not None or (counts == counts.flat[0]).all()
    counted_padding, rest = ((), step) if one_divisor else split_counted_zeros(step)
    lines = window_lines(pad, rest)
    if isinstance(lines, Unsupported):
        return lines
    if not counts.all():
        return Unsupported("a window of padding only has no average in integers")
    total = f"windows.sum({cell_axes(step)}, dtype=x.dtype)"
    if one_divisor:
        return (*lines, f"x = {_quotient_text(total, number(divisor if divisor is not None else counts.flat[0]))}")
    # Only the function is used. The last line is a true division, not one with rounding toward zero.
    *function, _ = divide_by_ones((*lines, f"x = {total}"), "")
    return (
        *(f"x = {pad(part)}" for part in counted_padding),
        *function,
        f"x = {_quotient_text('total(x)', f'total({ONES_EXPRESSION})')}",
    )


def integer_global_avg_pool(step: Step) -> Code:
    """Return integer averages of whole channels."""
    cells = number(math.prod(step.shape[2:]))
    return _quotient_text(f"x.sum({cell_axes(step, first=2)}, keepdim=True, dtype=x.dtype)", cells)


def _quotient_text(total: str, cells: str) -> str:
    return f'torch.div({total}, {cells}, rounding_mode="trunc")'


def stochastic_pool_probabilities(pad: Lowering, step: Step) -> Code:
    """Return each cell divided by the sum of its window; a sum of 0 becomes inf, so results and gradients are 0."""
    lines = window_lines(pad, step)
    if isinstance(lines, Unsupported):
        return lines
    total = f"total = windows.sum({cell_axes(step)}, keepdim=True)"
    return (*lines, total, "x = windows / torch.where(total == 0, torch.inf, total)")


def stochastic_pool(pad: Lowering, step: Step) -> Code:
    """Return the first cell at which the running sum exceeds draw times the sum of the window, or 0."""
    lines = window_lines(pad, step)
    if isinstance(lines, Unsupported):
        return lines
    flat = [f"windows = windows.flatten(-{step.rank})"] if step.rank > 1 else []
    drawn = "drawn = windows.cumsum(-1) > draws.unsqueeze(-1) * windows.sum(-1, keepdim=True)"
    first = "first = drawn.to(torch.uint8).argmax(-1, keepdim=True)"
    return (*lines, *flat, drawn, first, "x = windows.gather(-1, first).squeeze(-1) * drawn.any(-1)")
