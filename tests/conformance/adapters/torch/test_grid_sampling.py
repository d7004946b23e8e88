"""The module `grid_sampling` of PyTorch."""

import pytest

from tests.conformance.adapters.torch.programs import NN, lines, reason

PLANE = "x: {values: integers, shape: [1, 2, 4, 4]}, grid: {values: integers}, output_size: [2, 3]"
VOLUME = "x: {values: integers, shape: [1, 2, 4, 4, 4]}, grid: {values: integers}, output_size: [2, 3, 1]"
ROW = "x: {values: integers, shape: [1, 2, 4]}, grid: {values: integers}, output_size: [2]"


@pytest.mark.parametrize(("mode", "name"), [("nearest", "nearest"), ("linear", "bilinear"), ("cubic", "bicubic")])
def test_all_arguments_are_written(tmp_path, mode, name):
    text = f"{PLANE}, mode: {mode}, padding_mode: border, align_corners: true"
    call = f'x = F.grid_sample(x, grid, mode="{name}", padding_mode="border", align_corners=True)'
    assert lines(tmp_path, "grid_sample", text) == ([call], "native")
    assert lines(tmp_path, "grid_sample", text, NN) == ([call], "native")


def test_linear_interpolation_of_three_axes_is_called_bilinear(tmp_path):
    (call,), _ = lines(tmp_path, "grid_sample", f"{VOLUME}, mode: linear")
    assert call == 'x = F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)'


def test_calls_that_do_not_exist_are_not_written(tmp_path):
    assert "two or three spatial axes" in reason(tmp_path, "grid_sample", f"{ROW}, mode: linear")
    assert "for planes" in reason(tmp_path, "grid_sample", f"{VOLUME}, mode: cubic")
