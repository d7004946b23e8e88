"""Layers in the statements of a function, class or module of a source text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from conformance import ConformanceError
from conformance.translation.source.assigned_values import dictionary_items
from conformance.translation.source.class_bindings import ClassBinding
from conformance.translation.source.constants import Names, Symbol, argument_value, dotted_name, source_of
from conformance.translation.source.found_layer import SELF, UNNAMED, FoundLayer, Scope
from conformance.translation.source.layer_names import LayerNames

MAX_LAYERS = 5_000
"""Limit of the number of layers in a source text."""
SUPER_CONSTRUCTOR = "super().__init__"
"""The call with which a class that is a sequence of layers names them."""


@dataclass(frozen=True)
class _Position:
    """Where a value is: the name it gets, if any, and whether it is returned.

    is_part: whether it is stored in an object, as an attribute or as a member of one.
    """

    name: str = ""
    returned: bool = False
    is_part: bool = False

    def member(self, part: str) -> _Position:
        """Return the position of a member, without a name if one of the two has none."""
        return _Position(f"{self.name}.{part}" if self.name and part else "", is_part=self.is_part)


class Body:
    """Reads the statements of a function, class or module, and adds the layers to `found`."""

    def __init__(
        self,
        layer_names: LayerNames,
        found: list[FoundLayer],
        scope: Scope,
        names: Names,
        bindings: Mapping[str, ClassBinding],
        *,
        dictionaries: Mapping[str, Mapping[str, ast.expr]] = MappingProxyType({}),
    ) -> None:
        self.layer_names, self.found, self.scope, self.names, self.bindings = layer_names, found, scope, names, bindings
        self.dictionaries = dictionaries

    def visit_statement(self, node: ast.AST) -> None:
        """Read a statement and all statements in it."""
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if node.value is not None:
                self.visit(node.value, _Position(_target_name(target), is_part=isinstance(target, ast.Attribute)))
            return
        if isinstance(node, ast.Return) and node.value is not None:
            self.visit(node.value, _Position(returned=True))
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.visit(child, _Position())
            else:
                self.visit_statement(child)

    def visit(self, node: ast.expr, position: _Position) -> None:
        """Read an expression; position: what happens with its value."""
        if isinstance(node, (ast.List, ast.Tuple)):
            self._visit_items(node.elts, position)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                self.visit(value, position.member(_text_value(key)))
        elif isinstance(node, ast.Call):
            self._visit_call(node, position)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.visit(child, _Position())
                elif isinstance(child, ast.comprehension):
                    self.visit(child.iter, _Position())

    def _visit_items(self, items: Sequence[ast.expr], position: _Position) -> None:
        for index, item in enumerate(items):
            # OrderedDict([("conv1", nn.Conv2d(…))]) names its layers.
            if isinstance(item, ast.Tuple) and len(item.elts) == 2 and _text_value(item.elts[0]):  # noqa: PLR2004
                self.visit(item.elts[1], position.member(_text_value(item.elts[0])))
            else:
                self.visit(item, position.member(str(index)))

    def _visit_call(self, node: ast.Call, position: _Position) -> None:
        if self.scope.is_sequence and ast.unparse(node.func) == SUPER_CONSTRUCTOR:
            for index, item in enumerate(node.args):
                self.visit(item, _Position(str(index), is_part=True))
            return
        if self.layer_names.is_container(node.func):
            # The argument of OrderedDict and of ModuleList is one list.
            is_list = len(node.args) == 1 and isinstance(node.args[0], (ast.List, ast.Tuple, ast.Dict, ast.Call))
            if is_list and not self._is_layer(node.args[0]):
                self.visit(node.args[0], _Position(position.name, is_part=position.is_part))
            else:
                self._visit_items(node.args, position)
            return
        bound = self.bindings.get(dotted_name(node.func) or "")
        local = self.layer_names.classes.get(bound.called if bound else dotted_name(node.func) or "")
        called = self.layer_names.resolve(node.func) if bound is None else None if local else bound.called
        # layers.Conv2D(8, 3)(x): the inputs come first, and the variable has the result.
        if not isinstance(node.func, (ast.Name, ast.Attribute)):
            for argument in node.args:
                self.visit(argument, _Position())
            self.visit(node.func, _Position())
            return
        if isinstance(node.func, ast.Attribute):
            self.visit(node.func.value, _Position())
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.visit(argument, _Position())
        is_unknown = called is None and local is None and bound is None
        foreign = self._foreign_class(node, position) if is_unknown else None
        if called or foreign or (local is not None and position.name):
            name = called or foreign or (local.name if local else "")
            self._add(node, name, position, local, bound, is_foreign=foreign is not None)

    def _foreign_class(self, node: ast.Call, position: _Position) -> str | None:
        """Return the name of a class of another module whose object is stored in one of this text."""
        is_stored = self.scope.kind == "class" and position.is_part and position.name
        return self.layer_names.imported_class(node.func) if is_stored else None

    def _is_layer(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            return False
        return not self.layer_names.is_container(node.func) and self.layer_names.resolve(node.func) is not None

    def _add(
        self,
        node: ast.Call,
        called: str,
        position: _Position,
        local: ast.ClassDef | None,
        bound: ClassBinding | None = None,
        *,
        is_foreign: bool = False,
    ) -> None:
        if len(self.found) >= MAX_LAYERS:
            raise ConformanceError(f"more than {MAX_LAYERS} layers")
        given = [*(bound.keywords if bound else ()), *node.keywords]
        keywords = {
            name: argument_value(value, self.names) for one in given for name, value in self._named_arguments(one)
        }
        own = keywords.get("name")
        last = called.rpartition(".")[2]
        stored = position.name if last.lstrip("_")[:1].isupper() else ""
        arguments = [Symbol(source_of(one)) if isinstance(one, ast.Starred) else None for one in node.args]
        values = (found or argument_value(one, self.names) for found, one in zip(arguments, node.args, strict=True))
        self.found.append(
            FoundLayer(
                self.scope,
                own if isinstance(own, str) and own else stored or last.lower(),
                node.lineno,
                called,
                tuple(values),
                keywords,
                source_of(node),
                local.lineno if local else None,
                position.returned,
                bool(stored),
                bound.note(source_of(node.func)) if bound else "",
                is_foreign,
            )
        )

    def _named_arguments(self, keyword: ast.keyword) -> Iterable[tuple[str, ast.expr]]:
        """Return an argument with its name, or those of a dictionary whose items the function gives."""
        if keyword.arg:
            return [(keyword.arg, keyword.value)]
        items = self.dictionaries.get(dotted_name(keyword.value) or "", dictionary_items(keyword.value))
        return [(UNNAMED, keyword.value)] if items is None else items.items()


def _text_value(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _target_name(node: ast.expr) -> str:
    return (dotted_name(node) or "").removeprefix(f"{SELF}.")
