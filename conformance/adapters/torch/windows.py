"""PyTorch: operators composed from views of the cells of every window, made with `unfold`."""

from __future__ import annotations

import math
from dataclasses import replace

from conformance.adapters.api import (
    ArrayOperations,
    Code,
    Lowering,
    PoolingCompositions,
    Step,
    UnfoldedCells,
    Unsupported,
    divisors,
    is_floating,
    number,
)
from conformance.adapters.torch.padding import functional_pad

OPERATIONS = ArrayOperations(
    reduction_names={"max": "amax", "min": "amin"},
    kept=", keepdim=True",
    softmax="{x}.softmax(-1)",
    norm="torch.linalg.vector_norm({x}, {p}, dim={axes})",
    ones="torch.ones_like(x)",
    # A sum of 0 becomes inf, so that quotients and gradients are 0 instead of NaN.
    share="{x} / torch.where(total == 0, torch.inf, total)",
    draws="draws.unsqueeze(-1)",
    drawn="""\
drawn = windows.cumsum(-1) > share
first = drawn.to(torch.uint8).argmax(-1, keepdim=True)
windows.gather(-1, first).squeeze(-1) * drawn.any(-1)""",
)
# Without dtype, sums of narrow integers are int64. In the dtype of x they wrap, as in the suite.
INTEGER_OPERATIONS = replace(
    OPERATIONS,
    reduction="{x}.{name}({axes}{keep}, dtype=x.dtype)",
    quotient='torch.div({x}, {count}, rounding_mode="trunc")',
)


def compositions(pad: Lowering) -> PoolingCompositions:
    """Return the compositions of a surface with its explicit padding."""
    return PoolingCompositions(OPERATIONS, UnfoldedCells(), pad)


FUNCTIONAL = compositions(functional_pad)
INTEGER_FUNCTIONAL = replace(FUNCTIONAL, operations=INTEGER_OPERATIONS)


def integer_avg_pool(pad: Lowering, step: Step) -> Code:
    """Return integer averages: sums that wrap in the dtype of `x`, divided with rounding toward zero."""
    if not divisors(step).all():
        return Unsupported("a window of padding only has no average in integers")
    return replace(INTEGER_FUNCTIONAL, pad=pad).average_pool(step)


def global_avg_pool(step: Step) -> Code:
    """Return averages of whole channels, for integers and for more axes than adaptive pooling supports."""
    if is_floating(step):
        return FUNCTIONAL.global_pool("mean", step)
    total = INTEGER_FUNCTIONAL.global_pool("sum", step)
    return INTEGER_OPERATIONS.quotient.format(x=total, count=number(math.prod(step.shape[2:])))
