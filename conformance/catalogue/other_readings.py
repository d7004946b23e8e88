"""The proof that a case tells meanings apart: what another reading of its parameters gives lies far away.

Rounding is judged by a bound. Where that bound could hide the wrong divisor or a shifted window, a case would prove
nothing; so of every other reading that gives another result, some element must lie 1,000 bounds from the right one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.case import Case, Value
from conformance.judging.expected import Expected, compute_reference

MIN_DISTANCE_IN_BOUNDS = 1000


@dataclass(frozen=True)
class OtherReading:
    """Another way to read a case that someone might take for right: parameters, and whether the kernel is turned."""

    description: str
    parameters: Mapping[str, Any]
    flips_kernel: bool = False


def other_readings(case: Case) -> Iterator[OtherReading]:
    """Yield every other reading of a case."""
    parameters = case.parameters
    for words, changed in _parameter_changes(case):
        if any(parameters[name] != value for name, value in changed.items()):
            yield OtherReading(words, {**parameters, **changed})
    if "kernel" in case.inputs and parameters.get("output") != "bias":
        yield OtherReading("with the kernel turned round", parameters, flips_kernel=True)


def _parameter_changes(case: Case) -> Iterator[tuple[str, Mapping[str, Any]]]:
    parameters = case.parameters
    if "padding" in parameters:
        swapped = tuple((after, before) for before, after in parameters["padding"])
        yield "with padding before and after swapped", {"padding": swapped}
    for name in ("window", "stride", "dilation", "output_size", "output_padding"):
        if name in parameters:
            yield f"with {name} in the other order of axes", {name: tuple(reversed(parameters[name]))}
    if "dilation" in parameters:
        ones = (1,) * len(parameters["dilation"])
        yield "without the holes in its windows", {"dilation": ones}
        yield "with holes one cell wider", {"dilation": tuple(step + 1 for step in parameters["dilation"])}
    if "p" in parameters:
        yield "with the next power", {"p": parameters["p"] + 1}
    if "divisor" in parameters:
        yield from _divisor_changes(parameters)


def _divisor_changes(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    cells = math.prod(parameters["window"])
    for words, divisor, include in (
        ("divided by the real cells", None, False),
        ("divided by the cells of the padded input", None, True),
        ("divided by the cells of the window", cells, False),
        ("not divided", 1, False),
    ):
        yield words, {"divisor": divisor, "count_include_pad": include}


def indistinguishable_readings(case: Case, expected: Expected) -> Iterator[str]:
    """Yield each other reading, in words, that gives something else, and that the error bound would let pass."""
    target = expected.target
    if not isinstance(case.expect, Value) or target is None or target.exact is None or target.bound is None:
        return
    # Full mantissas are there for the rounding; the same geometry stands in the catalogue with whole numbers.
    if not target.bound.any() or any(spec.fills_mantissa for spec in case.inputs.values()):
        return
    for reading in other_readings(case):
        try:
            other = compute_reference(case.operator, _inputs_for_reading(expected, reading), reading.parameters)
        except ValueError:
            continue  # It is no geometry: a backend that reads it so cannot answer.
        right = target.exact.value
        if other.value.shape != right.shape or np.array_equal(other.value, right, equal_nan=True):
            continue
        if not (target.exact.distance(other.value) >= MIN_DISTANCE_IN_BOUNDS * target.bound).any():
            yield reading.description


def _inputs_for_reading(expected: Expected, reading: OtherReading) -> Mapping[str, Array]:
    if not reading.flips_kernel:
        return expected.inputs
    kernel = expected.inputs["kernel"]
    return {**expected.inputs, "kernel": np.flip(kernel, tuple(range(2, kernel.ndim)))}
