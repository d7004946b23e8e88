"""The module `resizing` of the adapter for MNN."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.mnn.resizing import NO_MODE, NO_RULE, NO_SIZE, resize
from conformance.cases.steps import Step

LINEAR = {"mode": "linear", "coordinates": "asymmetric"}


def step(shape=(1, 2, 4, 5), **parameters):
    return Step("resize", shape, "float32", parameters)


def test_the_scale_of_the_width_comes_first():
    text = "F.convert(F.resize(F.convert(x, F.NC4HW4), 1.4, 2.0), F.NCHW)"
    assert resize(step(size=(8, 7), **LINEAR)) == text
    assert resize(step(scale=(2, 1.4), **LINEAR)) == text


def test_one_axis_is_a_row_of_a_plane():
    text = "F.squeeze(F.convert(F.resize(F.convert(F.unsqueeze(x, [2]), F.NC4HW4), 2.0, 1.0), F.NCHW), [2])"
    assert resize(step((1, 2, 4), size=(8,), **LINEAR)) == text


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (step(size=(8, 5), mode="nearest"), NO_MODE),
        (step(size=(8, 5), mode="linear", coordinates="half_pixel"), NO_RULE),
        (step(scale=(2, 0.5), **LINEAR), NO_RULE),
        (step(scale=(2, 0.5), mode="linear"), NO_RULE),
        (step(size=(8, 5), scale=(2, 1), **LINEAR), NO_SIZE),
    ],
)
def test_other_calls_are_not_written(refused, reason):
    assert resize(refused) is reason


def test_a_size_that_the_product_in_float32_does_not_give():
    assert resize(step((1, 1, 1, 7), size=(1, 31), **LINEAR)) is NO_SIZE
    assert isinstance(resize(step((1, 1, 1, 7), size=(1, 30), **LINEAR)), str)


def test_volumes_have_too_many_axes():
    assert isinstance(resize(step((1, 2, 4, 4, 4), size=(8, 8, 8), **LINEAR)), Unsupported)
