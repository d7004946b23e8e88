"""Cost of an operator: number of operations, counted with and without padding cells, and memory traffic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from conformance.cases.arrays import NUMPY_DTYPES, Array
from conformance.cases.case import Case
from conformance.cases.compositions import plan_steps
from conformance.cases.steps import Step


@dataclass(frozen=True)
class Cost:
    """Number of operations and memory traffic of one operator on one input.

    operations: for each kind, the number over whole windows (padding counted as cells) and over real cells only;
    bytes_read, bytes_written: each element of the inputs and of the output counted once.
    """

    windows: int
    operations: Mapping[str, tuple[int, int]]
    bytes_read: int
    bytes_written: int

    def record(self) -> dict[str, int]:
        """Return the cost in the format of results files."""
        counts = {name: padded for name, (padded, _) in self.operations.items()}
        real = {f"real_{name}": count for name, (_, count) in self.operations.items()}
        traffic = {"bytes_read": self.bytes_read, "bytes_written": self.bytes_written}
        return {"windows": self.windows, **counts, **real, **traffic}


def operator_cost(case: Case) -> Cost | None:
    """Return the cost of a case's operator; None for uncounted operators and for omitted or invalid parameters."""
    if case.omitted_parameters or case.operator not in OPERATORS_WITH_COST:
        return None
    try:
        step = plan_steps(replace(case, via=(), then=()))[0]
        output = step.output
    except ValueError:
        return None
    size = NUMPY_DTYPES[case.dtype].itemsize
    read = size * sum(math.prod(spec.shape) for spec in case.inputs.values())
    windows, operations = _window_count(step, output) if step.window else (0, {})
    return Cost(windows, operations, read, size * math.prod(output))


def _window_count(step: Step, output: tuple[int, ...]) -> tuple[int, dict[str, tuple[int, int]]]:
    real = step.windows.counts(False)
    whole = np.full(real.shape, math.prod(step.window))
    planes = output[0] * output[1]
    totals = [
        {name: planes * int(count.sum()) for name, count in _window_operations(step, cells).items()}
        for cells in (whole, real)
    ]
    return planes * real.size, {name: (totals[0][name], totals[1][name]) for name in totals[0]}


def _window_operations(step: Step, cells: Array) -> Mapping[str, Array]:
    """Return the number of operations of each kind in one window; cells: the number of cells of each window."""
    if step.operator == "conv":
        terms = cells * step.kernel[1]
        return {"multiplications": terms, "additions": _combination_count(terms) + step.bias}
    return OPERATIONS_PER_WINDOW[step.operator](cells)


def _combination_count(cells: Array) -> Array:
    """Return the number of binary operations that combine the values: one less than `cells`, at least 0."""
    operations: Array = np.maximum(cells - 1, 0)
    return operations


def _softmax_operations(cells: Array) -> Mapping[str, Array]:
    each = {"exponentials": cells, "multiplications": cells}
    return {**each, "additions": 2 * _combination_count(cells), "divisions": np.ones_like(cells)}


OPERATIONS_PER_WINDOW: Mapping[str, Callable[[Array], Mapping[str, Array]]] = MappingProxyType(
    {
        "max_pool": lambda cells: {"comparisons": _combination_count(cells)},
        "min_pool": lambda cells: {"comparisons": _combination_count(cells)},
        "avg_pool": lambda cells: {"additions": _combination_count(cells), "divisions": np.ones_like(cells)},
        "softmax_pool": _softmax_operations,
    }
)
OPERATORS_WITH_COST = frozenset({*OPERATIONS_PER_WINDOW, "conv", "pad"})
"""Operators whose cost is counted. Gradients are excluded: their cost depends on the algorithm."""
