"""Write source text of programs: numbers, tuples, calls and slices, from validated values only."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.case import DEFAULTS_KEY, FLAT_PADS_KEY, FRAMEWORK_SAME
from conformance.cases.operators import PadMode
from conformance.cases.steps import PerAxisPairs, Step

INDENT = "    "
MAX_SHORT_LENGTH = 60
"""Maximum length in characters of an array that is written on one line."""
LAYER_LINE_PREFIXES = ("kernel = ", "conv = ", "conv.")
"""Prefixes of lines that create a layer and set its weights."""


def number(value: float) -> str:
    """Return a number as Python text; infinities and NaN through NumPy."""
    # repr() of NumPy scalars is np.float64(1.0) since NumPy 2.
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    value = float(value)
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def quoted(word: str) -> str:
    """Return a word of the catalogue as a string literal. Raises ValueError for other characters than letters and _."""
    if not re.fullmatch("[A-Za-z_]+", word):
        raise ValueError(f"{word!r} is not a word of letters and underscores")
    return f'"{word}"'


def per_axis(values: Sequence[int] | None) -> str | None:
    """Return one number if it is the same for all axes, or a tuple. None is returned unchanged."""
    if values is None:
        return None
    return number(values[0]) if len(set(values)) == 1 else tuple_of(values)


def tuple_of(values: Sequence[int]) -> str:
    """Return a tuple of numbers as text."""
    return str(tuple(int(value) for value in values))


def pairs_of(pairs: Sequence[Sequence[int]]) -> str:
    """Return a tuple of pairs as text."""
    return str(tuple((int(before), int(after)) for before, after in pairs))


def call(function: str, *arguments: str | None, **keywords: str | None) -> str:
    """Return a call as text, without the arguments that are None."""
    texts = [argument for argument in arguments if argument is not None]
    texts += [f"{name}={value}" for name, value in keywords.items() if value is not None]
    return f"{function}({', '.join(texts)})"


def text_unless_default(default: Any, value: Any, text: str | None = None) -> str | None:
    """Return the value as text, or None if it is the default of the call."""
    if value is None or value == default:
        return None
    return text if text is not None else number(value) if isinstance(value, (int, float)) else repr(value)


def array_text(array: Array) -> str:
    """Return a NumPy expression that creates the array."""
    dtype = dtype_text(array)
    if not array.size:
        return f"np.zeros({tuple_of(array.shape)}, {dtype})"
    # Bytes are compared, because NaN differs from itself and -0.0 equals 0.0.
    if array.tobytes() == array.flat[0].tobytes() * array.size:
        return f"np.full({tuple_of(array.shape)}, {number(array.flat[0].item())}, {dtype})"
    return f"np.array({_nested_text(array)}, {dtype}).reshape{tuple_of(array.shape)}"


def dtype_text(array: Array) -> str:
    """Return the array's dtype as Python text; NumPy 1.24 to 1.26 have no `np.bool`."""
    return "np.bool_" if array.dtype.kind == "b" else f"np.{array.dtype.name}"


def _nested_text(array: Array) -> str:
    """Return a nested list with one line for each entry of the first axis, so that kernels are readable."""
    rows = ["[" + ", ".join(map(_compact_text, row)) + "]" for row in array.reshape(array.shape[0], -1)]
    one_line = "[" + ", ".join(rows) + "]"
    if len(one_line) <= MAX_SHORT_LENGTH:
        return one_line
    return "[\n" + "".join(f"{INDENT * 2}{row},\n" for row in rows) + f"{INDENT}]"


def _compact_text(value: Any) -> str:
    """Return a number without `.0`. An integer literal would lose the sign of -0.0; below 2**53 floats are exact."""
    item = value.item()
    negative_zero = item == 0 and math.copysign(1, item) < 0
    integral = isinstance(item, float) and item.is_integer() and abs(item) < 2**53 and not negative_zero
    return str(int(item)) if integral else number(item)


def slices(bounds: Sequence[str], *, channels_last: bool) -> str:
    """Return an index that slices every spatial axis. `bounds` has one `start:stop:step` text for each axis."""
    return f"[:, {', '.join(bounds)}, :]" if channels_last else f"[:, :, {', '.join(bounds)}]"


def crop(step: Step, *, channels_last: bool) -> str:
    """Return a slice that removes as many cells as the negative pads of the step specify."""
    bounds = [f"{max(-before, 0) or ''}:{min(after, 0) or ''}" for before, after in step.padding]
    return "x" + slices(bounds, channels_last=channels_last)


def pairs_for_all_axes(pairs: PerAxisPairs, *, channels_last: bool) -> list[tuple[int, int]]:
    """Return pads for all axes of an array, with (0, 0) for batch and channels."""
    return [(0, 0), *pairs, (0, 0)] if channels_last else [(0, 0), (0, 0), *pairs]


def subsample(step: Step, *, channels_last: bool) -> str:
    """Return a slice that selects every stride-th position."""
    return "x" + slices([f"::{stride}" for stride in step.stride or ()], channels_last=channels_last)


