"""Unfold, fold and their gradients against loops, exact fractions, published examples, and each other."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import reference
from tests.support.loop_unfolding import loop_fold, loop_unfold

DTYPES = ("float16", "float32", "float64", "int8", "int64", "uint16", "uint64", "bool", ml_dtypes.bfloat16)
# Extents, window, stride, padding before and after, dilation.
GEOMETRIES = [
    ((5,), (2,), (1,), (0,), (0,), (1,)),
    ((7,), (3,), (2,), (1,), (2,), (2,)),
    ((4, 5), (2, 3), (1, 2), (1, 0), (0, 1), (1, 1)),
    ((5, 4), (2, 2), (3, 1), (0, 2), (0, 2), (2, 1)),
    ((3, 4, 2), (2, 1, 2), (1, 2, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1)),
]


def parameters_of(geometry):
    _, window, stride, before, after, dilation = geometry
    return {"window": window, "stride": stride, "padding": list(zip(before, after, strict=True)), "dilation": dilation}


@pytest.mark.parametrize("order", ["crd", "dcr"])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_columns_agree_with_loops_over_window_cells(geometry, order):
    size, *rest = geometry
    x = np.arange(2 * 3 * np.prod(size)).reshape(2, 3, *size)
    columns = reference.unfold(x, **parameters_of(geometry), order=order)
    np.testing.assert_array_equal(columns, loop_unfold(x, rest, order))
    plane = reference.fold(columns, size, **parameters_of(geometry), order=order)
    np.testing.assert_array_equal(plane, loop_fold(columns, size, rest, order))


@pytest.mark.parametrize("order", ["crd", "dcr"])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_the_gradients_of_columns_are_adjoints(geometry, order):
    size, parameters = geometry[0], parameters_of(geometry)
    rng = np.random.default_rng(981)
    x = rng.integers(-9, 9, (2, 3, *size)).astype(np.float64)
    columns = reference.unfold(x, **parameters, order=order)
    grad = rng.integers(-9, 9, columns.shape).astype(np.float64)
    back = reference.unfold_grad(grad, x, **parameters, order=order)
    assert (columns * grad).sum() == (x * back).sum()
    np.testing.assert_array_equal(back, reference.fold(grad, size, **parameters, order=order))
    np.testing.assert_array_equal(reference.fold_grad(x, grad, size, **parameters, order=order), columns)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unfold_copies_numbers_of_any_dtype(dtype):
    x = (np.arange(12).reshape(1, 2, 2, 3) % 5).astype(dtype)
    exact = reference.OPERATORS["unfold"](x, (2, 2))
    assert exact.exact
    assert exact.value.dtype == x.dtype
    np.testing.assert_array_equal(exact.value[0, :4, 0, 0].astype("float64"), x[0, 0, :, :2].ravel().astype("float64"))


def test_unfold_copies_special_values_and_signs_of_zero_beside_padding():
    x = np.array([np.nan, -0.0, -np.inf, 1e-45], np.float32).reshape(1, 1, 1, 4)
    columns = reference.unfold(x, (1, 2), stride=(1, 1), padding=[(0, 0), (1, 1)])
    expected = np.array([[0.0, np.nan, -0.0, -np.inf, 1e-45], [np.nan, -0.0, -np.inf, 1e-45, 0.0]], np.float32)
    assert columns.tobytes() == expected.tobytes()


def test_a_window_of_padding_only_is_zero():
    columns = reference.unfold(np.full((1, 1, 1, 1), 7), (1, 1), padding=[(0, 0), (2, 1)])
    assert columns.ravel().tolist() == [0, 0, 7, 0]


def test_orders_of_columns_differ_from_two_channels_and_two_cells_on():
    x = np.arange(4).reshape(1, 2, 2)
    assert reference.unfold(x, 2).ravel().tolist() == [0, 1, 2, 3]
    assert reference.unfold(x, 2, order="dcr").ravel().tolist() == [0, 2, 1, 3]
    one = np.arange(2).reshape(1, 1, 2)
    np.testing.assert_array_equal(reference.unfold(one, 2), reference.unfold(one, 2, order="dcr"))


@pytest.mark.parametrize("order", ["crd", "dcr"])
def test_windows_without_overlap_are_blocks(order):
    x = np.arange(2 * 2 * 4 * 6).reshape(2, 2, 4, 6)
    columns = reference.unfold(x, 2, stride=2, order=order)
    np.testing.assert_array_equal(columns, reference.space_to_depth(x, 2, order=order))
    np.testing.assert_array_equal(reference.fold(columns, (4, 6), 2, stride=2, order=order), x)


def test_a_product_with_the_columns_is_a_convolution():
    rng = np.random.default_rng(982)
    x, kernel = rng.integers(-9, 9, (2, 3, 5, 6)), rng.integers(-9, 9, (4, 3, 2, 3))
    columns = reference.unfold(x, (2, 3), stride=(2, 1), padding=1)
    product = np.einsum("ok,nkhw->nohw", kernel.reshape(4, -1), columns)
    np.testing.assert_array_equal(product, reference.conv(x, kernel, stride=(2, 1), padding=1))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ml_dtypes.bfloat16])
def test_sums_of_overlapping_columns_are_rounded_once(dtype):
    x = np.random.default_rng(983).standard_normal((1, 6, 8)).astype(dtype)
    exact = reference.OPERATORS["fold"](x, 10, 3)
    assert exact.terms.ravel().tolist() == [1, 2, 3, 3, 3, 3, 3, 3, 2, 1] * 2
    for channel, cell in np.ndindex(2, 10):
        terms = [(q, cell - q) for q in range(3) if 0 <= cell - q < 8]
        total = sum(Fraction(float(x[0, 3 * channel + q, at])) for q, at in terms)
        assert abs(
            Fraction(float(exact.high[0, channel, cell])) + Fraction(float(exact.low[0, channel, cell])) - total
        ) < (Fraction(2) ** -90)
        assert exact.value[0, channel, cell] == np.float64(total).astype(dtype)


def test_integer_sums_of_columns_wrap():
    x = np.full((1, 2, 2), 100, np.int8)
    assert reference.fold(x, 3, 2).ravel().tolist() == [100, -56, 100]


def test_cells_of_no_window_are_zero_and_columns_of_padding_are_lost():
    assert reference.fold(np.ones((1, 1, 2)), 6, 1, stride=3).ravel().tolist() == [1, 0, 0, 1, 0, 0]
    assert reference.fold(np.array([[[1.0, 2, 3], [10, 20, 30]]]), 2, 2, padding=1).ravel().tolist() == [12, 23]


@pytest.mark.parametrize(
    ("name", "shape", "parameters", "message"),
    [
        ("unfold", (1, 2, 4), {"window": 5}, "window 5 exceeds the padded input 4 on axis 0"),
        ("unfold", (1, 2, 4), {"window": 0}, "window 0 on axis 0 must be at least 1"),
        ("unfold", (1, 2, 4), {"window": 2, "order": "rcd"}, "order 'rcd' must be one of dcr, crd"),
        ("unfold", (1, 2, 0), {"window": 2**31 - 1, "padding": 2**30}, "makes 4294967294 channels"),
        ("fold", (1, 3, 4), {"window": 2, "output_size": 5}, r"window \(2,\) has 2 cells, which do not divide"),
        (
            "fold",
            (1, 4, 4),
            {"window": 2, "output_size": 4},
            r"x has extents \(4,\): output_size \(4,\) has \(3,\) windows",
        ),
        ("fold", (1, 4, 4), {"window": 2, "output_size": 1}, "window 2 exceeds the padded input 1"),
    ],
)
def test_bad_parameters_of_columns_are_named(name, shape, parameters, message):
    with pytest.raises(ValueError, match=message):
        getattr(reference, name)(np.zeros(shape), **parameters)


def test_fold_takes_no_bool():
    with pytest.raises(TypeError, match="x has dtype bool"):
        reference.fold(np.ones((1, 2, 2), bool), 3, 2)


def test_empty_columns_have_the_shape_of_the_output():
    assert reference.unfold(np.zeros((0, 2, 4, 3)), 2).shape == (0, 8, 3, 2)
    assert reference.fold(np.zeros((0, 8, 3, 2)), (4, 3), 2).shape == (0, 2, 4, 3)
    # All columns are those of padding.
    assert reference.fold(np.ones((1, 2, 1)), 0, 2, padding=1).shape == (1, 1, 0)


def test_gradients_have_a_stride_and_a_dilation_of_one_and_no_padding_by_default():
    x, given = np.zeros((1, 2, 5)), {"stride": 1, "padding": 0, "dilation": 1}
    columns = np.arange(1.0, 17).reshape(1, 4, 4)
    np.testing.assert_array_equal(reference.unfold_grad(columns, x, 2), reference.unfold_grad(columns, x, 2, **given))
    cells = np.arange(1.0, 11).reshape(1, 2, 5)
    folded = reference.fold_grad(cells, np.zeros((1, 4, 4)), 5, 2)
    np.testing.assert_array_equal(folded, reference.fold_grad(cells, np.zeros((1, 4, 4)), 5, 2, **given))
