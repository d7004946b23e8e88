import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from conformance.cases.arrays import NUMPY_DTYPES, ArraySpec, array_digest, canonical_bytes
from tests.support.fake_backends import one

PINNED = {0: [2, -7, -6, 1, 9, 1, 3, 6], 2024: [442, 558, 71, -622, -977, 854, 308, -878]}


def test_generated_integers_are_the_same_for_ever():
    array = ArraySpec("integers", (1, 1, 8), "float32", {"low": -9, "high": 9, "seed": 0}).make()
    assert array.ravel().tolist() == PINNED[0]
    array = ArraySpec("integers", (8,), "int64", {"low": -1000, "high": 1000, "seed": 2024}).make()
    assert array.tolist() == PINNED[2024]


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_generated_integers_stay_between_low_and_high(low, width, seed):
    array = ArraySpec("integers", (100,), "int64", {"low": low, "high": low + width, "seed": seed}).make()
    assert low <= array.min() <= array.max() <= low + width


def test_numbers_of_64_bits_keep_their_digits():
    numbers = (2**64 - 2, 0, 2**53 + 1)
    array = ArraySpec("literal", (3,), "uint64", {"numbers": numbers}).make()
    assert array.dtype == np.uint64
    assert tuple(array.tolist()) == numbers


def test_generated_integers_reach_both_ends():
    array = ArraySpec("integers", (1000,), "int64", {"low": -2, "high": 3, "seed": 5}).make()
    assert set(array.tolist()) == {-2, -1, 0, 1, 2, 3}


def test_longer_array_begins_with_the_shorter_one():
    short, long = (ArraySpec("integers", (n,), "int64", {"seed": 7}).make() for n in (5, 50))
    assert short.tolist() == long[:5].tolist()


def test_count_goes_up_from_start_by_step():
    assert ArraySpec("arange", (3,), "float64", {"start": -5, "step": 36}).make().tolist() == [-5, 31, 67]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_empty_arrays_have_every_dtype(dtype):
    array = ArraySpec("literal", (1, 1, 0), dtype, {"numbers": ()}).make()
    assert (array.dtype.name, array.shape) == (dtype, (1, 1, 0))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "uint64"])
def test_digest_does_not_depend_on_byte_order(dtype):
    array = np.arange(6).astype(dtype).reshape(1, 2, 3)
    swapped = array.astype(array.dtype.newbyteorder(">"))
    assert swapped.tobytes() != array.tobytes()
    assert array_digest(swapped) == array_digest(array)


@pytest.mark.parametrize(
    ("dtype", "bits"), [("float16", 0xFE01), ("float32", 0xFFC00001), ("float64", 0xFFF8000000000001)]
)
def test_digest_does_not_depend_on_the_payload_of_nan(dtype, bits):
    other = np.array([bits], f"u{np.dtype(dtype).itemsize}").view(dtype)
    assert np.isnan(other[0])
    assert array_digest(other) == array_digest(np.array([np.nan], dtype))


def test_digest_of_bfloat16_does_not_depend_on_the_payload_of_nan():
    other = np.array([0xFFC1], np.uint16).view(ml_dtypes.bfloat16)
    assert canonical_bytes(other) == canonical_bytes(np.array([np.nan], ml_dtypes.bfloat16))


def test_digest_does_not_depend_on_the_layout_in_memory():
    array = np.arange(12.0).reshape(3, 4)
    assert array_digest(array.T.copy()) == array_digest(array.T)


@pytest.mark.parametrize(
    "other",
    [
        np.zeros(3, np.float64),
        np.zeros((3, 1), np.float32),
        np.array([0, 0, -0.0], np.float32),
        np.zeros(2, np.float32),
    ],
)
def test_digest_tells_dtype_shape_and_the_sign_of_zero(other):
    assert array_digest(other) != array_digest(np.zeros(3, np.float32))


def test_digest_of_two_arrays_depends_on_their_order():
    one, two = np.zeros(2), np.ones(2)
    assert array_digest(one, two) != array_digest(two, one)


def test_literal_keeps_the_sign_of_zero(tmp_path):
    array = one(tmp_path, "id: a, x: {values: [[[-0.0, 0.0]]]}, window: 1").inputs["x"].make()
    assert np.signbit(array).ravel().tolist() == [True, False]
