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
from conformance.cases.steps import first_step
from reference import OPERATORS as REFERENCE
from reference import Windows

Level = Any
"""A value in its shortest form: a number, a word, yes or no, None, or a tuple of these."""
Where = Mapping[str, tuple[Level, ...]]
"""A selector: for each key the values of which a case must have one."""
GLOB = re.compile(r"[*?\[]")
"""Characters that make a word a glob pattern."""
BESIDE_NOTHING = ("nan", "inf", "-inf")
"""Special numbers whose windows are looked for that hold nothing else."""
WALK = ("window", "stride", "padding", "dilation", "rounding")
"""The parameters that say which windows an operator looks at."""
LOOKED_AT = 524_288
"""Elements of an x whose numbers are looked at; a larger one has no fact that depends on them."""
CROWD = 4096
"""Cells of windows from which on some reduce them in another way."""
ABSENT = object()
"""What a case has of a parameter that its operator does not know, or that its question leaves out."""


def level(value: Any) -> Level:
    """Return a parameter in its shortest form, which equal parameters share at every rank: (3, 3) is 3.

    Lists are tuples; what comes round again is left out: (3, 2, 3) is (3, 2), ((1, 0), (1, 0)) is (1, 0).
    """
    if isinstance(value, (list, tuple)):
        return _round(tuple(value))
    if isinstance(value, (float, Decimal)):
        return _special(value) or float(value)
    return value if isinstance(value, (bool, int, str)) or value is None else repr(value)


def _round(axes: tuple[Any, ...]) -> Level:
    if any(isinstance(axis, (list, tuple)) for axis in axes):  # pairs stay pairs, or one axis would pass for one end
        axes = tuple(tuple(axis) if isinstance(axis, (list, tuple)) else (axis, axis) for axis in axes)
    else:
        axes = tuple(level(axis) for axis in axes)
    for period in range(1, len(axes)):
        if all(axis == axes[number % period] for number, axis in enumerate(axes)):
            axes = axes[:period]
            break
    return level(axes[0]) if len(axes) == 1 else axes


def _special(number: float | Decimal) -> str:
    """Return the word for a number that compares oddly, nothing for any other."""
    if math.isfinite(number):
        return "-0.0" if number == 0 and math.copysign(1, number) < 0 else ""
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def _values(case: Case) -> frozenset[str]:
    """The generator of x, and the specials it holds: nan, inf, -inf, -0.0, or whatever word its options give."""
    x = case.inputs["x"]
    return frozenset([x.values]) | marks(x)


def marks(spec: ArraySpec) -> frozenset[str]:
    """Return the specials that an array holds, as far as what it is made from tells."""
    return frozenset(_marks(spec.options.values()))


def _marks(things: Iterable[Any]) -> Iterator[str]:
    for thing in things:
        if isinstance(thing, str):
            yield thing
        elif isinstance(thing, (list, tuple, set, frozenset)):
            yield from _marks(thing)
        elif isinstance(thing, (float, Decimal)) and _special(thing):
            yield _special(thing)


def _negative(case: Case) -> bool:
    x = case.inputs["x"]
    with np.errstate(invalid="ignore"):  # bfloat16 warns of NaN, which is not below zero
        return math.prod(x.shape) <= LOOKED_AT and bool((x.make() < 0).all())


def _alone(case: Case) -> frozenset[str]:
    """Return the special numbers that some window of pooling holds nothing besides, padding left out."""
    x = case.inputs["x"]
    held = marks(x).intersection(BESIDE_NOTHING)
    if not held or math.prod(x.shape) > LOOKED_AT or any(name not in case.parameters for name in WALK):
        return frozenset()
    return frozenset(mark for mark in held if _fills(float(mark), x.make(), case))


def _fills(number: float, x: np.ndarray[Any, Any], case: Case) -> bool:
    there = np.isnan(x) if math.isnan(number) else x == number
    walk = {name: case.parameters[name] for name in WALK}
    try:
        most = REFERENCE["max_pool"]((~there).astype(np.int8), **walk).value
    except (ValueError, TypeError):  # a faulty case
        return False
    return bool((most == 0).any())  # 1 where something else is, the least integer where no cell is


