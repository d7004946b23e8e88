"""Values of expressions in a source text: literals, names with one literal value, and bounded arithmetic."""

from __future__ import annotations

import ast
import copy
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_NUMBER = 2**63
"""Limit of the absolute value of numbers. Sizes beyond it are no sizes of arrays."""
MAX_TEXT = 200
"""Limit of the length of strings."""
MAX_ITEMS = 64
"""Limit of the number of elements of a tuple."""
MAX_EXPONENT = 64
MAX_DEPTH = 50
"""Limit of nested expressions."""


@dataclass(frozen=True)
class Symbol:
    """An expression without a known value.

    text: its source text. default: the default of the function's parameter, if the expression is one.
    has_default: whether there is a default, which may be None. is_optional: whether the source has a default whose
    value is not known.
    """

    text: str
    default: Any = None
    has_default: bool = False
    is_optional: bool = False


class NotLiteral(Exception):
    """An expression whose value is not known from the text."""


def _power(base: Any, exponent: Any) -> Any:
    if not 0 <= exponent <= MAX_EXPONENT or abs(base) > MAX_NUMBER:
        raise NotLiteral
    return base**exponent


BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}

Names = Mapping[str, Any]
"""Value of each known name, such as `width` and `self.width`. A value may be a Symbol."""


def evaluate(node: ast.expr, names: Names, depth: int = 0) -> Any:
    """Return the value of an expression; lists are tuples. Raises NotLiteral if the text does not give the value."""
    if depth > MAX_DEPTH:
        raise NotLiteral
    if isinstance(node, ast.Constant):
        return _bounded(node.value)
    if isinstance(node, (ast.Name, ast.Attribute)):
        value = names.get(dotted_name(node) or "", _non_finite(node))
        if value is NotLiteral or isinstance(value, Symbol):
            raise NotLiteral
        return value
    if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) <= MAX_ITEMS:
        return tuple(evaluate(item, names, depth + 1) for item in node.elts)
    if isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
        return _computed(UNARY[type(node.op)], evaluate(node.operand, names, depth + 1))
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        left, right = evaluate(node.left, names, depth + 1), evaluate(node.right, names, depth + 1)
        return _computed(BINARY[type(node.op)], left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CASTS and len(node.args) == 1:
        return _cast(CASTS[node.func.id], evaluate(node.args[0], names, depth + 1))
    raise NotLiteral


CASTS: Mapping[str, Callable[[Any], Any]] = {"int": int, "float": float}


def _cast(function: Callable[[Any], Any], value: Any) -> Any:
    # float("inf") and float("nan") are the usual texts of these numbers.
    if function is float and isinstance(value, str) and value.lstrip("-") in NON_FINITE:
        return float(value)
    return _computed(function, value)


NON_FINITE = {"inf": math.inf, "nan": math.nan}


def _non_finite(node: ast.Name | ast.Attribute) -> Any:
    """Return the number of a name such as `np.inf`, which every array library has; NotLiteral for others."""
    return NON_FINITE.get(node.attr, NotLiteral) if isinstance(node, ast.Attribute) else NotLiteral


def _computed(function: Callable[..., Any], *values: Any) -> Any:
    # Strings and tuples could grow without limit, so arithmetic is for numbers only.
    if not all(isinstance(value, (bool, int, float)) for value in values):
        raise NotLiteral
    try:
        return _bounded(function(*values))
    except (ArithmeticError, ValueError):
        raise NotLiteral from None


def _bounded(value: Any) -> Any:
    if isinstance(value, str) and len(value) <= MAX_TEXT:
        return value
    if value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) <= MAX_NUMBER):
        return value
    raise NotLiteral


def argument_value(node: ast.expr, names: Names) -> Any:
    """Return the value of an argument, with a Symbol for each part whose value is not known."""
    try:
        return evaluate(node, names)
    except NotLiteral:
        if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) <= MAX_ITEMS:
            return tuple(argument_value(item, names) for item in node.elts)
        known = names.get(dotted_name(node) or "")
        return known if isinstance(known, Symbol) else Symbol(source_of(_WithValues(names).visit(copy.deepcopy(node))))


class _WithValues(ast.NodeTransformer):
    """Replaces names by their values and by the text of their symbols."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._replaced(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._replaced(node)

    def _replaced(self, node: ast.Name | ast.Attribute) -> ast.expr:
        value = self.names.get(dotted_name(node) or "")
        if isinstance(value, Symbol):
            return ast.parse(value.text, mode="eval").body
        return ast.Constant(value) if isinstance(value, (bool, int, float)) else node


def dotted_name(node: ast.AST) -> str | None:
    """Return `a.b.c` for such an expression, None for others."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < MAX_DEPTH:
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def source_of(node: ast.AST) -> str:
    """Return the source text of an expression in one line, shortened if it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"
