"""Find the layers in the source text of a model. The text is parsed as Python and never run or imported.

Each call of a layer class or function is found with its name: the attribute or variable it is assigned to, its place in
a container, or the name of its class. Names of modules are resolved through the imports of the text.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from conformance import ConformanceError
from conformance.adapters.api import Dialect
from conformance.translation.source.class_bindings import ClassBinding, find_bindings, function_bindings
from conformance.translation.source.constants import (
    Names,
    NotLiteral,
    Symbol,
    argument_value,
    dotted_name,
    evaluate,
    source_of,
)

MAX_SOURCE_BYTES = 2**20
"""Limit of the size of a source text."""
MAX_LAYERS = 5_000
"""Limit of the number of layers in a source text."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
SELF = "self"
CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict", "OrderedDict", "List", "HybridSequential"})
"""Classes and functions whose arguments are the layers of a sequence."""
GRAPH = "graph"
"""The kind of the scope of a model that is a graph of nodes, not a source text."""
SUPER_CONSTRUCTOR = "super().__init__"
"""The call with which a class that is a sequence of layers names them."""
UNNAMED = "**"
"""The name of arguments that are passed as a dictionary."""
NOT_LAYERS = frozenset({"Module", "Model", "Parameter", "Param", "Input", "InputLayer", "Rngs", "Buffer", "Variable"})


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
    class_note: the class that a variable stands for, if the call names a variable.
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
        self.tree, self.lines = tree, text.splitlines()
        self.others, self.given = others, dict(given)
        self.prefixes = {prefix for dialect in dialects for prefix in dialect.prefixes}
        self.known = {name for dialect in dialects for name in dialect.layers_by_name}
        self.roots = {prefix.partition(".")[0] for prefix in self.prefixes if "." in prefix}
        self.aliases, self.star_modules = _imports(tree)
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self.constants = _single_values(tree.body, {})
        self.bindings = find_bindings(tree.body, {}, self.class_of)
        self.found: list[FoundLayer] = []

    def layers(self) -> list[FoundLayer]:
        """Return all layers, with different names in each scope."""
        module = Scope("module", "", 1)
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                self._read_class(node)
            elif isinstance(node, Function):
                self._read_function(node, Scope("function", node.name, node.lineno, _parameters(node, {})), {})
            else:
                _Body(self, module, {}, self.bindings).visit_statement(node)
        self.found = list(_with_calls(list(_with_different_names(self.found))))
        every = (one for layer in self.found for one in (layer, *self._with_given_arguments(layer)))
        layers = list(itertools.islice(every, MAX_LAYERS + 1))
        if len(layers) > MAX_LAYERS:
            raise ConformanceError(f"more than {MAX_LAYERS} layers")
        return layers

    def _with_given_arguments(self, layer: FoundLayer) -> Iterator[FoundLayer]:
        """Yield the layers in a class of this text to which a call passes arguments by `**kwargs`.

        In the class, these layers have arguments without a name, so they are translated for each call of the class.
        """
        node = self.classes.get(layer.called)
        constructor = next((one for one in node.body if getattr(one, "name", "") == "__init__"), None) if node else None
        if not isinstance(constructor, Function) or constructor.args.kwarg is None:
            return
        names = [one.arg for one in (*constructor.args.posonlyargs, *constructor.args.args)][1:]
        given = {**dict(zip(names, layer.arguments, strict=False)), **layer.keywords}
        rest = {name: value for name, value in given.items() if name not in _parameters(constructor, self.constants)}
        for inner in self.found:
            if inner.scope.name == layer.called and UNNAMED in inner.keywords and UNNAMED not in layer.keywords:
                keywords = {name: value for name, value in inner.keywords.items() if name != UNNAMED}
                known = {name: _with_values(value, given) for name, value in {**keywords, **rest}.items()}
                arguments = tuple(_with_values(value, given) for value in inner.arguments)
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
        fields = _fields(node, self.constants)
        # Without a constructor the class is a dataclass, whose constructor has the fields.
        own = {name: one for name, one in fields.items() if one.has_default} if constructor else fields
        parameters = {**(_parameters(constructor, self.constants) if constructor else {}), **own}
        forward = [
            "\n".join(self.lines[one.lineno - 1 : one.end_lineno]) for name, one in methods.items() if name[:2] != "__"
        ]
        is_sequence = not forward and any(map(self.is_container, node.bases))
        scope = Scope("class", node.name, node.lineno, parameters, forward, is_sequence=is_sequence)
        names: dict[str, Any] = {f"{SELF}.{name}": symbol for name, symbol in fields.items()}
        for name, value in _single_values(node.body, self.constants).items():
            names |= {f"{prefix}.{name}": value for prefix in (SELF, "cls", node.name)}
        names = _without_changed(node, {**names, **_attributes(node, constructor, {**self.constants, **parameters})})
        counts = _assignments([*methods.values()])
        changed = {name for name, count in counts.items() if count > 1 and name.startswith(f"{SELF}.")}
        # Attributes that the constructor sets to a class, and those of the class itself.
        bound = {f"{SELF}.{name}": one for name, one in find_bindings(node.body, self.bindings, self.class_of).items()}
        if constructor:
            attributes = function_bindings(constructor, {**self.bindings, **bound}, self.class_of)
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
        own = {**self.constants, **names, **_parameters(node, self.constants)}
        local = {name: value for name, value in _single_values(node.body, own).items() if name not in changed}
        bindings = function_bindings(node, {**self.bindings, **bound}, self.class_of)
        body = _Body(self, scope, {**own, **local}, bindings)
        for statement in node.body:
            body.visit_statement(statement)

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


