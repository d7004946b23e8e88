"""The values of parameters with which the cases of a convention were tested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.cases.case import Case

MAX_LISTED = 12
"""Maximum number of values of a parameter that are listed one by one."""


def describe_values(cases: Sequence[Case]) -> str:
    """Return the number of cases, and the dimensions, dtypes, channels, extents and windows that they have.

    The text lists values, not ranges: a value between two of them was not tested. The cases need not have all
    combinations of the values.
    """
    values = {
        "dimensions": {len(case.shape) - 2 for case in cases},
        "channels": {case.shape[1] for case in cases},
        "extents": {extent for case in cases for extent in case.shape[2:]},
        "windows": {extent for case in cases for extent in _window(case)},
    }
    dtypes = ", ".join(dict.fromkeys(case.dtype for case in cases))
    lists = [f"{name} {_listed(found)}" for name, found in values.items() if found]
    return "; ".join([f"{len(cases):,} case{'s' * (len(cases) != 1)}", dtypes, *lists])


def _window(case: Case) -> tuple[int, ...]:
    """Return the extents of the window or of the kernel; none if the operator has neither."""
    window = case.parameters.get("window")
    if isinstance(window, tuple):
        return window
    return tuple(case.inputs["kernel"].shape[2:]) if "kernel" in case.inputs else ()


def _listed(found: Iterable[int]) -> str:
    """Return the values in order; of many, the first ones and the last."""
    texts = [f"{value:,}" for value in sorted(found)]
    if len(texts) > MAX_LISTED:
        texts = [*texts[: MAX_LISTED - 1], f"… {len(texts) - MAX_LISTED} more …", texts[-1]]
    return ", ".join(texts)
