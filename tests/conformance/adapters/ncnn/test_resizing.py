"""The module `resizing` of the adapter for ncnn."""

import pytest

from conformance.adapters.ncnn.pooling import OTHER_RANK
from conformance.adapters.ncnn.resizing import (
    NO_NEAREST_RULE,
    NO_RULE,
    NO_VOLUMES,
    OTHER_KERNEL,
    SIZE_WINS,
    resize,
)
from conformance.cases.steps import Step

FLOOR_OF_CORNER = {"mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"}
LINEAR = {"mode": "linear", "coordinates": "half_pixel"}


def step(shape=(1, 2, 4, 5), **parameters):
    return Step("resize", shape, "float32", {"cubic_a": -0.75, **parameters})


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"size": (8, 7), **LINEAR}, "0=2 3=8 4=7"),
        ({"size": (8, 7), "mode": "linear", "coordinates": "align_corners"}, "0=2 3=8 4=7 6=1"),
        ({"size": (8, 7), "mode": "cubic", "coordinates": "half_pixel"}, "0=3 3=8 4=7"),
        ({"size": (8, 7), **FLOOR_OF_CORNER}, "0=1 3=8 4=7"),
        ({"scale": (2, 0.6), **LINEAR}, "0=2 1=2.0 2=0.6"),
        ({"size": (8, 7), "mode": "linear"}, "0=2 3=8 4=7"),
    ],
)
def test_parameters_of_planes(parameters, text):
    assert resize(step(**parameters)) == f'compute(network("Interp", "{text}"), x)'


def test_a_row_has_the_height_1():
    assert '"0=2 3=1 4=8"' in resize(step((1, 2, 4), size=(8,), **LINEAR))
    assert '"0=2 1=1.0 2=2.0"' in resize(step((1, 2, 4), scale=(2,), **LINEAR))


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (step((1, 2, 4, 4, 4), size=(8, 8, 8), **LINEAR), NO_VOLUMES),
        (step(size=(8, 7), scale=(2, 2), **LINEAR), SIZE_WINS),
        (step(size=(8, 7, 2), **LINEAR), OTHER_RANK),
        (step(size=(7, 7), mode="nearest", coordinates="half_pixel", nearest_rounding="ceil"), NO_NEAREST_RULE),
        (step(size=(7, 7), mode="linear", coordinates="asymmetric"), NO_RULE),
        (step(size=(7, 7), mode="cubic", coordinates="half_pixel", cubic_a=-0.5), OTHER_KERNEL),
    ],
)
def test_other_calls_are_not_written(refused, reason):
    assert resize(refused) is reason
