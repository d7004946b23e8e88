"""Limits on the size of a case: elements of an array, and work of the reference for its expected result.

Without limits, a few characters in a file, such as `pads: 1000000`, could need more memory or time than is available.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from conformance.cases.case import Answers, Case
from conformance.cases.compositions import plan_steps
from conformance.cases.operators import OPERATORS, Arithmetic, Geometry, Operator
from conformance.cases.steps import Step

MAX_ARRAY_ELEMENTS = 20_000_000
"""Maximum number of elements of one array."""
MAX_REFERENCE_TERMS = 500_000_000
"""Maximum number of terms of an output: its elements, times the cells of a window, times the channels summed over."""
MAX_REFERENCE_MICROSECONDS = 5_000_000
"""Maximum estimated time of the reference for an output."""
TERM_MICROSECONDS: Mapping[tuple[Arithmetic, bool], int] = MappingProxyType(
    {
        (Arithmetic.EXPONENTIALS, False): 20,
        (Arithmetic.EXPONENTIALS, True): 100,
        (Arithmetic.POWERS, True): 100,
        (Arithmetic.PROBABILITIES, True): 50,
    }
)
"""Time for a term that is computed separately, by the arithmetic and whether the case requests the gradient.

A term of any other operator takes less than 0.1 microseconds. Such terms are limited by MAX_REFERENCE_TERMS only.
"""
DEFORMED_TERM_MICROSECONDS = {False: 20, True: 100}
"""The same for a term of a deformable convolution, by whether the case requests the gradient."""
ROUND_MICROSECONDS = 30
"""Time for one round of the reference, which computes one cell of all windows at once."""
SEPARABLE_ARITHMETIC = {Arithmetic.SELECTION, Arithmetic.AVERAGE}
"""Arithmetic of windows that the reference computes axis by axis."""


def size_problem(case: Case) -> str:
    """Return an error message if a case is too large, "" otherwise. Invalid steps have no size and are skipped."""
    return _first_problem(_reference_steps(case), [_step_size_problem])


def size_or_time_problem(case: Case) -> str:
    """Return an error message if a case is too large or the reference would take too long for it, "" otherwise."""
    return _first_problem([*_reference_steps(case)], [_step_size_problem, _step_time_problem])


def _first_problem(steps: Iterable[Step], checks: Sequence[Callable[[Step], str]]) -> str:
    return next((problem for check in checks for step in steps if (problem := check(step))), "")


def _reference_steps(case: Case) -> Iterator[Step]:
    """Yield the steps that the reference computes, for every answer of a convention.

    The composition in `via` is ignored; the operator is counted in its place.
    """
    given = [case.parameters]
    if isinstance(case.expect, Answers):
        # An answer may have other parameters, and with them a much larger output.
        given += [{**case.parameters, **one} for one in case.expect.named.values() if isinstance(one, Mapping)]
    for parameters in given:
        try:
            yield from plan_steps(replace(case, via=(), parameters=parameters) if case.via or len(given) > 1 else case)
        except (ValueError, LookupError, TypeError):
            continue  # reported when the reference computes the case


def _step_size_problem(step: Step) -> str:
    try:
        output = step.output
    except (ValueError, LookupError, TypeError):
        return ""
    if math.prod(output) <= MAX_ARRAY_ELEMENTS:
        return ""
    return f"its output {list(output)} has more than the limit of {MAX_ARRAY_ELEMENTS} elements"


def _step_time_problem(step: Step) -> str:
    try:
        output, window = step.output, math.prod(step.window)
    except (ValueError, LookupError, TypeError):
        return ""
    window = 1 if step.operator in OPERATORS and _has_element_per_cell(OPERATORS[step.operator]) else window
    if math.prod(output) * window * max(step.kernel[:2], default=1) > MAX_REFERENCE_TERMS:
        size = f"its output {list(output)} of windows {list(step.window)}"
        return f"{size} has more than the limit of {MAX_REFERENCE_TERMS} terms"
    operator = OPERATORS.get(step.operator)
    if operator is None:  # a building block of a composition, which is as fast as copying
        return ""
    term = TERM_MICROSECONDS.get((operator.arithmetic, step.gradient), 0)
    if operator.geometry is Geometry.DEFORMED:
        term = DEFORMED_TERM_MICROSECONDS[step.gradient]
    time = _term_count(step, operator, output) * term + _round_count(step, operator, output) * ROUND_MICROSECONDS
    if time <= MAX_REFERENCE_MICROSECONDS:
        return ""
    size = f"its output {list(output)}{f' of windows {list(step.window)}' if step.window else ''}"
    limit = f"more than the limit of {MAX_REFERENCE_MICROSECONDS // 1_000_000} s"
    return f"{size} takes the reference about {round(time / 1e6)} s, {limit}"


def _has_element_per_cell(operator: Operator) -> bool:
    """Whether the output has an element for each cell of each window, which is counted in its extents or channels."""
    return operator.has_output_per_cell or operator.geometry is Geometry.TO_COLUMNS


def _term_count(step: Step, operator: Operator, output: tuple[int, ...]) -> int:
    """Return the number of input cells that the elements of an output are computed from."""
    if operator.geometry in {Geometry.GLOBAL, Geometry.BINS}:
        return max(math.prod(step.shape), math.prod(output))
    window = 1 if _has_element_per_cell(operator) else math.prod(step.window)
    return math.prod(output) * window * max(step.kernel[:2], default=1)


def _round_count(step: Step, operator: Operator, output: tuple[int, ...]) -> int:
    """Return the number of rounds: the cells of a window or of a plane, which the reference visits one by one."""
    if operator.geometry in {Geometry.GLOBAL, Geometry.BINS}:
        return max(math.prod(output[2:]), math.prod(step.shape[2:]) * step.gradient)
    if operator.arithmetic in SEPARABLE_ARITHMETIC and not step.gradient:
        return sum(step.window)
    return math.prod(step.window)
