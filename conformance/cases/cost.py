"""What an operator costs: operations over whole windows, padding taken as cells, and over real cells beside."""

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
    """Work and traffic of one operator on one input.

    operations: for each kind its number over whole windows, and over real cells only;
    bytes_read, bytes_written: every element of the inputs and of the output once.
    """

    windows: int
    operations: Mapping[str, tuple[int, int]]
    bytes_read: int
    bytes_written: int

    def record(self) -> dict[str, int]:
        """Return the cost as results files have it."""
        counts = {name: whole for name, (whole, _) in self.operations.items()}
        real = {f"real_{name}": count for name, (_, count) in self.operations.items()}
        traffic = {"bytes_read": self.bytes_read, "bytes_written": self.bytes_written}
        return {"windows": self.windows, **counts, **real, **traffic}


def operator_cost(case: Case) -> Cost | None:
    """Return the cost of a case's own operator, None where nobody counts it, or a parameter is left out or faulty."""
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
    """Return what one window costs in each kind of operation, for windows of so many cells."""
    if step.operator == "conv":
        terms = cells * step.kernel[1]
        return {"multiplications": terms, "additions": _combination_count(terms) + step.bias}
    return OPERATIONS_PER_WINDOW[step.operator](cells)


def _combination_count(cells: Array) -> Array:
    """So many values are joined by one operation fewer; nothing by none."""
    joins: Array = np.maximum(cells - 1, 0)
    return joins


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
"""The operators whose work is counted; a gradient's depends on how it is done."""
