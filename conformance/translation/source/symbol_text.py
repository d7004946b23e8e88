"""Text of arguments: numbers in place of symbols, and symbols in place of these numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.translation.source.constants import Symbol


def text_of(value: Any) -> str:
    """Return an argument as in the source."""
    return value.text if isinstance(value, Symbol) else repr(value)


def argument_text(value: Any, numbers: Mapping[str, Any]) -> str:
    """Return an argument with numbers in place of its symbols."""
    if isinstance(value, tuple):
        return f"({''.join(f'{argument_text(item, numbers)}, ' for item in value)})"
    if isinstance(value, Symbol):
        return repr(numbers[value.text]) if value.text in numbers else value.text
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):  # noqa: PLR0124 - NaN
        return f"float({str(value)!r})"
    return repr(value)


def with_symbols(text: str, numbers: Mapping[str, int]) -> str:
    """Return a text with symbols in place of their numbers."""
    for symbol, number in numbers.items():
        # A symbol that is an expression needs parentheses unless it is a whole argument.
        text = re.sub(rf"(?<![\w.]){number}(?![\w.])", lambda _found, name=symbol: name, text)  # type: ignore[misc]
    return text


def names_in(expressions: Sequence[str]) -> Iterator[str]:
    """Yield the names and attributes in some expressions."""
    for text in expressions:
        try:
            nodes = ast.walk(ast.parse(text, mode="eval"))
        except (SyntaxError, ValueError, RecursionError):  # a shortened text
            continue
        yield from (node.id for node in nodes if isinstance(node, ast.Name) and node.id != "self")
        yield from (ast.unparse(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute))
