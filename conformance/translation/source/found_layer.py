"""A call of a layer in the source text of a model, and the class or function that contains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.translation.source.constants import Symbol

SELF = "self"
GRAPH = "graph"
"""The kind of the scope of a model that is a graph of nodes, not a source text."""
UNNAMED = "**"
"""The name of arguments that are passed as a dictionary."""


@dataclass(frozen=True)
class Scope:
    """The class or function that contains layers.

    kind: "class", "function", "module" or "graph". parameters: those of the constructor or function. forward: the lines
    of the methods that a class has besides the constructor. calls: the names of the layers of a graph in which each
    reads the result of the one before it; `()` for other graphs.
    is_sequence: whether the class is a sequence of layers without a method of its own that calls them.
    """

    kind: str
    name: str
    line: int
    parameters: Mapping[str, Symbol] = field(default_factory=dict)
    forward: Sequence[str] = ()
    calls: tuple[str, ...] = ()
    is_sequence: bool = False

    @property
    def place(self) -> str:
        """What the number of a layer counts: lines, or nodes of a graph."""
        return "node" if self.kind == GRAPH else "line"


@dataclass(frozen=True)
class FoundLayer:
    """A call of a layer.

    name: in its scope. called: the name of the class or function with its module.
    arguments, keywords: values; a Symbol for an expression without a known value.
    text: the call as in the source. local_line: the line of the class, if the text defines it.
    returned: whether the function returns the layer. is_stored: whether an attribute or variable has its name.
    class_note: the class that a variable refers to, if the call names a variable.
    is_foreign: whether the class is one of another module than the framework's.
    """

    scope: Scope
    name: str
    line: int
    called: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    text: str
    local_line: int | None = None
    returned: bool = False
    is_stored: bool = False
    class_note: str = ""
    is_foreign: bool = False

    @property
    def class_name(self) -> str:
        """The name of the class or function without its module."""
        return self.called.rpartition(".")[2]

    @property
    def full_name(self) -> str:
        """The name with that of the class or function."""
        return f"{self.scope.name}.{self.name}" if self.scope.name else self.name

    @property
    def symbols(self) -> list[Symbol]:
        """The arguments and parts of arguments without a known value, each once."""
        values = [*self.arguments, *self.keywords.values()]
        parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        return [*dict.fromkeys(part for part in parts if isinstance(part, Symbol))]
