"""Names of layers in a source text: which calls name a class or function of the framework."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Sequence

from conformance.adapters.api import Dialect
from conformance.translation.source.assigned_values import imported_names
from conformance.translation.source.constants import dotted_name
from conformance.translation.source.found_layer import SELF

CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict", "OrderedDict", "List", "HybridSequential"})
"""Classes and functions whose arguments are the layers of a sequence."""
NOT_LAYERS = frozenset({"Module", "Model", "Parameter", "Param", "Input", "InputLayer", "Rngs", "Buffer", "Variable"})


class LayerNames:
    """The names of layers in one text, and the classes that the text defines."""

    def __init__(self, tree: ast.Module, dialects: Sequence[Dialect], others: Collection[str]) -> None:
        self.others = others
        self.prefixes = {prefix for dialect in dialects for prefix in dialect.prefixes}
        self.known = {name for dialect in dialects for name in dialect.layers_by_name}
        self.roots = {prefix.partition(".")[0] for prefix in self.prefixes if "." in prefix}
        self.aliases, self.star_modules = imported_names(tree)
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}

    def resolve(self, node: ast.expr) -> str | None:
        """Return the name of a called class or function with its module, or None if it is no layer."""
        dotted = dotted_name(node)
        if dotted is None:
            return None
        first, _, rest = dotted.partition(".")
        name = f"{self.aliases.get(first, first)}{'.' * bool(rest)}{rest}"
        prefix, _, last = name.rpartition(".")
        if last in NOT_LAYERS:
            return None
        if not prefix and first not in self.classes and last in self.known | {*self.others}:
            return name if self.star_modules & self.prefixes else None
        if prefix in self.prefixes and first != SELF:
            return name
        return name if last in self.others and name.partition(".")[0] in self.roots else None

    def imported_class(self, node: ast.expr) -> str | None:
        """Return the name of a class of a module that is neither the framework's nor Python's, None for others.

        A name in CamelCase is taken for a class.
        """
        first, _, rest = (dotted_name(node) or "").partition(".")
        if first not in self.aliases:
            return None
        name = f"{self.aliases[first]}{'.' * bool(rest)}{rest}"
        root, last = name.partition(".")[0], name.rpartition(".")[2]
        is_class = last[:1].isupper() and not last.isupper() and last not in NOT_LAYERS
        return name if is_class and root not in self.roots | sys.stdlib_module_names else None

    def class_of(self, node: ast.expr) -> str | None:
        """Return the name of a class that an expression names: one of layers, or one of this text."""
        name = dotted_name(node) or ""
        found = name if name in self.classes else self.resolve(node)
        return (
            found if found in self.classes or (found or "").rpartition(".")[2] in self.known | {*self.others} else None
        )

    def is_container(self, node: ast.expr) -> bool:
        """Whether an expression names a sequence of layers."""
        return (dotted_name(node) or "").rpartition(".")[2] in CONTAINERS
