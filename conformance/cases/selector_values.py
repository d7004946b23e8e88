"""Values in selectors and features: parameters in their shortest form, and the special values of an input."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import yaml

from conformance.cases.arrays import ArraySpec

SelectorValue = Any
"""A value in its shortest form: a number, a word, a boolean, None, or a tuple of these."""


def compact_value(value: Any) -> SelectorValue:
    """Return a parameter in its shortest form, which is the same at every rank: (3, 3) becomes 3.

    Lists become tuples. Repetitions are removed: (3, 2, 3) becomes (3, 2), ((1, 0), (1, 0)) becomes (1, 0).
    """
    if isinstance(value, (list, tuple)):
        return _round_axes(tuple(value))
    if isinstance(value, (float, Decimal)):
        return _special_name(value) or float(value)
    return value if isinstance(value, (bool, int, str)) or value is None else repr(value)


def _round_axes(axes: tuple[Any, ...]) -> SelectorValue:
    if any(isinstance(axis, (list, tuple)) for axis in axes):  # do not shorten pairs, which could be read as axes
        axes = tuple(tuple(axis) if isinstance(axis, (list, tuple)) else (axis, axis) for axis in axes)
    else:
        axes = tuple(compact_value(axis) for axis in axes)
    for period in range(1, len(axes)):
        if all(axis == axes[number % period] for number, axis in enumerate(axes)):
            axes = axes[:period]
            break
    return compact_value(axes[0]) if len(axes) == 1 else axes


def _special_name(number: float | Decimal) -> str:
    """Return the word for -0.0, NaN or an infinity, "" for any other number."""
    if math.isfinite(number):
        return "-0.0" if number == 0 and math.copysign(1, number) < 0 else ""
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def special_values_of(spec: ArraySpec) -> frozenset[str]:
    """Return the special values in the options of an array specification: nan, inf, -inf, -0.0, and other words."""
    return frozenset(_specials_in(spec.options.values()))


def _specials_in(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from _specials_in(value)
        elif isinstance(value, (float, Decimal)) and _special_name(value):
            yield _special_name(value)


def parse_selector_values(raw: Any) -> tuple[SelectorValue, ...]:
    """Parse the values of a key in a YAML file: one value, or a list of values."""
    return tuple(map(compact_value, raw)) if isinstance(raw, (list, tuple)) else (compact_value(raw),)


def selector_value_text(value: SelectorValue) -> str:
    """Return a value as YAML text."""
    # In a list, because PyYAML ends a document of one scalar with a line `...`. The brackets are removed again.
    return yaml.safe_dump([_as_tuple(value)], default_flow_style=True, width=math.inf).strip()[1:-1]


def _as_tuple(value: SelectorValue) -> Any:
    if isinstance(value, tuple):
        return [_as_tuple(part) for part in value]
    # YAML represents plain strings only, no members of enums.
    return str(value) if isinstance(value, str) else value
