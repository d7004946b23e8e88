"""Selectors: conditions on features of a case, such as `operator: max_pool, values: nan`.

A selector maps keys to values. A key is one of FEATURES, or a parameter of any operator. A case matches if, for every
key, its value is one of the listed values; a case without a parameter does not match a condition on it. Values are
written as in sweeps: a parameter that is equal on all axes is one number, a list is repeated over the axes, and padding
that is equal on all axes is one (before, after) pair. A word may be a glob.
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
"""A value in its shortest form: a number, a word, a boolean, None, or a tuple of these."""
Selector = Mapping[str, tuple[SelectorValue, ...]]
"""For each key, the allowed values."""
GLOB_CHARACTERS = re.compile(r"[*?\[]")
"""Characters that make a word a glob pattern."""
SPECIALS_TESTED_ALONE = ("nan", "inf", "-inf")
"""Special values for which the feature `alone` searches for a window that contains nothing else."""
WINDOW_PARAMETERS = ("window", "stride", "padding", "dilation", "rounding")
"""The parameters that determine the windows of an operator."""
MAX_INSPECTED_ELEMENTS = 524_288
"""Maximum number of elements of x for features that depend on its numbers; for a larger x these are false or empty."""
MIN_CROWDED_CELLS = 4096
"""Minimum number of window cells for the feature `crowded`. Some frameworks use another reduction from this size."""
ABSENT = object()
"""Value of a parameter that the operator does not have, or that a convention case omits."""


def compact_value(value: Any) -> SelectorValue:
    """Return a parameter in its shortest form, which is the same at every rank: (3, 3) becomes 3.

    Lists become tuples. Repetitions are removed: (3, 2, 3) becomes (3, 2), ((1, 0), (1, 0)) becomes (1, 0).
    """
    if isinstance(value, (list, tuple)):
        return _round_axes(tuple(value))
    if isinstance(value, (float, Decimal)):
        return _special_name(value) or float(value)
    return value if isinstance(value, (bool, int, str)) or value is None else repr(value)


def _round_axes(axes: tuple[Any, ...]) -> SelectorValue:
    if any(isinstance(axis, (list, tuple)) for axis in axes):  # do not shorten pairs, which could be read as axes
        axes = tuple(tuple(axis) if isinstance(axis, (list, tuple)) else (axis, axis) for axis in axes)
    else:
        axes = tuple(compact_value(axis) for axis in axes)
    for period in range(1, len(axes)):
        if all(axis == axes[number % period] for number, axis in enumerate(axes)):
            axes = axes[:period]
            break
    return compact_value(axes[0]) if len(axes) == 1 else axes


def _special_name(number: float | Decimal) -> str:
    """Return the word for -0.0, NaN or an infinity, "" for any other number."""
    if math.isfinite(number):
        return "-0.0" if number == 0 and math.copysign(1, number) < 0 else ""
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def _value_kinds(case: Case) -> frozenset[str]:
    """Return the generator of x and its special values: nan, inf, -inf, -0.0, or any word in the options."""
    x = case.inputs["x"]
    return frozenset([x.values]) | special_values_of(x)


def special_values_of(spec: ArraySpec) -> frozenset[str]:
    """Return the special values named in the options of an array specification."""
    return frozenset(_specials_in(spec.options.values()))


def _specials_in(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from _specials_in(value)
        elif isinstance(value, (float, Decimal)) and _special_name(value):
            yield _special_name(value)


def _has_negative(case: Case) -> bool:
    x = case.inputs["x"]
    with np.errstate(invalid="ignore"):  # comparing a bfloat16 NaN raises a warning
        return math.prod(x.shape) <= MAX_INSPECTED_ELEMENTS and bool((x.make() < 0).all())


def _specials_alone_in_window(case: Case) -> frozenset[str]:
    """Return each special value that fills a pooling window: all cells of x in the window have this value."""
    x = case.inputs["x"]
    specials = special_values_of(x).intersection(SPECIALS_TESTED_ALONE)
    if (
        not specials
        or math.prod(x.shape) > MAX_INSPECTED_ELEMENTS
        or any(name not in case.parameters for name in WINDOW_PARAMETERS)
    ):
        return frozenset()
    return frozenset(special for special in specials if _fills_some_window(float(special), x.make(), case))


def _fills_some_window(number: float, x: np.ndarray[Any, Any], case: Case) -> bool:
    is_number = np.isnan(x) if math.isnan(number) else x == number
    parameters = {name: case.parameters[name] for name in WINDOW_PARAMETERS}
    try:
        maxima = REFERENCE["max_pool"]((~is_number).astype(np.int8), **parameters).value
    except (ValueError, TypeError):  # an invalid case
        return False
    # A maximum of 1 means that the window has another value; the lowest integer means that it has no cells of x.
    return bool((maxima == 0).any())


def _expectation_kind(case: Case) -> str:
    kinds = {Value: "value", Rejected: "rejected", Answers: "question"}
    return kinds[type(case.expect)]


def _window_extents(case: Case) -> SelectorValue:
    if "window" in case.parameters:
        return compact_value(case.parameters["window"])
    return compact_value(case.inputs["kernel"].shape[2:]) if "kernel" in case.inputs else ABSENT


def _output_channels(case: Case) -> int:
    """Return the number of output channels."""
    kernel = case.inputs["kernel"].shape if "kernel" in case.inputs else ()
    if len(kernel) <= 1:
        return case.shape[1]
    return kernel[1] * case.parameters["groups"] if case.operator.startswith("conv_transpose") else kernel[0]


def _window_exceeds_input(case: Case) -> bool:
    """Whether the dilated window is larger than the unpadded input along some axis."""
    axes = zip(
        case.shape[2:],
        _parameter_per_axis(case, "window"),
        _parameter_per_axis(case, "dilation") or (1,) * len(case.shape[2:]),
        strict=False,
    )
    return any(distance * (cells - 1) + 1 > extent for extent, cells, distance in axes)


def _parameter_per_axis(case: Case, name: str) -> tuple[int, ...]:
    """Return the value of a parameter on each axis; an empty tuple if the case does not have it."""
    value = case.parameters.get(name)
    if name == "window" and value is None and "kernel" in case.inputs:
        value = case.inputs["kernel"].shape[2:]
    return tuple(value) if isinstance(value, tuple) else () if value is None else (value,) * len(case.shape[2:])


def _has_window_of_padding(case: Case) -> bool:
    """Whether some pooling window contains no cell of x."""
    if any(name not in case.parameters for name in WINDOW_PARAMETERS):
        return False
    try:
        windows = Windows.of(case.shape[2:], *(case.parameters[name] for name in WINDOW_PARAMETERS))
        return bool((windows.counts(False) == 0).any())
    except (ValueError, TypeError):  # an invalid case
        return False


def _output_shape(case: Case) -> tuple[int, ...]:
    """Return the output shape; an empty tuple for an invalid case."""
    try:
        return tuple(case_step(case).output)
    except (ValueError, TypeError, KeyError):
        return ()


def _output_is_column(case: Case) -> bool:
    """Whether the last axis of the output has extent 1."""
    return _output_shape(case)[-1:] == (1,)


def _output_is_square(case: Case) -> bool:
    """Whether the extent of the last axis of the output equals its number of channels, and is more than 1."""
    output = _output_shape(case)
    return len(output) > 1 and output[1] == output[-1] > 1


def _has_crowded_windows(case: Case) -> bool:
    """Whether all windows together have at least MIN_CROWDED_CELLS cells. Without windows, count the cells of x."""
    cells = _parameter_per_axis(case, "window")
    output = _output_shape(case) if cells else case.shape
    return bool(output) and math.prod(output) * math.prod(cells) >= MIN_CROWDED_CELLS


def _bins_differ_by_reciprocal(case: Case) -> bool:
    """Whether an edge of an adaptive pooling bin changes if it is computed as index * size * (1 / bins) in float64."""
    bins = _parameter_per_axis(case, "output_size") if case.operator.startswith("adaptive_") else ()
    return any(_edges_differ_by_reciprocal(size, count) for size, count in zip(case.shape[2:], bins, strict=False))


def _edges_differ_by_reciprocal(size: int, count: int) -> bool:
    if not 1 <= count <= MAX_INSPECTED_ELEMENTS:  # an invalid or a very large case
        return False
    edges = np.arange(count + 1) * size
    approximate = edges * (1 / count)
    starts, ends = np.floor(approximate) != edges // count, np.ceil(approximate) != -(-edges // count)
    return bool(starts[:-1].any() or ends[1:].any())


def _end_padding(case: Case) -> Iterator[tuple[Any, Any]]:
    """Yield the padding before and after each axis; for `pad`, the pads."""
    given = case.parameters.get("padding", case.parameters.get("pads", ()))
    for end in () if given == "valid" else given if isinstance(given, tuple) else (given,):
        yield end if isinstance(end, tuple) else (end, end)


def _has_partial_window(case: Case) -> bool:
    """Whether a window may extend past x: into padding, or past the end if the output size is rounded up."""
    if FEATURES["padded"](case):
        return True
    window, stride, dilation = (_parameter_per_axis(case, name) for name in ("window", "stride", "dilation"))
    if not (window and stride and dilation):
        return False
    try:
        windows = Windows.of(case.shape[2:], window, stride, 0, dilation, case.parameters.get("rounding", "floor"))
    except (ValueError, TypeError):  # an invalid case, or a rounding that the reference does not have
        return False
    return any(windows.overhang)


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
"""Features of a case other than its parameters. If the value is a set, each word in it is true of the case.

