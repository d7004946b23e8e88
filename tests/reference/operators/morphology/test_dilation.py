"""Tests of reference.operators.morphology.dilation."""

import math
import re

import ml_dtypes
import numpy as np
import pytest

import reference
from tests.support.loop_dilation import loop_dilation

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
# Shapes of x and of the window, stride, padding and dilation.
CALLS = [
    ((2, 3, 5), (2,), (1,), ((0, 0),), (1,)),
    ((1, 2, 7), (3,), (2,), ((1, 2),), (2,)),
    ((2, 1, 4, 5), (2, 3), (1, 1), ((0, 0), (0, 0)), (1, 1)),
    ((1, 3, 6, 5), (3, 2), (2, 1), ((1, 0), (2, 1)), (1, 2)),
    ((1, 2, 1, 4), (1, 2), (1, 3), ((0, 0), (1, 1)), (1, 4)),
    ((1, 2, 3, 4, 3), (2, 1, 3), (1, 2, 1), ((1, 1), (0, 0), (0, 1)), (2, 1, 1)),
]


def parameters(call):
    _, _, stride, padding, dilation = call
    return {"stride": stride, "padding": padding, "dilation": dilation}


def arrays(call, dtype, seed=0):
    """Return x and kernel: numbers with full mantissas, or integers whose sums do not overflow."""
    generator, (shape, window, *_) = np.random.default_rng(seed), call
    shapes = (shape, (shape[1], 1, *window))
    if np.dtype(dtype).kind in "iu":
        return [generator.integers(np.iinfo(dtype).min // 2, 50, one).astype(dtype) for one in shapes]
    return [generator.standard_normal(one).astype(dtype) for one in shapes]


def row(*values, dtype=np.float32):
    """Return an array with one row of numbers."""
    return np.array(values, dtype).reshape(1, 1, 1, -1)


def largest(x, kernel, dtype=np.float32, **given):
    return reference.dilation2d(row(*x, dtype=dtype), row(*kernel, dtype=dtype), **given).ravel().tolist()


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("call", CALLS)
def test_results_are_the_largest_exact_sums_rounded_once(call, dtype):
    x, kernel = arrays(call, dtype)
    lowest = -math.inf if dtype in FLOATS else np.iinfo(dtype).min
    exact = loop_dilation(x, kernel, **parameters(call))
    rounded = [lowest if one is None else float(one) if dtype in FLOATS else int(one) for one in exact.ravel()]
    expected = np.array(rounded).astype(dtype).reshape(exact.shape)
    result = reference.OPERATORS["dilation2d"](x, kernel, **parameters(call))
    assert result.value.dtype == dtype
    np.testing.assert_array_equal(result.value, expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_bound_is_zero_and_only_the_rounded_sum_agrees(dtype):
    x, kernel = arrays(CALLS[3], dtype)
    result = reference.OPERATORS["dilation2d"](x, kernel, **parameters(CALLS[3]))
    assert not result.bound().any()
    assert not result.distance(result.value).any()
    assert (result.distance(np.nextafter(result.value.astype(np.float64), np.inf).astype(np.float64)) > 0).all()


def test_terms_are_the_cells_inside_the_input():
    result = reference.OPERATORS["dilation2d"](row(1, 2), row(0, 0, 0), padding=((0, 0), (1, 2)))
    assert result.terms.ravel().tolist() == [2, 2, 1]


def test_a_window_of_padding_alone_gives_minus_infinity_or_the_least_integer():
    given = {"padding": ((0, 0), (2, 2)), "dilation": (1, 4)}
    assert largest([1], [1, 2], **given) == [-math.inf]
    assert largest([1], [1, 2], np.int16, **given) == [-32768]
    assert largest([1], [1, 2], np.uint8, **given) == [0]


def test_a_nan_wins_and_has_one_bit_pattern():
    negative_nan = -np.float32(math.nan)
    result = reference.dilation2d(row(negative_nan, 1, 9), row(0, 0))
    assert np.isnan(result.ravel()).tolist() == [True, False]
    assert result.view(np.uint32).ravel()[0] == np.array(math.nan, np.float32).view(np.uint32)


@pytest.mark.parametrize(
    ("x", "kernel", "expected"),
    [
        ([math.inf], [-math.inf], math.nan),
        ([-math.inf, 3], [4, 0], 3),
        ([-math.inf, -math.inf], [4, 0], -math.inf),
        ([3.4028234663852886e38], [3.4028234663852886e38], math.inf),
        ([1e-45], [1e-45], 2.802596928649634e-45),
    ],
)
def test_special_values_follow_ieee_arithmetic(x, kernel, expected):
    np.testing.assert_array_equal(largest(x, kernel), [np.float32(expected)])


def test_positive_zero_is_larger_than_negative_zero():
    assert math.copysign(1, largest([-0.0, 0.0], [-0.0, -0.0])[0]) == 1
    assert math.copysign(1, largest([-0.0, -0.0], [-0.0, -0.0])[0]) == -1


def test_integers_wrap():
    assert largest([127, 1], [1, 0], np.int8) == [1]
    assert largest([250], [10], np.uint8) == [4]


def test_a_kernel_of_zeros_gives_max_pooling():
    x = np.random.default_rng(3).standard_normal((2, 3, 6, 7)).astype(np.float32)
    given = {"stride": 2, "padding": "same_upper", "dilation": (1, 2)}
    pooled = reference.max_pool(x, (3, 2), **given)
    np.testing.assert_array_equal(reference.dilation2d(x, np.zeros((3, 1, 3, 2), np.float32), **given), pooled)


def test_empty_arrays_give_empty_results():
    kernel = np.zeros((2, 1, 2, 2), np.float32)
    assert reference.dilation2d(np.zeros((0, 2, 3, 4), np.float32), kernel).shape == (0, 2, 2, 3)
    assert reference.dilation2d(np.zeros((1, 0, 3, 4), np.float32), kernel[:0]).shape == (1, 0, 2, 3)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 1, 2, 2), "kernel has shape (1, 1, 2, 2): expected (2, 1, *window), one for each channel"),
        ((2, 2, 2, 2), "kernel has shape (2, 2, 2, 2): expected (2, 1, *window), one for each channel"),
        ((2, 1, 2), "kernel has 3 axes (2, 1, 2): x has 4 (1, 2, 3, 4)"),
        ((2, 1, 2, 0), "kernel has shape (2, 1, 2, 0): its window must be at least 1 on every axis"),
        ((2, 1, 4, 1), "kernel 4 exceeds the padded input 3 on axis 0"),
    ],
)
def test_kernels_that_do_not_fit_are_errors(shape, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        reference.dilation2d(np.zeros((1, 2, 3, 4), np.float32), np.zeros(shape, np.float32))


def test_other_dtypes_are_errors():
    x = np.zeros((1, 1, 2, 2), bool)
    with pytest.raises(TypeError, match="x has dtype bool"):
        reference.dilation2d(x, x)
    with pytest.raises(TypeError, match="kernel has dtype float64"):
        reference.dilation2d(x.astype(np.float32), x.astype(np.float64))
