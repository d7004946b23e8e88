"""Write the layers of a source as a function that builds a graph of nodes, with the names of the source.

A node has the name of its layer, as has its output. Its weights have the names of a state dictionary. The nodes of a
sequence are connected; other nodes read `NAME.input`, which the user replaces.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from conformance.adapters.api import INDENT, LayerStep, ModuleStyle
from conformance.cases.operators import WEIGHT_INPUTS
from conformance.translation.source.found_layer import GRAPH, Scope
from conformance.translation.source.translated_layer import LayerKind, TargetLayer, TranslatedLayer, is_missing

Member = tuple[TranslatedLayer, TargetLayer | None]
INPUT, OUTPUT = "x", "y"
"""Names of the data and of the result in the program of one layer."""
NOT_TRANSLATED = "NotTranslated"
"""Type of the node in place of a window operator without a translation. ONNX has no such type, so the graph fails."""
STATE_NAMES = {"kernel": "weight", "bias": "bias"}
"""The names of weights in a state dictionary."""


def order_of_nodes(scope: Scope, members: Sequence[Member]) -> Mapping[str, str]:
    """Return what each layer of a sequence reads; nothing for layers whose order the source does not give."""
    if scope.calls:
        names = [*scope.calls]
    elif is_sequence(members):
        names = [one.layer.name for one, _ in members]
    else:
        return {}
    return dict(zip(names, ["input", *names], strict=False))


def is_sequence(members: Sequence[Member]) -> bool:
    """Whether all layers are those of one container, such as `net.0` and `net.1`."""
    parts = [one.layer.name.rpartition(".") for one, _ in members]
    numbers = [last for _, _, last in parts]
    return len({first for first, _, _ in parts}) == 1 and numbers == [str(number) for number in range(len(parts))]


def node_lines(name: str, steps: Sequence[LayerStep], read: str) -> tuple[list[str], list[str]]:
    """Return the nodes and the constants of a layer, with its name. read: the name of its input."""
    constants = _constants(steps)
    names = {INPUT: read, OUTPUT: name, "": "", **{one: f"{name}.{STATE_NAMES[one]}" for one in WEIGHT_INPUTS}}
    nodes = []
    for step in steps:
        if step.is_layer:
            call = ast.parse(step.text, mode="eval").body
            assert isinstance(call, ast.Call)  # noqa: S101 - for mypy; a node is a call
            kind, inputs, outputs = call.args
            lists = [_renamed(one, names, name) for one in (inputs, outputs)]
            keywords = [f"name={lists[1][0]!r}", *(f"{one.arg}={ast.unparse(one.value)}" for one in call.keywords)]
            nodes.append(
                f"{ast.unparse(call.func)}({ast.unparse(kind)}, {lists[0]}, {lists[1]}, {', '.join(keywords)})"
            )
    return nodes, [f"numpy_helper.from_array({value}, {f'{name}.{key}'!r})" for key, value in constants.items()]


def _constants(steps: Sequence[LayerStep]) -> dict[str, str]:
    """Return the values of constants by name. A constant that another one uses is a part of its value."""
    values: dict[str, ast.expr] = {}
    inlined = set()

    class Inline(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id not in values:
                return node
            inlined.add(node.id)
            return values[node.id]

    for name, value in (_assigned(step.text) for step in steps if not step.is_layer):
        values[name] = Inline().visit(ast.parse(value, mode="eval").body)
    nodes = " ".join(step.text for step in steps if step.is_layer)
    return {name: ast.unparse(one) for name, one in values.items() if name not in inlined or f"'{name}'" in nodes}


def _assigned(text: str) -> tuple[str, str]:
    name, _, value = text.partition(" = ")
    return name, value


def _renamed(node: ast.expr, names: Mapping[str, str], prefix: str) -> list[str]:
    texts = [str(one.value) for one in getattr(node, "elts", []) if isinstance(one, ast.Constant)]
    return [names.get(text, f"{prefix}.{text}") for text in texts]


def graph_lines(
    scope: Scope, members: Sequence[tuple[Member, list[str]]], parameters: str, style: ModuleStyle
) -> Iterator[str]:
    """Yield a function that returns the graph of a scope. members: each with the comments on it."""
    order = order_of_nodes(scope, [one for one, _ in members])
    constants: list[str] = []
    yield f"def {scope.name or 'model'}({parameters}):"
    yield f"{INDENT}{style.nodes} = ["
    for (layer, target), comments in members:
        yield from (f"{INDENT * 2}{line}" for line in comments)
        name = layer.layer.name
        if target and target.steps:
            nodes, own = node_lines(name, target.steps, order.get(name, f"{name}.input"))
            yield from (f"{INDENT * 2}{line}," for line in nodes)
            constants += own
        elif is_missing(layer, target):
            read = order.get(name, f"{name}.input")
            yield f"{INDENT * 2}helper.make_node({NOT_TRANSLATED!r}, [{read!r}], [{name!r}], name={name!r}),"
        elif layer.kind is not LayerKind.LOCAL or scope.kind == GRAPH:
            yield f"{INDENT * 2}# write it here; it reads {order.get(name, f'{name}.input')!r} and computes {name!r}"
    yield f"{INDENT}]"
    yield f"{INDENT}constants = [{', '.join(constants)}]"
    if order:
        last = [*order][-1]
        yield f"{INDENT}inputs = [helper.make_tensor_value_info('input', TensorProto.FLOAT, None)]"
        yield f"{INDENT}outputs = [helper.make_empty_tensor_value_info({last!r})]"
    else:
        yield f"{INDENT}# Connect the nodes as in the source, and name the inputs and outputs of the graph:"
        yield from (f"{INDENT}#{line}" for method in scope.forward for line in method.splitlines())
        yield f"{INDENT}inputs, outputs = [], []"
    yield f"{INDENT}# The weights are initializers with the names of the source: numpy_helper.from_array(array, name)"
    yield f"{INDENT}return helper.make_graph({style.nodes}, {scope.name or 'model'!r}, inputs, outputs, constants)"
