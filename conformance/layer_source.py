"""Takes the source of a layer apart: the name that is called, its arguments as plain values. Nothing is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NoReturn

LONGEST = 2_000


class Word(str):
    """A plain name that stands as an argument, `x.dtype`: looked at, never looked up."""

    __slots__ = ()


class Unread(ValueError):
    """A layer that is not understood; the message says what of it."""


@dataclass(frozen=True)
class Source:
    """A call as it is written: its name without the module, its arguments, and which of its results is taken."""

    name: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    result: int | None = None


def source(text: str, prefixes: Collection[str], applied: Collection[str] = (), naming: str = "") -> Source:
    """Return the only call of a text. Raises Unread, with the column where one can be named.

    prefixes: the modules whose names may stand before it; applied, naming: see Dialect.
    """
    whole, result = _taken(_parsed(text))
    call = _layer_call(whole, applied)
    name, arguments = _name(call, prefixes), [_literal(node) for node in _plain(call)]
    if name == naming and arguments and isinstance(arguments[0], str):
        name, *arguments = arguments
    named = {str(keyword.arg): _literal(keyword.value) for keyword in call.keywords}
    return Source(name, tuple(arguments), named, result)


def _parsed(text: str) -> ast.expr:
    """Return the only expression of a text, or what it assigns."""
    if len(text) > LONGEST:
        raise Unread(f"{len(text)} characters, more than the limit of {LONGEST}")
    try:
        body = ast.parse(text.strip()).body
    except SyntaxError as error:
        raise Unread(f"column {error.offset or 1}: not Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unread(f"not Python that can be read ({type(error).__name__})") from None
    if len(body) != 1 or not isinstance(body[0], (ast.Expr, ast.Assign)):
        raise Unread("not one layer: a single call, or what a name is set to")
    return body[0].value


def _taken(node: ast.expr) -> tuple[ast.expr, int | None]:
    """Return what is called, and which of its results is taken."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in (0, 1):
        return node.value, 1 if node.slice.value else 0
    return node, None


def _layer_call(node: ast.expr, applied: Collection[str]) -> ast.Call:
    """Return the call that makes the layer, out of one that calls it with its input too."""
    if not isinstance(node, ast.Call):
        _fail(node, "not a call of a layer")
    if isinstance(node.func, ast.Call):
        return _inputs_only(node, node.func)
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        if node.func.attr not in applied:
            _fail(node.func, f"{node.func.attr!r} is no way to call a layer")
        return _inputs_only(node, node.func.value)
    return node


def _inputs_only(node: ast.Call, layer: ast.Call) -> ast.Call:
    for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
        if not isinstance(argument, ast.Dict):  # the weights of a layer that is applied to them
            _named(argument)
    return layer


def _fail(node: ast.AST, why: str) -> NoReturn:
    raise Unread(f"column {getattr(node, 'col_offset', 0) + 1}: {why}")


def _named(node: ast.expr) -> Word:
    """Return a dotted name as text."""
    parts: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        parts, inner = [inner.attr, *parts], inner.value
    if not isinstance(inner, ast.Name):
        _fail(node, f"{type(inner).__name__} is neither a number, a word, a list of these nor a plain name")
    parts = [inner.id, *parts]
    if any(part.startswith("__") for part in parts):
        _fail(node, f"{'.'.join(parts)} is no name of an argument")
    return Word(".".join(parts))


def _literal(node: ast.expr) -> Any:
    """Return a number, a word, a tuple of these, or a plain name as such."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str, type(None))):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = None if isinstance(node.operand, ast.UnaryOp) else _literal(node.operand)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value
        return Word(f"-{value}") if isinstance(value, Word) else _fail(node, "a minus before what is no number")
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_literal(item) for item in node.elts)
    return _named(node)


def _name(call: ast.Call, prefixes: Collection[str]) -> str:
    """Return the name of what is called, without its module."""
    prefix, _, name = _named(call.func).rpartition(".")
    if prefix and prefix not in prefixes:
        known = ", ".join(prefixes)
        _fail(call.func, f"{prefix!r} is no module of this surface, which are written {known}")
    return name


def _plain(call: ast.Call) -> list[ast.expr]:
    """Return the arguments without names, of which none is unpacked."""
    for node in (*call.args, *(keyword for keyword in call.keywords if keyword.arg is None)):
        if isinstance(node, (ast.Starred, ast.keyword)):
            _fail(node, "arguments that are unpacked cannot be read")
    return call.args
