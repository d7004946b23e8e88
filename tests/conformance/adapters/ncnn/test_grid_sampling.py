"""The module `grid_sampling` of the adapter for ncnn."""

import pytest

from conformance.adapters.ncnn.grid_sampling import NO_CUBIC_VOLUMES, NO_ROWS, grid_sample
from conformance.cases.steps import Step

SHAPES = {1: (1, 2, 5), 2: (1, 2, 5, 4), 3: (1, 2, 5, 4, 3)}


def step(rank=2, **parameters):
    return Step("grid_sample", SHAPES[rank], "float32", {"output_size": (2,) * rank, **parameters})


@pytest.mark.parametrize(
    ("parameters", "numbers"),
    [
        ({"mode": "linear", "padding_mode": "zeros", "align_corners": False}, "0=1 1=1 2=0"),
        ({"mode": "nearest", "padding_mode": "border", "align_corners": True}, "0=2 1=2 2=1"),
        ({"mode": "cubic", "padding_mode": "reflection", "align_corners": False}, "0=3 1=3 2=0"),
        ({"mode": "linear"}, "0=1"),
    ],
)
def test_numbers_of_modes(parameters, numbers):
    expected = f'compute(network("GridSample", "{numbers}", inputs=("x", "grid")), x, grid)'
    assert grid_sample(step(**parameters)) == expected


def test_rows_and_cubic_volumes_are_not_sampled():
    assert grid_sample(step(1, mode="linear")) is NO_ROWS
    assert grid_sample(step(3, mode="cubic")) is NO_CUBIC_VOLUMES
    assert "0=1" in grid_sample(step(3, mode="linear"))
