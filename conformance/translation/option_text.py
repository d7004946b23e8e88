"""Values as the command line takes them, and errors of the schema in terms of its options."""

from __future__ import annotations

import math
import re
from typing import Any

from conformance.cases.operators import PARAMETERS

REQUEST_CASE_ID = "asked"
"""Last part of the id of a requested case. It is in the JSON of `conformance translate`."""
PER_AXIS_OPTIONS = tuple(one.name for one in PARAMETERS.values() if one.is_per_axis)


def as_option_error(text: str, operator: str) -> str:
    """Return the message of a case error for the command line, with options in place of YAML keys."""
    # The user gave options, and knows neither the case nor its keys.
    text = re.sub(rf"^case {REQUEST_CASE_ID}: ", "", text)
    match = re.match(r"key '([^']*)': (.*)", text)
    if not match:
        text = re.sub(r"needs the key '(\w+)'", lambda key: f"needs --{option_name(key[1])}", text)
        text = re.sub(rf"^({'|'.join(PER_AXIS_OPTIONS)})\b", lambda key: f"--{option_name(key[1])}", text)
        return text if text.startswith(operator) else f"{operator}: {text}"
    keys, message = match.groups()
    key = keys.split(".")[0]
    option = {"x": "shape", "kernel": "kernel-shape", "output": "gradient"}.get(key, option_name(key))
    option = "dtype" if keys.endswith(".dtype") else option
    return f"{operator}: --{option}: {message}"


def option_name(key: str) -> str:
    """Return the name of the option for a key."""
    return key.replace("_", "-")


def size_text(values: Any) -> str:
    """Return sizes for people: "3 x 3"."""
    if isinstance(values, (list, tuple)):
        if any(isinstance(value, (list, tuple)) for value in values):
            pairs = [tuple(value) for value in values]
            symmetric = all(before == after for before, after in pairs)
            return size_text([pair[0] for pair in pairs] if symmetric else [f"({a}, {b})" for a, b in pairs])
        return " x ".join(map(str, values))
    if isinstance(values, float) and values.is_integer() and not math.isinf(values):
        return str(int(values))
    return str(values).lower() if isinstance(values, bool) else str(values)


def option_text(value: Any) -> str:
    """Return a value as a command line argument: "3,3" or "1:0,1:0"."""
    if isinstance(value, (list, tuple)):
        return ",".join(":".join(map(str, item)) if isinstance(item, (list, tuple)) else str(item) for item in value)
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value))
    return str(value)
