"""Parsing of a case from the data of a YAML file: parameters are expanded and shapes are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from types import MappingProxyType
from typing import Any

from conformance.cases.arrays import ArraySpec, can_represent, dtype_kind
from conformance.cases.case import DRAWN_KEY, Answers, Case, FollowingOperator, PrintedArray, Rejected, Value
from conformance.cases.compositions import COMPOSITIONS, plan_steps
from conformance.cases.generators import (
    DEFAULT_HIGH,
    DEFAULT_LOW,
    GENERATORS,
    DtypeKind,
    GeneratorName,
    distinct_range,
)
from conformance.cases.limits import MAX_ARRAY_ELEMENTS, size_or_time_problem, size_problem
from conformance.cases.operators import INPUTS, OPERATORS, Operator
from conformance.cases.parameters import (
    PER_AXIS_PARAMETERS,
    CaseError,
    check_extents,
    check_ranks,
    parse_parameters,
    plain_value,
)
from conformance.cases.steps import input_shape
from conformance.cases.yaml_reader import YamlPath
from reports.results.vocabulary import Level

DERIVED_SHAPE_INPUTS = frozenset(name for name, described in INPUTS.items() if described.is_derived)
"""Inputs whose shape is derived from x and the parameters."""
CONSTANT_INPUTS = ("kernel", "bias")
"""Inputs of an operator in `then` in addition to the output of the previous operator."""
LEAST_OUTPUT_SIZE: Mapping[type, int] = {Value: 1, Answers: 0}
"""The smallest output size of a case that need not be rejected. Frameworks differ on an output without cells."""


def parse_case(
    family: Mapping[str, Any], raw: Mapping[str, Any], location: str, *, only_translated: bool = False
) -> Case:
    """Parse one case. Raises CaseError.

    family: the data of the whole file, with operator and source; raw: the data of the case; location: file and line;
    only_translated: whether nothing is computed, so that the time of the reference is not limited.
    """
    operator = OPERATORS[family["operator"]]
    given = {
        name: _parse_array(raw[name], name, raw["x"], operator.dtypes)
        for name in INPUTS
        if name in raw and (name not in DERIVED_SHAPE_INPUTS or _states_shape(raw[name]))
    }
    _check_inputs(operator, given, raw)
    expect = _parse_expectation(raw)
    omitted = _omitted_parameters(expect, raw)
    parameters = parse_parameters(operator, raw, given, omitted, invalid=not isinstance(expect, Value))
    if not isinstance(expect, Rejected):
        check_ranks(parameters, len(given["x"].shape) - 2)
        check_extents(parameters, given, LEAST_OUTPUT_SIZE[type(expect)])
    case = Case(
        id=f"{operator.name}/{raw['id']}",
        operator=operator.name,
        inputs=given,
        parameters=parameters,
        expect=expect,
        via=_parse_composition(operator, raw),
        then=tuple(_parse_following(item, position, raw["x"]) for position, item in enumerate(raw.get("then", ()))),
        omitted_parameters=omitted,
        convention_name=raw.get("question", ""),
        level=Level(raw.get("level", Level.SMOKE)),
        tags=tuple(raw.get("tags", ())),
        about=raw.get("about", ""),
        source=raw.get("source", family["source"]),
        location=location,
    )
    # The derived shapes follow from the parsed parameters, so these inputs come last.
    inputs = _all_inputs(operator, raw, case)
    if list(inputs) != list(given):
        case = replace(case, inputs=inputs)
    _check_size_and_steps(case, only_translated=only_translated)
    return case


def validate_case(case: Case) -> None:
    """Raise CaseError for a case that is too large to compute, and for invalid steps or parameters."""
    if not isinstance(case.expect, Rejected):
        check_ranks(case.parameters, len(case.shape) - 2)
        check_extents(case.parameters, case.inputs, LEAST_OUTPUT_SIZE[type(case.expect)])
    _check_size_and_steps(case)


def _check_size_and_steps(case: Case, *, only_translated: bool = False) -> None:
    large = size_problem(case) if only_translated else size_or_time_problem(case)
    if large:
        raise CaseError(_key_of_largest_size(case), large)
    if isinstance(case.expect, Value):
        _check_steps(case)


def _key_of_largest_size(case: Case) -> YamlPath:
    """Return the key with the largest number among the shapes and the parameters with a value for each axis."""
    # By default the stride is the window, and a large stride makes no case larger.
    given = [name for name in PER_AXIS_PARAMETERS if name in case.parameters and name != "stride"]
    sizes: dict[YamlPath, int] = {(name,): _largest_number(case.parameters[name]) for name in given}
    sizes |= {(name, "shape"): _largest_number(spec.shape) for name, spec in case.inputs.items()}
    return max(sizes, key=lambda key: sizes[key])


def _largest_number(value: Any) -> int:
    if isinstance(value, tuple):
        return max(map(_largest_number, value), default=0)
    return value if isinstance(value, int) else 0


def _states_shape(raw: Mapping[str, Any]) -> bool:
    return "shape" in raw or not isinstance(raw["values"], str)


def _all_inputs(operator: Operator, raw: Mapping[str, Any], case: Case) -> dict[str, ArraySpec]:
    """Return every input in the operator's order; a missing shape is derived from x and the parameters."""
    inputs = dict(case.inputs)
    for name in operator.inputs:
        if name in raw and name not in inputs:
            try:
                shape = input_shape(name, case)
            except (ValueError, LookupError, TypeError):
                raise CaseError((name,), "needs a shape: it cannot be derived from the case") from None
            inputs[name] = _parse_array({**raw[name], "shape": list(shape)}, name, raw["x"])
    return {name: inputs[name] for name in operator.inputs if name in inputs}