@dataclass(frozen=True)
class _Position:
    """Where a value is: the name it gets, if any, and whether it is returned."""

    name: str = ""
    returned: bool = False


class _Body:
    """Reads the statements of a function, class or module."""

    def __init__(self, reader: _Reader, scope: Scope, names: Names, bindings: Mapping[str, ClassBinding]) -> None:
        self.reader, self.scope, self.names = reader, scope, {**names, **reader.given}
        self.bindings = bindings

    def visit_statement(self, node: ast.AST) -> None:
        """Read a statement and all statements in it."""
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if node.value is not None:
                self.visit(node.value, _Position(_target_name(target)))
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
            self._visit_items(node.elts, position.name)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                self.visit(value, _Position(_member(position.name, _text_value(key))))
        elif isinstance(node, ast.Call):
            self._visit_call(node, position)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.visit(child, _Position())
                elif isinstance(child, ast.comprehension):
                    self.visit(child.iter, _Position())

    def _visit_items(self, items: Sequence[ast.expr], name: str) -> None:
        for index, item in enumerate(items):
            # OrderedDict([("conv1", nn.Conv2d(…))]) names its layers.
            if isinstance(item, ast.Tuple) and len(item.elts) == 2 and _text_value(item.elts[0]):  # noqa: PLR2004
                self.visit(item.elts[1], _Position(_member(name, _text_value(item.elts[0]))))
            else:
                self.visit(item, _Position(_member(name, str(index))))

    def _visit_call(self, node: ast.Call, position: _Position) -> None:
        if self.scope.is_sequence and ast.unparse(node.func) == SUPER_CONSTRUCTOR:
            for index, item in enumerate(node.args):
                self.visit(item, _Position(str(index)))
            return
        if self.reader.is_container(node.func):
            # The argument of OrderedDict and of ModuleList is one list.
            is_list = len(node.args) == 1 and isinstance(node.args[0], (ast.List, ast.Tuple, ast.Dict, ast.Call))
            if is_list and not self._is_layer(node.args[0]):
                self.visit(node.args[0], _Position(position.name))
            else:
                self._visit_items(node.args, position.name)
            return
        bound = self.bindings.get(dotted_name(node.func) or "")
        local = self.reader.classes.get(bound.called if bound else dotted_name(node.func) or "")
        called = self.reader.resolve(node.func) if bound is None else None if local else bound.called
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
        if called is not None or (local is not None and position.name):
            self._add(node, called or local.name if local else str(called), position, local, bound)

    def _is_layer(self, node: ast.expr) -> bool:
        is_call = isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))
        return is_call and not self.reader.is_container(node.func) and self.reader.resolve(node.func) is not None  # type: ignore[attr-defined]

    def _add(
        self,
        node: ast.Call,
        called: str,
        position: _Position,
        local: ast.ClassDef | None,
        bound: ClassBinding | None = None,
    ) -> None:
        if len(self.reader.found) >= MAX_LAYERS:
            raise ConformanceError(f"more than {MAX_LAYERS} layers")
        given = [*(bound.keywords if bound else ()), *node.keywords]
        keywords = {str(one.arg or UNNAMED): argument_value(one.value, self.names) for one in given}
        own = keywords.get("name")
        last = called.rpartition(".")[2]
        stored = position.name if last.lstrip("_")[:1].isupper() else ""
        arguments = [Symbol(source_of(one)) if isinstance(one, ast.Starred) else None for one in node.args]
        values = (found or argument_value(one, self.names) for found, one in zip(arguments, node.args, strict=True))
        self.reader.found.append(
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
            )
        )


