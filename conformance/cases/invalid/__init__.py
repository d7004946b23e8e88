"""The named faults for which a case must be rejected, each with a test that the case really has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from conformance.cases.case import Case
from conformance.cases.invalid.inputs import OF_INPUTS
from conformance.cases.invalid.parameters import OF_PARAMETERS, has_of

PREDICATES: Mapping[str, Callable[[Case], bool]] = MappingProxyType(
    {
        **OF_PARAMETERS,
        **OF_INPUTS,
    }
)


def has(predicate: str, case: Case) -> bool:
    """Whether the case has the fault; never where it lacks what the fault is of."""
    return has_of(PREDICATES[predicate], case)


def faults_of(case: Case) -> list[str]:
    """Return the names of all faults that a case has."""
    return [name for name in PREDICATES if has(name, case)]
