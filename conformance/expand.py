"""From what a catalogue file says of a case to the case: every parameter explicit, every shape known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from conformance.cases import DEFAULTS, FLAT, SAME, Answers, Case, Following, Reading, Rejected, Value
from conformance.generators import GENERATORS, distinct_range
from conformance.operators import INPUTS, OPERATORS, Operator
from conformance.sizes import MAX_ELEMENTS, too_large
from conformance.steps import COMPOSITIONS, plan, shape_of
from conformance.values import DTYPES, ArraySpec, holds
from conformance.yaml_reader import KeyPath
from reference import Windows

FOLLOWING = frozenset({"grad", "indices", "samples", "draws"})
"""Inputs whose shape follows from x and the parameters."""
USUAL_DTYPES: Mapping[str, str] = {"indices": "int64"}
# Parameters with an entry for each spatial axis.
SPATIAL = frozenset({"window", "stride", "padding", "dilation", "output_size", "output_padding", "pads"})
# What a case says beside inputs and parameters.
WORDS = {
    "id",
    "about",
    "source",
    "level",
    "tags",
    "via",
    "then",
    "expect",
    "also",
    "inexact",
    "answers",
    "question",
    DEFAULTS,
    FLAT,
}


class Faulty(ValueError):
    """A case that contradicts itself; `where` is the path of the key inside the case."""

    def __init__(self, where: KeyPath, message: str) -> None:
        super().__init__(f"key {'.'.join(map(str, where))!r}: {message}" if where else message)
        self.where = where


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
    parameters = _parameters(operator, raw, given, omitted, faulty=not isinstance(expect, Value))
    if not isinstance(expect, Rejected):
        _check_ranks(parameters, len(given["x"].shape) - 2)
        _check_extents(parameters, given)
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
        _check_ranks(case.parameters, len(case.shape) - 2)
        _check_extents(case.parameters, case.inputs)
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
    for key in raw.keys() - known - WORDS - set(INPUTS):
        has = f", it has {', '.join(sorted(known))}" if known else ""
        raise Faulty((key,), f"{operator.name} has no such parameter{has}")
    given: dict[str, Any] = {**operator.defaults, **{key: plain(raw[key]) for key in known & raw.keys()}}
    for key in operator.needed:
        if given[key] is None and not (key == "pads" and FLAT in raw):
            raise Faulty((), f"{operator.name} needs the key {key!r}")
    if given.get("output", "x") not in (operator.outputs or ("x",)):
        outputs = ", ".join(operator.outputs) or "one array"
        raise Faulty(("output",), f"{operator.name} returns {outputs}, not {given['output']!r}")
    if given.get("output") in operator.optional and given["output"] not in raw:
        raise Faulty(("output",), f"the case has no {given['output']} whose gradient could be asked for")
    given.update(_along_axes(operator, given, inputs, faulty=faulty))
    if raw.get("padding") == SAME:
        given["padding"] = SAME
    if FLAT in raw:
        given[FLAT] = plain(raw[FLAT])
    if raw.get(DEFAULTS):
        given[DEFAULTS] = True
    return {key: value for key, value in given.items() if key not in omitted}


def _along_axes(
    operator: Operator, given: Mapping[str, Any], inputs: Mapping[str, ArraySpec], *, faulty: bool
) -> dict[str, Any]:
    """Return the parameters that have a value for every spatial axis, as the reference understands them."""
    if operator.forward == "conv_transpose":
        return _transposed(given, inputs, faulty=faulty)
    if "dilation" in given:
        return _walk(given, inputs, faulty=faulty)
    rank = len(inputs["x"].shape) - 2
    return {key: _every_axis(given[key], rank) for key in ("window", "output_size") if key in given}


def _walk(given: Mapping[str, Any], inputs: Mapping[str, ArraySpec], *, faulty: bool) -> dict[str, Any]:
    """Return window, stride, padding and dilation of a walk over the input."""
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


def _transposed(given: Mapping[str, Any], inputs: Mapping[str, ArraySpec], *, faulty: bool) -> dict[str, Any]:
    """Return the same for a transposed convolution, whose padding crops the output; `same` is input times stride."""
    size, window = inputs["x"].shape[2:], inputs["kernel"].shape[2:]
    spread = _spread(
        {**given, "padding": 0 if isinstance(given["padding"], str) else given["padding"]}, window, len(size)
    )
    further = _every_axis(given["output_padding"], len(size))
    walked = {key: spread[key] for key in ("stride", "padding", "dilation")} | {"output_padding": further}
    if given["padding"] in {"same_upper", "same_lower"} and not faulty:
        _check_ranks(walked, len(size))
        whole = [extent * step for extent, step in zip(size, walked["stride"], strict=True)]
        pads = Windows.of(whole, window, walked["stride"], given["padding"], walked["dilation"]).pads
        cells = zip(size, walked["stride"], walked["dilation"], window, pads, strict=True)
        natural = [(n - 1) * s + d * (w - 1) + 1 - sum(ends) for n, s, d, w, ends in cells]
        walked |= {"padding": pads, "output_padding": tuple(w - n for w, n in zip(whole, natural, strict=True))}
    if not faulty and any(number < 0 for pair in walked["padding"] for number in pair):
        # The reference adds cells then; most frameworks take such padding for something else, or for a fault.
        raise Faulty((), f"padding {given['padding']} must be at least 0; output_padding adds cells after the output")
    return walked


def _every_axis(value: Any, rank: int) -> tuple[Any, ...]:
    """Return a tuple as it stands, anything else once for each axis."""
    return value if isinstance(value, tuple) else (value,) * rank


def _check_ranks(parameters: Mapping[str, Any], rank: int) -> None:
    """Raise Faulty unless a parameter that goes along the axes has an entry for each."""
    for name in sorted(SPATIAL & parameters.keys()):
        value = parameters[name]
        if isinstance(value, tuple) and len(value) != rank:
            raise Faulty((name,), f"{list(value)} has {len(value)} entries: expected {rank}, one per spatial axis")


def _check_extents(parameters: Mapping[str, Any], inputs: Mapping[str, ArraySpec]) -> None:
    """Raise Faulty for a kernel of another rank than x, for an output without cells, and for a power that is none."""
    x, kernel = inputs["x"].shape, inputs.get("kernel")
    if kernel and len(kernel.shape) != len(x):
        raise Faulty(("kernel", "shape"), f"{list(kernel.shape)} has {len(kernel.shape)} axes, and x has {len(x)}")
    if "output_size" in parameters and min(parameters["output_size"], default=1) < 1:
        raise Faulty(("output_size",), f"{list(parameters['output_size'])} must be at least 1 along every axis")
    if math.isnan(parameters.get("p", 1)):
        raise Faulty(("p",), "nan is no power")


def _spread(given: Mapping[str, Any], window: Any, rank: int) -> dict[str, Any]:
    """Return the parameters of a faulty case as they stand, a scalar standing for every axis."""
    padding = _every_axis(0 if isinstance(given["padding"], str) else given["padding"], rank)
    return {
        "window": _every_axis(window, rank),
        "stride": _every_axis(window if given["stride"] is None else given["stride"], rank),
        "padding": tuple(pair if isinstance(pair, tuple) else (pair, pair) for pair in padding),
        "dilation": _every_axis(given["dilation"], rank),
    }


def plain(value: Any) -> Any:
    """Return the value with lists as tuples and decimals as floats."""
    if isinstance(value, list):
        return tuple(plain(item) for item in value)
    return float(value) if isinstance(value, Decimal) else value
