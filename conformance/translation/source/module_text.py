"""Write the layers of a source as classes of a target surface, with the names of the source.

A layer becomes an attribute, or a method of the same name if it is not one constructor. So the calls of the source,
`self.pool(self.conv1(x))`, are valid calls of the target. Everything that needs attention is a comment.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from conformance.adapters.api import INDENT, LayerStep, ModuleStyle
from conformance.translation.source.constants import Symbol
from conformance.translation.source.found_layer import GRAPH, SELF, FoundLayer, Scope
from conformance.translation.source.graph_module_text import Member, graph_lines
from conformance.translation.source.translated_layer import LayerKind, TargetLayer, TranslatedLayer, is_missing

CLASS_KINDS = frozenset({"class", GRAPH})
"""Kinds of scopes that are written as classes."""
JSON_FORMAT = 1
"""Version of the JSON output."""
MAX_REASON = 160
"""Maximum length of the reason in the message of a layer that is not translated; a comment has the whole text."""
COMMENT_WIDTH = 110
"""Maximum width of comments, in characters."""


def module_lines(layers: Sequence[TranslatedLayer], surface: str, style: ModuleStyle) -> Iterator[str]:
    """Yield the lines of a file with all layers for one surface."""
    body = [*_scope_lines(layers, surface, style)]
    code = [line for line in body if not line.lstrip().startswith("#")]
    yield from style.imports
    yield from (line for line in style.optional_imports if _is_used(line, code))
    yield from body


def _is_used(imported: str, code: Iterable[str]) -> bool:
    """Whether lines of code use the name of an import, which is its last word."""
    name = re.compile(rf"(?<![\w.]){imported.rsplit(maxsplit=1)[-1]}\.")
    return any(map(name.search, code))


def _scope_lines(layers: Sequence[TranslatedLayer], surface: str, style: ModuleStyle) -> Iterator[str]:
    """Yield the lines of the classes and functions of a file."""
    for scope, members in groupby(layers, key=lambda one: one.layer.scope):
        yield ""
        yield ""
        own = [(one, next((target for target in one.targets if target.surface == surface), None)) for one in members]
        if style.nodes:
            rename, with_comments = _Names(scope, style), [(one, [*_comments(*one)]) for one in own]
            yield from map(rename, graph_lines(scope, with_comments, _parameters(scope, style)[2:], style))
            continue
        yield from _class_lines(scope, own, style) if scope.kind in CLASS_KINDS else _function_lines(scope, own, style)


def _class_lines(scope: Scope, members: Sequence[Member], style: ModuleStyle) -> Iterator[str]:
    # A field of the source is `self.name` there, and a parameter in other styles.
    rename = _Names(scope, style)
    yield f"class {scope.name}({style.base}):"
    if style.has_fields and scope.parameters:
        yield from (f"{INDENT}{_field(name, symbol)}" for name, symbol in scope.parameters.items())
        yield ""
    yield INDENT + style.constructor.format(parameters=_parameters(scope, style))
    body = [*style.first_lines, *(line for member in members for line in _attribute_lines(member, style, rename))]
    if all(line.startswith("#") for line in body):
        body.append("pass")
    yield from textwrap.indent("\n".join(body), INDENT * 2).splitlines()
    for layer, target in members:
        if target and target.steps and not _is_attribute(target.steps, style):
            yield ""
            yield f"{INDENT}def {_identifier(layer.layer.name)}(self, {_data(target)}):"
            yield from _method_lines(layer, target.steps, rename)
        elif is_missing(layer, target) and layer.layer.name not in scope.calls:
            yield ""
            yield f"{INDENT}def {_identifier(layer.layer.name)}(self, x):"
            yield f"{INDENT * 2}{_missing_line(layer, target)}"
    if scope.calls:
        yield from _chain_lines(members, style)
        return
    yield ""
    yield f"{INDENT}def {style.call_method}(self, x):"
    yield f"{INDENT * 2}# Write the calls of the source here:"
    for method in scope.forward:
        yield from (f"{INDENT * 2}#{line[3:] if line.startswith(INDENT) else line}" for line in method.splitlines())
    yield f"{INDENT * 2}raise NotImplementedError"


def _chain_lines(members: Sequence[Member], style: ModuleStyle) -> Iterator[str]:
    """Yield a method for each node without a translation, and the method that calls all nodes in order."""
    members = [(layer, target) for layer, target in members if layer.layer.name in layer.layer.scope.calls]
    for layer, target in members:
        if layer.kind is not LayerKind.LOCAL and (not target or not target.steps):
            yield ""
            yield f"{INDENT}def {_identifier(layer.layer.name)}(self, x):"
            yield f"{INDENT * 2}{_missing_line(layer, target)}"
    yield ""
    yield f"{INDENT}def {style.call_method}(self, x):"
    yield from (f"{INDENT * 2}x = self.{_identifier(layer.layer.name)}(x)" for layer, _ in members)
    yield f"{INDENT * 2}return x"


def _function_lines(scope: Scope, members: Sequence[Member], style: ModuleStyle) -> Iterator[str]:
    indent = ""
    rename = _Names(scope, style, in_class=False)
    if scope.kind == "function":
        yield f"def {scope.name}({_parameters(scope, style).removeprefix(', ')}):"
        indent = INDENT
    for layer, target in members:
        yield from (f"{indent}{line}" for line in _comments(layer, target))
        name = _identifier(layer.layer.name)
        if is_missing(layer, target):
            yield from _missing_function_lines(layer, target, indent)
        if not target or not target.steps:
            continue
        if _is_attribute(target.steps, style):
            start = "return " if layer.layer.returned and indent else f"{name} = "
            yield f"{indent}{start}{rename(_constructor(layer, target.steps, style))}"
        else:
            yield f"{indent}def {name}({_data(target)}):"
            yield from (f"{indent}{line[len(INDENT) :]}" for line in _method_lines(layer, target.steps, rename))
    if indent and not any((target and target.steps) or is_missing(layer, target) for layer, target in members):
        yield f"{indent}pass"


def _data(target: TargetLayer) -> str:
    """Return the parameters of the method or function of a layer."""
    return ", ".join(("x", *target.further_inputs))


def _missing_line(layer: TranslatedLayer, target: TargetLayer | None) -> str:
    """Return the statement in place of a layer that is not translated."""
    reason = layer.problem if is_missing(layer, None) else target.reason if target else ""
    text = ": ".join(filter(None, [layer.layer.text, textwrap.shorten(reason, MAX_REASON, placeholder=" …")]))
    return f"raise NotImplementedError({text!r})"


def _missing_function_lines(layer: TranslatedLayer, target: TargetLayer | None, indent: str) -> Iterator[str]:
    """Yield a function in place of a layer, or the end of the function that returns it."""
    line = _missing_line(layer, target)
    if layer.layer.returned and indent:
        yield f"{indent}{line}"
        return
    yield f"{indent}def {_identifier(layer.layer.name)}(x):"
    yield f"{indent}{INDENT}{line}"


def _attribute_lines(member: Member, style: ModuleStyle, rename: _Names) -> Iterator[str]:
    layer, target = member
    yield from _comments(layer, target)
    if layer.kind is LayerKind.LOCAL and has_known_names(layer.layer):
        yield f"self.{_identifier(layer.layer.name)} = {rename(_local_call(layer.layer, style))}"
    if not target or not target.steps:
        return
    name = _identifier(layer.layer.name)
    if _is_attribute(target.steps, style):
        yield f"self.{name} = {rename(_constructor(layer, target.steps, style))}"
        return
    for number, step in enumerate(target.steps):
        if step.has_weights:
            yield f"# ! the weights of {layer.layer.name} are those of {name}_{number}"
            yield f"self.{name}_{number} = {rename(step.text)}"


def has_known_names(layer: FoundLayer) -> bool:
    """Whether the arguments of a call have no other names than parameters of the class, such as that of a loop."""
    try:
        tree = ast.parse(layer.text)
    except SyntaxError:  # a shortened text
        return False
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names - {layer.text.partition("(")[0]} <= {*layer.scope.parameters, SELF}


def _local_call(layer: FoundLayer, style: ModuleStyle) -> str:
    """Return the call of a class of the source, which the module has with the same parameters."""
    arguments = layer.text.partition("(")[2].rpartition(")")[0]
    passed = [f"{name}={name}" for name in style.extra_parameters if name.isidentifier()]
    return f"{layer.class_name}({', '.join(filter(None, [arguments, *passed]))})"


def _method_lines(layer: TranslatedLayer, steps: Sequence[LayerStep], rename: _Names) -> Iterator[str]:
    name = _identifier(layer.layer.name)
    for number, step in enumerate(steps):
        called = f"self.{name}_{number}" if step.has_weights else rename(step.text)
        text = f"x = {called}(x)" if step.is_layer else rename(step.text)
        yield from (f"{INDENT * 2}{line}" for line in text.splitlines())
    yield f"{INDENT * 2}return x"


def _is_attribute(steps: Sequence[LayerStep], style: ModuleStyle) -> bool:
    """Whether a layer is one expression that creates it."""
    return all(step.is_layer for step in steps) and (len(steps) == 1 or bool(style.sequence))


def _constructor(layer: TranslatedLayer, steps: Sequence[LayerStep], style: ModuleStyle) -> str:
    text = ", ".join(step.text for step in steps)
    if len(steps) > 1:
        text = style.sequence.format(layers=text)
    if not style.name_keyword or not any(step.has_weights for step in steps):
        return text
    # Weights are loaded by the name of the layer.
    return f"{text[:-1]}, {style.name_keyword}={_identifier(layer.layer.name)!r})"


def _comments(layer: TranslatedLayer, target: TargetLayer | None) -> Iterator[str]:
    """Yield the comments on a layer: its text in the source, and all that needs attention."""
    found = layer.layer
    remarks = list(remark_texts(layer, target))
    is_done = bool(target and target.steps) or (layer.kind is LayerKind.LOCAL and has_known_names(found))
    yield from comment_lines(f"{found.scope.place} {found.line}: {'' if is_done else f'{found.name} = '}{found.text}")
    yield from (line for remark in remarks for line in comment_lines(f"! {remark}"))


def remark_texts(layer: TranslatedLayer, target: TargetLayer | None) -> Iterator[str]:
    """Yield what a user has to know about a layer on one surface."""
    if layer.problem:
        yield layer.problem
    yield from layer.notes
    if target is None:
        return
    if target.steps is None:
        yield f"unsupported: {target.reason}"
    yield from target.caveats
    if target.needs_shape:
        yield f"the text depends on the size of the input; give it with --input {layer.layer.full_name}=N,C,…"


def comment_lines(text: str, indent: str = "") -> list[str]:
    """Return a text as comments."""
    return textwrap.wrap(
        text,
        COMMENT_WIDTH,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )


class _Names:
    """Writes the names of parameters as a style has them: `planes`, or `self.planes` for a field."""

    def __init__(self, scope: Scope, style: ModuleStyle, *, in_class: bool = True) -> None:
        self.names, self.is_field = [*scope.parameters], style.has_fields and in_class

    def __call__(self, text: str) -> str:
        for name in self.names:
            text = re.sub(rf"\bself\.{name}\b", name, text)
            if self.is_field:
                # Not the name of an argument, `features=features`.
                text = re.sub(rf"(?<![\w.]){name}\b(?!\s*=[^=])", f"self.{name}", text)
        return text


def _identifier(name: str) -> str:
    """Return a name of Python. Nodes of a graph have names such as `/features/0/Conv`."""
    found = re.sub(r"\W", "_", re.sub(r"^\W+", "", name))
    return found if found.isidentifier() else f"layer_{found}"


def _field(name: str, symbol: Symbol) -> str:
    if symbol.is_optional:
        return f"{name}: object = None"
    kind = type(symbol.default).__name__ if symbol.default is not None else "object"
    return f"{name}: {kind} = {symbol.default!r}" if symbol.has_default else f"{name}: int"


def _parameters(scope: Scope, style: ModuleStyle) -> str:
    # A default whose value is not known, such as a class of the source, is written as None.
    own = (
        f"{name}={one.default!r}" if one.has_default or one.is_optional else name
        for name, one in scope.parameters.items()
    )
    return "".join(f", {one}" for one in [*own, *style.extra_parameters])


def layers_record(layers: Iterable[TranslatedLayer], where: str) -> dict[str, Any]:
    """Return the list as JSON values."""
    return {"format": JSON_FORMAT, "source": where, "layers": [_layer_record(one) for one in layers]}


def _layer_record(layer: TranslatedLayer) -> dict[str, Any]:
    found = layer.layer
    return {
        "name": found.full_name,
        "scope": {"kind": found.scope.kind, "name": found.scope.name},
        found.scope.place: found.line,
        "text": found.text,
        "called": found.called,
        "kind": layer.kind.value,
        "meaning": layer.meaning,
        "problem": layer.problem,
        "notes": list(layer.notes),
        "needs_shape": layer.needs_shape,
        "targets": {
            one.surface: {
                "steps": [
                    {"text": step.text, "is_layer": step.is_layer, "has_weights": step.has_weights}
                    for step in one.steps or ()
                ],
                "supported": one.steps is not None,
                "reason": one.reason,
                "remarks": list(one.caveats),
                "needs_shape": one.needs_shape,
            }
            for one in layer.targets
        },
    }


def list_lines(layers: Iterable[TranslatedLayer], where: str) -> Iterator[str]:
    """Yield the lines of the list: each layer with its meaning and its text on every surface."""
    for scope, members in groupby(layers, key=lambda one: one.layer.scope):
        where_in = f"{scope.line} nodes" if scope.kind == GRAPH else f"line {scope.line}"
        title = f"{scope.kind} {scope.name}, {where_in}" if scope.name else scope.kind
        yield from ("", f"{where}: {title}")
        for layer in members:
            found = layer.layer
            yield f"  {found.name}, {scope.place} {found.line}: {found.text}"
            yield from _indented(layer.problem or layer.meaning)
            yield from (line for note in layer.notes for line in _indented(f"! {note}"))
            groups: dict[TargetLayer, list[str]] = {}
            for target in layer.targets:
                groups.setdefault(replace(target, surface=""), []).append(target.surface)
            for target, surfaces in groups.items():
                yield from _target_lines(layer, target, ", ".join(surfaces))


def _target_lines(layer: TranslatedLayer, target: TargetLayer, surfaces: str) -> Iterator[str]:
    lines = [line for step in target.steps or () for line in step.text.splitlines()]
    yield f"    {surfaces}:{f' {lines[0]}' if len(lines) == 1 else ''}"
    yield from (f"      {line}" for line in lines[len(lines) == 1 :])
    bare = TranslatedLayer(layer.layer)
    yield from (line for remark in remark_texts(bare, target) for line in _indented(f"! {remark}", "      "))


def _indented(text: str, indent: str = "    ") -> list[str]:
    return textwrap.wrap(
        text, COMMENT_WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )
