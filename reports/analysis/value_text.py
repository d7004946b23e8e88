"""Short texts of numbers, arrays and calls, for sentences about differences."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, prod

from reports.results import CaseRecord, Json, RecordedArray

MAX_ELEMENTS = 24  # of an array that is written out
DIGITS = (4, 6, 9, 17)  # significant digits, the first at which two numbers differ
DEFAULT_VALUES: tuple[Json, ...] = (None, False, "floor", "constant")
"""Values of parameters that say nothing about a call."""
NEUTRAL_ELEMENTS = {"dilation": 1, "padding": 0, "groups": 1, "output_padding": 0}
"""Parameters, and the number that makes them have no effect."""


def number_text(value: Json, digits: int = DIGITS[-2]) -> str:
    """Write an element with at most `digits` significant digits; NaN and infinities by name."""
    if isinstance(value, float) and isfinite(value):
        return f"{value:.{digits}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return str(value)


def number_pair(expected: Json, got: Json) -> tuple[str, str]:
    """Write two numbers with the fewest digits that distinguish them."""
    texts = ((number_text(expected, digits), number_text(got, digits)) for digits in DIGITS)
    pairs = list(texts)
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])


def array_text(array: RecordedArray) -> str:
    """Write a small array as nested lists after its dtype; a large one as dtype and shape."""
    if array.data is None or not 0 < array.size <= MAX_ELEMENTS:
        return f"{array.dtype} {list(array.shape)}"
    return f"{array.dtype} {_nested_text([number_text(value) for value in array.data], array.shape)}"


def _nested_text(elements: Sequence[str], shape: Sequence[int]) -> str:
    if not shape:
        return elements[0]
    step = prod(shape[1:])
    rows = [_nested_text(elements[start : start + step], shape[1:]) for start in range(0, len(elements), step)]
    return f"[{', '.join(rows)}]"


def call_text(case: CaseRecord) -> str:
    """Write the inputs and the parameters of a case that have an effect."""
    inputs = [f"{name} = {array_text(array)}" for name, array in case.inputs.items()]
    parameters = [f"{name} {value_text(value)}" for name, value in case.parameters.items() if _has_effect(name, value)]
    via = [f"computed as {' → '.join(case.via)}"] if case.via else []
    return "; ".join([*inputs, *parameters, *via])


def value_text(value: Json) -> str:
    """Write the value of a parameter."""
    return {True: "yes", False: "no", None: "none"}.get(value, "") if isinstance(value, bool | None) else str(value)


def _has_effect(name: str, value: Json) -> bool:
    if any(value is default or (value == default and isinstance(value, str)) for default in DEFAULT_VALUES):
        return False
    return name not in NEUTRAL_ELEMENTS or any(number != NEUTRAL_ELEMENTS[name] for number in _flat(value))


def _flat(value: Json) -> list[Json]:
    return [number for one in value for number in _flat(one)] if isinstance(value, list | tuple) else [value]