These are boolean, except `alone`, which is a set:
negative      all numbers of x are below 0
alone         each special value for which some pooling window contains no other value of x
padded        x is padded, by `padding` or `pads`
cropped       x is cropped, by negative `pads`
asymmetric    the padding before and after differ on some axis
partial       a window may extend past x, into padding or past the end
outgrown      the dilated window is larger than the unpadded input
bare          some pooling window contains no cell of x
column        the last axis of the output has extent 1
square        the last axis of the output has as many cells as the output has channels, more than 1
monochrome    x has one channel
crowded       all windows together have at least 4,096 cells
reciprocal    a bin of adaptive pooling changes if its edges are computed with the rounded reciprocal of the bin count
dilated       the dilation is not 1 on some axis
overlapping   the stride is smaller than the window on some axis
skipping      the stride is larger than the window on some axis
bias          the case has a bias
composed      the case has `via` or `then`
"""


def selector_keys() -> list[str]:
    """Return every key that a selector may have: features, then parameters of operators."""
    parameters = {name for operator in OPERATORS.values() for name in operator.defaults}
    return [*FEATURES, *sorted(parameters - FEATURES.keys())]


class CaseFeatures(dict[str, Any]):
    """The value of a case for each selector key, computed on first use: a value, a set of words, or ABSENT."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case

    def __missing__(self, key: str) -> Any:
        if key in FEATURES:
            value = FEATURES[key](self.case)
        else:
            value = compact_value(self.case.parameters[key]) if key in self.case.parameters else ABSENT
        self[key] = value
        return value


