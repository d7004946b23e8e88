"""Sets of dtypes that adapters combine, and tables of reasons why a dtype or an operator is not supported."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.adapters.api.surface import Lowering, Unsupported
from conformance.cases.arrays import FLOATING_DTYPES, NUMPY_DTYPES, dtype_kind
from conformance.cases.generators import DtypeKind
from conformance.cases.steps import Step

ALL_DTYPES = frozenset(NUMPY_DTYPES)
FLOATING = FLOATING_DTYPES
INTEGERS = frozenset(name for name in NUMPY_DTYPES if dtype_kind(name) is DtypeKind.INTEGER)
SELECTION_OPERATORS = (
    "max_pool",
    "min_pool",
    "max_pool_with_indices",
    "max_unpool",
    "global_max_pool",
    "adaptive_max_pool",
)
"""Operators that only select elements of the input, so that they need no arithmetic in its dtype."""
BLOCK_OPERATORS = ("depth_to_space", "space_to_depth")
"""Operators that exchange blocks of cells with channels and change no number."""
COLUMN_OPERATORS = ("unfold", "fold")
"""Operators that exchange windows of cells with channels."""


def is_floating(step: Step) -> bool:
    """Whether the step computes in a floating-point dtype."""
    return step.dtype in FLOATING


def unsupported_operators(reasons: Mapping[str, str]) -> Mapping[str, Lowering]:
    """Return lowerings that report why the framework lacks an operator.

    Without such a lowering, an operator that only a composition provides would have no native call, and an unsupported
    dtype of it would be reported as a missing operator.
    """
    return {operator: unsupported_lowering(reason) for operator, reason in reasons.items()}


def unsupported_lowering(reason: str) -> Lowering:
    """Return a lowering that supports no step, with the reason."""
    return lambda _step: Unsupported(reason)
