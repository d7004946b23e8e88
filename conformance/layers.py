"""Reads a layer as people write it, `nn.MaxPool2d(3, 2, 1)`, and says what it means in the words of the catalogue.

The text is taken apart as Python source and never evaluated: what is called must stand in an adapter's table, and its
arguments must be numbers, words, lists of these, or plain names. The tables stand beside the adapters, in
`conformance.adapters.<backend>_layers`, under the name DIALECTS.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from conformance.errors import ConformanceError
from conformance.layer_source import Unread, Word, source
from conformance.operators import OPERATORS
from conformance.requests import Request, size_text

SHOWN = 60
RANKS = (1, 2, 3)
RANK = "{rank}"


@dataclass(frozen=True)
class Call:
    """A call with its arguments bound to the names of its signature.

    arguments: every one, with its default where the call leaves it out; given: the names of those that it names;
    shape: that of the input, where somebody has said it.
    """

    name: str
    rank: int | None
    arguments: Mapping[str, Any]
    given: frozenset[str]
    shape: tuple[int, ...] | None = None

    def axes(self, of: Any = None) -> int:
        """Return the number of spatial axes: as the name says, the shape, or the length of a tuple."""
        if self.rank is not None:
            return self.rank
        if isinstance(of, tuple):
            return len(of)
        return len(self.shape) - 2 if self.shape else 2

    def extents(self, why: str) -> tuple[int, ...]:
        """Return the extents of the input. Raises Unread where nobody has said them."""
        if self.shape is None:
            raise Unread(f"{why} depends on the size of the input: say --shape N,C,…")
        return self.shape[2:]


Convert = Callable[[Call, Any], Any]


@dataclass(frozen=True)
class Reading:
    """Where a word of the catalogue stands in a call: the argument, and what it means; None leaves the word out."""

    argument: str
    convert: Convert


@dataclass(frozen=True)
class Layer:
    """One class or function of a framework: its signature, and what its arguments mean.

    signature: as Python writes it, `Pool{rank}d(size, stride=None)`; several names stand side by side with `|`, and
    `{rank}` is the number of spatial axes, which is read off names such as `Pool2d` too;
    data: arguments that are arrays; ignored: further ones without a say in the result;
    must: what an argument has to be, because anything else has no words here;
    reads: for parameters of the operator, and for `channels`, `out_channels`, `bias`, where they stand;
    always: parameters that hold whatever the call says; meaning: what changes several of them, last of all;
    note: what a reader should know besides.
    """

    signature: str
    operator: str
    reads: Mapping[str, Reading] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    must: Mapping[str, Any] = field(default_factory=dict)
    always: Mapping[str, Any] = field(default_factory=dict)
    meaning: Callable[[Call, dict[str, Any]], Mapping[str, Any]] | None = None
    note: str = ""

    @property
    def names(self) -> list[tuple[str, int | None]]:
        """Every name that the layer has, with the rank that the name says."""
        patterns = self.signature.partition("(")[0].split("|")
        names = (
            pattern.replace(RANK, str(rank)) for pattern in patterns for rank in RANKS[: 3 if RANK in pattern else 1]
        )
        found = ((name, re.search(r"([1-3])[dD]", name)) for name in names)
        return [(name, int(rank[1]) if rank else None) for name, rank in found]

    @property
    def parameters(self) -> inspect.Signature:
        """The arguments with their defaults; a text that is no signature is a fault of the table."""
        return _signature(self.signature.partition("(")[2].removesuffix(")"))


@lru_cache
def _signature(text: str) -> inspect.Signature:
    function = ast.parse(f"def f({text}): pass").body[0]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - so it was written
    given, kinds = function.args, inspect.Parameter
    defaults = [inspect.Parameter.empty] * (len(given.args) - len(given.defaults))
    defaults += [ast.literal_eval(node) for node in given.defaults]
    plain = [kinds(a.arg, kinds.POSITIONAL_OR_KEYWORD, default=d) for a, d in zip(given.args, defaults, strict=True)]
    named = [
        kinds(a.arg, kinds.KEYWORD_ONLY, default=ast.literal_eval(d) if d else kinds.empty)
        for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return inspect.Signature([*plain, *named])


@dataclass(frozen=True)
class Dialect:
    """The layers of one surface, and what people write before their names.

    prefixes: modules, as they are usually imported; applied: methods that stand between a layer and its input;
    naming: the function whose first argument is the name of a layer, if there is one.
    """

    prefixes: tuple[str, ...]
    layers: tuple[Layer, ...]
    applied: tuple[str, ...] = ()
    naming: str = ""

    @cached_property
    def known(self) -> dict[str, list[tuple[Layer, int | None]]]:
        """The layers by their names, each with the rank that the name says."""
        found: dict[str, list[tuple[Layer, int | None]]] = {}
        for layer in self.layers:
            for name, rank in layer.names:
                found.setdefault(name, []).append((layer, rank))
        return found


@dataclass(frozen=True)
class Read:
    """What a layer means: a request, what it leaves to defaults, and what else is to be said of it."""

    request: Request
    omitted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read(text: str, dialect: Dialect, shape: tuple[int, ...] | None = None) -> Read:
    """Return what a layer means. Raises ConformanceError, in one line, with the column where one can be named."""
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    try:
        call = source(text, dialect.prefixes, dialect.applied, dialect.naming)
        if call.name not in dialect.known:
            raise Unread(f"{call.name!r} is no layer that can be read{_near(call.name, dialect.known)}")
        return _of(call.result, _meaning(call.name, call.arguments, call.named, dialect, shape))
    except Unread as error:
        raise ConformanceError(f"{' '.join(shown.split())!r}: {error}") from None


def _of(which: int | None, found: Read) -> Read:
    """Return what a layer means of whose results one is taken."""
    outputs = OPERATORS[found.request.operator].outputs
    if which is None:
        return found
    if not outputs:
        raise Unread(f"[{which}]: {found.request.operator} has one result")
    request = replace(found.request, given={**found.request.given, "output": outputs[which]})
    return replace(found, request=request)


def _near(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f", did you mean {near[0]!r}?" if near else ""


def _meaning(
    name: str, arguments: Sequence[Any], named: Mapping[str, Any], dialect: Dialect, shape: tuple[int, ...] | None
) -> Read:
    """Return what the first of the layers of that name makes of the arguments, or why the last one does not."""
    failure = Unread(f"{name} cannot be read")
    for layer, rank in dialect.known[name]:
        try:
            return _read(layer, replace(_bound(layer, name, arguments, named), rank=rank, shape=shape))
        except Unread as error:
            failure = error
    raise failure


def _bound(layer: Layer, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Call:
    signature = layer.parameters
    known = [*signature.parameters, *layer.ignored]
    for key in named:
        if key not in known:
            near = _near(key, dict.fromkeys(known)) or f", it has {', '.join(signature.parameters)}"
            raise Unread(f"{name} has no argument {key!r}{near}")
    try:
        bound = signature.bind(*arguments, **{key: value for key, value in named.items() if key not in layer.ignored})
    except TypeError as error:
        raise Unread(f"{name}: {error}") from None
    given = frozenset(bound.arguments)
    bound.apply_defaults()
    return Call(name, None, bound.arguments, given)


def _read(layer: Layer, call: Call) -> Read:
    for argument, wanted in layer.must.items():
        allowed = wanted if isinstance(wanted, tuple) else (wanted,)
        if not any(value is call.arguments[argument] or value == call.arguments[argument] for value in allowed):
            raise Unread(f"{argument}={_shown(call.arguments[argument])}: only {_either(allowed)} can be translated")
    for argument in layer.data:
        if call.arguments[argument] is not None and not isinstance(call.arguments[argument], Word):
            raise Unread(f"{argument}={_shown(call.arguments[argument])}: not the name of an array")
    found = dict(layer.always)
    for word, reading in layer.reads.items():
        try:
            value = reading.convert(call, call.arguments[reading.argument])
        except Unread as error:
            raise Unread(f"{reading.argument}={_shown(call.arguments[reading.argument])}: {error}") from None
        found |= {word: value} if value is not None else {}
    if layer.meaning:
        found |= layer.meaning(call, found)
    omitted = [word for word, reading in layer.reads.items() if reading.argument not in call.given]
    return Read(_request(layer.operator, found, call), tuple(omitted), (layer.note,) if layer.note else ())


def _request(operator: str, found: dict[str, Any], call: Call) -> Request:
    of_inputs = {key: found.pop(key) for key in ("channels", "out_channels", "bias") if key in found}
    operator = found.pop("operator", operator)
    spread = next((value for key in ("window", "pads") for value in [found.get(key)] if isinstance(value, tuple)), None)
    request = Request(operator, found, rank=call.rank or (len(spread) if spread else None), shape=call.shape)
    return replace(request, **of_inputs)


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, Word) else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _either(values: Sequence[Any]) -> str:
    return " or ".join(map(_shown, values))


def notes(found: Read, parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the layer left to its defaults, which others may have otherwise, and what else is to be said."""
    left = [word for word in found.omitted if parameters.get(word) is not None]
    if left:
        said = ", ".join(f"{word.replace('_', ' ')} {size_text(parameters[word])}" for word in left)
        yield f"left to the defaults of the layer: {said}"
    yield from found.notes
