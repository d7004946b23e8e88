"""The module `grid_sampling` of the built-in backend."""

import numpy as np
import pytest

from tests.conformance.adapters.numpy.programs import ONE, row, run

ROW = {"values": [[[8, 16, 32, 64]]]}


def sample(*numbers, **rules):
    grid = np.array([[[number] for number in numbers]], np.float32)
    given = {"values": grid.tolist()}
    return run("grid_sample", row(8, 16, 32, 64), grid, x=ROW, grid=given, output_size=[len(numbers)], **rules).tolist()


@pytest.mark.parametrize(
    ("rules", "result"),
    [
        ({}, [4, 24, 0]),
        ({"padding_mode": "border"}, [8, 24, 64]),
        ({"padding_mode": "reflection"}, [8, 24, 48]),
        ({"padding_mode": "reflection", "align_corners": True}, [8, 24, 40]),
    ],
)
def test_linear_interpolation_continues_the_plane(rules, result):
    assert sample(-1, 0, 1.5, mode="linear", **rules) == [[result]]


def test_nearest_copies_a_cell():
    assert sample(-0.75, 0.125, 1.25, mode="nearest") == [[[8, 32, 0]]]


def test_cubic_weights():
    assert sample(0, mode="cubic", padding_mode="border") == [[[21.75]]]


def test_a_point_that_is_not_finite_gives_nan():
    assert np.isnan(np.array(sample(np.nan, mode="linear"))).all()


@pytest.mark.parametrize(("output", "result"), [("x", [[[0, 1, 1, 0]]]), ("grid", [[[64]]])])
def test_gradients(output, result):
    grid, grad = np.zeros((1, 1, 1), np.float32), row(2)
    given = {"x": ROW, "grid": {"values": [[[0]]]}, "grad": ONE, "output_size": [1], "mode": "linear"}
    got = run("grid_sample_grad", grad, row(8, 16, 32, 64), grid, output=output, **given)
    assert got.tolist() == result
