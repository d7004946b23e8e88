"""tinygrad: operators composed from views of the cells of every window, made with `unfold`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from conformance.adapters.api import (
    ArrayOperations,
    Code,
    Lowering,
    PoolingCompositions,
    Step,
    UnfoldedCells,
    Unsupported,
    in_wider_dtype,
    is_floating,
)
from conformance.adapters.tinygrad.calls import max_pool
from conformance.adapters.tinygrad.padding import pad
from conformance.cases.arrays import SHORT_FLOATS, lowest_value
from conformance.cases.steps import split_padding

OPERATIONS = ArrayOperations(
    kept=", keepdim=True",
    stack="Tensor.stack({list}{axis})",
    stack_axis=", dim={number}",
    softmax="{x}.softmax(-1)",
    norm="({x}.abs() ** {p}).sum({axes}) ** (1 / {p})",
    norms={1: "{x}.abs().sum({axes})", 2: "{x}.square().sum({axes}).sqrt()"},
    differentiable_norm="""\
total = ({x}.abs() ** {p}).sum({axes})
(total == 0).where(1, total) ** (1 / {p})""",
    # A sum of 0 becomes inf, so that quotients and gradients are 0 instead of NaN.
    share="{x} / (total == 0).where(np.inf, total)",
    draws="draws.unsqueeze(-1)",
    drawn="""\
drawn = windows.cumsum(-1) > share
first = drawn.int().argmax(-1, keepdim=True)
windows.gather(-1, first).squeeze(-1) * drawn.any(-1)""",
)
COMPOSED = PoolingCompositions(OPERATIONS, UnfoldedCells(), pad)
# In 16 bits, each call would round its result.
_in_float32 = partial(in_wider_dtype, "x.cast(dtypes.{})".format, dict.fromkeys(SHORT_FLOATS, "float32"))


def min_pool(step: Step) -> Code:
    """Return integer min pooling as max pooling of ~x. Unlike -x, ~x does not overflow for the least integer."""
    if is_floating(step):
        return Unsupported("tinygrad has no minimum pooling")
    answer = max_pool(step)
    padded: tuple[str, ...] = ()
    if isinstance(answer, Unsupported):
        padding, unpadded = split_padding(step, lowest_value(step.dtype))
        padded, answer = tuple(f"x = {pad(part)}" for part in padding), max_pool(unpadded)
    return ("x = ~x", *padded, f"x = {answer}", "x = ~x")


FALLBACKS: Mapping[str, Lowering] = {
    "min_pool": min_pool,
    "lp_pool": partial(_in_float32, COMPOSED.lp_pool),
    "softmax_pool": partial(_in_float32, COMPOSED.softmax_pool),
    "adaptive_max_pool": partial(COMPOSED.adaptive_pool_by_axis, "max"),
    "adaptive_avg_pool": partial(COMPOSED.adaptive_pool_at_once, "mean"),
    "stochastic_pool_probabilities": partial(_in_float32, COMPOSED.stochastic_pool_probabilities),
    "stochastic_pool": partial(_in_float32, COMPOSED.stochastic_pool),
}
