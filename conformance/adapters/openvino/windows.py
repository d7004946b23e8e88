"""OpenVINO: compositions that gather the elements of every window by their flat spatial index."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from conformance.adapters.api import (
    ArrayOperations,
    Code,
    GatheredCells,
    Lowering,
    PoolingCompositions,
    Step,
    tuple_of,
)
from conformance.adapters.openvino.padding import SHORT_DTYPE_NAMES, pad


def compositions(dtype: str) -> PoolingCompositions:
    """Return the compositions for arrays of a dtype, which scalars in a graph must have."""
    # A float16 constant rejects infinities as out of range, so it is converted from float32. So is every bfloat16.
    converted = f"ops.convert(np.float32({{}}), ov.Type.{SHORT_DTYPE_NAMES.get(dtype)})"
    scalar = converted if dtype == "bfloat16" else f"np.{dtype}({{}})"
    infinity = (converted if dtype in SHORT_DTYPE_NAMES else scalar).format("np.inf")
    powers = f"ops.power(ops.abs({{x}}), {scalar.format('{p}')})"
    operations = ArrayOperations(
        reduction="ops.reduce_{name}({x}, {axes}{keep})",
        kept=", True",
        reshape="ops.reshape({x}, [{dims}], False)",
        softmax="ops.softmax({x}, 3)",
        norm=f"ops.power(ops.reduce_sum({powers}, {{axes}}), {scalar.format('1 / {p}')})",
        norms={p: f"ops.reduce_l{p}({{x}}, {{axes}})" for p in (1, 2)},
        multiply="ops.multiply({x}, {other})",
        # A sum of 0 is replaced by infinity, so that quotients are 0.
        share=f"""\
total = ops.select(ops.equal(total, {scalar.format(0)}), {infinity}, total)
ops.divide({{x}}, total)""",
        draws="ops.reshape(draws, [{planes}, 1], False)",
        # The number of cells before the first drawn one is its position.
        drawn=f"""\
before = ops.less_equal(ops.cum_sum(windows, 3), share)
first = ops.reduce_sum(ops.convert(before, "i32"), 3, True)
drawn = ops.equal(np.arange({{cells}}, dtype=np.int32), first)
ops.reduce_sum(ops.select(drawn, windows, {scalar.format(0)}), 3)""",
    )
    cells = GatheredCells("ops.gather(ops.reshape({x}, [{planes}], False), cells, 2)", axis="3", flat=True)
    return PoolingCompositions(operations, cells, pad)


def _by_dtype(composition: Callable[[PoolingCompositions, Step], Code]) -> Lowering:
    return lambda step: composition(compositions(step.dtype), step)


def min_pool(step: Step) -> Code:
    """Return the minimum of each window of integers or bool."""
    # ops.reduce_min takes no bool.
    return compositions(step.dtype).integer_min_pool(step, "logical_and" if step.dtype == "bool" else "min")


def max_unpool(step: Step) -> Code:
    """Return zeros with each value written at its flat index, channel by channel."""
    planes = [*step.shape[:2], -1]
    cells = tuple_of((*step.shape[:2], math.prod(step.parameters["output_size"])))
    flat = [f"ops.reshape({name}, {planes}, False)" for name in ("indices", "x")]
    scattered = f"ops.scatter_elements_update(zeros, {', '.join(flat)}, 2)"
    return (f"zeros = {_zeros_text(step, cells)}", f"x = ops.reshape({scattered}, {[*step.output]}, False)")


def _zeros_text(step: Step, shape: str) -> str:
    if step.dtype == "bfloat16":
        return f"ops.convert(np.zeros({shape}, np.float32), ov.Type.bf16)"
    return f"np.zeros({shape}, np.{step.dtype if step.dtype != 'bool' else 'bool_'})"


FALLBACKS: Mapping[str, Lowering] = {
    "min_pool": min_pool,
    "lp_pool": _by_dtype(PoolingCompositions.lp_pool),
    "softmax_pool": _by_dtype(PoolingCompositions.softmax_pool),
    "max_unpool": max_unpool,
    "stochastic_pool_probabilities": _by_dtype(PoolingCompositions.stochastic_pool_probabilities),
    "stochastic_pool": _by_dtype(PoolingCompositions.stochastic_pool),
}
