"""The module `resizing` of the adapter for MLX."""

import pytest

from conformance.adapters.mlx.resizing import (
    CENTRED,
    FLOAT32_RESULT,
    NO_NEAREST_RULE,
    NO_RULE,
    NO_SIZE,
    OTHER_KERNEL,
    converted_resize,
    resize,
)
from conformance.cases.steps import Step

FLOOR_OF_CORNER = {"mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"}
UPPER_AT_CENTRE = {"mode": "nearest", "coordinates": "half_pixel", "nearest_rounding": "round_prefer_ceil"}
LOWER_AT_CENTRE = {**UPPER_AT_CENTRE, "nearest_rounding": "round_prefer_floor"}
LINEAR = {"mode": "linear", "coordinates": "half_pixel"}
ROW = (1, 2, 5)


def step(shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step("resize", shape, dtype, {"cubic_a": -0.75, **parameters})


def test_a_size_becomes_a_scale_for_each_axis():
    assert resize(step(size=(8, 4), **LINEAR)) == 'nn.Upsample((2.0, 0.8), mode="linear")(x)'
    corners = resize(step(ROW, size=(7,), mode="cubic", coordinates="align_corners"))
    assert corners == 'nn.Upsample((1.4,), mode="cubic", align_corners=True)(x)'


def test_nearest_rule_depends_on_the_size():
    assert resize(step(ROW, size=(3,), **FLOOR_OF_CORNER)) == "nn.Upsample((0.6,))(x)"
    assert resize(step(ROW, size=(3,), **UPPER_AT_CENTRE)) is NO_NEAREST_RULE
    assert resize(step(ROW, size=(7,), **UPPER_AT_CENTRE)) == "nn.Upsample((1.4,))(x)"
    assert resize(step(ROW, size=(7,), **FLOOR_OF_CORNER)) is NO_NEAREST_RULE


@pytest.mark.parametrize("rule", [UPPER_AT_CENTRE, LOWER_AT_CENTRE])
def test_ties_have_no_rule(rule):
    # The second of three cells has the coordinate 1/2 of two.
    assert resize(step((1, 1, 2), size=(3,), **rule)) is NO_NEAREST_RULE


def test_defaults_of_conventions_are_left_out():
    assert resize(step(ROW, size=(7,), mode="nearest")) == "nn.Upsample((1.4,))(x)"
    assert resize(step(ROW, size=(10,), mode="linear")) == 'nn.Upsample((2.0,), mode="linear")(x)'


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (step(size=(-8, 5), **LINEAR), NO_SIZE),
        (step(size=(8, 5, 2), **LINEAR), NO_SIZE),
        (step(size=(8, 5), scale=(2, 1), **LINEAR), NO_SIZE),
        (step(scale=(2, 0.5), **LINEAR), CENTRED),
        (step(size=(7, 7), mode="linear", coordinates="asymmetric"), NO_RULE),
        (step(size=(7, 7), mode="cubic", coordinates="half_pixel", cubic_a=-0.5), OTHER_KERNEL),
        (step(dtype="float16", size=(8, 5), **LINEAR), FLOAT32_RESULT),
    ],
)
def test_other_calls_are_not_written(refused, reason):
    assert resize(refused) is reason


def test_16_bit_results_are_converted_back():
    lines = converted_resize(step(ROW, "float16", size=(10,), **LINEAR))
    assert lines == ("dtype = x.dtype", 'x = nn.Upsample((2.0,), mode="linear")(x).astype(dtype)')
    assert converted_resize(step(size=(8, 5, 2), **LINEAR)) is NO_SIZE
