"""Tests of reference.operators.resampling.deform_conv, and of the windows that it moves."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import reference
from reference import OPERATORS
from reference.arithmetic.rounding import round_to
from tests.support.loop_deform_conv import loop_deform_conv, loop_gradients, products

ROW = np.array([[[[8, 16, 32, 64]]]], np.float32)
ONE = np.ones((1, 1, 1, 1), np.float32)
UNIT = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1, "offset_groups": 1}
CALLS = {
    "plain": ((1, 2, 3, 4), (2, 2, 2, 2), UNIT),
    "strided": ((2, 1, 4, 5), (1, 1, 2, 3), {**UNIT, "stride": (2, 1), "padding": ((1, 0), (0, 2))}),
    "dilated": ((1, 1, 4, 5), (2, 1, 2, 2), {**UNIT, "dilation": (1, 2)}),
    "groups": ((1, 4, 2, 3), (4, 2, 1, 2), {**UNIT, "groups": 2}),
    "offset groups": ((1, 4, 2, 3), (2, 4, 1, 2), {**UNIT, "offset_groups": 2}),
    "both groups": ((1, 4, 2, 2), (4, 2, 1, 1), {**UNIT, "groups": 2, "offset_groups": 4}),
    "row": ((1, 2, 5), (2, 2, 2), {**UNIT, "stride": (2,), "padding": ((1, 1),), "dilation": (1,)}),
    "volume": ((1, 1, 2, 2, 3), (1, 1, 1, 2, 2), {key: value * 2 if key in {"stride", "dilation"} else value
                                                 for key, value in UNIT.items()}),
}  # fmt: skip
CALLS["volume"][2].update(stride=(1, 1, 1), dilation=(1, 1, 1), padding=((0, 0), (1, 0), (0, 0)))
GRADIENTS = ("x", "offset", "kernel", "mask")


def random_call(name, dtype=np.float32, *, seed=1, mask=True, whole=False):
    """Return (x, offset, kernel, mask, bias), the output size and the rules of a call; whole: in eighths."""
    shape, kernel, rules = CALLS[name]
    axes = zip(shape[2:], kernel[2:], rules["stride"], rules["dilation"], rules["padding"], strict=True)
    output = tuple((size + sum(pads) - d * (k - 1) - 1) // s + 1 for size, k, s, d, pads in axes)
    cells = int(np.prod(kernel[2:])) * rules["offset_groups"]
    rng = np.random.default_rng(seed)

    def draw(*sizes):
        numbers = rng.integers(-16, 17, sizes) / 8 if whole else rng.standard_normal(sizes)
        return numbers.astype(dtype)

    arrays = [draw(*shape), draw(shape[0], cells * (len(shape) - 2), *output), draw(*kernel)]
    arrays += [draw(shape[0], cells, *output) if mask else None, draw(kernel[0])]
    return arrays, output, rules


def rounded(exact, dtype):
    return np.array([float(round_to(one, dtype)) for one in exact.ravel()]).reshape(exact.shape)


def at_row(*coordinates, row=0.0, dtype=np.float32):
    """Return offsets of a window of one cell, so that the windows of one row read these coordinates."""
    moves = [coordinate - column for column, coordinate in enumerate(coordinates)]
    return np.array([[[[row] * len(moves)], [moves]]], dtype)


def values(*coordinates, x=ROW, **rules):
    return reference.deform_conv(x, at_row(*coordinates), ONE, **rules)[0, 0, 0].tolist()


@pytest.mark.parametrize("padding_mode", ["zeros", "inside"])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_results_are_the_correctly_rounded_results_of_loops(dtype, name, padding_mode):
    arrays, output, rules = random_call(name, dtype)
    got = reference.deform_conv(*arrays, **rules, padding_mode=padding_mode)
    exact = loop_deform_conv(arrays, output, padding_mode=padding_mode, **rules)
    assert got.dtype == dtype
    assert got.astype(float).tolist() == rounded(exact, dtype).tolist()


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("padding_mode", ["zeros", "inside"])
@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_the_correctly_rounded_results_of_loops(name, padding_mode, mask):
    (x, offset, kernel, factors, bias), output, rules = random_call(name, mask=mask, whole=True)
    grad = np.random.default_rng(2).standard_normal((len(x), len(kernel), *output)).astype(np.float32)
    got = reference.deform_conv_grad(grad, x, offset, kernel, factors, bias, **rules, padding_mode=padding_mode)
    ones = np.ones((len(x), offset.shape[1] // len(output), *output), np.float32)
    given = ones if factors is None else factors
    exact = loop_gradients(grad, (x, offset, kernel, given), output, padding_mode=padding_mode, **rules)
    for one, other in zip(got, exact, strict=False):
        assert one.tolist() == rounded(other, np.float32).tolist()
    assert got[4].tolist() == [
        float(np.float32(part)) for part in grad.astype(float).sum(axis=(0, *range(2, grad.ndim)))
    ]


def test_the_dtype_of_a_gradient_is_that_of_its_input():
    (x, offset, kernel, mask, bias), output, rules = random_call("plain")
    grad = np.ones((1, 2, *output), np.float32)
    got = reference.deform_conv_grad(grad, x, offset.astype(np.float64), kernel, mask, bias, **rules)
    assert [str(one.dtype) for one in got] == ["float32", "float64", "float32", "float32", "float32"]


def test_literal_results():
    assert values(-1, -0.75, 0.5, 3.25) == [0, 2, 12, 48]
    assert values(-1, -0.75, 0.5, 3.25, padding_mode="inside") == [0, 0, 12, 64]
    assert values(4, 3.75, -0.25, 0, padding_mode="inside") == [0, 64, 0, 8]
    assert values(4, 3.75, -0.25, 0) == [0, 16, 6, 8]


def test_parameters_that_are_not_given_have_the_defaults_of_onnx():
    (x, offset, kernel, mask, bias), output, rules = random_call("plain")
    given = {**rules, "padding_mode": "zeros"}
    for call in ([x, offset, kernel], [x, offset, kernel, mask, bias]):
        assert reference.deform_conv(*call).tolist() == reference.deform_conv(*call, **given).tolist()
        grad = np.ones((1, 2, *output), np.float32)
        pairs = zip(
            reference.deform_conv_grad(grad, *call), reference.deform_conv_grad(grad, *call, **given), strict=True
        )
        assert all(one.tolist() == other.tolist() for one, other in pairs)


@pytest.mark.parametrize("padding_mode", ["zeros", "inside"])
def test_points_far_outside_have_the_value_zero(padding_mode):
    assert values(-2, 5, 1e10, -3e38, padding_mode=padding_mode) == [0, 0, 0, 0]


def test_the_first_number_of_a_cell_is_the_row():
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    offset = np.array([[[[1, 0], [0, 0]], [[0, 0], [1, -1]]]], np.float32)
    assert reference.deform_conv(x, offset, ONE).tolist() == [[[[3, 2], [4, 3]]]]


@pytest.mark.parametrize("name", CALLS)
def test_zero_offsets_and_a_mask_of_ones_are_a_convolution(name):
    (x, offset, kernel, mask, bias), _, rules = random_call(name)
    given = {key: value for key, value in rules.items() if key != "offset_groups"}
    conv = reference.conv(x, kernel, bias, **given)
    got = reference.deform_conv(x, offset * 0, kernel, mask * 0 + 1, bias, **rules)
    assert got.tolist() == conv.tolist()
    assert reference.deform_conv(x, offset * 0, kernel, None, bias, **rules).tolist() == conv.tolist()


def test_a_mask_multiplies_values_and_not_the_bias():
    mask = np.array([[[[0.5, 0, 1, 2]]]], np.float32)
    got = reference.deform_conv(ROW, at_row(0, 1, 2.5, 3), ONE, mask, np.array([3], np.float32))
    assert got.tolist() == [[[[7, 3, 51, 131]]]]


def test_an_empty_batch_has_no_results():
    empty = np.zeros((0, 1, 2, 2), np.float32)
    offset = np.zeros((0, 2, 2, 2), np.float32)
    assert reference.deform_conv(empty, offset, ONE).shape == (0, 1, 2, 2)
    shapes = [one.shape for one in reference.deform_conv_grad(empty, empty, offset, ONE)]
    assert shapes == [(0, 1, 2, 2), (0, 2, 2, 2), (1, 1, 1, 1), (0, 1, 2, 2), (1,)]
    assert reference.deform_conv_grad(empty, empty, offset, ONE)[2].tolist() == [[[[0]]]]


def test_a_cell_with_weight_zero_is_not_read():
    x = np.array([[[[8, np.nan, 32, np.inf]]]], np.float32)
    assert values(0, -0.5, 2, 2, x=x) == [8, 4, 32, 32]
    got = values(0.5, 2.5, 3, 4, x=x)
    assert np.isnan(got[0])
    assert got[1:] == [np.inf, np.inf, 0]


def test_a_value_of_zero_times_infinity_is_nan():
    kernel = np.array([[[[np.inf]]]], np.float32)
    x = np.array([[[[4, -2, 2]]]], np.float32)
    got = reference.deform_conv(x, at_row(0, 1, -4), kernel)[0, 0, 0]
    assert got[:2].tolist() == [np.inf, -np.inf]
    assert np.isnan(got[2])
    mask = np.array([[[[0, 1, 1]]]], np.float32)
    assert np.isnan(reference.deform_conv(x, at_row(0, 1, 1), kernel, mask)[0, 0, 0, 0])


def test_the_sign_of_an_infinite_product_is_that_of_the_interpolated_value():
    # The signs of the cells cancel, but not the cells.
    x = np.array([[[[4, -2, 2]]]], np.float32)
    kernel = np.array([[[[np.inf]]]], np.float32)
    assert reference.deform_conv(x, at_row(0.5, 0.75, 1.25), kernel)[0, 0, 0].tolist() == [np.inf, -np.inf, -np.inf]


def test_bias_that_is_not_finite_reaches_only_its_channel():
    kernel = np.ones((2, 1, 1, 1), np.float32)
    got = reference.deform_conv(ROW, at_row(0, 1, 2, 3), kernel, None, np.array([np.nan, 1], np.float32))
    assert np.isnan(got[0, 0]).all()
    assert got[0, 1, 0].tolist() == [9, 17, 33, 65]


def test_gradients_that_are_not_finite_follow_the_products():
    grad = np.array([[[[np.inf, 1]]]], np.float32)
    x = np.array([[[[2, 4]]]], np.float32)
    offset = at_row(0.5, 1)
    of_x, of_offset, of_kernel, of_mask, of_bias = reference.deform_conv_grad(grad, x, offset, ONE)
    assert of_x.tolist() == [[[[np.inf, np.inf]]]]
    assert of_offset.tolist() == [[[[-np.inf, -4]], [[np.inf, -4]]]]
    assert (of_kernel.item(), of_bias.item()) == (np.inf, np.inf)
    assert of_mask.tolist() == [[[[np.inf, 4]]]]


def test_a_slope_of_zero_stays_zero_beside_gradients_that_are_not_finite():
    x = np.full((1, 1, 1, 3), 2, np.float32)
    grad = np.array([[[[np.inf, 1, 1]]]], np.float32)
    of_offset = reference.deform_conv_grad(grad, x, at_row(0.5, 0.5, 1), ONE)[1][0, :, 0]
    assert np.isnan(of_offset[1, 0])
    assert of_offset[:, 1:].tolist() == [[-2, -2], [0, 0]]


def test_an_infinite_kernel_reaches_the_gradients_of_x_offset_and_mask():
    kernel = np.array([[[[np.inf]]]], np.float32)
    x = np.array([[[[2, 4]]]], np.float32)
    grad = np.array([[[[1, -1]]]], np.float32)
    of_x, of_offset, of_kernel, of_mask, _ = reference.deform_conv_grad(grad, x, at_row(0, 1), kernel)
    assert of_x.tolist() == [[[[np.inf, -np.inf]]]]
    assert of_offset.tolist() == [[[[-np.inf, np.inf]], [[np.inf, np.inf]]]]
    assert of_kernel.tolist() == [[[[-2]]]]
    assert of_mask.tolist() == [[[[np.inf, -np.inf]]]]


@pytest.mark.parametrize("padding_mode", ["zeros", "inside"])
@pytest.mark.parametrize("name", CALLS)
def test_the_bound_covers_coordinates_and_weights_in_float32(name, padding_mode):
    arrays, output, rules = random_call(name, seed=3)
    arrays[1] = arrays[1] * 2
    got = OPERATORS["deform_conv"](*arrays, **rules, padding_mode=padding_mode)
    computed = _in_float32(arrays, output, rules, padding_mode)
    error = np.abs(computed.astype(float) - got.high)
    assert (error <= got.bound()).all()
    assert (got.bound() > 0).all()


def _in_float32(arrays, output, rules, padding_mode):
    """Return the result of a kernel that rounds every step to float32."""
    x, offset, kernel, mask, bias = arrays
    result = np.zeros((len(x), len(kernel), *output), np.float32) + bias.reshape(-1, *(1,) * len(output))
    for to, of_kernel, of_mask, channel, _, point in products(x, offset, kernel, output=output, **rules):
        total = _value_in_float32(x[to[0], channel], [np.float32(float(one)) for one in point], padding_mode)
        result[to] += np.float32(np.float32(total * mask[of_mask]) * kernel[of_kernel])
    return result


def _value_in_float32(plane, point, padding_mode):
    total = np.float32(0)
    if padding_mode == "inside" and not all(0 <= at < size for at, size in zip(point, plane.shape, strict=True)):
        return total
    for steps in itertools.product((0, 1), repeat=len(point)):
        cell, weight = [], np.float32(1)
        for at, step, size in zip(point, steps, plane.shape, strict=True):
            after = np.float32(at - np.floor(at))
            weight = np.float32(weight * (after if step else np.float32(1) - after))
            index = int(np.floor(at)) + step
            cell.append(min(index, size - 1) if padding_mode == "inside" else index)
        if all(0 <= index < size for index, size in zip(cell, plane.shape, strict=True)):
            total += np.float32(weight * plane[tuple(cell)])
    return total


def test_the_bound_shows_a_wrong_weight():
    got = OPERATORS["deform_conv"](ROW, at_row(0.5, 1.25, 2, 3), ONE)
    assert got.bound().max() < 1e-3


def test_the_bound_includes_zero_at_a_point_that_may_be_rounded_to_the_end():
    below = np.float64(np.nextafter(np.float32(1), np.float32(0)))
    moved = OPERATORS["deform_conv"](ROW, at_row(4 - 1e-9, 1, 2, 3, dtype=np.float64), ONE, padding_mode="inside")
    assert moved.value[0, 0, 0, 0] == 64
    assert moved.bound()[0, 0, 0, 0] >= 64
    assert moved.bound()[0, 0, 0, 1:].max() < 1e-3
    exact = OPERATORS["deform_conv"](ROW, at_row(3 + below, 0, 0, 0, dtype=np.float64), ONE, padding_mode="inside")
    assert exact.bound()[0, 0, 0, 0] >= 64
    far = OPERATORS["deform_conv"](ROW, at_row(3.99, 4, -0.0, 0), ONE, padding_mode="inside")
    assert far.bound().max() < 1e-3


def test_coordinates_of_float64_are_rounded_to_float64():
    x, one = ROW.astype(np.float64), ONE.astype(np.float64)
    offset = at_row(4 - 1e-9, 1 + 1e-7, 2.5, 0.5, dtype=np.float64)
    got = OPERATORS["deform_conv"](x, offset, one, padding_mode="inside")
    assert got.bound().max() < 1e-11
    slopes = OPERATORS["deform_conv_grad"](np.ones((1, 1, 1, 4)), x, offset, one)[1]
    assert slopes.bound()[0, 1].max() < 1e-11


def test_the_derivative_at_a_cell_allows_both_sides():
    offset = at_row(1, 2, 0.5, 2.5)
    got = OPERATORS["deform_conv_grad"](np.ones((1, 1, 1, 4), np.float32), ROW, offset, ONE)[1]
    assert got.value[0, 1, 0].tolist() == [16, 32, 8, 32]
    bound = got.bound()[0, 1, 0]
    assert (bound[:2] >= [8, 16]).all()
    assert (bound[2:] < 1e-3).all()


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_have_bounds_above_zero_where_terms_are_added(name):
    (x, offset, kernel, mask, bias), output, rules = random_call("plain", seed=4)
    grad = np.random.default_rng(5).standard_normal((1, 2, *output)).astype(np.float32)
    exact = OPERATORS["deform_conv_grad"](grad, x, offset, kernel, mask, bias, **rules)[GRADIENTS.index(name)]
    assert (exact.bound()[exact.value != 0] > 0).all()


def test_terms_count_cells_factors_and_bias():
    (x, offset, kernel, mask, bias), output, rules = random_call("plain")
    call = [x, offset, kernel, mask]
    assert set(OPERATORS["deform_conv"](*call, bias, **rules).terms.ravel()) == {2 * 4 * 4 + 2 + 1}
    assert set(OPERATORS["deform_conv"](*call, **rules).terms.ravel()) == {2 * 4 * 4 + 2}
    grad = np.ones((1, 2, *output), np.float32)
    of_x, of_offset, of_kernel, of_mask, _ = OPERATORS["deform_conv_grad"](grad, *call, bias, **rules)
    assert set(of_offset.terms.ravel()) == {2 * 2 * 4 + 2 + 1}
    assert set(of_mask.terms.ravel()) == {2 * 2 * 4 + 2}
    assert set(of_kernel.terms.ravel()) == {6 * 4 + 2}
    assert of_x.terms.min() >= 2
    assert of_x.terms.max() <= 2 + 2 * 4 * 6 * 16


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offset": np.zeros((1, 7, 2, 3), np.float32)}, r"offset has shape \(1, 7, 2, 3\): expected \(1, 8, 2, 3\)"),
        ({"offset": np.zeros((1, 8, 2, 2), np.float32)}, r"expected \(1, 8, 2, 3\)"),
        ({"offset": np.zeros((2, 8, 2, 3), np.float32)}, r"expected \(1, 8, 2, 3\)"),
        ({"offset": np.full((1, 8, 2, 3), np.nan, np.float32)}, r"offset has the number nan at \(0, 0, 0, 0\)"),
        ({"mask": np.zeros((1, 3, 2, 3), np.float32)}, r"mask has shape \(1, 3, 2, 3\): expected \(1, 4, 2, 3\)"),
        ({"offset_groups": 3}, "offset_groups 3 does not divide the 2 input channels"),
        ({"offset_groups": 0}, "offset_groups 0 must be at least 1"),
        ({"padding_mode": "border"}, "padding_mode"),
        ({"x": np.zeros((1, 2, 0, 4), np.float32)}, "x has 0 cells on axis 0: expected 1 to 65536"),
        ({"kernel": np.zeros((2, 1, 2, 2), np.float32)}, "kernel takes 1 channels"),
    ],
)
def test_invalid_calls_name_the_parameter(changed, message):
    arrays, _, rules = random_call("plain")
    call = {**dict(zip(("x", "offset", "kernel", "mask", "bias"), arrays, strict=True)), **rules, **changed}
    with pytest.raises(ValueError, match=message):
        reference.deform_conv(**call)


def test_a_point_near_x_whose_offset_has_too_many_bits_is_rejected():
    x, offset = np.zeros((1, 1, 1), np.float32), np.full((1, 1, 1), -(2.0**19), np.float64)
    kernel = np.ones((1, 1, 1), np.float32)
    rules = {"padding": [(0, 2**19)], "stride": 2**19}
    far = np.concatenate([offset * 0, offset], axis=2)
    with pytest.raises(
        ValueError, match=r"offset has the number -524288\.0: the sum with 524288 needs more than 18 bits"
    ):
        reference.deform_conv(x, far, kernel, **rules)


def test_a_gradient_of_another_shape_is_rejected():
    arrays, output, rules = random_call("plain")
    with pytest.raises(ValueError, match="grad has shape"):
        reference.deform_conv_grad(np.zeros((1, 3, *output), np.float32), *arrays, **rules)


def test_only_cells_that_rounding_may_reach_add_terms_to_the_gradient_of_x():
    # Four points between the first two cells. Two further factors are counted for each cell.
    of_x = OPERATORS["deform_conv_grad"](np.ones_like(ROW), ROW, at_row(0.5, 0.5, 0.5, 0.5), ONE)[0]
    assert of_x.terms.tolist() == [[[[6, 6, 2, 2]]]]
