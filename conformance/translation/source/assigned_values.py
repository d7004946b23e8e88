"""Values of names in a source text: imports, assignments of literals, parameters and attributes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.translation.source.constants import Names, NotLiteral, Symbol, argument_value, dotted_name, evaluate
from conformance.translation.source.found_layer import SELF

Function = ast.FunctionDef | ast.AsyncFunctionDef


def with_values(value: Any, names: Names) -> Any:
    """Return an argument of a class with the values of the parameters of the class."""
    if isinstance(value, tuple):
        return tuple(with_values(item, names) for item in value)
    if not isinstance(value, Symbol):
        return value
    try:
        node = ast.parse(value.text, mode="eval").body
    except (SyntaxError, ValueError):  # a shortened text
        return value
    found = argument_value(node, names)
    return value if isinstance(found, Symbol) and found.text == value.text else found


def imported_names(tree: ast.Module) -> tuple[dict[str, str], set[str]]:
    """Return the module or object of each imported name, and the modules imported with a star."""
    aliases: dict[str, str] = {}
    stars: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                aliases[one.asname or one.name.partition(".")[0]] = (
                    one.name if one.asname else one.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            stars |= {module for one in node.names if one.name == "*"}
            aliases |= {one.asname or one.name: f"{module}.{one.name}" for one in node.names}
    return aliases, stars


def count_assignments(statements: Sequence[ast.AST]) -> Counter[str]:
    """Return how often each name is assigned anywhere in some statements."""
    found: Counter[str] = Counter()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
                found[dotted_name(node) or ""] += 1
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                found.update(dict.fromkeys(node.names, 2))
    return found


def single_values(statements: Sequence[ast.stmt], names: Names) -> dict[str, Any]:
    """Return the names that one plain assignment of these statements gives a literal value."""
    counts = count_assignments(statements)
    found: dict[str, Any] = {}
    for node in statements:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        name = dotted_name(target) if target is not None else None
        if name is not None and counts[name] == 1 and isinstance(node, ast.Assign):
            try:
                found[name] = evaluate(node.value, {**names, **found})
            except NotLiteral:
                continue
    return found


def dictionary_items(node: ast.expr) -> dict[str, ast.expr] | None:
    """Return the items of `{"a": 1}` or `dict(a=1)`; None for another expression, or if a key is no string."""
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        named = {key: value for key, value in zip(keys, node.values, strict=True) if isinstance(key, str)}
        return named if len(named) == len(keys) else None
    if isinstance(node, ast.Call) and dotted_name(node.func) == "dict" and not node.args:
        items = {one.arg: one.value for one in node.keywords if one.arg}
        return items if len(items) == len(node.keywords) else None
    return None


def dictionaries(function: Function) -> dict[str, dict[str, ast.expr]]:
    """Return the items of each variable of a function that is one dictionary and never changes."""
    counts, changed = count_assignments(function.body), _changed_variables(function)
    found: dict[str, dict[str, ast.expr]] = {}
    for node in function.body:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        items = dictionary_items(node.value) if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and items is not None and counts[target.id] == 1 and target.id not in changed:
            found[target.id] = items
    return found


def _changed_variables(function: Function) -> set[str]:
    """Return the variables of which an item is assigned, or that are used in another way than `**name`."""
    unpacked = {
        id(one.value)
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        for one in node.keywords
        if not one.arg
    }
    used = (one for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
    return {one.id for one in used if id(one) not in unpacked}


def parameter_symbols(node: Function, names: Names) -> dict[str, Symbol]:
    """Return the parameters of a function, with their literal defaults."""
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(node.args.defaults)), *node.args.defaults]
    pairs = [*zip(positional, defaults, strict=True), *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    return {one.arg: symbol_of(one.arg, default, names) for one, default in pairs if one.arg not in (SELF, "cls")}


def symbol_of(name: str, default: ast.expr | None, names: Names) -> Symbol:
    """Return the symbol of a parameter, with its default if that is literal."""
    if default is None:
        return Symbol(name)
    try:
        return Symbol(name, evaluate(default, names), has_default=True)
    except NotLiteral:
        return Symbol(name, is_optional=True)


def field_symbols(node: ast.ClassDef, names: Names) -> dict[str, Symbol]:
    """Return the annotated attributes of a class, which are parameters of the constructor of a dataclass."""
    found = {}
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            symbol = symbol_of(one.target.id, one.value, names)
            found[one.target.id] = replace(symbol, text=f"{SELF}.{one.target.id}")
    return found


def attribute_values(node: ast.ClassDef, constructor: Function | None, names: Names) -> dict[str, Any]:
    """Return the attributes that the constructor sets once, to a literal value or to a parameter."""
    found: dict[str, Any] = {}
    for statement in constructor.body if constructor else ():
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            name = dotted_name(statement.targets[0])
            if name and name.startswith(f"{SELF}."):
                value = argument_value(statement.value, {**names, **found})
                if not isinstance(value, Symbol) or value.text in names:
                    found[name] = value
    return without_changed(node, found)


def without_changed(node: ast.ClassDef, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names without attributes that the methods assign several times."""
    counts = count_assignments([one for one in node.body if isinstance(one, Function)])
    return {name: value for name, value in names.items() if counts[name] <= 1}
