"""Limits on the size of a case: elements of an array, and terms of the computation in the reference.

Without limits, a few characters in a file, such as `pads: 1000000`, could need more memory or time than is available.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from conformance.cases.case import Answers, Case
from conformance.cases.compositions import plan_steps
from conformance.cases.steps import Step

MAX_ARRAY_ELEMENTS = 20_000_000
"""Maximum number of elements of one array."""
MAX_REFERENCE_TERMS = 500_000_000
"""Maximum number of terms of an output: its elements, times the cells of a window, times the channels summed over."""


def size_problem(case: Case) -> str:
    """Return an error message if a case is too large, "" otherwise. Invalid steps have no size and are skipped."""
    return next((problem for step in _reference_steps(case) for problem in _step_size_problems(step)), "")


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


def _step_size_problems(step: Step) -> Iterator[str]:
    try:
        output, window = step.output, math.prod(step.window)
    except (ValueError, LookupError, TypeError):
        return
    cells = math.prod(output)
    if cells > MAX_ARRAY_ELEMENTS:
        yield f"its output {list(output)} has more than the limit of {MAX_ARRAY_ELEMENTS} elements"
    elif cells * window * max(step.kernel[:2], default=1) > MAX_REFERENCE_TERMS:
        size = f"its output {list(output)} of windows {list(step.window)}"
        yield f"{size} has more than the limit of {MAX_REFERENCE_TERMS} terms"
