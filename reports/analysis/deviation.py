"""Short descriptions of the deviation of a result from the expected one."""

from __future__ import annotations

from reports.results import CaseRecord, RecordedArray, ResultRecord


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
    """Return what is wrong with a result: the deviation, the message or the reason; "" if they are not recorded."""
    return deviation_text(result, case) or result.message or result.reason or ""


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