def _check_steps(case: Case) -> None:
    """Raise CaseError for a composition that does not fit the parameters, or an invalid operator in `then`."""
    try:
        plan_steps(case)
    except (ValueError, TypeError) as error:
        raise CaseError(("then",) if case.then else ("via",), str(error)) from None


def _parse_array(
    raw: Mapping[str, Any], name: str, x: Mapping[str, Any], dtypes: Mapping[str, str] = MappingProxyType({})
) -> ArraySpec:
    """Parse an input. dtypes: those of inputs for which the operator has its own default."""
    values, dtype = raw["values"], raw.get("dtype", dtypes.get(name, _default_dtype(name, x)))
    generator = values if isinstance(values, str) else GeneratorName.LITERAL.value
    options = {key: raw[key] for key in raw if key not in {"values", "shape", "dtype"}}
    for key in options.keys() - GENERATORS[generator].options:
        raise CaseError((name, key), f"is not an option of values: {generator}")
    if generator == GeneratorName.LITERAL:
        shape, numbers = flatten_nested(values, (name, "values"))
        shape = tuple(raw.get("shape", shape))
        options["numbers"] = numbers
        if math.prod(shape) != len(numbers):
            raise CaseError(
                (name, "shape"), f"{list(shape)} needs {math.prod(shape)} numbers, but there are {len(numbers)}"
            )
    elif "shape" not in raw:
        raise CaseError((name,), f"values: {generator} needs a shape")
    else:
        shape = tuple(raw["shape"])
    if math.prod(shape) > MAX_ARRAY_ELEMENTS:
        raise CaseError((name, "shape"), f"{list(shape)} has more than the limit of {MAX_ARRAY_ELEMENTS} elements")
    _check_options(generator, shape, dtype, options, name)
    return ArraySpec(generator, shape, dtype, options)


def _default_dtype(name: str, x: Mapping[str, Any]) -> str:
    """Return the default dtype of an input or an answer: its own, that of x if its shape is derived, or float32."""
    if name in INPUTS and INPUTS[name].dtype:
        return INPUTS[name].dtype
    return str(x.get("dtype", "float32")) if name in DERIVED_SHAPE_INPUTS else "float32"


def _check_options(generator: str, shape: tuple[int, ...], dtype: str, options: Mapping[str, Any], name: str) -> None:
    """Raise CaseError unless the generator supports the dtype and the dtype can represent its numbers."""
    kind = dtype_kind(dtype)
    if kind not in GENERATORS[generator].kinds:
        raise CaseError((name, "dtype"), f"values: {generator} cannot make {dtype}")
    if generator == GeneratorName.MARKED and ("mark" not in options or len(shape) < 3):  # noqa: PLR2004 - (n, c, and one spatial axis)
        raise CaseError((name,), "values: marked needs a mark, and a shape with spatial axes")
    if options.get("over", 1) != 1 and kind is not DtypeKind.FLOATING:
        raise CaseError((name, "over"), f"needs a floating dtype, not {dtype}")
    if generator == GeneratorName.LITERAL:
        numbers = options["numbers"]
    elif generator == GeneratorName.ARANGE:
        start, step = options.get("start", 0), options.get("step", 1)
        numbers = (start, start + step * max(math.prod(shape) - 1, 0))
    elif generator == GeneratorName.DISTINCT:
        try:
            numbers = distinct_range(shape, options.get("low"), options.get("high"))
        except ValueError as error:
            raise CaseError((name, "values"), str(error)) from None
    elif "low" in GENERATORS[generator].options:
        numbers = (options.get("low", DEFAULT_LOW), options.get("high", DEFAULT_HIGH))
        if numbers[0] > numbers[1]:
            raise CaseError((name, "low"), f"{numbers[0]} is above high, {numbers[1]}")
    else:
        numbers = ()
    for number in numbers:
        if not can_represent(dtype, number):
            raise CaseError((name, "values"), f"{str(number)[:40]} cannot be represented in {dtype}")


