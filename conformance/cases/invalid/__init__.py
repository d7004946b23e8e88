"""The violations for which a case must be rejected, by name, each with a predicate that tests a case for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from conformance.cases.case import Case
from conformance.cases.invalid.inputs import INPUT_VIOLATIONS
from conformance.cases.invalid.parameters import PARAMETER_VIOLATIONS, violates

VIOLATIONS: Mapping[str, Callable[[Case], bool]] = MappingProxyType(
    {
        **PARAMETER_VIOLATIONS,
        **INPUT_VIOLATIONS,
    }
)


def has_violation(name: str, case: Case) -> bool:
    """Whether the case has the violation; False if the case lacks the parameter or input concerned."""
    return violates(VIOLATIONS[name], case)


def violations_of(case: Case) -> list[str]:
    """Return the names of all violations of a case."""
    return [name for name in VIOLATIONS if has_violation(name, case)]
