"""The module `resizing` of PyTorch."""

import pytest

from tests.conformance.adapters.torch.programs import NN, PLANE, ROW, lines, reason


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ("coordinates: asymmetric, nearest_rounding: floor", 'mode="nearest"'),
        ("coordinates: half_pixel, nearest_rounding: round_prefer_ceil", 'mode="nearest-exact"'),
    ],
)
def test_each_nearest_mode_has_one_rule(tmp_path, parameters, arguments):
    text = f"{PLANE}, size: [2, 3], mode: nearest, {parameters}"
    assert lines(tmp_path, "resize", text) == ([f"x = F.interpolate(x, size=(2, 3), {arguments})"], "native")


def test_another_nearest_rule_is_not_written(tmp_path):
    text = f"{PLANE}, size: [2, 3], mode: nearest, coordinates: asymmetric, nearest_rounding: ceil"
    assert "upper at ties" in reason(tmp_path, "resize", text)


def test_another_rule_that_copies_the_same_cells_is_written(tmp_path):
    # By two, the coordinates of half_pixel are 1/4 off those of asymmetric, and both rules copy the same cells.
    text = f"{ROW}, size: [12], mode: nearest, coordinates: half_pixel, nearest_rounding: round_prefer_floor"
    assert lines(tmp_path, "resize", text)[0] == ['x = F.interpolate(x, size=(12,), mode="nearest")']


@pytest.mark.parametrize(("coordinates", "corners"), [("half_pixel", ""), ("align_corners", ", align_corners=True")])
def test_linear_modes_are_named_after_the_number_of_axes(tmp_path, coordinates, corners):
    text = f"mode: linear, coordinates: {coordinates}"
    (row,), _ = lines(tmp_path, "resize", f"{ROW}, size: [4], {text}")
    assert row == f'x = F.interpolate(x, size=(4,), mode="linear"{corners})'
    (plane,), _ = lines(tmp_path, "resize", f"{PLANE}, size: [4, 4], {text}", NN)
    assert plane == f'x = nn.Upsample(size=(4, 4), mode="bilinear"{corners})(x)'


def test_a_scale_is_written_for_each_axis(tmp_path):
    (plane,), _ = lines(tmp_path, "resize", f"{PLANE}, scale: [0.6, 2], mode: linear")
    assert plane == 'x = F.interpolate(x, scale_factor=(0.6, 2.0), mode="bilinear")'
    (row,), _ = lines(tmp_path, "resize", f"{ROW}, scale: [0.5], mode: linear")
    assert row == 'x = F.interpolate(x, scale_factor=(0.5,), mode="linear")'


@pytest.mark.parametrize("text", [f"{ROW}, size: [3]", f"{PLANE}, size: [3, 3], cubic_a: -0.5"])
def test_bicubic_interpolation_is_for_planes_with_one_parameter(tmp_path, text):
    assert "for planes, with the parameter -0.75" in reason(tmp_path, "resize", f"{text}, mode: cubic")


def test_linear_interpolation_has_no_asymmetric_coordinates(tmp_path):
    text = f"{PLANE}, size: [8, 8], mode: linear, coordinates: asymmetric"
    assert "half_pixel or align_corners" in reason(tmp_path, "resize", text)


FILTER = "antialias: true, exclude_outside: true"


@pytest.mark.parametrize(
    ("parameters", "mode"),
    [("mode: linear", "bilinear"), ("mode: cubic, cubic_a: -0.5", "bicubic"), ("mode: lanczos3", "lanczos")],
)
def test_antialiasing_leaves_out_cells_beyond_x(tmp_path, parameters, mode):
    (plane,), _ = lines(tmp_path, "resize", f"{PLANE}, size: [2, 3], {parameters}, {FILTER}")
    assert plane == f'x = F.interpolate(x, size=(2, 3), mode="{mode}", antialias=True)'
    assert "no argument antialias" in reason(tmp_path, "resize", f"{PLANE}, size: [2, 3], {parameters}, {FILTER}", NN)
    repeated = f"{PLANE}, size: [2, 3], {parameters}, antialias: true"
    assert "leaves out cells beyond x" in reason(tmp_path, "resize", repeated)


@pytest.mark.parametrize(
    "text",
    [
        f"{ROW}, size: [3], mode: linear, {FILTER}",
        f"{PLANE}, size: [2, 3], mode: cubic, {FILTER}",
        f"{PLANE}, size: [2, 3], mode: lanczos5, {FILTER}",
        f"{PLANE}, size: [2, 3], mode: linear, coordinates: asymmetric, {FILTER}",
    ],
)
def test_other_antialiasing_is_not_written(tmp_path, text):
    assert "for bilinear, bicubic and lanczos interpolation of planes" in reason(tmp_path, "resize", text)


def test_area_is_written_for_whole_cells(tmp_path):
    (row,), _ = lines(tmp_path, "resize", f"{ROW}, size: [3], mode: area")
    assert row == 'x = F.interpolate(x, size=(3,), mode="area")'
    assert "whole cells" in reason(tmp_path, "resize", f"{ROW}, size: [4], mode: area")
