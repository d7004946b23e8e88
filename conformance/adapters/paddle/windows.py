"""PaddlePaddle: operators composed from the stacked cells of every window."""

from __future__ import annotations

from conformance.adapters.api import ArrayOperations, PoolingCompositions, StackedCells
from conformance.adapters.paddle.padding import functional_pad

OPERATIONS = ArrayOperations(
    reduction_names={"max": "amax", "min": "amin"},
    kept=", keepdim=True",
    stack="paddle.stack({list}{axis})",
    softmax="F.softmax({x}, 0)",
    norm="({x}.abs() ** {p}).sum({axes}) ** (1 / {p})",
    norms={1: "{x}.abs().sum({axes})", 2: "{x}.square().sum({axes}).sqrt()"},
    differentiable_norm="""\
total = ({x}.abs() ** {p}).sum({axes})
paddle.where(total == 0, paddle.ones_like(total), total) ** (1 / {p})""",
    ones="paddle.ones_like(x)",
    # A sum of 0 becomes inf, so that quotients and gradients are 0 instead of NaN.
    share="{x} / paddle.where(total == 0, paddle.full_like(total, np.inf), total)",
    move_cells="{x}.transpose({order})",
    drawn="""\
drawn = (windows.cumsum(0) > share).astype("{dtype}")
first = drawn.argmax(0, keepdim=True)
paddle.take_along_axis(windows, first, 0).squeeze(0) * drawn.amax(0)""",
)
COMPOSED = PoolingCompositions(OPERATIONS, StackedCells(OPERATIONS.stack), functional_pad)
