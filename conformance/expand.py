"""From what a catalogue file says of a case to the case: every parameter explicit, every shape known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from conformance.cases import Answers, Case, Following, Reading, Rejected, Value
from conformance.operators import OPERATORS, Operator
from conformance.steps import COMPOSITIONS, plan
from conformance.values import ArraySpec, holds
from conformance.yaml_reader import KeyPath
from reference import Windows

MAX_ELEMENTS = 20_000_000
GENERATOR_OPTIONS: Mapping[str, set[str]] = {"arange": {"start", "step"}, "integers": {"low", "high", "seed"}}


class Faulty(ValueError):
    """A case that contradicts itself; `where` is the path of the key inside the case."""

    def __init__(self, where: KeyPath, message: str) -> None:
        super().__init__(f"key {'.'.join(map(str, where))!r}: {message}" if where else message)
        self.where = where


def expand(family: Mapping[str, Any], raw: Mapping[str, Any], place: str) -> Case:
    """Return the case. Raises Faulty."""
    operator = OPERATORS[family["operator"]]
    inputs = {name: _array(raw[name], name) for name in ("x", "kernel", "bias") if name in raw}
    _check_inputs(operator, inputs)
    expect = _expectation(raw)
    omitted = _omitted(expect, raw)
    case = Case(
        id=f"{operator.name}/{raw['id']}",
        operator=operator.name,
        inputs=inputs,
        parameters=_parameters(operator, raw, inputs, omitted, faulty=not isinstance(expect, Value)),
        expect=expect,
        via=_via(operator, raw),
        then=tuple(_following(item, position) for position, item in enumerate(raw.get("then", ()))),
        omitted=omitted,
        level=raw.get("level", "smoke"),
        about=raw.get("about", ""),
        source=raw.get("source", family["source"]),
        place=place,
    )
    if isinstance(expect, Value):
        _check_steps(case)
    return case


def _check_steps(case: Case) -> None:
    """Every composition and every operator that follows has a meaning."""
    try:
        plan(case)
    except (ValueError, TypeError) as error:
        raise Faulty(("then",) if case.then else ("via",), str(error)) from None


def _array(raw: Mapping[str, Any], name: str) -> ArraySpec:
    values, dtype = raw["values"], raw.get("dtype", "float32")
    generator = values if isinstance(values, str) else "literal"
    options = {key: raw[key] for key in raw if key not in {"values", "shape", "dtype"}}
    for key in options.keys() - GENERATOR_OPTIONS.get(generator, set()):
        raise Faulty((name, key), f"does not go with values: {generator}")
    if generator == "literal":
        shape, numbers = flatten(values, (name, "values"))
        shape = tuple(raw.get("shape", shape))
        options["numbers"] = numbers
        if math.prod(shape) != len(numbers):
            raise Faulty(
                (name, "shape"), f"{list(shape)} holds {math.prod(shape)} numbers, but there are {len(numbers)}"
            )
    elif "shape" not in raw:
        raise Faulty((name,), f"values: {generator} needs a shape")
    elif options.get("low", -9) > options.get("high", 9):
        raise Faulty((name, "low"), f"{options.get('low', -9)} is above high, {options.get('high', 9)}")
    else:
        shape = tuple(raw["shape"])
    if math.prod(shape) > MAX_ELEMENTS:
        raise Faulty((name, "shape"), f"{list(shape)} holds more than the limit of {MAX_ELEMENTS} elements")
    _check_range(generator, math.prod(shape), dtype, options, name)
    return ArraySpec(generator, shape, dtype, options)


def _check_range(generator: str, size: int, dtype: str, options: Mapping[str, Any], name: str) -> None:
    """Every number is one that the dtype holds, decimals rounded."""
    if generator == "literal":
        numbers = options["numbers"]
    elif generator == "arange":
        start, step = options.get("start", 0), options.get("step", 1)
        numbers = (start, start + step * max(size - 1, 0))
    else:
        numbers = (options.get("low", -9), options.get("high", 9))
    for number in numbers:
        if not holds(dtype, number):
            raise Faulty((name, "values"), f"{str(number)[:40]} is not a number that {dtype} holds")


def flatten(nested: Any, where: KeyPath = ()) -> tuple[tuple[int, ...], tuple[int | Decimal, ...]]:
    """Return shape and numbers of a nested list. Raises Faulty where its rows differ in length."""
    if not isinstance(nested, list):
        return (), (nested,)
    parts = [flatten(item, where) for item in nested]
    if len({shape for shape, _ in parts}) > 1:
        raise Faulty(where, "its rows differ in length")
    numbers: tuple[int | Decimal, ...] = sum((part for _, part in parts), ())
    return (len(parts), *(parts[0][0] if parts else ())), numbers


def _check_inputs(operator: Operator, inputs: Mapping[str, ArraySpec]) -> None:
    for name in inputs.keys() - set(operator.inputs):
        raise Faulty((name,), f"{operator.name} has no such input")
    for name in set(operator.inputs) - inputs.keys() - set(operator.optional):
        raise Faulty((), f"{operator.name} needs the key {name!r}")
    if len(inputs["x"].shape) < 3:  # noqa: PLR2004 - (n, c, and one spatial axis)
        raise Faulty(
            ("x", "shape"), f"{list(inputs['x'].shape)} is not (n, c, *spatial) with at least one spatial axis"
        )


def _expectation(raw: Mapping[str, Any]) -> Value | Rejected | Answers:
    if "answers" in raw:
        return Answers({name: _answer(name, answer) for name, answer in raw["answers"].items()})
    expect = raw.get("expect")
    if isinstance(expect, dict) and "rejected" in expect:
        return Rejected(expect["rejected"])
    if isinstance(expect, dict):
        return Value(((tuple(expect["shape"]), None),))
    if expect is None:
        for key in raw.keys() & {"also", "inexact"}:
            raise Faulty((key,), "there is no printed output under 'expect'")
        return Value()
    readings: list[Reading] = [flatten(expect, ("expect",))]
    readings += [flatten(item, ("also", position)) for position, item in enumerate(raw.get("also", ()))]
    return Value(tuple(readings), raw.get("inexact", ""))


def _answer(name: str, raw: Mapping[str, Any]) -> Mapping[str, Any] | ArraySpec | Rejected:
    if "rejected" in raw:
        return Rejected(raw["rejected"])
    return _array(raw, name) if "values" in raw else raw


def _omitted(expect: Value | Rejected | Answers, raw: Mapping[str, Any]) -> tuple[str, ...]:
    """What a question leaves out of the call: the parameters that only its answers give."""
    if not isinstance(expect, Answers):
        return ()
    overrides = [answer for answer in expect.named.values() if isinstance(answer, Mapping)]
    return tuple(sorted({key for answer in overrides for key in answer} - raw.keys()))


def _via(operator: Operator, raw: Mapping[str, Any]) -> tuple[str, ...]:
    via = tuple(raw.get("via", ()))
    known = [names for name, names in COMPOSITIONS if name == operator.name]
    if via and via not in known:
        offered = " or ".join(f"[{', '.join(names)}]" for names in known) or "nothing"
        raise Faulty(("via",), f"{operator.name} can be composed from {offered}, not from [{', '.join(via)}]")
    return via


def _following(raw: Mapping[str, Any], position: int) -> Following:
    operator = OPERATORS[raw["operator"]]
    if not operator.pools:
        raise Faulty(("then", position), f"{operator.name} cannot follow: only pooling can")
    for key in raw.keys() - operator.defaults.keys() - {"operator"}:
        raise Faulty(("then", position, key), f"{operator.name} has no such parameter")
    if "window" not in raw:
        raise Faulty(("then", position), f"{operator.name} needs the key 'window'")
    return Following(operator.name, {key: plain(raw[key]) for key in raw if key != "operator"})


def _parameters(
    operator: Operator,
    raw: Mapping[str, Any],
    inputs: Mapping[str, ArraySpec],
    omitted: tuple[str, ...],
    *,
    faulty: bool,
) -> dict[str, Any]:
    """Return every parameter of the operator; for a case that must be rejected, as it stands."""
    known = set(operator.defaults)
    for key in (
        raw.keys() - known - {"id", "about", "source", "level", "via", "then", "expect", "also", "inexact", "answers"}
    ):
        if key not in inputs:
            raise Faulty((key,), f"{operator.name} has no such parameter, it has {', '.join(sorted(known))}")
    given: dict[str, Any] = {**operator.defaults, **{key: plain(raw[key]) for key in known & raw.keys()}}
    for key, value in given.items():
        if value is None and key in {"window", "pads"}:
            raise Faulty((), f"{operator.name} needs the key {key!r}")
    if "dilation" in given:
        given.update(_walk(given, inputs, faulty=faulty))
    return {key: value for key, value in given.items() if key not in omitted}


def _walk(given: Mapping[str, Any], inputs: Mapping[str, ArraySpec], *, faulty: bool) -> dict[str, Any]:
    """Return window, stride, padding and dilation with a value for every axis, as the reference understands them."""
    size = inputs["x"].shape[2:]
    window = given.get("window", inputs["kernel"].shape[2:] if "kernel" in inputs else None)
    try:
        walk = Windows.of(
            size, window, given["stride"], given["padding"], given["dilation"], given.get("rounding", "floor")
        )
        walked = {"window": walk.window, "stride": walk.stride, "padding": walk.pads, "dilation": walk.dilation}
        if any(min(pair) < 0 for pair in walk.pads):
            # The reference crops; no framework's pooling or convolution takes such padding, but `pad` does.
            raise ValueError(f"padding {given['padding']} must be at least 0; to crop, pad comes first")
    except ValueError as error:
        if not faulty:
            raise Faulty((), str(error)) from None
        walked = _spread(given, window, len(size))
    return {key: value for key, value in walked.items() if key in given}


def _spread(given: Mapping[str, Any], window: Any, rank: int) -> dict[str, Any]:
    """Return the parameters of a faulty case as they stand, a scalar standing for every axis."""

    def every_axis(name: str, value: Any) -> tuple[Any, ...]:
        spread = value if isinstance(value, tuple) else (value,) * rank
        if len(spread) != rank:
            raise Faulty((name,), f"{list(spread)} has {len(spread)} entries: expected {rank}, one per spatial axis")
        return spread

    padding = every_axis("padding", 0 if isinstance(given["padding"], str) else given["padding"])
    return {
        "window": every_axis("window", window),
        "stride": every_axis("stride", window if given["stride"] is None else given["stride"]),
        "padding": tuple(pair if isinstance(pair, tuple) else (pair, pair) for pair in padding),
        "dilation": every_axis("dilation", given["dilation"]),
    }


def plain(value: Any) -> Any:
    """Return the value with lists as tuples and decimals as floats."""
    if isinstance(value, list):
        return tuple(plain(item) for item in value)
    return float(value) if isinstance(value, Decimal) else value
