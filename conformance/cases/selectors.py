"""Selectors: cases picked by what they are, in the words that a person uses: `operator: max_pool, values: nan`.

A selector maps keys to values. A key is one of FACTS, or any parameter of any operator. A case is picked if, for every
key, what the case has is one of the values; a case that lacks a parameter is not picked by it. Values are written as
in sweeps: a parameter alike on all axes is one number, one that goes round the axes is a list, padding that is alike
on all axes is one (before, after) pair. A word may be a glob.
"""

from __future__ import annotations

import difflib
import fnmatch
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import yaml

from conformance.cases.arrays import ArraySpec
from conformance.cases.case import Answers, Case, Rejected, Value
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import case_step
from reference import OPERATORS as REFERENCE
from reference import Windows

SelectorValue = Any
"""A value in its shortest form: a number, a word, yes or no, None, or a tuple of these."""
Selector = Mapping[str, tuple[SelectorValue, ...]]
"""A selector: for each key the values of which a case must have one."""
GLOB_CHARACTERS = re.compile(r"[*?\[]")
"""Characters that make a word a glob pattern."""
SPECIALS_TESTED_ALONE = ("nan", "inf", "-inf")
"""Special numbers whose windows are looked for that hold nothing else."""
WINDOW_PARAMETERS = ("window", "stride", "padding", "dilation", "rounding")
"""The parameters that say which windows an operator looks at."""
MAX_INSPECTED_ELEMENTS = 524_288
"""Elements of an x whose numbers are looked at; a larger one has no fact that depends on them."""
MIN_CROWDED_CELLS = 4096
"""Cells of windows from which on some reduce them in another way."""
ABSENT = object()
"""What a case has of a parameter that its operator does not know, or that its question leaves out."""


def compact_value(value: Any) -> SelectorValue:
    """Return a parameter in its shortest form, which equal parameters share at every rank: (3, 3) is 3.

    Lists are tuples; what comes round again is left out: (3, 2, 3) is (3, 2), ((1, 0), (1, 0)) is (1, 0).
    """
    if isinstance(value, (list, tuple)):
        return _round_axes(tuple(value))
    if isinstance(value, (float, Decimal)):
        return _special_name(value) or float(value)
    return value if isinstance(value, (bool, int, str)) or value is None else repr(value)


def _round_axes(axes: tuple[Any, ...]) -> SelectorValue:
    if any(isinstance(axis, (list, tuple)) for axis in axes):  # pairs stay pairs, or one axis would pass for one end
        axes = tuple(tuple(axis) if isinstance(axis, (list, tuple)) else (axis, axis) for axis in axes)
    else:
        axes = tuple(compact_value(axis) for axis in axes)
    for period in range(1, len(axes)):
        if all(axis == axes[number % period] for number, axis in enumerate(axes)):
            axes = axes[:period]
            break
    return compact_value(axes[0]) if len(axes) == 1 else axes


def _special_name(number: float | Decimal) -> str:
    """Return the word for a number that compares oddly, nothing for any other."""
    if math.isfinite(number):
        return "-0.0" if number == 0 and math.copysign(1, number) < 0 else ""
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def _value_kinds(case: Case) -> frozenset[str]:
    """The generator of x, and the specials it holds: nan, inf, -inf, -0.0, or whatever word its options give."""
    x = case.inputs["x"]
    return frozenset([x.values]) | special_values_of(x)


def special_values_of(spec: ArraySpec) -> frozenset[str]:
    """Return the specials that an array holds, as far as what it is made from tells."""
    return frozenset(_specials_in(spec.options.values()))


def _specials_in(things: Iterable[Any]) -> Iterator[str]:
    for thing in things:
        if isinstance(thing, str):
            yield thing
        elif isinstance(thing, (list, tuple, set, frozenset)):
            yield from _specials_in(thing)
        elif isinstance(thing, (float, Decimal)) and _special_name(thing):
            yield _special_name(thing)


def _has_negative(case: Case) -> bool:
    x = case.inputs["x"]
    with np.errstate(invalid="ignore"):  # bfloat16 warns of NaN, which is not below zero
        return math.prod(x.shape) <= MAX_INSPECTED_ELEMENTS and bool((x.make() < 0).all())


def _specials_alone_in_window(case: Case) -> frozenset[str]:
    """Return the special numbers that some window of pooling holds nothing besides, padding left out."""
    x = case.inputs["x"]
    held = special_values_of(x).intersection(SPECIALS_TESTED_ALONE)
    if (
        not held
        or math.prod(x.shape) > MAX_INSPECTED_ELEMENTS
        or any(name not in case.parameters for name in WINDOW_PARAMETERS)
    ):
        return frozenset()
    return frozenset(mark for mark in held if _fills_some_window(float(mark), x.make(), case))


def _fills_some_window(number: float, x: np.ndarray[Any, Any], case: Case) -> bool:
    there = np.isnan(x) if math.isnan(number) else x == number
    walk = {name: case.parameters[name] for name in WINDOW_PARAMETERS}
    try:
        most = REFERENCE["max_pool"]((~there).astype(np.int8), **walk).value
    except (ValueError, TypeError):  # a faulty case
        return False
    return bool((most == 0).any())  # 1 where something else is, the least integer where no cell is


