"""Tests of reference.operators.adaptive_pooling."""

import numpy as np

import reference


def plane(values, dtype=np.float32):
    return np.array(values, dtype)[None, None]


def test_bins_overlap_where_the_output_does_not_divide_the_input():
    x = plane([1, 2, 3, 4, 5])
    assert reference.adaptive_max_pool(x, 3).tolist() == [[[2, 4, 5]]]
    assert reference.adaptive_avg_pool(x, 3).tolist() == [[[1.5, 3, 4.5]]]
    assert reference.adaptive_avg_pool(x, 2).tolist() == [[[2, 4]]]
    assert reference.adaptive_max_pool(x, 7).tolist() == [[[1, 2, 3, 3, 4, 5, 5]]]


def test_none_keeps_an_axis():
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    assert reference.adaptive_max_pool(x, (None, 1)).tolist() == [[[[2], [5]]]]
    assert reference.adaptive_avg_pool(x, None).tolist() == x.tolist()


def test_global_pooling_leaves_one_cell_an_axis():
    x = np.arange(12, dtype=np.float64).reshape(1, 2, 2, 3)
    assert reference.global_max_pool(x).tolist() == [[[[5]], [[11]]]]
    assert reference.global_avg_pool(x).tolist() == [[[[2.5]], [[8.5]]]]
    assert reference.global_avg_pool(plane([-1, -2, -4], "int8")).tolist() == [[[-2]]]


def one(x):
    assert x.size == 1
    return x.ravel()[0]


def test_an_empty_axis_has_empty_bins():
    x = np.zeros((1, 1, 0, 2), np.float32)
    assert reference.global_max_pool(x).tolist() == [[[[-np.inf]]]]
    assert np.isnan(one(reference.global_avg_pool(x)))
    assert reference.adaptive_max_pool(x, (2, 1)).tolist() == [[[[-np.inf], [-np.inf]]]]
    assert one(reference.global_avg_pool(x.astype(np.int8))) == 0
    assert reference.adaptive_avg_pool(x, None).shape == x.shape
