"""How large a case may be: cells that are held in memory, and terms that the reference reckons with.

A few letters of a file, `pads: 1000000`, would otherwise ask for more memory or time than any machine has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from conformance.cases.case import Answers, Case
from conformance.cases.compositions import plan_steps
from conformance.cases.steps import Step

MAX_ARRAY_ELEMENTS = 20_000_000
"""Of one array."""
MAX_REFERENCE_TERMS = 500_000_000
"""Of a whole output: its cells, times the cells of a window, times the channels that are added."""


def size_problem(case: Case) -> str:
    """Return in words what of a case is too large, "" if nothing is. What has no meaning has no size."""
    return next((fault for step in _reference_steps(case) for fault in _step_size_problems(step)), "")


def _reference_steps(case: Case) -> Iterator[Step]:
    """Yield what a case asks of the reference, for each answer of a question; compositions are as large."""
    given = [case.parameters]
    if isinstance(case.expect, Answers):
        given += [{**case.parameters, **one} for one in case.expect.named.values() if isinstance(one, Mapping)]
    for parameters in given:
        try:
            yield from plan_steps(replace(case, via=(), parameters=parameters) if case.via or len(given) > 1 else case)
        except (ValueError, LookupError, TypeError):
            continue  # which is told where the case is asked of the reference


def _step_size_problems(step: Step) -> Iterator[str]:
    try:
        output, window = step.output, math.prod(step.window)
    except (ValueError, LookupError, TypeError):
        return
    cells = math.prod(output)
    if cells > MAX_ARRAY_ELEMENTS:
        yield f"its output {list(output)} holds more than the limit of {MAX_ARRAY_ELEMENTS} elements"
    elif cells * window * max(step.kernel[:2], default=1) > MAX_REFERENCE_TERMS:
        yield f"its output {list(output)} of windows {list(step.window)} has more than the limit of {MAX_REFERENCE_TERMS} terms"