def _with_values(value: Any, names: Names) -> Any:
    """Return an argument of a class with the values of the parameters of the class."""
    if isinstance(value, tuple):
        return tuple(_with_values(item, names) for item in value)
    if not isinstance(value, Symbol):
        return value
    try:
        node = ast.parse(value.text, mode="eval").body
    except (SyntaxError, ValueError):  # a shortened text
        return value
    found = argument_value(node, names)
    return value if isinstance(found, Symbol) and found.text == value.text else found


def _member(name: str, part: str) -> str:
    return f"{name}.{part}" if name and part else ""


def _text_value(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _target_name(node: ast.expr) -> str:
    return (dotted_name(node) or "").removeprefix(f"{SELF}.")


def _imports(tree: ast.Module) -> tuple[dict[str, str], set[str]]:
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


def _assignments(statements: Sequence[ast.AST]) -> Counter[str]:
    """Return how often each name is assigned anywhere in some statements."""
    found: Counter[str] = Counter()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
                found[dotted_name(node) or ""] += 1
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                found.update(dict.fromkeys(node.names, 2))
    return found


def _single_values(statements: Sequence[ast.stmt], names: Names) -> dict[str, Any]:
    """Return the names that one plain assignment of these statements gives a literal value."""
    counts = _assignments(statements)
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


def _parameters(node: Function, names: Names) -> dict[str, Symbol]:
    """Return the parameters of a function, with their literal defaults."""
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(node.args.defaults)), *node.args.defaults]
    pairs = [*zip(positional, defaults, strict=True), *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    return {one.arg: _symbol(one.arg, default, names) for one, default in pairs if one.arg not in (SELF, "cls")}


def _symbol(name: str, default: ast.expr | None, names: Names) -> Symbol:
    if default is None:
        return Symbol(name)
    try:
        return Symbol(name, evaluate(default, names), has_default=True)
    except NotLiteral:
        return Symbol(name, is_optional=True)


def _fields(node: ast.ClassDef, names: Names) -> dict[str, Symbol]:
    """Return the annotated attributes of a class, which are parameters of the constructor of a dataclass."""
    found = {}
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            symbol = _symbol(one.target.id, one.value, names)
            found[one.target.id] = replace(symbol, text=f"{SELF}.{one.target.id}")
    return found


def _attributes(node: ast.ClassDef, constructor: Function | None, names: Names) -> dict[str, Any]:
    """Return the attributes that the constructor sets once, to a literal value or to a parameter."""
    found: dict[str, Any] = {}
    for statement in constructor.body if constructor else ():
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            name = dotted_name(statement.targets[0])
            if name and name.startswith(f"{SELF}."):
                value = argument_value(statement.value, {**names, **found})
                if not isinstance(value, Symbol) or value.text in names:
                    found[name] = value
    return _without_changed(node, found)


def _without_changed(node: ast.ClassDef, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names without attributes that the methods assign several times."""
    counts = _assignments([one for one in node.body if isinstance(one, Function)])
    return {name: value for name, value in names.items() if counts[name] <= 1}


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
