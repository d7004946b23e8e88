"""The module `affine_grids` of the adapter for Apache MXNet."""

import pytest

from conformance.adapters.mxnet.affine_grids import NO_AXES, NO_DTYPE, NO_EDGES, affine_grid
from conformance.adapters.mxnet.ndarray import ND_API
from conformance.adapters.mxnet.padding import NP_API
from conformance.cases.steps import Step

CALL = 'mx.nd.GridGenerator({}, transform_type="affine", target_shape=(4, 5)).transpose((0, 2, 3, 1))'


def step(size=(4, 5), dtype="float32", **parameters):
    axes = len(size)
    return Step("affine_grid", (1, axes, axes + 1), dtype, {"grid_size": size, **parameters})


def test_matrices_become_rows_and_coordinates_the_last_axis():
    text = CALL.format("x.reshape((0, -1))")
    assert affine_grid(step(align_corners=True), ND_API) == text
    assert affine_grid(step(), ND_API) == text


def test_arrays_of_numpy_are_converted():
    text = CALL.format("x.as_nd_ndarray().reshape((0, -1))")
    assert affine_grid(step(align_corners=True), NP_API) == f"{text}.as_np_ndarray()"


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (step((2, 3, 4), align_corners=True), NO_AXES),
        (step(align_corners=False), NO_EDGES),
        (step(dtype="float64", align_corners=True), NO_DTYPE),
    ],
)
def test_other_calls_are_not_written(refused, reason):
    assert affine_grid(refused, ND_API) is reason
