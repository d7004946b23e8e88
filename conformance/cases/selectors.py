"""Selectors: conditions on features of a case, such as `operator: max_pool, values: nan`.

A selector maps keys to values. A key is one of SELECTOR_FEATURES, or a parameter of any operator. A case matches if,
for every key, its value is one of the listed values; a case without a parameter does not match a condition on it.
Values are written as in sweeps: a parameter that is equal on all axes is one number, a list is repeated over the axes,
and padding that is equal on all axes is one (before, after) pair. A word may be a glob.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Mapping
from typing import Any

from conformance.cases.features.case_features import SELECTOR_FEATURES, CaseFeatures
from conformance.cases.operators import OPERATORS
from conformance.cases.selector_values import SelectorValue

Selector = Mapping[str, tuple[SelectorValue, ...]]
"""For each key, the allowed values."""
GLOB_CHARACTERS = re.compile(r"[*?\[]")
"""Characters that make a word a glob pattern."""


def selector_keys() -> list[str]:
    """Return every key that a selector may have: features, then parameters of operators."""
    parameters = {name for operator in OPERATORS.values() for name in operator.defaults}
    return [*SELECTOR_FEATURES, *sorted(parameters - SELECTOR_FEATURES.keys())]


def unknown_key_problem(key: str) -> str | None:
    """Return an error message for an unknown key, None for a known one."""
    keys = selector_keys()
    if key in keys:
        return None
    near = difflib.get_close_matches(key, keys, 1)
    return f"unknown key{f', did you mean {near[0]!r}?' if near else ''}; known keys: {', '.join(keys)}"


def matches(features: CaseFeatures, selector: Selector) -> bool:
    """Whether a case has one of the values for every key of the selector."""
    return all(_any_matches(features[key], values) for key, values in selector.items())


def _any_matches(found: Any, values: tuple[SelectorValue, ...]) -> bool:
    for value in values:
        if isinstance(found, frozenset):
            if any(_equals(word, value) for word in found):
                return True
        elif _equals(found, value):
            return True
    return False


def _equals(found: Any, value: SelectorValue) -> bool:
    if isinstance(found, str) and isinstance(value, str):
        return found == value or bool(GLOB_CHARACTERS.search(value) and fnmatch.fnmatchcase(found, value))
    # In Python True == 1, but a divisor of 1 is not the boolean true.
    return isinstance(found, bool) == isinstance(value, bool) and bool(found == value)
