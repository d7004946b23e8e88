"""Reads a layer as people write it, `nn.MaxPool2d(3, 2, 1)`, and says what it means in the words of the catalogue.

The text is taken apart as Python source and never evaluated: what is called must stand in an adapter's table, and its
arguments must be numbers, words, lists of these, or plain names. The tables stand beside the adapters, in
`conformance.adapters.<backend>_layers`, under the name DIALECTS.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance import ConformanceError
from conformance.adapters.api.layer_parser import Source, Unread, Word, source
from conformance.adapters.api.layers import Call, Dialect, Layer
from conformance.cases.operators import OPERATORS
from conformance.translation.ad_hoc_case import Request, size_text

SHOWN = 60


@dataclass(frozen=True)
class Read:
    """What a layer means: a request, what it leaves to defaults, and what else is to be said of it."""

    request: Request
    omitted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read(
    text: str, dialect: Dialect, shape: tuple[int, ...] | None = None, kernel: tuple[int, ...] | None = None
) -> Read:
    """Return what a layer means. Raises ConformanceError, in one line, with the column where one can be named.

    shape, kernel: those of the input, (n, c, *spatial), and of the weights as the catalogue has them, where they are
    known; layers whose meaning depends on them ask for them.
    """
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    try:
        call = source(text, dialect.writing)
        if f"{call.module}.{call.name}" in dialect.known:
            call = replace(call, name=f"{call.module}.{call.name}")
        if call.name not in dialect.known:
            raise Unread(f"{call.name!r} is no layer that can be read{_near(call.name, dialect.known)}")
        return _meaning(call, dialect, shape, kernel)
    except Unread as error:
        raise ConformanceError(f"{' '.join(shown.split())!r}: {error}") from None


def _near(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f", did you mean {near[0]!r}?" if near else ""


def _meaning(call: Source, dialect: Dialect, shape: tuple[int, ...] | None, kernel: tuple[int, ...] | None) -> Read:
    """Return what the first of the layers of that name makes of the arguments, or why the last one does not."""
    failure = Unread(f"{call.name} cannot be read")
    for layer, rank in dialect.known[call.name]:
        try:
            bound = _bound(layer, call.name, call.arguments, call.named)
            return _read(layer, replace(bound, rank=rank, shape=shape, kernel=kernel, result=call.result))
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
    found |= _taken(layer, call, str(found.get("operator", layer.operator)))
    omitted = [word for word, reading in layer.reads.items() if reading.argument not in call.given]
    note = layer.note(call) if callable(layer.note) else layer.note
    return Read(_request(layer.operator, found, call), tuple(omitted), (note,) if note else ())


def _taken(layer: Layer, call: Call, operator: str) -> Mapping[str, Any]:
    """Return which result of the operator is taken, where it has several."""
    outputs = OPERATORS[operator].outputs
    if call.result is None:
        return {}
    if not outputs and call.result >= layer.results:
        raise Unread(f"[{call.result}]: {operator} has one result")
    return {"output": outputs[call.result]} if outputs else {}


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
