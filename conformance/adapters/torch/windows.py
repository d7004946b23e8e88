"""PyTorch: what is composed from the cells of every window, which `unfold` shows without a copy."""

from __future__ import annotations

import math

from conformance.adapters.api.source_text import number, over_ones
from conformance.adapters.api.surface import Code, Unsupported, Verb
from conformance.adapters.api.unfolded_windows import cell_axes, windows
from conformance.cases.steps import Step, zeros_that_count

ONES = "torch.ones_like(x)"


def integer_average(pad: Verb, step: Step) -> Code:
    """Return sums that wrap in the integers' own dtype, divided toward zero."""
    divisor, counts = step.parameters["divisor"], step.walk.counts(step.parameters["count_include_pad"])
    alike = divisor is not None or (counts == counts.flat[0]).all()
    counted, rest = ((), step) if alike else zeros_that_count(step)
    lines = windows(pad, rest)
    if isinstance(lines, Unsupported):
        return lines
    if not counts.all():
        return Unsupported("a window of padding only has no average in integers")
    total = f"windows.sum({cell_axes(step)}, dtype=x.dtype)"
    if alike:
        return (*lines, f"x = {_quotient(total, number(divisor if divisor is not None else counts.flat[0]))}")
    *made, _ = over_ones((*lines, f"x = {total}"), "")
    return (*(f"x = {pad(part)}" for part in counted), *made, f"x = {_quotient('total(x)', f'total({ONES})')}")


def channel_average(step: Step) -> Code:
    """Return the same for whole channels."""
    cells = number(math.prod(step.shape[2:]))
    return _quotient(f"x.sum({cell_axes(step, first=2)}, keepdim=True, dtype=x.dtype)", cells)


def _quotient(total: str, cells: str) -> str:
    return f'torch.div({total}, {cells}, rounding_mode="trunc")'


def probabilities(pad: Verb, step: Step) -> Code:
    """Return each cell's share of its window; a sum of 0 divides as infinity, so that every share and gradient is 0."""
    lines = windows(pad, step)
    if isinstance(lines, Unsupported):
        return lines
    total = f"total = windows.sum({cell_axes(step)}, keepdim=True)"
    return (*lines, total, "x = windows / torch.where(total == 0, torch.inf, total)")


def stochastic_pool(pad: Verb, step: Step) -> Code:
    """Return the first cell at which the running sum exceeds the draw's share, nothing where none does."""
    lines = windows(pad, step)
    if isinstance(lines, Unsupported):
        return lines
    flat = [f"windows = windows.flatten(-{step.rank})"] if step.rank > 1 else []
    drawn = "drawn = windows.cumsum(-1) > draws.unsqueeze(-1) * windows.sum(-1, keepdim=True)"
    first = "first = drawn.to(torch.uint8).argmax(-1, keepdim=True)"
    return (*lines, *flat, drawn, first, "x = windows.gather(-1, first).squeeze(-1) * drawn.any(-1)")