def _expect(case: Case) -> str:
    kinds = {Value: "value", Rejected: "rejected", Answers: "question"}
    return kinds[type(case.expect)]


def _window(case: Case) -> Level:
    if "window" in case.parameters:
        return level(case.parameters["window"])
    return level(case.inputs["kernel"].shape[2:]) if "kernel" in case.inputs else ABSENT


def _out(case: Case) -> int:
    """Return the channels of what comes out."""
    kernel = case.inputs["kernel"].shape if "kernel" in case.inputs else ()
    if len(kernel) <= 1:
        return case.shape[1]
    return kernel[1] * case.parameters["groups"] if case.operator.startswith("conv_transpose") else kernel[0]


def _outgrown(case: Case) -> bool:
    """Whether the window, holes counted, is larger than the input without its padding along some axis."""
    axes = zip(
        case.shape[2:], _axes(case, "window"), _axes(case, "dilation") or (1,) * len(case.shape[2:]), strict=False
    )
    return any(distance * (cells - 1) + 1 > extent for extent, cells, distance in axes)


def _axes(case: Case, name: str) -> tuple[int, ...]:
    """Return a parameter on each axis; nothing where there is none."""
    value = case.parameters.get(name)
    if name == "window" and value is None and "kernel" in case.inputs:
        value = case.inputs["kernel"].shape[2:]
    return tuple(value) if isinstance(value, tuple) else () if value is None else (value,) * len(case.shape[2:])


def _bare(case: Case) -> bool:
    """Whether some window of pooling holds no cell of x."""
    if any(name not in case.parameters for name in WALK):
        return False
    try:
        walk = Windows.of(case.shape[2:], *(case.parameters[name] for name in WALK))
        return bool((walk.counts(False) == 0).any())
    except (ValueError, TypeError):  # a faulty case
        return False


def _output(case: Case) -> tuple[int, ...]:
    """Return the shape of what comes out; nothing of a faulty case."""
    try:
        return tuple(first_step(case).output)
    except (ValueError, TypeError, KeyError):
        return ()


def _column(case: Case) -> bool:
    """Whether what comes out is one cell wide, along the last axis."""
    return _output(case)[-1:] == (1,)


def _square(case: Case) -> bool:
    """Whether the last axis of what comes out is as long as it has channels, more than one."""
    output = _output(case)
    return len(output) > 1 and output[1] == output[-1] > 1


def _crowded(case: Case) -> bool:
    """Whether all windows together hold thousands of cells: as many as CROWD, or more; of whole planes, x itself."""
    cells = _axes(case, "window")
    output = _output(case) if cells else case.shape
    return bool(output) and math.prod(output) * math.prod(cells) >= CROWD


def _reciprocal(case: Case) -> bool:
    """Whether a bin begins or ends elsewhere if its edges are reckoned in float64 by the reciprocal of their number."""
    bins = _axes(case, "output_size") if case.operator.startswith("adaptive_") else ()
    return any(_otherwise(size, count) for size, count in zip(case.shape[2:], bins, strict=False))


def _otherwise(size: int, count: int) -> bool:
    if not 1 <= count <= LOOKED_AT:  # a faulty case, or a vast one
        return False
    edges = np.arange(count + 1) * size
    near = edges * (1 / count)
    starts, ends = np.floor(near) != edges // count, np.ceil(near) != -(-edges // count)
    return bool(starts[:-1].any() or ends[1:].any())


def _ends(case: Case) -> Iterator[tuple[Any, Any]]:
    """Yield what is added before and after each axis, by a window operator or by `pad`."""
    given = case.parameters.get("padding", case.parameters.get("pads", ()))
    for end in () if given == "valid" else given if isinstance(given, tuple) else (given,):
        yield end if isinstance(end, tuple) else (end, end)


def _partial(case: Case) -> bool:
    """Whether a window may reach past x: into padding, or over the end where the output size is rounded up."""
    if FACTS["padded"](case):
        return True
    window, stride, dilation = (_axes(case, name) for name in ("window", "stride", "dilation"))
    if not (window and stride and dilation):
        return False
    try:
        walk = Windows.of(case.shape[2:], window, stride, 0, dilation, case.parameters.get("rounding", "floor"))
    except (ValueError, TypeError):  # a faulty case, or a rounding that is not the reference's
        return False
    return any(walk.overhang)


