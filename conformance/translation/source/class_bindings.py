"""Variables of a source text that refer to one class of layers: `norm = nn.BatchNorm2d`, then `norm(8)`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from conformance.translation.source.constants import dotted_name, source_of

PARTIAL = "partial"
ROUNDS = 3
"""Passes over the assignments. A variable can be assigned to another one that is assigned later in the text."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Resolver = Callable[[ast.expr], str | None]
"""Returns the name of a class or function of layers with its module, None for other expressions."""


@dataclass(frozen=True)
class ClassBinding:
    """A class that a variable refers to.

    called: the name of the class with its module. text: the class as in the source. keywords: arguments that `partial`
    gives. is_default: whether a caller may pass another class.
    """

    called: str
    text: str
    keywords: tuple[ast.keyword, ...] = ()
    is_default: bool = False

    def note(self, name: str) -> str:
        """Return the class that a variable refers to."""
        return f"{name} is {self.text}{' by default' if self.is_default else ''}"

    @property
    def key(self) -> tuple[str, str]:
        """Equal for the same class with the same arguments."""
        return self.called, self.text


def function_bindings(
    node: Function, known: Mapping[str, ClassBinding], resolve: Resolver
) -> Mapping[str, ClassBinding]:
    """Return the variables of a function that are classes, with those that it sees."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    pairs = [*zip(positional, defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    parameters = {one.arg: default for one, default in pairs}
    visible = {name: one for name, one in known.items() if name not in parameters}
    return {**visible, **find_bindings(node.body, visible, resolve, parameters)}


def find_bindings(
    statements: Sequence[ast.stmt],
    known: Mapping[str, ClassBinding],
    resolve: Resolver,
    parameters: Mapping[str, ast.expr | None] | None = None,
) -> dict[str, ClassBinding]:
    """Return the names that these statements assign to one class only.

    parameters: the parameters of the function with their defaults. `None` as a value does not count.
    """
    values: dict[str, list[ast.expr]] = {name: [one] for name, one in (parameters or {}).items() if one is not None}
    for name, value in _assignments(statements):
        values.setdefault(name, []).append(value)
    # A loop, an unpacking or a `with` statement gives a variable a value that is not known.
    stores = Counter(_stored_names(statements))
    plain = Counter(name for name, _ in _assignments(statements))
    values = {name: found for name, found in values.items() if stores[name] == plain[name]}
    found: dict[str, ClassBinding] = {}
    for _ in range(ROUNDS):
        for name, expressions in values.items():
            context = _Context({**known, **found}, values, resolve)
            own = [one for value in expressions for one in _bindings_of(value, context, name)]
            first = own[0] if own else None
            if first and all(one is not None and one.key == first.key for one in own):
                found[name] = ClassBinding(
                    first.called, first.text, first.keywords, first.is_default or name in (parameters or {})
                )
    return found


def _assignments(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names and values of assignments, without those in functions and classes inside."""
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                name = dotted_name(target)
                if name:
                    yield name, statement.value
        inner = [one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.stmt)]
        yield from _assignments(inner)


def _stored_names(statements: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names that statements give a value, without those in functions and classes inside."""
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield dotted_name(node) or ""
        yield from _stored_names([*ast.iter_child_nodes(node)])


@dataclass(frozen=True)
class _Context:
    """Names of a source text: the classes, and all values that are assigned to each name.

    seen: names of lists whose items are read, which may contain themselves.
    """

    known: Mapping[str, ClassBinding]
    values: Mapping[str, Sequence[ast.expr]]
    resolve: Resolver
    seen: frozenset[str] = frozenset()


def _bindings_of(value: ast.expr, context: _Context, target: str) -> Iterator[ClassBinding | None]:
    """Yield the class of a value, or of each alternative; None for another value. `None` and itself yield nothing."""
    if isinstance(value, ast.Constant) and value.value is None:
        return
    alternatives = [*_alternatives(value, context)]
    name = dotted_name(value)
    if alternatives:
        read = {dotted_name(value.value) or ""} if isinstance(value, ast.Subscript) else set()
        inner = replace(context, seen=context.seen | read)
        for one in alternatives:
            yield from _bindings_of(one, inner, target)
    elif name is not None:
        if name != target:
            called = context.resolve(value)
            yield context.known.get(name) or (ClassBinding(called, source_of(value)) if called else None)
    elif isinstance(value, ast.Call) and len(value.args) == 1 and _is_partial(value):
        for found in _bindings_of(value.args[0], context, target):
            keywords = (*found.keywords, *value.keywords) if found else ()
            yield found and ClassBinding(found.called, source_of(value), keywords, found.is_default)
    else:
        yield None


def _is_partial(value: ast.Call) -> bool:
    return (dotted_name(value.func) or "").rpartition(".")[2] == PARTIAL


def _alternatives(value: ast.expr, context: _Context) -> Sequence[ast.expr]:
    """Return the expressions of which a value is one; none for other values."""
    if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
        return value.values
    if isinstance(value, ast.IfExp):
        return value.body, value.orelse
    return [*_items_of(value, context)]


def _items_of(value: ast.expr, context: _Context) -> Iterator[ast.expr]:
    """Yield the items that `blocks[0]` refers to, where `blocks` is assigned lists."""
    if not isinstance(value, ast.Subscript) or not isinstance(value.slice, ast.Constant):
        return
    index, name = value.slice.value, dotted_name(value.value) or ""
    for one in () if name in context.seen else context.values.get(name, ()):
        items = one.elts if isinstance(one, (ast.List, ast.Tuple)) else []
        if isinstance(index, int) and -len(items) <= index < len(items):
            yield items[index]
