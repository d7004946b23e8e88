import ml_dtypes
import numpy as np
import pytest

import reference

X = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 2, 3)


def test_padding_puts_the_value_round_the_spatial_axes():
    got = reference.pad(X, [(0, 1), (2, 0)], value=-1)
    assert got.tolist() == [[[[-1, -1, 1, 2, 3], [-1, -1, 4, 5, 6], [-1, -1, -1, -1, -1]]]]


def test_a_number_pads_both_ends_of_every_axis():
    assert reference.pad(X, 1).shape == (1, 1, 4, 5)
    assert reference.pad(X, (1, 0)).shape == (1, 1, 4, 3)


def test_negative_pads_crop_before_others_pad():
    assert reference.pad(X, [0, (-1, 2)]).tolist() == [[[[2, 3, 0, 0], [5, 6, 0, 0]]]]
    assert reference.pad(X, [(-2, 0), 0]).shape == (1, 1, 0, 3)


def test_a_crop_of_more_than_there_is_is_refused_even_if_the_other_end_pads():
    with pytest.raises(ValueError, match=r"pads \(-4, 9\) crop more than the input 3 on axis 1"):
        reference.pad(X, [0, (-4, 9)])


@pytest.mark.parametrize("value", [np.inf, np.nan, -0.0, 0.1])
def test_any_floating_value_pads_a_floating_array(value):
    got = reference.pad(X.astype(ml_dtypes.bfloat16), 1, value=value)[0, 0, 0, 0]
    np.testing.assert_array_equal(np.float64(got), np.float64(ml_dtypes.bfloat16(value)))
    assert np.signbit(got) == np.signbit(value)


@pytest.mark.parametrize(
    ("dtype", "value"), [("int8", 128), ("uint8", -1), ("int64", 0.5), ("bool", 2), ("int8", np.nan)]
)
def test_a_value_that_the_dtype_lacks_is_refused(dtype, value):
    with pytest.raises(ValueError, match=f"is no {dtype}"):
        reference.pad(X.astype(dtype), 1, value=value)


def test_padding_is_exact():
    exact = reference.OPERATORS["pad"](X, 1)
    assert exact.exact
    assert not exact.bound().any()
    assert exact.high is None


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_every_nan_becomes_the_canonical_one(dtype):
    infinity, quiet = (np.array([[[v]]]).astype(dtype).view(f"u{np.dtype(dtype).itemsize}") for v in (np.inf, np.nan))
    signalling = infinity + quiet.dtype.type(1)
    negative = signalling | quiet.dtype.type(1 << (8 * quiet.itemsize - 1))
    for bits in (signalling, negative):
        assert reference.pad(bits.view(dtype), 0).view(quiet.dtype) == abs(quiet.view(dtype)).view(quiet.dtype)


@pytest.mark.parametrize("size", [1, 40, 2**20])
@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_padding_gives_the_same_in_small_blocks(mode, size, monkeypatch):
    monkeypatch.setattr("reference.operators.padding.BLOCK_BYTES", size)
    x = np.arange(2 * 3 * 4 * 3.0).reshape(2, 3, 4, 3)
    expected = np.pad(x, [(0, 0), (0, 0), (3, 1), (0, 2)], mode)
    assert reference.pad(x, [(3, 1), (0, 2)], mode=mode).tolist() == expected.tolist()


def test_an_empty_plane_that_is_not_padded_stays_empty():
    assert reference.pad(np.zeros((1, 1, 0)), 0, mode="edge").shape == (1, 1, 0)


def plane(values, dtype=np.float32):
    return np.array(values, dtype)[None, None]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("constant", [0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0]),
        ("edge", [1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3]),
        ("reflect", [2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3]),
        ("symmetric", [2, 3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1]),
        ("wrap", [2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]),
    ],
)
def test_padding_goes_on_for_ever(mode, expected):
    assert reference.pad(plane([1, 2, 3]), [(5, 4)], mode=mode).tolist() == [[expected]]


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_a_single_cell_pads_with_itself(mode):
    assert reference.pad(plane([7]), 3, mode=mode).tolist() == [[[7] * 7]]


def test_a_crop_comes_before_the_cells_that_are_taken():
    x = plane([1, 2, 3, 4])
    assert reference.pad(x, [(2, -1)], mode="reflect").tolist() == [[[3, 2, 1, 2, 3]]]
    assert reference.pad(x, [(-2, 3)], mode="wrap").tolist() == [[[3, 4, 3, 4, 3]]]


def test_corners_are_padded_by_both_axes():
    x = plane([[1, 2], [3, 4]])
    assert reference.pad(x, 1, mode="wrap").tolist() == [[[[4, 3, 4, 3], [2, 1, 2, 1], [4, 3, 4, 3], [2, 1, 2, 1]]]]


def test_an_empty_extent_is_all_padding():
    x = np.zeros((1, 1, 0), np.float32)
    assert reference.lp_pool(x, 2, padding=1).tolist() == [[[0]]]
    assert [value.tolist() for value in reference.max_pool_with_indices(x, 2, padding=1)] == [[[[-np.inf]]], [[[-1]]]]
    assert reference.stochastic_pool(x, 2, np.zeros((1, 1, 1)), padding=1).tolist() == [[[0]]]
    assert reference.pad(x, 1, value=3).tolist() == [[[3, 3]]]
