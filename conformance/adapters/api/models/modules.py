"""How users of a surface write a layer in a model, from the program that the suite runs for a case.

A program converts its arrays, creates a layer, sets the weights of the case and calls the layer. In a model, only the
constructor of the layer remains, or the call of a function.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

INPUT = "x"
"""The variable with the data in every program."""


@dataclass(frozen=True)
class ModuleStyle:
    """The syntax of models of a surface.

    imports: lines of a file with a model. base: the base class. constructor: the method that creates the layers, with
        `{parameters}` for its parameters. first_lines: its first lines. call_method: the method that calls the layers.
    has_fields: whether the parameters of a model are annotated attributes of the class.
    omitted_keywords: arguments of layers in programs that a model does not need.
    replaced_keywords: the text of arguments that a model writes in another way.
    deferred: functions whose argument is a function that creates the layer.
    apply_methods: methods that call a layer with its weights.
    sequence: an expression for layers in a row, `{layers}`; "" if there is none.
    name_keyword: the argument for the name of a layer; "" if the attribute gives the name.
    extra_parameters: parameters that the constructor of each model has.
    nodes: the variable of a program with its list of nodes, for a surface whose models are graphs of nodes.
    optional_imports: lines of a file whose model uses the name that they import.
    """

    imports: tuple[str, ...]
    base: str
    constructor: str
    call_method: str
    first_lines: tuple[str, ...] = ()
    has_fields: bool = False
    omitted_keywords: frozenset[str] = frozenset()
    replaced_keywords: Mapping[str, str] = field(default_factory=dict)
    deferred: frozenset[str] = frozenset()
    apply_methods: frozenset[str] = frozenset()
    sequence: str = ""
    name_keyword: str = ""
    extra_parameters: tuple[str, ...] = ()
    nodes: str = ""
    optional_imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class LayerStep:
    """One step of a layer: the constructor of a layer, or a line that assigns `x`.

    has_weights: whether the layer has the weights of the case.
    """

    text: str
    is_layer: bool = False
    has_weights: bool = False


def layer_steps(
    program: str,
    inputs: int,
    style: ModuleStyle,
    placeholders: frozenset[str] = frozenset(),
    data: frozenset[str] = frozenset(),
) -> tuple[LayerStep, ...] | None:
    """Return the steps of a program without conversions of arrays; None if its lines use the weights themselves.

    inputs: number of inputs, each of which has a line that converts it. placeholders: variables with numbers in place
    of the weights of a layer. data: further inputs that are no weights, such as indices.
    """
    function = ast.parse(program).body[-1]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - for mypy; every program defines run()
    weights = {one.arg for one in function.args.args} - {INPUT, *data}
    if style.nodes:
        return _node_steps(function, style.nodes, weights, placeholders)
    created: dict[str, ast.Call] = {}
    steps: list[LayerStep] = []
    for node in function.body[inputs:-1]:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in placeholders:
            continue
        step = _step(node, created, style)
        if step is None:
            continue
        if {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & (weights | {*created}) and not (
            step.is_layer
        ):
            return None
        steps.append(step)
    return tuple(steps)


def _node_steps(
    function: ast.FunctionDef, variable: str, weights: set[str], placeholders: frozenset[str]
) -> tuple[LayerStep, ...] | None:
    """Return the nodes of a graph, after the constants that they read; None if the lines use the weights themselves."""
    steps: list[LayerStep] = []
    for node in function.body:
        if not isinstance(node, ast.Assign):
            continue
        name = ast.unparse(node.targets[0])
        if name == variable and isinstance(node.value, ast.List):
            texts = [*map(ast.unparse, node.value.elts)]
            read = weights | placeholders
            return (*steps, *(LayerStep(one, True, any(repr(name) in one for name in read)) for one in texts))
        if {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)} & weights:
            return None
        if name not in placeholders:
            steps.append(LayerStep(ast.unparse(node)))
    return None


def _step(node: ast.stmt, created: dict[str, ast.Call], style: ModuleStyle) -> LayerStep | None:
    """Return the step of a statement; None if it only creates a layer or sets its weights."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name, value = node.targets[0].id, node.value
        if name != INPUT and (layer := _constructor(value, style)) is not None:
            created[name] = layer
            return None
        if name == INPUT and (found := _layer_call(value, created, style)) is not None:
            return found
    elif _sets_layer(node, created):
        return None
    return LayerStep(ast.unparse(node))


def _constructor(node: ast.expr, style: ModuleStyle) -> ast.Call | None:
    if not isinstance(node, ast.Call):
        return None
    if ast.unparse(node.func) in style.deferred and isinstance(node.args[0], ast.Lambda):
        return _constructor(node.args[0].body, style)
    # Classes begin with an upper-case letter in every framework.
    return node if ast.unparse(node.func).rpartition(".")[2][:1].isupper() else None


def _layer_call(node: ast.expr, created: Mapping[str, ast.Call], style: ModuleStyle) -> LayerStep | None:
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name) and node.func.id in created:
        return LayerStep(_layer_text(created[node.func.id], style), is_layer=True, has_weights=True)
    if isinstance(node.func, ast.Attribute) and node.func.attr in style.apply_methods:
        layer = _constructor(node.func.value, style)
        return LayerStep(_layer_text(layer, style), is_layer=True, has_weights=True) if layer else None
    layer = _constructor(node.func, style)
    return LayerStep(_layer_text(layer, style), is_layer=True) if layer else None


def _sets_layer(node: ast.stmt, created: Mapping[str, ast.Call]) -> bool:
    """Whether a statement calls a method of a created layer, or sets an attribute of it."""
    if isinstance(node, ast.Assign):
        first: ast.expr = node.targets[0]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        first = node.value.func
    else:
        return False
    return isinstance(first, ast.Attribute) and isinstance(first.value, ast.Name) and first.value.id in created


def _layer_text(node: ast.Call, style: ModuleStyle) -> str:
    keywords = [
        f"{one.arg}={style.replaced_keywords.get(str(one.arg), ast.unparse(one.value))}"
        for one in node.keywords
        if one.arg not in style.omitted_keywords
    ]
    return f"{ast.unparse(node.func)}({', '.join([*map(ast.unparse, node.args), *keywords])})"
