"""Tests of reference.arithmetic.ordering."""

import ml_dtypes
import numpy as np
import pytest

from reference.arithmetic.ordering import DtypeOrder, make_nan_canonical, with_canonical_nan


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float16, np.float32])
@pytest.mark.parametrize("descending", [False, True])
def test_keys_are_in_order_and_values_come_back(dtype, descending):
    order, x = DtypeOrder(np.dtype(dtype), descending), np.arange(5).astype(dtype)
    keys = order.keys(x).tolist()
    assert keys == sorted(keys, reverse=descending)
    assert order.values(order.keys(x)).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_every_nan_becomes_the_canonical_one_wherever_it_stands(dtype, monkeypatch):
    monkeypatch.setattr("reference.arithmetic.ordering.COMPARISON_CHUNK_ELEMENTS", 4)
    other, canonical = -np.array(np.nan, dtype), np.array(np.nan, dtype)
    for view in (slice(None), slice(8)):
        x = np.zeros((3, 16), dtype)[:, view]
        x[1, 6] = other
        make_nan_canonical(x)
        assert x[1, 6].tobytes() == canonical.tobytes()
        assert np.isnan(x).sum() == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_an_array_with_another_nan_is_copied(dtype):
    other = np.array([1, -np.array(np.nan, dtype), 2], dtype)
    got, before = with_canonical_nan(other), other.tobytes()
    assert got[1].tobytes() == np.array(np.nan, dtype).tobytes() != other[1].tobytes()
    assert other.tobytes() == before
    assert with_canonical_nan(other[::2]).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, bool])
def test_an_array_without_nan_is_not_copied(dtype):
    x = np.array([1, 0, 1], dtype)
    assert with_canonical_nan(x) is x
