"""ONNX: inputs of nodes whose values lines before the node assign: `sizes = np.array([4, 3])`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.adapters.api import BoundCall, UnreadableLayer


def named_input(call: BoundCall, names: Sequence[str], name: str) -> str:
    """Return the text of an input, "" if the node does not have it. names: all inputs of the node, in their order."""
    inputs = call.arguments["inputs"]
    return str(dict(zip(names, inputs if isinstance(inputs, tuple) else (), strict=False)).get(name, ""))


def constant_input(call: BoundCall, names: Sequence[str], name: str) -> Any:
    """Return the value of an input, None if the node does not have it, or if it is empty."""
    given = named_input(call, names, name)
    if given == "":
        return None
    if given not in call.constants:
        raise UnreadableLayer(f"inputs: write the array of {name} in a line before the node: {given} = np.array([…])")
    value = call.constants[given]
    return None if value == () else value


def constant_list(call: BoundCall, names: Sequence[str], name: str) -> tuple[Any, ...] | None:
    """Return the numbers of an input, None if the node does not have it, or if it is empty."""
    value = constant_input(call, names, name)
    if value is not None and not (isinstance(value, tuple) and all(map(_is_number, value))):
        raise UnreadableLayer(f"{named_input(call, names, name)}: not a list of numbers")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
