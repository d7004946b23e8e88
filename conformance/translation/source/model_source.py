"""Find the layers in the source text of a model. The text is parsed as Python and never run or imported.

Each call of a layer class or function is found with its name: the attribute or variable it is assigned to, its place in
a container, or the name of its class. Names of modules are resolved through the imports of the text.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from conformance import ConformanceError
from conformance.adapters.api import Dialect
from conformance.translation.source.assigned_values import (
    Function,
    attribute_values,
    count_assignments,
    dictionaries,
    field_symbols,
    parameter_symbols,
    single_values,
    with_values,
    without_changed,
)
from conformance.translation.source.body import MAX_LAYERS, Body
from conformance.translation.source.class_bindings import ClassBinding, find_bindings, function_bindings
from conformance.translation.source.constants import Names
from conformance.translation.source.found_layer import SELF, UNNAMED, FoundLayer, Scope
from conformance.translation.source.layer_names import LayerNames

MAX_SOURCE_BYTES = 2**20
"""Limit of the size of a source text."""


def read_model_source(
    text: str, where: str, dialects: Sequence[Dialect], others: Collection[str], given: Names
) -> list[FoundLayer]:
    """Return the layers of a source text in the order of the text.

    where: the file, for errors. dialects: of the framework. others: names of layers that are not window operators.
    given: values for names that the text does not give. Raises ConformanceError for a text that is not readable.
    """
    if len(text) > MAX_SOURCE_BYTES:
        raise ConformanceError(f"{where}: more than {MAX_SOURCE_BYTES} characters")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise ConformanceError(f"{where}:{error.lineno or 1}: not Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ConformanceError(f"{where}: not readable as Python ({type(error).__name__})") from None
    try:
        return _Reader(tree, text, dialects, others, given).layers()
    except RecursionError:
        raise ConformanceError(f"{where}: expressions are nested too deeply") from None


class _Reader:
    """Reads one source text."""

    def __init__(
        self, tree: ast.Module, text: str, dialects: Sequence[Dialect], others: Collection[str], given: Names
    ) -> None:
        self.tree, self.lines, self.given = tree, text.splitlines(), dict(given)
        self.layer_names = LayerNames(tree, dialects, others)
        self.constants = single_values(tree.body, {})
        self.bindings = find_bindings(tree.body, {}, self.layer_names.class_of)
        self.found: list[FoundLayer] = []

    def layers(self) -> list[FoundLayer]:
        """Return all layers, with different names in each scope."""
        module = Scope("module", "", 1)
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                self._read_class(node)
            elif isinstance(node, Function):
                self._read_function(node, Scope("function", node.name, node.lineno, parameter_symbols(node, {})), {})
            else:
                self._body(module, {}, self.bindings).visit_statement(node)
        self.found = list(_with_calls(list(_with_different_names(self.found))))
        every = (one for layer in self.found for one in (layer, *self._with_given_arguments(layer)))
        layers = list(itertools.islice(every, MAX_LAYERS + 1))
        if len(layers) > MAX_LAYERS:
            raise ConformanceError(f"more than {MAX_LAYERS} layers")
        return layers

    def _body(self, scope: Scope, names: Names, bindings: Mapping[str, ClassBinding]) -> Body:
        return Body(self.layer_names, self.found, scope, {**names, **self.given}, bindings)

    def _with_given_arguments(self, layer: FoundLayer) -> Iterator[FoundLayer]:
        """Yield the layers in a class of this text to which a call passes arguments by `**kwargs`.

        In the class, these layers have arguments without a name, so they are translated for each call of the class.
        """
        node = self.layer_names.classes.get(layer.called)
        constructor = next((one for one in node.body if getattr(one, "name", "") == "__init__"), None) if node else None
        if not isinstance(constructor, Function) or constructor.args.kwarg is None:
            return
        names = [one.arg for one in (*constructor.args.posonlyargs, *constructor.args.args)][1:]
        given = {**dict(zip(names, layer.arguments, strict=False)), **layer.keywords}
        rest = {
            name: value for name, value in given.items() if name not in parameter_symbols(constructor, self.constants)
        }
        for inner in self.found:
            if inner.scope.name == layer.called and UNNAMED in inner.keywords and UNNAMED not in layer.keywords:
                keywords = {name: value for name, value in inner.keywords.items() if name != UNNAMED}
                known = {name: with_values(value, given) for name, value in {**keywords, **rest}.items()}
                arguments = tuple(with_values(value, given) for value in inner.arguments)
                yield replace(
                    inner,
                    scope=layer.scope,
                    name=f"{layer.name}.{inner.name}",
                    line=layer.line,
                    arguments=arguments,
                    keywords=known,
                    text=f"{inner.text} in {layer.text}",
                    returned=False,
                )

    def _read_class(self, node: ast.ClassDef) -> None:
        methods = {one.name: one for one in node.body if isinstance(one, Function)}
        constructor = methods.get("__init__")
        fields = field_symbols(node, self.constants)
        # Without a constructor the class is a dataclass, whose constructor has the fields.
        own = {name: one for name, one in fields.items() if one.has_default} if constructor else fields
        parameters = {**(parameter_symbols(constructor, self.constants) if constructor else {}), **own}
        forward = [
            "\n".join(self.lines[one.lineno - 1 : one.end_lineno]) for name, one in methods.items() if name[:2] != "__"
        ]
        is_sequence = not forward and any(map(self.layer_names.is_container, node.bases))
        scope = Scope("class", node.name, node.lineno, parameters, forward, is_sequence=is_sequence)
        names: dict[str, Any] = {f"{SELF}.{name}": symbol for name, symbol in fields.items()}
        for name, value in single_values(node.body, self.constants).items():
            names |= {f"{prefix}.{name}": value for prefix in (SELF, "cls", node.name)}
        names = without_changed(
            node, {**names, **attribute_values(node, constructor, {**self.constants, **parameters})}
        )
        counts = count_assignments([*methods.values()])
        changed = {name for name, count in counts.items() if count > 1 and name.startswith(f"{SELF}.")}
        # Attributes that the constructor sets to a class, and those of the class itself.
        bound = {
            f"{SELF}.{name}": one
            for name, one in find_bindings(node.body, self.bindings, self.layer_names.class_of).items()
        }
        if constructor:
            attributes = function_bindings(constructor, {**self.bindings, **bound}, self.layer_names.class_of)
            bound |= {
                name: one for name, one in attributes.items() if name.startswith(f"{SELF}.") and counts[name] <= 1
            }
        for method in methods.values():
            self._read_function(method, scope, names, changed, bound)

    def _read_function(
        self,
        node: Function,
        scope: Scope,
        names: Names,
        changed: Collection[str] = (),
        bound: Mapping[str, ClassBinding] = MappingProxyType({}),
    ) -> None:
        """Read a function.

        changed: attributes that several methods assign, whose value is not known. bound: attributes that are classes.
        """
        own = {**self.constants, **names, **parameter_symbols(node, self.constants)}
        local = {name: value for name, value in single_values(node.body, own).items() if name not in changed}
        bindings = function_bindings(node, {**self.bindings, **bound}, self.layer_names.class_of)
        values = {**own, **local, **self.given}
        body = Body(self.layer_names, self.found, scope, values, bindings, dictionaries=dictionaries(node))
        for statement in node.body:
            body.visit_statement(statement)


def _with_calls(layers: Sequence[FoundLayer]) -> Iterator[FoundLayer]:
    """Yield the layers; the scope of a sequence has the names of its layers in order."""
    names: dict[str, list[str]] = {}
    for layer in layers:
        names.setdefault(layer.scope.name, []).append(layer.name)
    for layer in layers:
        scope = replace(layer.scope, calls=tuple(names[layer.scope.name])) if layer.scope.is_sequence else layer.scope
        yield replace(layer, scope=scope)


def _with_different_names(layers: Sequence[FoundLayer]) -> Iterator[FoundLayer]:
    """Yield the layers; a name that its scope has several times gets a number."""
    counts = Counter((layer.scope.name, layer.name) for layer in layers)
    seen: Counter[tuple[str, str]] = Counter()
    for layer in layers:
        key = (layer.scope.name, layer.name)
        seen[key] += 1
        yield replace(layer, name=f"{layer.name}_{seen[key]}") if counts[key] > 1 else layer
