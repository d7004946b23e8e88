"""Check that a case distinguishes its parameters from plausible misreadings.

A result agrees if its error is within the bound. If the bound were larger than the effect of a wrong divisor or a
shifted window, the case would test nothing. So for every other reading with another result, some element must differ
from the right result by at least 1,000 bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.cases.arrays import Array
from conformance.cases.case import Case, Value
from conformance.cases.operators import OPERATORS, PARAMETERS, Coordinates, Geometry, ParameterKind, ResizeMode
from conformance.judging.expected import Expected, compute_reference

MIN_DISTANCE_IN_BOUNDS = 1000
"""Minimum distance of another reading from the right result, in units of the error bound."""
MIN_DISTANCES: Mapping[Geometry, int] = {
    Geometry.RESAMPLING: 10,
    Geometry.POINTS: 10,
    Geometry.DEFORMED: 10,
    Geometry.CHANNELS: 10,
}
"""The same for resampling and normalization. Their bounds also cover coordinates, weights and powers in float32."""
LANCZOS_MODES = frozenset({ResizeMode.LANCZOS3, ResizeMode.LANCZOS5})


@dataclass(frozen=True)
class OtherReading:
    """A plausible misreading of a case: other parameters, or a flipped kernel."""

    description: str
    parameters: Mapping[str, Any]
    flips_kernel: bool = False


def other_readings(case: Case) -> Iterator[OtherReading]:
    """Yield every other reading of a case."""
    parameters = case.parameters
    for description, changed in _parameter_changes(case):
        # A change without effect on the parameters is no other reading.
        if any(parameters[name] != value for name, value in changed.items()):
            yield OtherReading(description, {**parameters, **changed})
    if "kernel" in case.inputs and parameters.get("output") != "bias":
        yield OtherReading("with the kernel flipped", parameters, flips_kernel=True)


def _parameter_changes(case: Case) -> Iterator[tuple[str, Mapping[str, Any]]]:
    parameters = case.parameters
    if "padding" in parameters:
        swapped = tuple((after, before) for before, after in parameters["padding"])
        yield "with padding before and after swapped", {"padding": swapped}
    for parameter in OPERATORS[case.operator].parameters:
        name, value = parameter.name, parameters[parameter.name]
        if parameter.kind in {ParameterKind.SIZES, ParameterKind.SCALES} and value is not None:
            yield f"with {name} in reverse order of axes", {name: tuple(reversed(value))}
    if "dilation" in parameters:
        ones = (1,) * len(parameters["dilation"])
        yield "without dilation", {"dilation": ones}
        yield "with the dilation increased by 1", {"dilation": tuple(step + 1 for step in parameters["dilation"])}
    for parameter in OPERATORS[case.operator].parameters:
        if parameter.kind is ParameterKind.NUMBER and parameter.limits:
            yield f"with {parameter.name} increased by 1", {parameter.name: parameters[parameter.name] + 1}
    for name in ("align_corners", "antialias", "exclude_outside", "alpha_over_size"):
        if name in parameters:
            yield f"with {name} negated", {name: not parameters[name]}
    for name in ("order", "coordinates", "nearest_rounding", "padding_mode", "extra_channel"):
        for word in PARAMETERS[name].choices if name in parameters else ():
            # Resize-11, the only source of these coordinates, has no kernels of Lanczos.
            if word != Coordinates.TF_HALF_PIXEL_FOR_NN or parameters["mode"] not in LANCZOS_MODES:
                yield f"with {name} {word}", {name: word}
    if "divisor" in parameters:
        yield from _divisor_changes(parameters)


def _divisor_changes(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    cells = math.prod(parameters["window"])
    for description, divisor, include in (
        ("divided by the real cells", None, False),
        ("divided by the cells of the padded input", None, True),
        ("divided by the cells of the window", cells, False),
        ("not divided", 1, False),
    ):
        yield description, {"divisor": divisor, "count_include_pad": include}


def min_distance(case: Case) -> int:
    """Return the minimum distance of another reading of a case, in units of its error bound."""
    return MIN_DISTANCES.get(OPERATORS[case.operator].geometry, MIN_DISTANCE_IN_BOUNDS)


def indistinguishable_readings(case: Case, expected: Expected) -> Iterator[str]:
    """Yield the description of each other reading with a different result that the error bound would accept."""
    target = expected.target
    if not isinstance(case.expect, Value) or target is None or target.exact is None or target.bound is None:
        return
    # Cases with full mantissas test rounding only. The catalogue has the same geometry with integers.
    if not target.bound.any() or any(spec.fills_mantissa for spec in case.inputs.values()):
        return
    for reading in other_readings(case):
        try:
            other = compute_reference(case.operator, _inputs_for_reading(expected, reading), reading.parameters)
        except ValueError:
            continue  # an invalid geometry, for which a backend returns no result
        right = target.exact.value
        if other.value.shape != right.shape or np.array_equal(other.value, right, equal_nan=True):
            continue
        # One element is enough, because a backend must agree everywhere.
        if not (target.exact.distance(other.value) >= min_distance(case) * target.bound).any():
            yield reading.description


def _inputs_for_reading(expected: Expected, reading: OtherReading) -> Mapping[str, Array]:
    if not reading.flips_kernel:
        return expected.inputs
    kernel = expected.inputs["kernel"]
    return {**expected.inputs, "kernel": np.flip(kernel, tuple(range(2, kernel.ndim)))}
