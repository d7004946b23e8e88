"""Tests of reference.arithmetic.ordering."""

import ml_dtypes
import numpy as np
import pytest

from reference.arithmetic.ordering import DtypeOrder, make_nan_canonical


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
