"""The module `resizing` of the adapter for Apache MXNet."""

import pytest

from conformance.adapters.mxnet.ndarray import ND_API
from conformance.adapters.mxnet.padding import NP_API
from conformance.adapters.mxnet.resizing import (
    FLOAT32_ONLY,
    NO_CUBIC,
    NO_NEAREST_RULE,
    NO_RANK,
    NO_RULE,
    NO_SCALE,
    NO_SCALING,
    resize,
)
from conformance.cases.steps import Step

FLOOR_OF_CORNER = {"mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"}
LINEAR = {"mode": "linear", "coordinates": "pytorch_half_pixel"}


def step(shape=(1, 1, 3, 4), dtype="float32", **parameters):
    return Step("resize", shape, dtype, {"cubic_a": -0.75, **parameters})


def test_coordinates_at_the_corners_are_the_default():
    text = "mx.nd.contrib.BilinearResize2D(x, height=6, width=2"
    assert resize(step(size=(6, 2), mode="linear"), ND_API) == f"{text})"
    assert resize(step(size=(6, 2), mode="linear", coordinates="align_corners"), ND_API) == f"{text})"
    assert resize(step(size=(6, 2), **LINEAR), ND_API) == f"{text}, align_corners=False)"


def test_a_single_cell_is_not_at_the_centre():
    assert resize(step(size=(1, 1), **LINEAR), ND_API).endswith("height=1, width=1)")
    assert resize(step(size=(1, 1), mode="linear", coordinates="half_pixel"), ND_API) is NO_RULE


def test_arrays_of_numpy_are_converted():
    text = 'mx.nd.UpSampling(x.as_nd_ndarray(), scale=2, sample_type="nearest").as_np_ndarray()'
    assert resize(step(size=(6, 8), **FLOOR_OF_CORNER), NP_API) == text


def test_a_scale_becomes_the_size():
    assert "height=6, width=2" in resize(step(scale=(2, 0.5), **LINEAR), ND_API)
    # 4 · 0.6 is not a whole number of cells, so the size has other coordinates.
    assert resize(step(scale=(1, 0.6), **LINEAR), ND_API) is NO_RULE


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (step((1, 1, 4), size=(8,), **LINEAR), NO_RANK),
        (step(size=(6, 8, 2), **LINEAR), NO_RANK),
        (step(size=(6, 8), scale=(2, 2), **LINEAR), NO_SCALE),
        (step(size=(6, 8), mode="cubic"), NO_CUBIC),
        (step(size=(6, 4), **FLOOR_OF_CORNER), NO_SCALING),
        (step(size=(6, 8), mode="nearest", coordinates="asymmetric", nearest_rounding="ceil"), NO_NEAREST_RULE),
        (step(dtype="float64", size=(6, 8), **LINEAR), FLOAT32_ONLY),
    ],
)
def test_other_calls_are_not_written(refused, reason):
    assert resize(refused, ND_API) is reason
