"""Takes the source of a layer apart: the name that is called, its arguments as plain values. Nothing is evaluated."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NoReturn

MAX_SOURCE_LENGTH = 2_000
MAX_LISTED_MODULES = 8
OUTPUT_METHOD = "output"
"""The method that gives one output of a node of several."""
NON_FINITE_NAMES = ("inf", "-inf", "nan")
CAST_FUNCTIONS = re.compile(r"array|asarray|constant|convert|float|b?float\d+|u?int\d+|bool_")
"""Functions that give a number or a list another type: `jnp.array(0, x.dtype)`; also `float("inf")`."""
RESHAPE_FUNCTION = "reshape"


class PlainName(str):
    """A plain name that stands as an argument, `x.dtype`: looked at, never looked up."""

    __slots__ = ()


class ReshapedName(PlainName):
    """The name of an array that is given another shape where it stands, `reshape(kernel, [2, 3, 1, 3])`."""

    shape: tuple[int, ...]


class UnreadableLayer(ValueError):
    """A layer that is not understood; the message says what of it."""


@dataclass(frozen=True)
class LayerCall:
    """A call as it is written: its name, the module before it, its arguments, and which of its results is taken."""

    name: str
    module: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    result_index: int | None = None


@dataclass(frozen=True)
class LayerSyntax:
    """How the layers of a surface are written.

    prefixes: the modules whose names may stand before a layer; applied: methods that stand between it and its input;
    followed: methods after it that change no number; naming: the function whose first argument is the name of a layer,
    if there is one; unseen: arguments whose values nobody looks at; methods: layers are methods of arrays.
    """

    prefixes: Collection[str]
    apply_methods: Collection[str] = ()
    ignored_methods: Collection[str] = ()
    name_function: str = ""
    ignored_arguments: Collection[str] = ()
    methods: bool = False


def parse_layer_call(text: str, syntax: LayerSyntax) -> LayerCall:
    """Return the only call of a text. Raises Unread, with the column where one can be named."""
    whole, result = _split_result_index(_strip_trailing_methods(_parse_expression(text), syntax.ignored_methods))
    call = _constructor_call(whole, syntax.apply_methods)
    module, name, arguments = _split_call(call, syntax)
    if name == syntax.name_function and arguments and isinstance(arguments[0], str):
        name, *arguments = arguments
    named = {
        str(word.arg): _literal_value(word.value) for word in call.keywords if word.arg not in syntax.ignored_arguments
    }
    return LayerCall(name, module, tuple(arguments), named, result)


def _split_call(call: ast.Call, syntax: LayerSyntax) -> tuple[str, str, list[Any]]:
    """Return the module, the name and the arguments without names of a call; the array whose method it is, is none."""
    prefix, _, name = _dotted_name(call.func).rpartition(".")
    arguments = [_literal_value(node) for node in _positional_arguments(call)]
    if not syntax.methods:
        if prefix and prefix not in syntax.prefixes:
            known = ", ".join(list(syntax.prefixes)[:MAX_LISTED_MODULES])
            _raise_unreadable(call.func, f"{prefix!r} is no module of this surface, which are written {known}")
        return prefix, name, arguments
    if prefix in syntax.prefixes and arguments and isinstance(arguments[0], PlainName):
        return "", name, arguments[1:]
    if not prefix or prefix in syntax.prefixes:
        _raise_unreadable(call.func, f"{name!r} is a method: x.{name}(…)")
    return "", name, arguments


def _strip_trailing_methods(node: ast.expr, followed: Collection[str]) -> ast.expr:
    """Return what stands before methods that change no number."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in followed:
        if isinstance(node.func.value, ast.Name):
            break
        node = node.func.value
    return node


