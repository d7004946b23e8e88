"""Depth to space, space to depth and their gradients against loops, the examples of ONNX, and each other."""

import ml_dtypes
import numpy as np
import pytest

import reference
from tests.support.loop_blocks import loop_depth_to_space

DTYPES = ("float16", "float32", "float64", "int8", "int64", "uint16", "uint64", "bool", ml_dtypes.bfloat16)
SHAPES = [(1, (8,)), (2, (3,)), (3, (1,)), (1, (2, 3)), (2, (1, 4)), (3, (5, 2)), (2, (2, 3, 1))]


def numbers(shape, dtype="float32"):
    return (np.arange(np.prod(shape)).reshape(shape) % 101).astype(dtype)


@pytest.mark.parametrize("order", ["dcr", "crd"])
@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize(("channels", "extents"), SHAPES)
def test_it_agrees_with_loops_over_cells(channels, extents, block, order):
    x = numbers((2, channels * block ** len(extents), *extents), "int64")
    expected = loop_depth_to_space(x, block, order)
    np.testing.assert_array_equal(reference.depth_to_space(x, block, order=order), expected)
    np.testing.assert_array_equal(reference.space_to_depth(expected, block, order=order), x)


@pytest.mark.parametrize("order", ["dcr", "crd"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_number_changes_in_any_dtype(dtype, order):
    x = numbers((1, 8, 2, 3), dtype)
    exact = reference.OPERATORS["depth_to_space"](x, 2, order=order)
    assert exact.value.dtype == x.dtype
    assert sorted(exact.value.ravel().tolist()) == sorted(x.ravel().tolist())
    np.testing.assert_array_equal(reference.space_to_depth(exact.value, 2, order=order), x)


@pytest.mark.parametrize("order", ["dcr", "crd"])
def test_special_values_and_signs_of_zero_are_copied(order):
    x = np.array([np.nan, -0.0, np.inf, -np.inf, 0.0, 1e-45, -1e-45, 1], np.float32).reshape(1, 8, 1, 1)
    y = reference.depth_to_space(x, 2, order=order)
    back = reference.space_to_depth(y, 2, order=order)
    assert back.tobytes() == x.tobytes()


def test_orders_differ_from_two_output_channels_on():
    one, two = numbers((1, 4, 1, 1)), numbers((1, 8, 1, 1))
    np.testing.assert_array_equal(reference.depth_to_space(one, 2), reference.depth_to_space(one, 2, order="crd"))
    assert reference.depth_to_space(two, 2).ravel().tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert reference.depth_to_space(two, 2, order="crd").ravel().tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("order", ["dcr", "crd"])
@pytest.mark.parametrize("name", ["depth_to_space", "space_to_depth"])
def test_the_gradient_is_the_adjoint(name, order):
    rng = np.random.default_rng(941)
    x = rng.integers(-9, 9, (2, 8, 4, 6)).astype(np.float64)
    forward, gradient = getattr(reference, name), getattr(reference, f"{name}_grad")
    y = forward(x, 2, order=order)
    grad = rng.integers(-9, 9, y.shape).astype(np.float64)
    assert (y * grad).sum() == (x * gradient(grad, x, 2, order=order)).sum()


def test_a_result_is_no_view_of_the_input():
    x = np.array([[[[np.nan, 1]]]])
    y = reference.depth_to_space(x, 1)
    y[...] = 0
    assert np.isnan(x[0, 0, 0, 0])


@pytest.mark.parametrize(
    ("name", "shape", "parameters", "message"),
    [
        ("depth_to_space", (1, 8, 2, 2), {"block": 0}, "block 0 must be at least 1"),
        ("space_to_depth", (1, 8, 2, 2), {"block": -1}, "block -1 must be at least 1"),
        ("depth_to_space", (1, 8, 2, 2), {"block": 3}, "block 3 needs 9 channels for each channel of the output"),
        ("space_to_depth", (1, 8, 4, 3), {"block": 2}, "block 2 does not divide the extent 3 of x on axis 1"),
        ("depth_to_space", (1, 8, 2, 2), {"block": 2, "order": "rcd"}, "order 'rcd' must be one of dcr, crd"),
        ("depth_to_space", (1, 0, 2, 2), {"block": 2**20}, "makes 4398046511104 elements a plane"),
        ("space_to_depth", (1, 1, 0, 0), {"block": 2**20}, "makes 1099511627776 channels"),
    ],
)
def test_bad_parameters_are_named(name, shape, parameters, message):
    with pytest.raises(ValueError, match=message):
        getattr(reference, name)(np.zeros(shape), **parameters)


def test_a_gradient_of_another_shape_is_rejected():
    x = np.zeros((1, 8, 2, 2))
    with pytest.raises(ValueError, match="grad has shape"):
        reference.depth_to_space_grad(x, x, 2)
    with pytest.raises(ValueError, match="grad has shape"):
        reference.space_to_depth_grad(x, x, 2)


def test_empty_arrays_have_the_shape_of_the_output():
    assert reference.depth_to_space(np.zeros((0, 8, 2, 3)), 2).shape == (0, 2, 4, 6)
    assert reference.space_to_depth(np.zeros((0, 2, 4, 6)), 2).shape == (0, 8, 2, 3)
    assert reference.space_to_depth(np.zeros((1, 2, 0, 6)), 2).shape == (1, 8, 0, 3)
