"""The module `grid_sampling` of the adapter for PaddlePaddle."""

import pytest

from conformance.adapters.paddle.convolution import autograd_gradient, layer_autograd_gradient
from conformance.adapters.paddle.grid_sampling import NO_CUBIC, NO_RANK, grid_sample
from conformance.cases.steps import Step


def step(shape=(1, 2, 4, 5), **parameters):
    return Step("grid_sample", shape, "float32", parameters)


@pytest.mark.parametrize(("mode", "name"), [("nearest", "nearest"), ("linear", "bilinear")])
def test_all_arguments_are_written(mode, name):
    text = f'F.grid_sample(x, grid, mode="{name}", padding_mode="zeros", align_corners=False)'
    assert grid_sample(step(mode=mode, padding_mode="zeros", align_corners=False)) == text
    assert grid_sample(step((1, 2, 4, 4, 4), mode=mode, padding_mode="zeros", align_corners=False)) == text


def test_a_convention_leaves_arguments_out():
    assert grid_sample(step(mode="linear")) == 'F.grid_sample(x, grid, mode="bilinear")'


def test_calls_that_do_not_exist_are_not_written():
    assert grid_sample(step((1, 2, 4), mode="linear")) is NO_RANK
    assert grid_sample(step(mode="cubic")) is NO_CUBIC


@pytest.mark.parametrize("write_gradient", [autograd_gradient, layer_autograd_gradient])
def test_the_gradient_of_the_grid_is_computed_with_that_of_x(write_gradient):
    assert write_gradient(["x = sample(x, grid)"], ["x", "grid"], "grid") == (
        "image, leaf = x, grid",
        "image.stop_gradient = leaf.stop_gradient = False",
        "x = sample(x, grid)",
        "_, x = paddle.grad(x, [image, leaf], grad)",
    )
