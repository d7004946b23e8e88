"""Cost of an operator: number of operations, counted with and without padding cells, and memory traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from conformance.cases.arrays import NUMPY_DTYPES, Array
from conformance.cases.case import Case
from conformance.cases.compositions import plan_steps
from conformance.cases.operators import OPERATORS, Operation
from conformance.cases.steps import Step


@dataclass(frozen=True)
class Cost:
    """Number of operations and memory traffic of one operator on one input.

    operations: for each kind, the number over whole windows (padding counted as cells) and over real cells only;
    bytes_read, bytes_written: each element of the inputs and of the output counted once.
    """

    windows: int
    operations: Mapping[Operation, tuple[int, int]]
    bytes_read: int
    bytes_written: int

    def record(self) -> dict[str, int]:
        """Return the cost in the format of results files."""
        counts = {str(name): padded for name, (padded, _) in self.operations.items()}
        real = {f"real_{name}": count for name, (_, count) in self.operations.items()}
        traffic = {"bytes_read": self.bytes_read, "bytes_written": self.bytes_written}
        return {"windows": self.windows, **counts, **real, **traffic}


def operator_cost(case: Case) -> Cost | None:
    """Return the cost of a case's operator; None for uncounted operators and for omitted or invalid parameters."""
    if case.omitted_parameters or OPERATORS[case.operator].operations is None:
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


def _window_count(step: Step, output: tuple[int, ...]) -> tuple[int, dict[Operation, tuple[int, int]]]:
    real = step.windows.counts(False)
    whole = np.full(real.shape, math.prod(step.window))
    planes = output[0] * output[1]
    totals = [
        {name: planes * int(count.sum()) for name, count in _window_operations(step, cells).items()}
        # Each count is made twice: with the padding, and without.
        for cells in (whole, real)
    ]
    return planes * real.size, {name: (totals[0][name], totals[1][name]) for name in totals[0]}


def _window_operations(step: Step, cells: Array) -> Mapping[Operation, Array]:
    """Return the number of operations of each kind in one window; cells: the number of cells of each window."""
    operations = OPERATORS[step.operator].operations
    if operations is None:
        return {}
    # A window of a convolution has one term for each cell and each input channel of its group.
    counts = dict(operations(cells * step.kernel[1] if step.kernel else cells))
    if step.bias:
        # The bias is added once to each output.
        counts[Operation.ADDITIONS] = counts[Operation.ADDITIONS] + 1
    return counts
