"""The module `resizing` of the built-in backend."""

import pytest

from tests.conformance.adapters.numpy.programs import ONE, ROW, row, run


@pytest.mark.parametrize(
    ("coordinates", "result"),
    [
        ("half_pixel", [3, 3.25, 3.75, 3.25, 1.75, 1]),
        ("pytorch_half_pixel", [3, 3.25, 3.75, 3.25, 1.75, 1]),
        ("asymmetric", [3, 3.5, 4, 2.5, 1, 1]),
        ("half_pixel_symmetric", [3, 3.25, 3.75, 3.25, 1.75, 1]),
        ("tf_half_pixel_for_nn", [3.25, 3.75, 3.25, 1.75, 1, 1]),
    ],
)
def test_linear_interpolation(coordinates, result):
    got = run("resize", row(3, 4, 1), x=ROW, size=[6], mode="linear", coordinates=coordinates)
    assert got.tolist() == [[result]]


@pytest.mark.parametrize(
    ("rounding", "result"),
    [("floor", 3), ("ceil", 4), ("round_prefer_floor", 3), ("round_prefer_ceil", 4)],
)
def test_rounding_selects_the_cell_at_a_tie(rounding, result):
    x = {"values": [[[3, 4]]]}
    got = run("resize", row(3, 4), x=x, size=[1], mode="nearest", nearest_rounding=rounding)
    assert got.tolist() == [[[result]]]


def test_cubic_weights():
    x = {"values": [[[0, 32, 0, 0]]]}
    got = run("resize", row(0, 32, 0, 0), x=x, size=[7], mode="cubic", coordinates="align_corners")
    assert got.tolist() == [[[0, 19, 32, 19, 0, -3, 0]]]


def test_gradient_adds_the_weighted_cells():
    x = {"values": [[[3, 4]]]}
    got = run("resize_grad", row(1, 2, 4, 8), row(3, 4), grad=ONE, x=x, size=[4], mode="linear")
    assert got.tolist() == [[[3.5, 11.5]]]


CROP = {"mode": "linear", "coordinates": "tf_crop_and_resize", "roi_start": [0.5], "roi_end": [1.5]}


def test_cells_of_a_crop_beyond_an_end_have_the_extrapolation_value():
    got = run("resize", row(3, 4, 1), x=ROW, size=[5], extrapolation_value=-7, **CROP)
    assert got.tolist() == [[[4, 2.5, 1, -7, -7]]]
    x = {"values": [[[3, 4, 1]]]}
    got = run(
        "resize_grad", row(1, 2, 4, 8, 16), row(3, 4, 1), grad={"values": [[[1, 1, 1, 1, 1]]]}, x=x, size=[5], **CROP
    )
    assert got.tolist() == [[[0, 2, 5]]]