def _expectation_kind(case: Case) -> str:
    kinds = {Value: "value", Rejected: "rejected", Answers: "question"}
    return kinds[type(case.expect)]


def _window_extents(case: Case) -> SelectorValue:
    if "window" in case.parameters:
        return compact_value(case.parameters["window"])
    return compact_value(case.inputs["kernel"].shape[2:]) if "kernel" in case.inputs else ABSENT


def _output_channels(case: Case) -> int:
    """Return the channels of what comes out."""
    kernel = case.inputs["kernel"].shape if "kernel" in case.inputs else ()
    if len(kernel) <= 1:
        return case.shape[1]
    return kernel[1] * case.parameters["groups"] if case.operator.startswith("conv_transpose") else kernel[0]


def _window_exceeds_input(case: Case) -> bool:
    """Whether the window, holes counted, is larger than the input without its padding along some axis."""
    axes = zip(
        case.shape[2:],
        _parameter_per_axis(case, "window"),
        _parameter_per_axis(case, "dilation") or (1,) * len(case.shape[2:]),
        strict=False,
    )
    return any(distance * (cells - 1) + 1 > extent for extent, cells, distance in axes)


def _parameter_per_axis(case: Case, name: str) -> tuple[int, ...]:
    """Return a parameter on each axis; nothing where there is none."""
    value = case.parameters.get(name)
    if name == "window" and value is None and "kernel" in case.inputs:
        value = case.inputs["kernel"].shape[2:]
    return tuple(value) if isinstance(value, tuple) else () if value is None else (value,) * len(case.shape[2:])


def _has_window_of_padding(case: Case) -> bool:
    """Whether some window of pooling holds no cell of x."""
    if any(name not in case.parameters for name in WINDOW_PARAMETERS):
        return False
    try:
        walk = Windows.of(case.shape[2:], *(case.parameters[name] for name in WINDOW_PARAMETERS))
        return bool((walk.counts(False) == 0).any())
    except (ValueError, TypeError):  # a faulty case
        return False


def _output_shape(case: Case) -> tuple[int, ...]:
    """Return the shape of what comes out; nothing of a faulty case."""
    try:
        return tuple(case_step(case).output)
    except (ValueError, TypeError, KeyError):
        return ()


def _output_is_column(case: Case) -> bool:
    """Whether what comes out is one cell wide, along the last axis."""
    return _output_shape(case)[-1:] == (1,)


def _output_is_square(case: Case) -> bool:
    """Whether the last axis of what comes out is as long as it has channels, more than one."""
    output = _output_shape(case)
    return len(output) > 1 and output[1] == output[-1] > 1


def _has_crowded_windows(case: Case) -> bool:
    """Whether all windows together hold thousands of cells: as many as CROWD, or more; of whole planes, x itself."""
    cells = _parameter_per_axis(case, "window")
    output = _output_shape(case) if cells else case.shape
    return bool(output) and math.prod(output) * math.prod(cells) >= MIN_CROWDED_CELLS


def _bins_differ_by_reciprocal(case: Case) -> bool:
    """Whether a bin begins or ends elsewhere if its edges are reckoned in float64 by the reciprocal of their number."""
    bins = _parameter_per_axis(case, "output_size") if case.operator.startswith("adaptive_") else ()
    return any(_edges_differ_by_reciprocal(size, count) for size, count in zip(case.shape[2:], bins, strict=False))


def _edges_differ_by_reciprocal(size: int, count: int) -> bool:
    if not 1 <= count <= MAX_INSPECTED_ELEMENTS:  # a faulty case, or a vast one
        return False
    edges = np.arange(count + 1) * size
    near = edges * (1 / count)
    starts, ends = np.floor(near) != edges // count, np.ceil(near) != -(-edges // count)
    return bool(starts[:-1].any() or ends[1:].any())


def _end_padding(case: Case) -> Iterator[tuple[Any, Any]]:
    """Yield what is added before and after each axis, by a window operator or by `pad`."""
    given = case.parameters.get("padding", case.parameters.get("pads", ()))
    for end in () if given == "valid" else given if isinstance(given, tuple) else (given,):
        yield end if isinstance(end, tuple) else (end, end)


def _has_partial_window(case: Case) -> bool:
    """Whether a window may reach past x: into padding, or over the end where the output size is rounded up."""
    if FEATURES["padded"](case):
        return True
    window, stride, dilation = (_parameter_per_axis(case, name) for name in ("window", "stride", "dilation"))
    if not (window and stride and dilation):
        return False
    try:
        walk = Windows.of(case.shape[2:], window, stride, 0, dilation, case.parameters.get("rounding", "floor"))
    except (ValueError, TypeError):  # a faulty case, or a rounding that is not the reference's
        return False
    return any(walk.overhang)


