"""The proof that a case stays among ordinary numbers: whatever is computed on the way is finite, and normal or 0.

Special values, overflow and subnormals are asked about by cases of their own. Everywhere else they would make the
verdict depend on what a framework does with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import ml_dtypes
import numpy as np

from conformance.cases.arrays import NUMPY_DTYPES, Array
from conformance.cases.case import Case, Value
from conformance.judging.expected import Expected

SPECIAL_GENERATORS = frozenset({"marked", "literal"})
POSITION_INPUTS = frozenset({"indices", "samples", "draws"})


def out_of_range(case: Case, expected: Expected) -> Iterator[str]:
    """Yield what may leave the ordinary numbers of the case's dtype, in words; nothing for literals and marks."""
    exact = expected.target.exact if expected.target else None
    kind = NUMPY_DTYPES[case.dtype]
    if exact is None or exact.exact or kind.kind not in "fV" or not isinstance(case.expect, Value):
        return
    factors = [array.astype(np.float64) for name, array in expected.inputs.items() if name not in POSITION_INPUTS]
    if any(spec.values in SPECIAL_GENERATORS for spec in case.inputs.values()) or not all(
        array.size for array in factors
    ):
        return
    info = ml_dtypes.finfo(kind)  # type: ignore[no-untyped-call]
    power = np.float64(case.parameters.get("p", 1))
    terms = int(exact.terms.max(initial=1))
    with np.errstate(over="ignore", under="ignore"):
        largest = math.prod(np.abs(array).max() ** power for array in factors) * terms
    if largest > float(info.max):
        yield f"sums may reach {largest:.3g}, beyond the largest {case.dtype}"
    whole = all((array == np.round(array)).all() for array in factors)
    least = math.prod(_smallest_exponent(array) ** power for array in factors) * (1.0 if whole else float(info.eps))
    if least < float(info.tiny):
        yield f"what cancellation leaves may be {least:.3g}, below the normal numbers of {case.dtype}"
    if "softmax" in case.operator and np.exp(-np.ptp(expected.inputs["x"].astype(np.float64))) < float(info.tiny):
        yield f"exponentials of differences fall below the normal numbers of {case.dtype}"
    results = np.abs(exact.value.astype(np.float64))
    if ((results > 0) & (results < float(info.tiny))).any():
        yield f"the result holds {results[results > 0].min():.3g}, below the normal numbers of {case.dtype}"


def _smallest_exponent(array: Array) -> float:
    """Return the power of two at or below the least of the numbers, zeros left out."""
    numbers = np.abs(array[array != 0])
    return float(np.exp2(np.floor(np.log2(numbers.min())))) if numbers.size else 1.0