def required_setup(setup: str, text: str) -> list[str]:
    """Return the lines of a setup that the text needs: all modes, and the imports and names that modes or text use.

    A statement that assigns a name, or that changes the object of such a name, is needed only with this name. Versions
    of packages are for the worker. The order does not change, because a mode may have to run before an import. An empty
    line separates the two kinds, and classes from other lines.
    NumPy is imported as `np` even if the setup does not, because every worker defines `np`.
    """
    statements = ast.parse(setup).body
    assigned = {name for node in statements for name in _assigned_names(node)}
    bound = [(node, _bound_names(node, assigned)) for node in statements if not _sets_version(node)]
    # A statement that binds no name sets a mode, such as 64-bit mode, and is always needed.
    used = _names("\n".join([*(ast.unparse(node) for node, names in bound if not names), text]))
    needed: list[ast.stmt] = []
    for node, names in reversed(bound):
        if not names or names & used:
            needed = [node, *needed]
            used |= set() if _imports(node) else _names(ast.unparse(node))
    if "np" in used and not any("np" in _imported_names(node) for node in needed if _imports(node)):
        needed = [*ast.parse("import numpy as np").body, *needed]
    lines: list[str] = []
    for previous, node in zip([*needed[:1], *needed], needed, strict=False):
        is_separate = _imports(previous) != _imports(node) or ast.ClassDef in (type(previous), type(node))
        lines += [""] * is_separate + [ast.unparse(node)]
    return lines


def required_imports(setup: str, text: str) -> list[str]:
    """Return the imports of a setup that the text uses; modes are ignored."""
    used = _names(text)
    return [ast.unparse(node) for node in ast.parse(setup).body if _imports(node) and _imported_names(node) & used]


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def _imports(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _assigned_names(node: ast.stmt) -> set[str]:
    """Return the names that an assignment binds."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _bound_names(node: ast.stmt, assigned: set[str]) -> set[str]:
    """Return the names that a statement imports or assigns, or the assigned name whose object it changes."""
    return _imported_names(node) | _assigned_names(node) | (_changed_names(node) & assigned)


def _sets_version(node: ast.stmt) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Attribute) and target.attr == "__version__" for target in targets)


def _changed_names(node: ast.stmt) -> set[str]:
    """Return the name of the object that an assignment to an attribute, or a call of a method, changes."""
    changed = [*node.targets] if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        changed = [node.value.func]
    return {one.value.id for one in changed if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)}


def _imported_names(node: ast.stmt) -> set[str]:
    """Return the names that an import binds."""
    names = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []
    return {(alias.asname or alias.name).split(".")[0] for alias in names}


def divide_by_ones(
    lines: Sequence[str], ones: str, name: str = "total", quotient: str = "{x} / {count}"
) -> tuple[str, ...]:
    """Return lines that divide the result for `x` by the result for ones. If `lines` compute sums, this gives averages.

    lines: the body of the function; the last line assigns `x`.
    ones: an expression for an array of ones in the layout of `x`.
    name: the name of the function. Lines that create a layer and its weights stay outside, so they run once.
    quotient: template of the division.
    """
    # Creating a layer inside would draw and set its weights for x and for ones.
    layer_lines = tuple(line for line in lines if line.startswith(LAYER_LINE_PREFIXES))
    *first, last = (line for line in lines if not line.startswith(LAYER_LINE_PREFIXES))
    returned = [last.replace("x =", "return", 1)] if last.startswith("x = ") else [last, "return x"]
    body = (f"{INDENT}{line}" for line in (*first, *returned))
    return (*layer_lines, f"def {name}(x):", *body, f"x = {quotient.format(x=f'{name}(x)', count=f'{name}({ones})')}")


def function_lines(decorator: str, name: str, lines: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the lines as a decorated function of the inputs `names`, followed by its call, which assigns `x`."""
    inputs = ", ".join(names)
    body = (f"{INDENT}{line}" for line in (*lines, "return x"))
    return (decorator, f"def {name}({inputs}):", *body, f"x = {name}({inputs})")


def bins_text(size: int, count: int) -> str:
    """Return the bins of an axis as text, a list of (start, stop) from ⌊o·n/m⌋ to ⌈(o + 1)·n/m⌉ for bin o of m."""
    if count and size % count == 0:
        return f"[(o, o + {size // count}) for o in range(0, {size}, {size // count})]" if size else "[]"
    return f"[(o * {size} // {count}, -(-(o + 1) * {size} // {count})) for o in range({count})]"


def padded_indices_text(mode: str, size: int, before: int, after: int) -> str:
    """Return a list as text with the index of the input cell at each position of the padded axis.

    mode: edge, reflect, symmetric or wrap; a pad may exceed the extent. Negative pads crop first; at least one cell
    must remain.
    """
    first, remaining = max(-before, 0), size + min(before, 0) + min(after, 0)
    if max(before, after) <= 0:
        return f"list(range({first}, {first + remaining}))"
    cell, end = _repeated_index_text(mode, remaining), remaining + max(after, 0)
    positions = f"{-before}, {end}" if before > 0 else str(end)
    return f"[{f'{first} + {cell}' if first else cell} for i in range({positions})]"


def _repeated_index_text(mode: str, size: int) -> str:
    """Return the index of the input cell at position i as text."""
    if mode == PadMode.EDGE:
        return f"min(max(i, 0), {size - 1})"
    if mode == PadMode.WRAP:
        return f"i % {size}"
    # One period runs forward and back over the axis: symmetric repeats both ends, reflect neither.
    last = size - 1
    period = 2 * size if mode == PadMode.SYMMETRIC else max(2 * last, 1)
    return f"min(i % {period}, {2 * last + (mode == PadMode.SYMMETRIC)} - i % {period})"


def is_framework_same(step: Step) -> bool:
    """Whether the padding is the framework's own `same`, which the suite does not define."""
    return step.parameters.get("padding") == FRAMEWORK_SAME


def uses_framework_defaults(step: Step) -> bool:
    """Whether the call must leave out arguments that the case does not set, so that the framework's defaults apply."""
    return bool(step.parameters.get(DEFAULTS_KEY))


def flat_pad_list(step: Step) -> tuple[int, ...] | None:
    """Return the pads as one flat list, passed to the call unchanged; None if the case has pairs."""
    return step.parameters.get(FLAT_PADS_KEY)
