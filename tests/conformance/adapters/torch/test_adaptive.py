"""The module `adaptive` of PyTorch."""

import pytest

from tests.conformance.adapters.torch.programs import NN, F, lines, reason


@pytest.mark.parametrize(
    ("extent", "size", "call"),
    [
        (2, 4, "F.max_unpool1d(x, indices, 2)"),
        (2, 5, "F.max_unpool1d(x, indices, 3, stride=2)"),
        (3, 3, "F.max_unpool1d(x, indices, 1)"),
        (4, 2, "F.max_unpool1d(x, indices, 1, padding=1)"),
        (4, 1, "F.max_unpool1d(x, indices, 2, stride=1, padding=2)"),
    ],
)
def test_unpooling_has_a_window_and_stride_that_give_the_output_size(tmp_path, extent, size, call):
    indices = f"indices: {{values: integers, low: 0, high: {size - 1}, shape: [1, 1, {extent}]}}"
    text = f"x: {{values: integers, shape: [1, 1, {extent}]}}, {indices}, output_size: {size}"
    assert lines(tmp_path, "max_unpool", text)[0] == [f"x = {call}"]


SAMPLES = "samples: {values: integers, low: 0, high: 3, over: 4}"


@pytest.mark.parametrize(
    ("shape", "call"),
    [
        (
            "[1, 1, 7]",
            "F.fractional_max_pool2d(x.unsqueeze(2), (1, 2), output_size=(1, 3), "
            "_random_samples=samples.repeat(1, 1, 2)).squeeze(2)",
        ),
        ("[1, 1, 7, 7]", "F.fractional_max_pool2d(x, 2, output_size=3, _random_samples=samples.flip(-1))"),
        ("[1, 1, 7, 7, 7]", "F.fractional_max_pool3d(x, 2, output_size=3, _random_samples=samples)"),
    ],
)
def test_samples_are_in_the_order_of_pytorch(tmp_path, shape, call):
    text = f"x: {{values: integers, shape: {shape}}}, {SAMPLES}, window: 2, output_size: 3"
    assert lines(tmp_path, "fractional_max_pool", text)[0] == [f"x = {call}"]


def test_fractional_pooling_in_three_dimensions_has_the_limit_of_pytorch(tmp_path):
    text = f"x: {{values: integers, shape: [1, 1, 7, 7, 7]}}, {SAMPLES}, output_size: 3, window"
    assert "at most the extent" in reason(tmp_path, "fractional_max_pool", f"{text}: [2, 2, 5]")
    assert lines(tmp_path, "fractional_max_pool", f"{text}: [2, 2, 4]")[1] == "native"


@pytest.mark.parametrize("surface", [NN, F])
def test_global_pooling_of_four_axes_is_a_reduction(tmp_path, surface):
    volume = "x: {values: integers, shape: [1, 2, 2, 2, 2, 2]}"
    average = (["x = x.mean((2, 3, 4, 5), keepdim=True)"], "composed")
    assert lines(tmp_path, "global_avg_pool", volume, surface) == average
    assert lines(tmp_path, "global_max_pool", volume, surface)[0] == ["x = x.amax((2, 3, 4, 5), keepdim=True)"]
