import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from conformance import CatalogueError
from conformance.cases.arrays import NUMPY_DTYPES, ArraySpec, array_digest
from conformance.cases.generators import MANTISSA_FORMATS, SPECIAL_VALUES, distinct_range
from tests.support.fake_backends import one

SHAPE = (3, 2, 5)
PINNED = [
    ("mantissas", "float16", {}, "1589d48887ac76c12925ba83a550b848"),
    ("mantissas", "bfloat16", {}, "4e01bf92d3dac84773c9a638f375e2c7"),
    ("mantissas", "float32", {"spread": 3}, "15a1669e976b6a98703a10d0e5581722"),
    ("wide", "float64", {}, "18307cc2f37fe0a176a0122de2230786"),
    ("cancelling", "float32", {}, "ab2ba03ae00b4b36ab11ce5b27b2e04c"),
    ("distinct", "int8", {}, "9bf85d97b543e656888d3298cdfa318d"),
    ("extremes", "int16", {}, "434cf0f911d2d7e95b9482fc0d410f5a"),
    ("marked", "float32", {"mark": "-inf"}, "f8b5751436e7499a98b7f9416885a7e7"),
    ("integers", "float16", {"over": 256, "low": 0, "high": 255}, "7c53cfd51b928e55b87d3053b3fa557d"),
]


def made(generator, shape, dtype, **options):
    return ArraySpec(generator, shape, dtype, {"seed": 11, **options}).make()


@pytest.mark.parametrize(("generator", "dtype", "options", "digest"), PINNED)
def test_every_generator_gives_the_same_for_ever(generator, dtype, options, digest):
    assert array_digest(made(generator, SHAPE, dtype, **options)) == digest


@pytest.mark.parametrize("dtype", MANTISSA_FORMATS)
def test_full_mantissas_end_in_a_set_bit_and_have_the_exponents_asked_for(dtype):
    for spread in (0, 2):
        numbers = made("mantissas", (500,), dtype, spread=spread)
        assert (numbers.view(f"u{numbers.dtype.itemsize}") & 1).all()
        exponents = np.floor(np.log2(np.abs(numbers.astype(np.float64)))).astype(int)
        assert set(exponents) == set(range(-spread, spread + 1))
        assert {-1.0, 1.0} == set(np.sign(numbers.astype(np.float64)))


@pytest.mark.parametrize("dtype", MANTISSA_FORMATS)
def test_wide_exponents_reach_as_far_as_the_table_says(dtype):
    numbers = np.abs(made("wide", (4000,), dtype).astype(np.float64))
    exponents = np.floor(np.log2(numbers))
    assert (exponents.min(), exponents.max()) == MANTISSA_FORMATS[dtype][2:]


@pytest.mark.parametrize("dtype", MANTISSA_FORMATS)
def test_every_second_number_nearly_cancels_the_one_before(dtype):
    numbers = made("cancelling", (40,), dtype).astype(np.float64)
    left = np.abs(numbers[::2] + numbers[1::2])
    eps = float(ml_dtypes.finfo(NUMPY_DTYPES[dtype]).eps)
    assert (left > 0).all()
    assert (left <= 8 * eps).all()


@given(st.integers(1, 6), st.integers(1, 30), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_no_two_numbers_of_a_plane_are_equal(planes, cells, more, seed):
    numbers = made("distinct", (planes, 1, cells), "int64", low=-3, high=-3 + cells - 1 + more, seed=seed)
    assert all(len(set(plane.ravel().tolist())) == cells for plane in numbers)
    assert numbers.min() >= -3
    assert numbers.max() <= cells + more - 4


def test_distinct_numbers_lie_close_about_zero_unless_told():
    assert sorted(made("distinct", (1, 1, 2, 3), "float32").ravel()) == [-3, -2, -1, 0, 1, 2]
    assert distinct_range((1, 1, 4), None, 9) == (6, 9)
    with pytest.raises(ValueError, match="3 numbers from 0 to 2 are too few for 4 distinct ones"):
        distinct_range((1, 1, 4), 0, 2)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64"])
def test_extremes_reach_both_ends_and_zero(dtype):
    info = np.iinfo(dtype)
    assert {info.min, info.max, 0} <= set(made("extremes", (200,), dtype).tolist())


def test_item_b_of_the_batch_is_marked_at_its_bth_cell_and_nowhere_else():
    numbers = made("marked", (6, 2, 2, 2), "float32", mark="nan").reshape(6, 2, 4)
    marked = np.isnan(numbers)
    assert (marked.sum(axis=2) == 1).all()
    assert marked.argmax(axis=2).tolist() == [[item % 4] * 2 for item in range(6)]
    later = np.isnan(made("marked", (2, 1, 5), "float32", mark="nan", at=9))
    assert later.ravel().nonzero()[0].tolist() == [4, 5]


@pytest.mark.parametrize("dtype", MANTISSA_FORMATS)
@pytest.mark.parametrize("mark", SPECIAL_VALUES)
def test_a_mark_is_what_it_is_called_in_every_floating_dtype(dtype, mark):
    number = made("marked", (1, 1, 1), dtype, mark=mark).ravel()[0]
    wide, tiny = float(number), float(ml_dtypes.finfo(NUMPY_DTYPES[dtype]).tiny)
    if mark.endswith("subnormal"):
        assert 0 < abs(wide) < tiny
    elif mark == "nan":
        assert math.isnan(wide)
    else:
        assert wide == float(mark)
    assert (math.copysign(1, wide) < 0) == mark.startswith("-")


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ("{values: mantissas, shape: [1, 1, 4], dtype: int8}", "values: mantissas cannot make int8"),
        ("{values: marked, mark: nan, shape: [1, 1, 4], dtype: int32}", "values: marked cannot make int32"),
        ("{values: extremes, shape: [1, 1, 4]}", "values: extremes cannot make float32"),
        ("{values: distinct, shape: [1, 1, 300], dtype: int8}", "cannot be represented in int8"),
        ("{values: distinct, low: 0, high: 2, shape: [1, 1, 4]}", "too few for 4 distinct ones"),
        ("{values: integers, over: 4, shape: [1, 1, 4], dtype: int8}", "needs a floating dtype, not int8"),
        ("{values: arange, seed: 4, shape: [1, 1, 4]}", "key 'x.seed': is not an option of values: arange"),
    ],
)
def test_what_a_generator_does_not_make_is_rejected_in_one_line(tmp_path, x, message):
    with pytest.raises(CatalogueError) as refused:
        one(tmp_path, f"id: a, x: {x}, window: 2")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
