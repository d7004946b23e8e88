"""Comparison of the arrays of an exported catalogue with the results of the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from conformance.cases.arrays import Array, canonical_bytes
from conformance.catalogue.export_reader import TARGET_ARRAYS, ExportedArray, ExportedCase
from conformance.judging.expected import Expected, Target
from reference import Exact

MAX_RELATIVE_DISTANCE = 1e-6
"""Maximum error of high + low, relative to the bound, that the reference guarantees. Two results may differ by twice
that."""


def export_mismatches(case: ExportedCase, expected: Expected) -> Iterator[str]:
    """Yield an error message for each exported array of a case that differs from the result of the reference."""
    targets = {"": expected.target} if expected.target else expected.answers
    for name, target in targets.items():
        of_answer = f" of answer {name!r}" if name else ""
        if target.exact is not None:
            mismatches = _target_mismatches(case.targets.get(name, {}), target)
            yield from (f"its exported {part}{of_answer} differs from that of the reference" for part in mismatches)


def _target_mismatches(arrays: Mapping[str, ExportedArray], target: Target) -> Iterator[str]:
    exact: Any = target.exact
    exported = {name: spec.make() for name, spec in arrays.items()}
    value = exported.get("value")
    if (
        value is None
        or (value.dtype, value.shape) != (exact.value.dtype, exact.value.shape)
        or (canonical_bytes(value) != canonical_bytes(exact.value))
    ):
        yield "output"
    elif set(exported) != ({"value"} if is_exact_result(exact) else set(TARGET_ARRAYS)) or any(
        array.shape != value.shape for array in exported.values()
    ):
        yield "bound"
    elif not is_exact_result(exact):
        yield from _distant_parts(exported, exact, target.bound)


def _distant_parts(exported: Mapping[str, Array], exact: Any, bound: Any) -> Iterator[str]:
    # high + low and the bound depend slightly on the platform, so they are compared with a tolerance.
    finite = np.isfinite(exact.high) & np.isfinite(bound)
    with np.errstate(all="ignore"):
        result_error = np.abs((exported["high"] - exact.high) + (exported["low"] - exact.low))
        bound_error = np.abs(exported["bound"] - bound)
    if not ((result_error <= 2 * MAX_RELATIVE_DISTANCE * bound) | ~finite).all() or not _equal_where(
        exported["high"], exact.high, ~finite
    ):
        yield "exact result"
    if not ((bound_error <= MAX_RELATIVE_DISTANCE * bound) | ~finite).all() or not _equal_where(
        exported["bound"], bound, ~finite
    ):
        yield "bound"


def _equal_where(one: Array, other: Array, mask: Array) -> bool:
    return np.array_equal(one[mask], other[mask], equal_nan=True)


def is_exact_result(exact: Exact) -> bool:
    """Whether the value is the exact result without rounding, so that its bound is 0."""
    return exact.high is None or exact.low is None
