"""The named faults for which a case must be rejected, each with a test that the case really has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from conformance.cases.case import Case
from conformance.cases.invalid.inputs import INPUT_VIOLATIONS
from conformance.cases.invalid.parameters import PARAMETER_VIOLATIONS, test_violation

VIOLATIONS: Mapping[str, Callable[[Case], bool]] = MappingProxyType(
    {
        **PARAMETER_VIOLATIONS,
        **INPUT_VIOLATIONS,
    }
)


def has_violation(predicate: str, case: Case) -> bool:
    """Whether the case has the fault; never where it lacks what the fault is of."""
    return test_violation(VIOLATIONS[predicate], case)


def violations_of(case: Case) -> list[str]:
    """Return the names of all faults that a case has."""
    return [name for name in VIOLATIONS if has_violation(name, case)]