FEATURES: Mapping[str, Callable[[Case], Any]] = MappingProxyType(
    {
        "operator": lambda case: case.operator,
        "dtype": lambda case: case.dtype,
        "rank": lambda case: len(case.shape) - 2,
        "values": _value_kinds,
        "negative": _has_negative,
        "alone": _specials_alone_in_window,
        "window": _window_extents,
        "padded": lambda case: any(isinstance(end, str) or end > 0 for pair in _end_padding(case) for end in pair),
        "cropped": lambda case: any(
            not isinstance(end, str) and end < 0 for pair in _end_padding(case) for end in pair
        ),
        "asymmetric": lambda case: any(before != after for before, after in _end_padding(case)),
        "partial": _has_partial_window,
        "outgrown": _window_exceeds_input,
        "bare": _has_window_of_padding,
        "column": _output_is_column,
        "square": _output_is_square,
        "crowded": _has_crowded_windows,
        "reciprocal": _bins_differ_by_reciprocal,
        "dilated": lambda case: any(step != 1 for step in _parameter_per_axis(case, "dilation")),
        "overlapping": lambda case: any(
            step < size
            for step, size in zip(
                _parameter_per_axis(case, "stride"), _parameter_per_axis(case, "window"), strict=False
            )
        ),
        "skipping": lambda case: any(
            step > size
            for step, size in zip(
                _parameter_per_axis(case, "stride"), _parameter_per_axis(case, "window"), strict=False
            )
        ),
        "bias": lambda case: "bias" in case.inputs,
        "out": _output_channels,
        "composed": lambda case: bool(case.via or case.then),
        "via": lambda case: frozenset(case.via),
        "then": lambda case: frozenset(following.operator for following in case.then),
        "expect": _expectation_kind,
        "batch": lambda case: case.shape[0],
        "channels": lambda case: case.shape[1],
        "monochrome": lambda case: case.shape[1] == 1,
        "extent": lambda case: compact_value(case.shape[2:]),
        "level": lambda case: case.level,
    }
)
"""What can be said of every case besides its parameters; a set holds several words, each of which is true of it.

Those that are yes or no are derived, once and here:
negative      every number of x is below zero
alone         the special numbers that some window of pooling holds nothing besides
padded        something is added around x, by `pads` too
cropped       something is taken away, by `pads` below zero
asymmetric    the padding before and after an axis differ
partial       a window may reach past x, into padding or over the end
outgrown      the window, holes counted, is larger than the input without its padding
bare          some window of pooling holds no cell of x
column        what comes out is one cell wide
square        what comes out has as many channels as cells along the last axis, more than one
monochrome    x has one channel
crowded       all windows together hold 4,096 cells or more
reciprocal    a bin is another one where its edges are reckoned by the rounded reciprocal of the number of bins
dilated       the window has holes
overlapping   the stride is less than the window on an axis
skipping      the stride is more than the window on an axis
bias          there is one
composed      `via`, or operators that follow
"""


def selector_keys() -> list[str]:
    """Return every key that a selector may have: facts, then parameters of operators."""
    parameters = {name for operator in OPERATORS.values() for name in operator.defaults}
    return [*FEATURES, *sorted(parameters - FEATURES.keys())]


class CaseFeatures(dict[str, Any]):
    """What a case has for each key, found when it is first asked for: a level, a set of words, or ABSENT."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case

    def __missing__(self, key: str) -> Any:
        if key in FEATURES:
            found = FEATURES[key](self.case)
        else:
            found = compact_value(self.case.parameters[key]) if key in self.case.parameters else ABSENT
        self[key] = found
        return found


def parse_selector_values(raw: Any) -> tuple[SelectorValue, ...]:
    """Return the values of a key as a YAML file has them: one, or a list of them."""
    return tuple(map(compact_value, raw)) if isinstance(raw, (list, tuple)) else (compact_value(raw),)


def selector_value_text(value: SelectorValue) -> str:
    """Return a level as a YAML file has it."""
    return yaml.safe_dump([_as_tuple(value)], default_flow_style=True, width=math.inf).strip()[1:-1]


def _as_tuple(value: SelectorValue) -> Any:
    return [_as_tuple(part) for part in value] if isinstance(value, tuple) else value


def unknown_key_problem(key: str) -> str | None:
    """Return what is wrong with a key that no case can have, None for one that is known."""
    keys = selector_keys()
    if key in keys:
        return None
    near = difflib.get_close_matches(key, keys, 1)
    return f"unknown key{f', did you mean {near[0]!r}?' if near else ''}, known are {', '.join(keys)}"


def matches(features: CaseFeatures, where: Selector) -> bool:
    """Whether a case has, for every key, one of the values."""
    return all(_any_matches(features[key], values) for key, values in where.items())


def _any_matches(found: Any, values: tuple[SelectorValue, ...]) -> bool:
    for value in values:
        if isinstance(found, frozenset):
            if any(_equals(word, value) for word in found):
                return True
        elif _equals(found, value):
            return True
    return False


def _equals(found: Any, value: SelectorValue) -> bool:
    if isinstance(found, str) and isinstance(value, str):
        return found == value or bool(GLOB_CHARACTERS.search(value) and fnmatch.fnmatchcase(found, value))
    # True is 1 in Python, but a divisor of 1 is not a yes.
    return isinstance(found, bool) == isinstance(value, bool) and bool(found == value)
