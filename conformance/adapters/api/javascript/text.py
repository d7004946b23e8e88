"""JavaScript as source text: numbers, lists, constant arrays and functions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from conformance.adapters.api.surface import Language
from conformance.cases.arrays import Array

INDENT = "  "
ASSIGNMENT = re.compile(r"(\w+) = ")
OPEN_ENDS = ("{", ";", "(", "[", ",")
MOST_ARGUMENTS = 65_535


def number(value: float) -> str:
    """Return a number as JavaScript text."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if float(value).is_integer() and abs(value) < 2**53 and not (value == 0 and math.copysign(1, value) < 0):
        return str(int(value))
    return repr(float(value))


def list_of(values: Sequence[int]) -> str:
    """Return a list of numbers as text."""
    return f"[{', '.join(str(int(value)) for value in values)}]"


def per_axis(values: Sequence[int], rank: int) -> str:
    """Return one number if it is the same for all axes, or a list."""
    return str(int(values[0])) if len(set(values)) == 1 and len(values) == rank else list_of(values)


def pairs_of(pairs: Sequence[tuple[int, int]]) -> str:
    """Return a list of pairs as text."""
    return f"[{', '.join(list_of(pair) for pair in pairs)}]"


def call(function: str, *arguments: str | None) -> str:
    """Return a call as text. Arguments at its end that are None are left out."""
    texts = list(arguments)
    while texts and texts[-1] is None:
        texts.pop()
    return f"{function}({', '.join('undefined' if text is None else text for text in texts)})"


def _array(array: Array) -> str:
    """Return an array with channels first, as the worker passes inputs to programs."""
    kind = {"float32": "Float32Array", "int32": "Int32Array"}[array.dtype.name]
    values = ", ".join(number(value) for value in array.ravel().tolist())
    # A call takes at most 65,535 arguments; an array literal has no such limit.
    data = f"{kind}.of({values})" if array.size <= MOST_ARGUMENTS else f"{kind}.from([{values}])"
    return f'{{ data: {data}, shape: {list_of(array.shape)}, dtype: "{array.dtype.name}" }}'


def _program(names: Sequence[str], lines: Sequence[str]) -> str:
    """Return a function of the inputs. Other variables are declared where they are assigned first."""
    declared, body = {*names}, []
    for line in lines:
        assigned = ASSIGNMENT.match(line)
        is_new = assigned is not None and assigned[1] not in declared
        if assigned:
            declared.add(assigned[1])
        body.append(f"{INDENT}{'let ' * is_new}{line}{'' if line.endswith(OPEN_ENDS) else ';'}\n")
    return f"function run({', '.join(names)}) {{\n{''.join(body)}}}\n"


JAVASCRIPT = Language("js", _program, _array)
