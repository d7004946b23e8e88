"""The module `resizing` of the adapter for tinygrad."""

import pytest

from conformance.adapters.tinygrad.resizing import (
    ALL_LAST_AXES,
    FLOAT32_WEIGHTS,
    NO_CUBIC,
    NO_INTEGERS,
    NO_NEAREST_RULE,
    NO_RULE,
    NO_SCALE,
    ROUNDED_DIFFERENCES,
    resize,
)
from conformance.cases.steps import Step

LINEAR = {"mode": "linear", "coordinates": "half_pixel"}
FLOOR_OF_CORNER = {"mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"}
UPPER_AT_CENTRE = {"mode": "nearest", "coordinates": "half_pixel", "nearest_rounding": "round_prefer_ceil"}


def step(shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step("resize", shape, dtype, {"cubic_a": -0.75, **parameters})


def test_each_rule_has_a_call():
    assert resize(step(size=(7, 3), **LINEAR)) == "x.interpolate((7, 3))"
    corners = step(size=(7, 3), mode="linear", coordinates="align_corners")
    assert resize(corners) == "x.interpolate((7, 3), align_corners=True)"
    assert resize(step(size=(7, 3), **FLOOR_OF_CORNER)) == 'x.interpolate((7, 3), mode="nearest")'
    assert resize(step(size=(7, 3), **UPPER_AT_CENTRE)) == 'x.interpolate((7, 3), mode="nearest-exact")'


def test_a_scale_becomes_the_size():
    assert resize(step(scale=(0.5, 2), **LINEAR)) == "x.interpolate((2, 10))"
    assert resize(step(scale=(0.5, 0.5), **LINEAR)) is NO_RULE


def test_corners_of_a_single_cell_replace_no_other_rule():
    # Both rules have the coordinate 0 for a single cell.
    given = {"shape": (1, 2, 4), "size": (1,), "mode": "linear"}
    assert resize(step(**given, coordinates="align_corners")) == "x.interpolate((1,), align_corners=True)"
    assert resize(step(**given, coordinates="asymmetric")) is NO_RULE


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (step(size=(7, 7), mode="cubic", coordinates="half_pixel"), NO_CUBIC),
        (step(size=(7, 7), scale=(2, 2), **LINEAR), NO_SCALE),
        (step(size=(7, 7, 7), **LINEAR), ALL_LAST_AXES),
        (step(size=(7, 7), mode="nearest", coordinates="half_pixel", nearest_rounding="ceil"), NO_NEAREST_RULE),
        (step(dtype="uint8", size=(7, 7), **LINEAR), NO_INTEGERS),
        (step(dtype="float64", size=(7, 7), **LINEAR), FLOAT32_WEIGHTS),
        (step(dtype="bfloat16", size=(7, 7), **LINEAR), ROUNDED_DIFFERENCES),
    ],
)
def test_other_calls_are_not_written(refused, reason):
    assert resize(refused) is reason
