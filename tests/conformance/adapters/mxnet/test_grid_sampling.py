"""The module `grid_sampling` of the adapter for Apache MXNet."""

import pytest

from conformance.adapters.mxnet.grid_sampling import LINEAR_ONLY, NO_EDGES, NO_RANK, ZEROS_ONLY, grid_sample
from conformance.adapters.mxnet.ndarray import ND_API
from conformance.adapters.mxnet.padding import NP_API
from conformance.cases.steps import Step

CENTRES = {"mode": "linear", "padding_mode": "zeros", "align_corners": True}


def step(shape=(1, 2, 4, 5), **parameters):
    return Step("grid_sample", shape, "float32", parameters)


def test_the_coordinates_are_moved_to_the_second_axis():
    text = "mx.nd.BilinearSampler(x, grid.transpose((0, 3, 1, 2)))"
    assert grid_sample(step(**CENTRES), ND_API) == text
    assert grid_sample(step(mode="linear"), ND_API) == text


def test_arrays_of_numpy_are_converted():
    grid = "grid.as_nd_ndarray().transpose((0, 3, 1, 2))"
    assert grid_sample(step(**CENTRES), NP_API) == f"mx.nd.BilinearSampler(x.as_nd_ndarray(), {grid}).as_np_ndarray()"


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (step((1, 2, 4), **CENTRES), NO_RANK),
        (step(**CENTRES | {"mode": "nearest"}), LINEAR_ONLY),
        (step(**CENTRES | {"padding_mode": "border"}), ZEROS_ONLY),
        (step(**CENTRES | {"align_corners": False}), NO_EDGES),
    ],
)
def test_other_calls_are_not_written(refused, reason):
    assert grid_sample(refused, ND_API) is reason
