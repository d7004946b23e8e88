"""The parameters of a call as words. Equal calls have equal words for any number of spatial axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.cases.operators import OPERATORS
from conformance.cases.selector_values import compact_value
from conformance.translation.option_text import size_text

ALWAYS_NAMED = ("window", "stride", "padding")
"""Parameters that the words contain even if they have their default."""

NO_PADDING = (None, 0, "valid")
"""Values of padding, in their shortest form, with which no window contains padding unless the rounding is `ceil`."""


def parameter_text(name: str, value: Any) -> str:
    """Return a parameter and its value as words."""
    if name == "count_include_pad":
        return "padding counts" if value else "padding does not count"
    return f"{name.replace('_', ' ')} {size_text(value)}"


def call_text(operator: str, parameters: Mapping[str, Any], kernel: Sequence[int] = ()) -> str:
    """Return the parameters of a call without those that have their default: "window 3, stride 2, padding 1".

    parameters: all of them, as in a case or in a results file. kernel: shape of the weights, if there are any.
    """
    return ", ".join(_parameter_texts(operator, parameters, kernel))


def _parameter_texts(operator: str, parameters: Mapping[str, Any], kernel: Sequence[int]) -> Iterator[str]:
    defaults = {name: compact_value(value) for name, value in OPERATORS[operator].defaults.items()}
    window = {"window": kernel[2:]} if kernel else {}
    has_effect = compact_value(parameters.get("padding")) not in NO_PADDING or parameters.get("rounding") == "ceil"
    for name, value in (window | dict(parameters)).items():
        if name == "count_include_pad" and not has_effect:
            continue
        compact = compact_value(value)
        if compact is not None and (name in ALWAYS_NAMED or compact != defaults.get(name)):
            yield parameter_text(name, _as_axes(name, compact))


def _as_axes(name: str, compact: Any) -> Any:
    # In its shortest form, one pair looks like two axes.
    is_pair = name in {"padding", "pads"} and isinstance(compact, tuple) and not isinstance(compact[0], tuple)
    return [compact] if is_pair else compact
