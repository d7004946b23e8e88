"""Short descriptions of the deviation of a result from the expected one."""

from __future__ import annotations

import math

from reports.results import CaseRecord, Outcome, RecordedArray, ResultRecord
from reports.results.vocabulary import PROGRAM_ERROR_PREFIX

FLOAT_PRECISIONS = {"float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126), "float64": (53, -1022)}
"""Bits of the significand, and exponent of the smallest normal number, of each floating dtype."""
PROGRAM_ERROR_EXPLANATION = "failed because of an error in the program that the adapter wrote"


def deviation_text(result: ResultRecord, case: CaseRecord) -> str:
    """Return the worst element, or the differing shape or dtype, of a result; "" if neither is recorded."""
    worst, got, expected = result.worst, result.got, case.expected
    if worst is not None:
        index = ", ".join(map(str, worst.index))
        return f"at [{index}] expected {worst.expected}, got {worst.got}"
    if got is None or not isinstance(expected, RecordedArray):
        return ""
    if (got.shape, got.dtype) != (expected.shape, expected.dtype):
        return f"expected {expected.dtype} {list(expected.shape)}, got {got.dtype} {list(got.shape)}"
    return _first_deviation(expected, got)


def failure_reason(result: ResultRecord, case: CaseRecord) -> str:
    """Return why a result is not as expected: the deviation, the message or the reason; "" if they are not recorded."""
    return deviation_text(result, case) or result.message or result.reason or ""


def is_program_error(result: ResultRecord) -> bool:
    """Whether the program of a result is wrong. Its outcome is `crashed`, but no process has ended."""
    return result.outcome == Outcome.CRASHED and (result.message or "").startswith(PROGRAM_ERROR_PREFIX)


def _first_deviation(expected: RecordedArray, got: RecordedArray) -> str:
    pairs = zip(expected.data or (), got.data or (), strict=False)
    for position, (element, returned) in enumerate(pairs):
        if element != returned:
            index = ", ".join(map(str, unravel_index(position, expected.shape)))
            return f"at [{index}] expected {element}, got {returned}"
    return ""


def unravel_index(position: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of the element at a position of a flat array in row-major order."""
    index: tuple[int, ...] = ()
    for size in reversed(shape):
        position, last = divmod(position, size)
        index = (last, *index)
    return index


def move_size_text(distance: float, magnitude: float, dtype: str, bound: float | None) -> str:
    """Return the size of a moved element in ulp and as a share of the error bound; "" if neither has a meaning.

    distance: absolute difference of the old and the new value. magnitude: the larger of their absolute values. One ulp
    is the distance to the next larger number at that magnitude. bound: the largest error bound of the case.
    """
    if not math.isfinite(distance) or not distance or dtype not in FLOAT_PRECISIONS:
        return ""
    texts = [f"{distance / unit_in_last_place(magnitude, dtype):.3g} ulp"]
    if bound and math.isfinite(bound):
        texts.append(f"{100 * distance / bound:.2g} % of the largest error bound")
    return ", ".join(texts)


def unit_in_last_place(magnitude: float, dtype: str) -> float:
    """Return the distance from a nonnegative finite number to the next larger one in a floating dtype."""
    bits, least_exponent = FLOAT_PRECISIONS[dtype]
    exponent = math.frexp(magnitude)[1] - 1 if magnitude else least_exponent
    return math.ldexp(1.0, max(exponent, least_exponent) - bits + 1)
