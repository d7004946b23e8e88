"""Parse the source text of a layer into the name of the call and its argument values, without evaluating it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

MAX_SOURCE_LENGTH = 2_000
MAX_LISTED_MODULES = 8
MAX_EXTENTS = 8
OUTPUT_METHOD = "output"
"""Method of a node with several outputs that returns one of them."""
NON_FINITE_NAMES = ("inf", "-inf", "nan")
CAST_FUNCTIONS = re.compile(r"array|asarray|constant|convert|float|b?float\d+|u?int\d+|bool_")
"""Functions that convert a number or a list to another type: `jnp.array(0, x.dtype)`; also `float("inf")`."""
RESHAPE_FUNCTION = "reshape"


class PlainName(str):
    """A name as an argument, for example `x.dtype`. Its text is compared; the name is never resolved."""

    __slots__ = ()


class ExtentName(PlainName):
    """An extent of an array, `x.shape[0]`. axis: negative from the last one."""

    axis: int


class ReshapedName(PlainName):
    """The name of an array that the argument reshapes: `reshape(kernel, [2, 3, 1, 3])`."""

    shape: tuple[int, ...]


class UnreadableLayer(ValueError):
    """A layer that cannot be parsed or translated; the message is the reason."""


class UnknownModule(UnreadableLayer):
    """A call whose prefix is not a module of the surface. modules: those of the surface."""

    def __init__(self, column: int, prefix: str, modules: Iterable[str]) -> None:
        self.column, self.prefix, self.modules = column, prefix, tuple(modules)
        known = ", ".join(self.modules[:MAX_LISTED_MODULES])
        super().__init__(f"column {column}: {prefix!r} is not a module of this surface; its modules are {known}")


@dataclass(frozen=True)
class LayerCall:
    """A parsed call: its name, the module prefix, its arguments, and the index of the result that is used.

    constants: the values that lines before the call assign to names.
    """

    name: str
    module: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    result_index: int | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LayerSyntax:
    """The syntax of layer calls on a surface.

    prefixes: module names that may precede the name of a layer.
    apply_methods: methods that call a layer with its input, like `apply` in `Pool(2).apply({}, x)`.
    ignored_methods: methods after the call that do not change the numbers.
    name_function: a function whose first argument is the name of the layer, if the surface has one.
    ignored_arguments: arguments that may have any value.
    methods: whether layers are methods of arrays.
    constants: whether lines before the call may assign numbers and lists to the names of its inputs.
    """

    prefixes: Collection[str]
    apply_methods: Collection[str] = ()
    ignored_methods: Collection[str] = ()
    name_function: str = ""
    ignored_arguments: Collection[str] = ()
    methods: bool = False
    constants: bool = False


def parse_layer_call(text: str, syntax: LayerSyntax) -> LayerCall:
    """Return the only call in a text. Raises UnreadableLayer, with the column if it is known."""
    lines, expression = _parse_statements(text, syntax)
    node, result = _split_result_index(_strip_trailing_methods(expression, syntax.ignored_methods))
    call = _constructor_call(node, syntax.apply_methods)
    module, name, arguments = _split_call(call, syntax)
    if name == syntax.name_function and arguments and isinstance(arguments[0], str):
        name, *arguments = arguments
    keywords = {
        str(one.arg): _literal_value(one.value) for one in call.keywords if one.arg not in syntax.ignored_arguments
    }
    constants = {name: _literal_value(value) for name, value in lines.items()}
    return LayerCall(name, module, tuple(arguments), keywords, result, constants)


def _split_call(call: ast.Call, syntax: LayerSyntax) -> tuple[str, str, list[Any]]:
    """Return module, name and positional arguments of a call, without the array if the call is a method."""
    prefix, _, name = _dotted_name(call.func).rpartition(".")
    arguments = [_literal_value(node) for node in _positional_arguments(call)]
    if not syntax.methods:
        if prefix and prefix not in syntax.prefixes:
            raise UnknownModule(call.func.col_offset + 1, prefix, syntax.prefixes)
        return prefix, name, arguments
    if prefix in syntax.prefixes and arguments and isinstance(arguments[0], PlainName):
        return "", name, arguments[1:]
    if not prefix or prefix in syntax.prefixes:
        _raise_unreadable(call.func, f"{name!r} is a method: x.{name}(…)")
    return "", name, arguments


def _strip_trailing_methods(node: ast.expr, ignored: Collection[str]) -> ast.expr:
    """Return the expression without calls of ignored methods at its end."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ignored:
        # `x.cast(…)` alone: the name before the method is an array, not a layer.
        if isinstance(node.func.value, ast.Name):
            break
        node = node.func.value
    return node