def flatten_nested(nested: Any, key_path: YamlPath = ()) -> tuple[tuple[int, ...], tuple[int | Decimal, ...]]:
    """Return shape and numbers of a nested list. Raises CaseError where its rows differ in length."""
    if not isinstance(nested, list):
        return (), (nested,)
    parts = [flatten_nested(item, key_path) for item in nested]
    # Rows of one length have one shape; an empty list has no row to compare.
    if len({shape for shape, _ in parts}) > 1:
        raise CaseError(key_path, "its rows differ in length")
    numbers = tuple(chain.from_iterable(part for _, part in parts))
    return (len(parts), *(parts[0][0] if parts else ())), numbers


def _check_inputs(operator: Operator, inputs: Mapping[str, ArraySpec], raw: Mapping[str, Any]) -> None:
    for name in INPUTS:
        if name in raw and name not in operator.inputs:
            raise CaseError((name,), f"{operator.name} has no such input")
    # The call draws the samples itself.
    drawn = {"samples"} if DRAWN_KEY in raw else set()
    for name in drawn & raw.keys():
        raise CaseError((name,), f"cannot be given together with {DRAWN_KEY}")
    for name in set(operator.inputs) - raw.keys() - set(operator.optional_inputs) - drawn:
        raise CaseError((), f"{operator.name} needs the key {name!r}")
    if len(inputs["x"].shape) < 3:  # noqa: PLR2004 - (n, c, and one spatial axis)
        raise CaseError(
            ("x", "shape"), f"{list(inputs['x'].shape)} is not (n, c, *spatial) with at least one spatial axis"
        )


def _parse_expectation(raw: Mapping[str, Any]) -> Value | Rejected | Answers:
    if "answers" in raw:
        return Answers({name: _parse_answer(name, answer) for name, answer in raw["answers"].items()})
    expect = raw.get("expect")
    if isinstance(expect, dict) and "rejected" in expect:
        return Rejected(expect["rejected"])
    if isinstance(expect, dict):
        return Value(((tuple(expect["shape"]), None),))
    if expect is None:
        for key in raw.keys() & {"also", "inexact"}:
            raise CaseError((key,), "needs a printed output under 'expect'")
        return Value()
    printed: list[PrintedArray] = [flatten_nested(expect, ("expect",))]
    printed += [flatten_nested(item, ("also", position)) for position, item in enumerate(raw.get("also", ()))]
    return Value(tuple(printed), raw.get("inexact", ""))


def _parse_answer(name: str, raw: Mapping[str, Any]) -> Mapping[str, Any] | ArraySpec | Rejected:
    if not isinstance(raw, Mapping):
        raise CaseError(("answers", name), "is not an answer: expected parameters, an array or a rejection")
    if "rejected" in raw:
        return Rejected(raw["rejected"])
    return _parse_array(raw, name, raw) if "values" in raw else {key: plain_value(value) for key, value in raw.items()}


def _omitted_parameters(expect: Value | Rejected | Answers, raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters that a convention case omits from the call; only its answers have values for them."""
    if not isinstance(expect, Answers):
        return ()
    overrides = [answer for answer in expect.named.values() if isinstance(answer, Mapping)]
    # A parameter that the case itself gives is passed to the call, also if an answer changes it.
    return tuple(sorted({key for answer in overrides for key in answer} - raw.keys()))


def _parse_composition(operator: Operator, raw: Mapping[str, Any]) -> tuple[str, ...]:
    via = tuple(raw.get("via", ()))
    known = [names for name, names in COMPOSITIONS if name == operator.name]
    if via and via not in known:
        choices = " or ".join(f"[{', '.join(names)}]" for names in known) or "nothing"
        raise CaseError(("via",), f"{operator.name} can be composed from {choices}, not from [{', '.join(via)}]")
    return via


def _parse_following(raw: Mapping[str, Any], position: int, x: Mapping[str, Any]) -> FollowingOperator:
    operator = OPERATORS[raw["operator"]]
    if operator.is_gradient or operator.outputs or not {"x", *CONSTANT_INPUTS}.issuperset(operator.inputs):
        raise CaseError(("then", position), f"{operator.name} cannot follow: it has other inputs or several outputs")
    inputs = [name for name in operator.inputs if name in CONSTANT_INPUTS]
    for key in raw.keys() - operator.defaults.keys() - {"operator", *inputs}:
        raise CaseError(("then", position, key), f"{operator.name} has no such parameter")
    required = {*operator.required_parameters, *inputs} - {*operator.optional_inputs}
    for key in sorted(required - raw.keys()):
        raise CaseError(("then", position), f"{operator.name} needs the key {key!r}")
    arrays = {name: _parse_array(raw[name], name, x) for name in inputs if name in raw}
    parameters = {key: plain_value(raw[key]) for key in raw if key not in {"operator", *inputs}}
    return FollowingOperator(operator.name, parameters, arrays)
