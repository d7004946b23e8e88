"""What a pooling layer or a convolution costs: operations over the padded windows, and over real cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from conformance.cases import Case
from conformance.operators import OPERATORS
from conformance.steps import plan
from conformance.values import DTYPES


@dataclass(frozen=True)
class Cost:
    """Work and traffic of one operator on one input.

    operations: (cells - 1) for each window, padding taken as cells; divisions: one a window for averages;
    real_operations: the same over real cells only (a window of padding only costs nothing);
    bytes_read, bytes_written: every element of the inputs and of the output once.
    """

    windows: int
    operations: int
    kind: str
    divisions: int
    real_operations: int
    bytes_read: int
    bytes_written: int


def cost(case: Case) -> Cost | None:
    """Return the cost of a case, None for an operator or a case to which the count does not apply."""
    kind = OPERATORS[case.operator].cost
    if kind is None or case.then:
        return None
    try:
        walk = plan(replace(case, via=()))[0].walk
    except (ValueError, TypeError):
        return None
    planes = case.shape[0] * case.shape[1]
    windows = planes * math.prod(walk.output)
    real = walk.counts(False)
    size = DTYPES[case.dtype].itemsize
    return Cost(
        windows=windows,
        operations=windows * (math.prod(walk.window) - 1),
        kind=kind,
        divisions=windows if kind == "additions" else 0,
        real_operations=planes * int((real - 1).clip(0).sum()),
        bytes_read=size * math.prod(case.shape),
        bytes_written=size * windows,
    )