def _parse_expression(text: str) -> ast.expr:
    """Return the only expression of a text, or what it assigns."""
    if len(text) > MAX_SOURCE_LENGTH:
        raise UnreadableLayer(f"{len(text)} characters, more than the limit of {MAX_SOURCE_LENGTH}")
    try:
        body = ast.parse(text.strip()).body
    except SyntaxError as error:
        raise UnreadableLayer(f"column {error.offset or 1}: not Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnreadableLayer(f"not Python that can be read ({type(error).__name__})") from None
    if len(body) != 1 or not isinstance(body[0], (ast.Expr, ast.Assign)):
        raise UnreadableLayer("not one layer: a single call, or what a name is set to")
    return body[0].value


def _split_result_index(node: ast.expr) -> tuple[ast.expr, int | None]:
    """Return what is called, and which of its results is taken."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in (0, 1):
        return node.value, 1 if node.slice.value else 0
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == OUTPUT_METHOD:
        which = [item.value for item in node.args if isinstance(item, ast.Constant)]
        if isinstance(node.func.value, ast.Call) and which in ([0], [1]) and not node.keywords:
            return node.func.value, 1 if which == [1] else 0
    return node, None


def _constructor_call(node: ast.expr, applied: Collection[str]) -> ast.Call:
    """Return the call that makes the layer, out of one that calls it with its input too."""
    if not isinstance(node, ast.Call):
        _raise_unreadable(node, "not a call of a layer")
    if isinstance(node.func, ast.Call):
        return _check_inputs_only(node, node.func)
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        if node.func.attr not in applied:
            _raise_unreadable(node.func, f"{node.func.attr!r} is no way to call a layer")
        return _check_inputs_only(node, node.func.value)
    return node


def _check_inputs_only(node: ast.Call, layer: ast.Call) -> ast.Call:
    for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
        if not isinstance(argument, ast.Dict):  # the weights of a layer that is applied to them
            _dotted_name(argument)
    return layer


def _raise_unreadable(node: ast.AST, why: str) -> NoReturn:
    raise UnreadableLayer(f"column {getattr(node, 'col_offset', 0) + 1}: {why}")


def _dotted_name(node: ast.expr) -> PlainName:
    """Return a dotted name as text."""
    parts: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        parts, inner = [inner.attr, *parts], inner.value
    if not isinstance(inner, ast.Name):
        _raise_unreadable(node, f"{type(inner).__name__} is neither a number, a word, a list of these nor a plain name")
    parts = [inner.id, *parts]
    if any(part.startswith("__") for part in parts):
        _raise_unreadable(node, f"{'.'.join(parts)} is no name of an argument")
    return PlainName(".".join(parts))


def _literal_value(node: ast.expr) -> Any:
    """Return a number, a word, a tuple of these, or a plain name as such."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str, type(None))):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = None if isinstance(node.operand, ast.UnaryOp) else _literal_value(node.operand)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value
        return (
            PlainName(f"-{value}")
            if isinstance(value, PlainName)
            else _raise_unreadable(node, "a minus before what is no number")
        )
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_literal_value(item) for item in node.elts)
    return _cast_value(node) if isinstance(node, ast.Call) else _dotted_name(node)


def _cast_value(node: ast.Call) -> Any:
    """Return what stands in a call that gives it another type, and nothing else."""
    name = _dotted_name(node.func).rpartition(".")[2] if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
    if name == RESHAPE_FUNCTION and len(node.args) > 1 and isinstance(node.args[1], (ast.Tuple, ast.List)):
        return _reshaped_name(node)
    if not CAST_FUNCTIONS.fullmatch(name) or not node.args:
        _raise_unreadable(node, "Call is neither a number, a word, a list of these nor a plain name")
    for further in (*node.args[1:], *(word.value for word in node.keywords)):
        _dotted_name(further)
    value = _literal_value(node.args[0])
    if isinstance(value, str) and not isinstance(value, PlainName):
        return (
            PlainName(value)
            if name == "float" and value in NON_FINITE_NAMES
            else _raise_unreadable(node, f"{value!r} is no number")
        )
    return value


def _reshaped_name(node: ast.Call) -> ReshapedName:
    """Return the name of an array with the shape that it is given."""
    array, shape = ReshapedName(_dotted_name(node.args[0])), _literal_value(node.args[1])
    if not all(isinstance(extent, int) for extent in shape):
        _raise_unreadable(node, "not a shape of whole numbers")
    array.shape = shape
    return array


def _positional_arguments(call: ast.Call) -> list[ast.expr]:
    """Return the arguments without names, of which none is unpacked."""
    for node in (*call.args, *(keyword for keyword in call.keywords if keyword.arg is None)):
        if isinstance(node, (ast.Starred, ast.keyword)):
            _raise_unreadable(node, "arguments that are unpacked cannot be read")
    return call.args
