"""The proof that a case tells meanings apart: what another reading of its parameters gives lies far away.

Rounding is judged by a bound. Where that bound could hide the wrong divisor or a shifted window, a case would prove
nothing; so of every other reading that gives another result, some element must lie 1,000 bounds from the right one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from conformance.cases import Case, Value
from conformance.expected import Expected, reckon

APART = 1000


def other_readings(case: Case) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (in words, parameters) for each other way to read the case that someone might take for right."""
    parameters = case.parameters
    swapped = tuple((after, before) for before, after in parameters.get("padding", ()))
    if swapped != parameters.get("padding", ()):
        yield "with padding before and after swapped", {**parameters, "padding": swapped}
    for name in ("window", "stride", "dilation"):
        turned = tuple(reversed(parameters.get(name, ())))
        if turned != parameters.get(name, ()):
            yield f"with {name} in the other order of axes", {**parameters, name: turned}
    if "divisor" in parameters:
        cells = math.prod(parameters["window"])
        for words, divisor, include in (
            ("divided by the real cells", None, False),
            ("divided by the cells of the padded input", None, True),
            ("divided by the cells of the window", cells, False),
            ("not divided", 1, False),
        ):
            yield words, {**parameters, "divisor": divisor, "count_include_pad": include}


def too_near(case: Case, wanted: Expected) -> Iterator[str]:
    """Yield each other reading, in words, that gives something else, and that the error bound would let pass."""
    target = wanted.target
    if not isinstance(case.expect, Value) or target is None or target.exact is None or target.bound is None:
        return
    # Full mantissas are there for the rounding; the same geometry stands in the catalogue with whole numbers.
    if not target.bound.any() or any(spec.numeric for spec in case.inputs.values()):
        return
    for words, parameters in other_readings(case):
        try:
            other = reckon(case.operator, wanted.inputs, parameters)
        except ValueError:
            continue  # It is no geometry: a backend that reads it so cannot answer.
        right = target.exact.value
        if other.value.shape != right.shape or np.array_equal(other.value, right, equal_nan=True):
            continue
        if not (target.exact.distance(other.value) >= APART * target.bound).any():
            yield words
