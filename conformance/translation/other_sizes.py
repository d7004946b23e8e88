"""Other sizes of the input of a case, for which a surface writes the same calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

from conformance.adapters.api import InputSizes, Sizes, Unsupported
from conformance.cases.case import Case
from conformance.cases.limits import size_problem
from conformance.cases.operators import OPERATORS, Geometry, PaddingWord
from conformance.cases.parsing import DERIVED_SHAPE_INPUTS
from conformance.cases.steps import input_shape
from reference import Windows

MAX_CALLS = 2
"""Number of calls with other sizes before the call with that of the case."""
GROWTHS = (1, 2, 3, 4, 5)
"""Numbers of cells that are added to each axis."""
MAX_GROWTH = 100
"""Maximum number of cells that are added to an axis."""
SAME_WORDS = (PaddingWord.SAME_UPPER, PaddingWord.SAME_LOWER)
ONE_SIZE = Unsupported("the calls are written for one size of x")
SIZES_OF_INDICES = Unsupported("the indices are those of one size of the output")
SIZE_OF_MATRICES = Unsupported("the number of axes determines the size of a matrix")

Lower = Callable[[Case], Any]
"""Returns the calls of a case on a surface, which are compared with those of other sizes."""


def other_sizes(case: Case, lower: Lower) -> Sizes | Unsupported:
    """Return the sizes of the inputs in further calls of the same program, or why there are none."""
    if "indices" in case.inputs:
        return SIZES_OF_INDICES
    if OPERATORS[case.operator].geometry is Geometry.POINTS:
        return SIZE_OF_MATRICES
    own = lower(case)
    resized = (one for growth in _growths(case) for one in _resized_cases(case, growth))
    fitting = (one for one in resized if _is_lowered_to(one, own, lower))
    cases = list(islice(fitting, MAX_CALLS))
    names = ["x", *(name for name in case.inputs if name in DERIVED_SHAPE_INPUTS)]
    try:
        shapes = {name: tuple(_shape(name, one) for one in cases) for name in names}
    except (ValueError, LookupError):
        cases = []
    if not cases or any(len(shapes[name][0]) != len(case.inputs[name].shape) for name in names):
        return ONE_SIZE
    return {name: InputSizes(case.inputs[name].shape, shapes[name]) for name in names}


def _shape(name: str, case: Case) -> tuple[int, ...]:
    return case.shape if name == "x" else input_shape(name, case)


def _is_lowered_to(case: Case, own: Any, lower: Lower) -> bool:
    try:
        return bool(lower(case) == own)
    except (ValueError, LookupError, ArithmeticError, TypeError):
        return False  # the parameters of the case are not valid for another size


def _growths(case: Case) -> list[tuple[int, ...]]:
    """Return numbers of cells to add to each axis: first a few, then one and two strides."""
    strides = _strides(case)
    # Blocks divide every extent, so an extent grows by whole blocks.
    unit = strides[0] if "block" in case.parameters else 1
    growths = [(growth * unit,) * len(strides) for growth in GROWTHS]
    return growths + [tuple(times * stride for stride in strides) for times in (1, 2) if 2 * max(strides) <= MAX_GROWTH]


# A case is translated for one surface after the other, and all of them use the same sizes.
@lru_cache(maxsize=32)
def _resized_cases(case: Case, growth: tuple[int, ...]) -> tuple[Case, ...]:
    """Return the case for a larger input, without those that would exceed a limit of size.

    Padding that is `same` for the size of the case is also tried as `same` for the other size.
    """
    n, channels, *spatial = case.shape
    extents = tuple(size + more for size, more in zip(spatial, growth, strict=True))
    # An extent of 1 is not varied: compilers make programs for it alone.
    x = replace(case.inputs["x"], shape=(n + (n > 1), channels, *extents))
    inputs = {**case.inputs, "x": x}
    resized = (replace(case, inputs=inputs, parameters=given) for given in _parameters_for(case, extents))
    return tuple(one for one in resized if not size_problem(one))


def _strides(case: Case) -> tuple[int, ...]:
    rank = len(case.shape) - 2
    strides = case.parameters.get("stride", (case.parameters.get("block"),) * rank)
    valid = isinstance(strides, tuple) and len(strides) == rank and None not in strides and min(strides) > 0
    return tuple(strides) if valid and strides else (1,) * rank


def _parameters_for(case: Case, extents: tuple[int, ...]) -> Iterator[Mapping[str, Any]]:
    same = _same_padding(case, extents)
    if same is not None:
        yield {**case.parameters, "padding": same}
    yield case.parameters


def _same_padding(case: Case, extents: tuple[int, ...]) -> Any:
    """Return the padding of a window operator for other extents if it is `same` for those of the case, else None."""
    given = case.parameters
    if OPERATORS[case.operator].geometry is not Geometry.WINDOWS or not isinstance(given.get("padding"), tuple):
        return None
    window = given.get("window") or case.inputs["kernel"].shape[2:]
    for word in SAME_WORDS:
        try:
            own, other = (
                Windows.of(size, window, given.get("stride"), word, given["dilation"]).pads
                for size in (case.shape[2:], extents)
            )
        except (ValueError, LookupError, TypeError):
            continue
        if own == given["padding"]:
            return other
    return None