def parse_selector_values(raw: Any) -> tuple[SelectorValue, ...]:
    """Parse the values of a key in a YAML file: one value, or a list of values."""
    return tuple(map(compact_value, raw)) if isinstance(raw, (list, tuple)) else (compact_value(raw),)


def selector_value_text(value: SelectorValue) -> str:
    """Return a value as YAML text."""
    return yaml.safe_dump([_as_tuple(value)], default_flow_style=True, width=math.inf).strip()[1:-1]


def _as_tuple(value: SelectorValue) -> Any:
    return [_as_tuple(part) for part in value] if isinstance(value, tuple) else value


def unknown_key_problem(key: str) -> str | None:
    """Return an error message for an unknown key, None for a known one."""
    keys = selector_keys()
    if key in keys:
        return None
    near = difflib.get_close_matches(key, keys, 1)
    return f"unknown key{f', did you mean {near[0]!r}?' if near else ''}; known keys: {', '.join(keys)}"


def matches(features: CaseFeatures, selector: Selector) -> bool:
    """Whether a case has one of the values for every key of the selector."""
    return all(_any_matches(features[key], values) for key, values in selector.items())


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
    # In Python True == 1, but a divisor of 1 is not the boolean true.
    return isinstance(found, bool) == isinstance(value, bool) and bool(found == value)
