"""The module `resizing` of the adapter for PaddlePaddle."""

import pytest

from conformance.adapters.paddle.resizing import (
    FLOAT32_COORDINATES,
    NO_CUBIC,
    NO_CUBIC_RULE,
    NO_LINEAR_RULE,
    NO_NEAREST_RULE,
    NO_ROWS,
    SIZE_WINS,
    resize,
)
from conformance.cases.steps import Step

FLOOR_OF_CORNER = {"mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"}
LINEAR = {"mode": "linear", "coordinates": "half_pixel"}
CUBIC = {"mode": "cubic", "coordinates": "half_pixel"}


def step(shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step("resize", shape, dtype, {"cubic_a": -0.75, **parameters})


@pytest.mark.parametrize(
    ("coordinates", "argument"),
    [("half_pixel", ""), ("align_corners", ", align_corners=True"), ("asymmetric", ", align_mode=1")],
)
def test_linear_interpolation_has_three_rules(coordinates, argument):
    text = f'F.interpolate(x, size=[7, 3], mode="bilinear"{argument})'
    assert resize(step(size=(7, 3), mode="linear", coordinates=coordinates), layer=False) == text


def test_the_mode_is_named_after_the_number_of_axes():
    assert 'mode="linear"' in resize(step((1, 2, 4), size=(8,), **LINEAR), layer=False)
    assert 'mode="trilinear"' in resize(step((1, 2, 4, 4, 4), size=(8, 8, 8), **LINEAR), layer=False)


def test_a_scale_is_kept():
    text = 'nn.Upsample(scale_factor=[0.6, 2.0], mode="nearest")(x)'
    assert resize(step(scale=(0.6, 2), **FLOOR_OF_CORNER), layer=True) == text


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (step(size=(6, 8), scale=(2, 2), **LINEAR), SIZE_WINS),
        (step(size=(7, 3), mode="nearest", coordinates="half_pixel", nearest_rounding="ceil"), NO_NEAREST_RULE),
        (step((1, 2, 4), size=(8,), **FLOOR_OF_CORNER), NO_ROWS),
        (step(size=(7, 3), mode="linear", coordinates="pytorch_half_pixel"), None),
        (step(size=(7, 1), mode="linear", coordinates="pytorch_half_pixel"), NO_LINEAR_RULE),
        (step((1, 2, 4), size=(8,), **CUBIC), NO_CUBIC),
        (step(size=(7, 3), mode="cubic", coordinates="asymmetric"), NO_CUBIC_RULE),
        (step(dtype="float64", size=(7, 3), **LINEAR), FLOAT32_COORDINATES),
    ],
)
def test_other_calls_are_not_written(refused, reason):
    code = resize(refused, layer=False)
    assert isinstance(code, str) if reason is None else code is reason


def test_dtypes_without_a_kernel_have_a_reason():
    assert "no kernel for bool" in resize(step(dtype="bool", size=(8, 5), **FLOOR_OF_CORNER), layer=False).reason
    assert isinstance(resize(step(dtype="uint8", size=(8, 5), **FLOOR_OF_CORNER), layer=False), str)
