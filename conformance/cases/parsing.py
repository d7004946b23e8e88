"""From what a catalogue file says of a case to the case: every parameter explicit, every shape known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from conformance.cases.arrays import DTYPES, ArraySpec, holds
from conformance.cases.case import Answers, Case, Following, Reading, Rejected, Value
from conformance.cases.compositions import COMPOSITIONS, plan
from conformance.cases.generators import GENERATORS, distinct_range
from conformance.cases.limits import MAX_ELEMENTS, too_large
from conformance.cases.operators import INPUTS, OPERATORS, Operator
from conformance.cases.parameters import Faulty, check_extents, check_ranks, parameters_of, plain
from conformance.cases.steps import shape_of
from conformance.cases.yaml_reader import KeyPath

FOLLOWING = frozenset({"grad", "indices", "samples", "draws"})
"""Inputs whose shape follows from x and the parameters."""
USUAL_DTYPES: Mapping[str, str] = {"indices": "int64"}


def expand(family: Mapping[str, Any], raw: Mapping[str, Any], place: str) -> Case:
    """Return the case. Raises Faulty."""
    operator = OPERATORS[family["operator"]]
    given = {
        name: _array(raw[name], name, raw["x"])
        for name in INPUTS
        if name in raw and (name not in FOLLOWING or _has_shape(raw[name]))
    }
    _check_inputs(operator, given, raw)
    expect = _expectation(raw)
    omitted = _omitted(expect, raw)
    parameters = parameters_of(operator, raw, given, omitted, faulty=not isinstance(expect, Value))
    if not isinstance(expect, Rejected):
        check_ranks(parameters, len(given["x"].shape) - 2)
        check_extents(parameters, given)
    case = Case(
        id=f"{operator.name}/{raw['id']}",
        operator=operator.name,
        inputs=given,
        parameters=parameters,
        expect=expect,
        via=_via(operator, raw),
        then=tuple(_following(item, position) for position, item in enumerate(raw.get("then", ()))),
        omitted=omitted,
        puts=raw.get("question", ""),
        level=raw.get("level", "smoke"),
        tags=tuple(raw.get("tags", ())),
        about=raw.get("about", ""),
        source=raw.get("source", family["source"]),
        place=place,
    )
    case = replace(case, inputs=_all_inputs(operator, raw, case))
    check(case)
    return case


def check(case: Case) -> None:
    """Raise Faulty for a case that no machine can reckon, and for steps or parameters without a meaning."""
    if not isinstance(case.expect, Rejected):
        check_ranks(case.parameters, len(case.shape) - 2)
        check_extents(case.parameters, case.inputs)
    large = too_large(case)
    if large:
        raise Faulty((), large)
    if isinstance(case.expect, Value):
        _check_steps(case)


def _has_shape(raw: Mapping[str, Any]) -> bool:
    return "shape" in raw or not isinstance(raw["values"], str)


def _all_inputs(operator: Operator, raw: Mapping[str, Any], case: Case) -> dict[str, ArraySpec]:
    """Return every input in the operator's order; a shape that is left out follows from x and the parameters."""
    inputs = dict(case.inputs)
    for name in operator.inputs:
        if name in raw and name not in inputs:
            try:
                shape = shape_of(name, case)
            except (ValueError, LookupError):
                raise Faulty((name,), "needs a shape: none follows from the case") from None
            inputs[name] = _array({**raw[name], "shape": list(shape)}, name, raw["x"])
    return {name: inputs[name] for name in operator.inputs if name in inputs}


def _check_steps(case: Case) -> None:
    """Every composition and every operator that follows has a meaning."""
    try:
        plan(case)
    except (ValueError, TypeError) as error:
        raise Faulty(("then",) if case.then else ("via",), str(error)) from None


def _array(raw: Mapping[str, Any], name: str, x: Mapping[str, Any]) -> ArraySpec:
    values, dtype = raw["values"], raw.get("dtype", _usual_dtype(name, x))
    generator = values if isinstance(values, str) else "literal"
    options = {key: raw[key] for key in raw if key not in {"values", "shape", "dtype"}}
    for key in options.keys() - GENERATORS[generator].options:
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
    else:
        shape = tuple(raw["shape"])
    if math.prod(shape) > MAX_ELEMENTS:
        raise Faulty((name, "shape"), f"{list(shape)} holds more than the limit of {MAX_ELEMENTS} elements")
    _check_options(generator, shape, dtype, options, name)
    return ArraySpec(generator, shape, dtype, options)


def _usual_dtype(name: str, x: Mapping[str, Any]) -> str:
    """Return the dtype of an input that names none: gradients have that of x, indices are int64."""
    usual: str = x.get("dtype", "float32") if name in FOLLOWING - {"indices"} else USUAL_DTYPES.get(name, "float32")
    return usual


def _check_options(generator: str, shape: tuple[int, ...], dtype: str, options: Mapping[str, Any], name: str) -> None:
    """The generator makes the dtype, out of numbers that the dtype holds, decimals rounded."""
    kind = {"f": "f", "V": "f", "b": "b"}.get(DTYPES[dtype].kind, "w")
    if kind not in GENERATORS[generator].kinds:
        raise Faulty((name, "dtype"), f"values: {generator} makes no {dtype}")
    if generator == "marked" and ("mark" not in options or len(shape) < 3):  # noqa: PLR2004 - (n, c, and one spatial axis)
        raise Faulty((name,), "values: marked needs a mark, and a shape with spatial axes")
    if options.get("over", 1) != 1 and kind != "f":
        raise Faulty((name, "over"), f"divides floating numbers, not {dtype}")
    if generator == "literal":
        numbers = options["numbers"]
    elif generator == "arange":
        start, step = options.get("start", 0), options.get("step", 1)
        numbers = (start, start + step * max(math.prod(shape) - 1, 0))
    elif generator == "distinct":
        try:
            numbers = distinct_range(shape, options.get("low"), options.get("high"))
        except ValueError as error:
            raise Faulty((name, "values"), str(error)) from None
    elif "low" in GENERATORS[generator].options:
        numbers = (options.get("low", -9), options.get("high", 9))
        if numbers[0] > numbers[1]:
            raise Faulty((name, "low"), f"{numbers[0]} is above high, {numbers[1]}")
    else:
        numbers = ()
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


def _check_inputs(operator: Operator, inputs: Mapping[str, ArraySpec], raw: Mapping[str, Any]) -> None:
    for name in INPUTS:
        if name in raw and name not in operator.inputs:
            raise Faulty((name,), f"{operator.name} has no such input")
    for name in set(operator.inputs) - raw.keys() - set(operator.optional):
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
    if not isinstance(raw, Mapping):
        raise Faulty(("answers", name), "is no answer: parameters, an array or a fault")
    if "rejected" in raw:
        return Rejected(raw["rejected"])
    return _array(raw, name, raw) if "values" in raw else {key: plain(value) for key, value in raw.items()}


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
    if not operator.pools or operator.inputs != ("x",) or operator.outputs:
        raise Faulty(("then", position), f"{operator.name} cannot follow: only pooling can")
    for key in raw.keys() - operator.defaults.keys() - {"operator"}:
        raise Faulty(("then", position, key), f"{operator.name} has no such parameter")
    if "window" not in raw:
        raise Faulty(("then", position), f"{operator.name} needs the key 'window'")
    return Following(operator.name, {key: plain(raw[key]) for key in raw if key != "operator"})