FACTS: Mapping[str, Callable[[Case], Any]] = MappingProxyType(
    {
        "operator": lambda case: case.operator,
        "dtype": lambda case: case.dtype,
        "rank": lambda case: len(case.shape) - 2,
        "values": _values,
        "negative": _negative,
        "alone": _alone,
        "window": _window,
        "padded": lambda case: any(isinstance(end, str) or end > 0 for pair in _ends(case) for end in pair),
        "cropped": lambda case: any(not isinstance(end, str) and end < 0 for pair in _ends(case) for end in pair),
        "asymmetric": lambda case: any(before != after for before, after in _ends(case)),
        "partial": _partial,
        "outgrown": _outgrown,
        "bare": _bare,
        "column": _column,
        "square": _square,
        "crowded": _crowded,
        "reciprocal": _reciprocal,
        "dilated": lambda case: any(step != 1 for step in _axes(case, "dilation")),
        "overlapping": lambda case: any(
            step < size for step, size in zip(_axes(case, "stride"), _axes(case, "window"), strict=False)
        ),
        "skipping": lambda case: any(
            step > size for step, size in zip(_axes(case, "stride"), _axes(case, "window"), strict=False)
        ),
        "bias": lambda case: "bias" in case.inputs,
        "out": _out,
        "composed": lambda case: bool(case.via or case.then),
        "via": lambda case: frozenset(case.via),
        "then": lambda case: frozenset(following.operator for following in case.then),
        "expect": _expect,
        "batch": lambda case: case.shape[0],
        "channels": lambda case: case.shape[1],
        "monochrome": lambda case: case.shape[1] == 1,
        "extent": lambda case: level(case.shape[2:]),
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


def known() -> list[str]:
    """Return every key that a selector may have: facts, then parameters of operators."""
    parameters = {name for operator in OPERATORS.values() for name in operator.defaults}
    return [*FACTS, *sorted(parameters - FACTS.keys())]


class Facts(dict[str, Any]):
    """What a case has for each key, found when it is first asked for: a level, a set of words, or ABSENT."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case

    def __missing__(self, key: str) -> Any:
        if key in FACTS:
            found = FACTS[key](self.case)
        else:
            found = level(self.case.parameters[key]) if key in self.case.parameters else ABSENT
        self[key] = found
        return found


def wanted(raw: Any) -> tuple[Level, ...]:
    """Return the values of a key as a YAML file has them: one, or a list of them."""
    return tuple(map(level, raw)) if isinstance(raw, (list, tuple)) else (level(raw),)


def text(value: Level) -> str:
    """Return a level as a YAML file has it."""
    return yaml.safe_dump([_listed(value)], default_flow_style=True, width=math.inf).strip()[1:-1]


def _listed(value: Level) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple) else value


def unknown(key: str) -> str | None:
    """Return what is wrong with a key that no case can have, None for one that is known."""
    keys = known()
    if key in keys:
        return None
    near = difflib.get_close_matches(key, keys, 1)
    return f"unknown key{f', did you mean {near[0]!r}?' if near else ''}, known are {', '.join(keys)}"


def holds(facts: Facts, where: Where) -> bool:
    """Whether a case has, for every key, one of the values."""
    return all(_any(facts[key], values) for key, values in where.items())


def _any(found: Any, values: tuple[Level, ...]) -> bool:
    for value in values:
        if isinstance(found, frozenset):
            if any(_is(word, value) for word in found):
                return True
        elif _is(found, value):
            return True
    return False


def _is(found: Any, value: Level) -> bool:
    if isinstance(found, str) and isinstance(value, str):
        return found == value or bool(GLOB.search(value) and fnmatch.fnmatchcase(found, value))
    # True is 1 in Python, but a divisor of 1 is not a yes.
    return isinstance(found, bool) == isinstance(value, bool) and bool(found == value)
