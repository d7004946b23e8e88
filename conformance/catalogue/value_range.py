"""Check that the values of a case stay in range: all intermediate results are finite, and normal or 0.

Separate cases test special values, overflow and subnormal numbers. In other cases these would make the verdict depend
on how a framework treats them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import ml_dtypes
import numpy as np

from conformance.cases.arrays import FLOATING_DTYPES, NUMPY_DTYPES, Array
from conformance.cases.case import Case, Value
from conformance.cases.generators import GeneratorName
from conformance.cases.operators import INPUTS, OPERATORS, Arithmetic, Geometry
from conformance.judging.expected import Expected

UNCHECKED_GENERATORS = frozenset({GeneratorName.MARKED, GeneratorName.LITERAL})
"""Generators of numbers that a case chooses, which may leave the range on purpose."""


def out_of_range(case: Case, expected: Expected) -> Iterator[str]:
    """Yield a message for each quantity that may leave the range of normal numbers of the case's dtype.

    Cases with literal numbers or special values are not checked.
    """
    exact = expected.target.exact if expected.target else None
    if exact is None or exact.exact or case.dtype not in FLOATING_DTYPES or not isinstance(case.expect, Value):
        return
    factors = [array.astype(np.float64) for name, array in expected.inputs.items() if not INPUTS[name].is_position]
    if any(spec.values in UNCHECKED_GENERATORS for spec in case.inputs.values()) or not all(
        array.size for array in factors
    ):
        return
    info = ml_dtypes.finfo(NUMPY_DTYPES[case.dtype])  # type: ignore[no-untyped-call]
    # Norms raise every factor to the power p, and normalization squares it; other operators have no such parameter.
    is_squared = OPERATORS[case.operator].geometry is Geometry.CHANNELS
    power = np.float64(2 if is_squared else case.parameters.get("p", 1))
    terms = int(exact.terms.max(initial=1))
    with np.errstate(over="ignore", under="ignore"):
        largest = math.prod(np.abs(array).max() ** power for array in factors) * terms
    if largest > float(info.max):
        yield f"sums may reach {largest:.3g}, beyond the largest {case.dtype}"
    # Differences of integers are integers; otherwise cancellation can leave the last bit of a number.
    integral = all((array == np.round(array)).all() for array in factors)
    least = math.prod(_smallest_exponent(array) ** power for array in factors) * (1.0 if integral else float(info.eps))
    if least < float(info.tiny):
        yield f"cancellation may leave {least:.3g}, below the normal numbers of {case.dtype}"
    has_exponentials = OPERATORS[case.operator].arithmetic is Arithmetic.EXPONENTIALS
    if has_exponentials and np.exp(-np.ptp(expected.inputs["x"].astype(np.float64))) < float(info.tiny):
        yield f"exponentials of differences fall below the normal numbers of {case.dtype}"
    results = np.abs(exact.value.astype(np.float64))
    if ((results > 0) & (results < float(info.tiny))).any():
        yield f"the result contains {results[results > 0].min():.3g}, below the normal numbers of {case.dtype}"


def _smallest_exponent(array: Array) -> float:
    """Return the largest power of two not above the smallest nonzero magnitude; 1 if all numbers are 0."""
    numbers = np.abs(array[array != 0])
    return float(np.exp2(np.floor(np.log2(numbers.min())))) if numbers.size else 1.0