def _parse_statements(text: str, syntax: LayerSyntax) -> tuple[Mapping[str, ast.expr], ast.expr]:
    """Return the values of the constants by name, and the last expression of a text or the value of its assignment."""
    if len(text) > MAX_SOURCE_LENGTH:
        raise UnreadableLayer(f"{len(text)} characters, more than the limit of {MAX_SOURCE_LENGTH}")
    try:
        body = ast.parse(text.strip()).body
    except SyntaxError as error:
        raise UnreadableLayer(f"column {error.offset or 1}: not Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnreadableLayer(f"not readable as Python ({type(error).__name__})") from None
    *lines, last = body or [ast.Pass()]
    if not isinstance(last, (ast.Expr, ast.Assign)) or (lines and not syntax.constants):
        raise UnreadableLayer("not one layer: write a single call, or one assignment")
    return dict(map(_constant, lines)), last.value


def _constant(line: ast.stmt) -> tuple[str, ast.expr]:
    """Return the name that a line assigns, and its value."""
    if not isinstance(line, ast.Assign) or len(line.targets) != 1 or not isinstance(line.targets[0], ast.Name):
        raise UnreadableLayer(f"line {line.lineno}: only lines name = … can precede the layer")
    return line.targets[0].id, line.value


def _split_result_index(node: ast.expr) -> tuple[ast.expr, int | None]:
    """Return the call without an index of its results, and the index."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in (0, 1):
        return node.value, 1 if node.slice.value else 0
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == OUTPUT_METHOD:
        indices = [item.value for item in node.args if isinstance(item, ast.Constant)]
        if isinstance(node.func.value, ast.Call) and indices in ([0], [1]) and not node.keywords:
            return node.func.value, 1 if indices == [1] else 0
    return node, None


def _constructor_call(node: ast.expr, apply_methods: Collection[str]) -> ast.Call:
    """Return the call that creates the layer, also if the text calls the layer with an input."""
    if not isinstance(node, ast.Call):
        _raise_unreadable(node, "not a call of a layer")
    if isinstance(node.func, ast.Call):
        return _check_inputs_only(node, node.func)
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        if node.func.attr not in apply_methods:
            _raise_unreadable(node.func, f"{node.func.attr!r} does not call a layer")
        return _check_inputs_only(node, node.func.value)
    return node


def _check_inputs_only(node: ast.Call, layer: ast.Call) -> ast.Call:
    """Return the layer. Raises UnreadableLayer unless all arguments of the outer call are names."""
    for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
        # Values are not read: the layer is called with arrays, which only have names here.
        if not isinstance(argument, ast.Dict):  # the weights that `apply` takes
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
        _raise_unreadable(node, f"{type(inner).__name__} is neither a number, a string, a list of these nor a name")
    parts = [inner.id, *parts]
    # No dunder names, although nothing is resolved: the text of a name may become part of a program.
    if any(part.startswith("__") for part in parts):
        _raise_unreadable(node, f"{'.'.join(parts)} is not allowed as an argument")
    return PlainName(".".join(parts))


def _literal_value(node: ast.expr) -> Any:
    """Return a number, a string, a tuple of these, or a name as PlainName."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str, type(None))):
        return node.value
    # -2 is an operator and a number in Python's syntax; no other operator is allowed.
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = None if isinstance(node.operand, ast.UnaryOp) else _literal_value(node.operand)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value
        return (
            PlainName(f"-{value}")
            if isinstance(value, PlainName)
            else _raise_unreadable(node, "a minus sign before something that is not a number")
        )
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(value for item in node.elts for value in _item_values(item))
    if isinstance(node, ast.Subscript):
        return _extent_name(node.value, _index(node.slice))
    return _cast_value(node) if isinstance(node, ast.Call) else _dotted_name(node)


def _item_values(node: ast.expr) -> list[Any]:
    """Return the value of an item of a list, or the first extents of an array: `*x.shape[:2]`."""
    if not isinstance(node, ast.Starred):
        return [_literal_value(node)]
    part = node.value
    if not (isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice) and not part.slice.lower):
        _raise_unreadable(node, "unpacked items other than *x.shape[:2] cannot be read")
    count = _index(part.slice.upper)
    if part.slice.step or count not in range(1, MAX_EXTENTS + 1):
        _raise_unreadable(node, f"not the first extents of an array, at most {MAX_EXTENTS}")
    return [_extent_name(part.value, number) for number in range(count)]


def _extent_name(node: ast.expr, index: int) -> ExtentName:
    """Return an extent of the shape of a name."""
    name = _dotted_name(node)
    if not name.endswith(".shape"):
        _raise_unreadable(node, f"{name}[{index}] is not an extent of a shape")
    extent = ExtentName(f"{name}[{index}]")
    extent.axis = index
    return extent


def _index(node: ast.expr | None) -> int:
    """Return a constant index."""
    value = None if node is None or isinstance(node, ast.Slice) else _literal_value(node)
    if not isinstance(value, int) or isinstance(value, bool):
        _raise_unreadable(node or ast.Constant(None), "an index is an integer")
    return value


def _cast_value(node: ast.Call) -> Any:
    """Return the first argument of a call that only converts its type, or a reshaped name."""
    name = _dotted_name(node.func).rpartition(".")[2] if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
    if name == RESHAPE_FUNCTION and len(node.args) > 1 and isinstance(node.args[1], (ast.Tuple, ast.List)):
        return _reshaped_name(node)
    if not CAST_FUNCTIONS.fullmatch(name) or not node.args:
        _raise_unreadable(node, "Call is neither a number, a string, a list of these nor a name")
    # dtypes and devices of a cast; they must be names.
    for option in (*node.args[1:], *(keyword.value for keyword in node.keywords)):
        _dotted_name(option)
    value = _literal_value(node.args[0])
    if isinstance(value, str) and not isinstance(value, PlainName):
        return (
            PlainName(value)
            if name == "float" and value in NON_FINITE_NAMES
            else _raise_unreadable(node, f"{value!r} is not a number")
        )
    return value


def _reshaped_name(node: ast.Call) -> ReshapedName:
    """Return the name of an array with its new shape."""
    array, shape = ReshapedName(_dotted_name(node.args[0])), _literal_value(node.args[1])
    if not all(isinstance(extent, int) for extent in shape):
        _raise_unreadable(node, "not a shape of integers")
    array.shape = shape
    return array


def _positional_arguments(call: ast.Call) -> list[ast.expr]:
    """Return the positional arguments. Raises UnreadableLayer if `*` or `**` unpacks any."""
    for node in (*call.args, *(keyword for keyword in call.keywords if keyword.arg is None)):
        if isinstance(node, (ast.Starred, ast.keyword)):
            _raise_unreadable(node, "unpacked arguments (* and **) cannot be read")
    return call.args
