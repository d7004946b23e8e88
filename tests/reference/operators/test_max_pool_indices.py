"""Tests of reference.operators.max_pool_indices."""

import numpy as np

import reference


def test_terms_of_maxima_with_indices_are_the_real_cells():
    for exact in reference.OPERATORS["max_pool_with_indices"](np.ones((1, 1, 3), np.float32), 2, padding=1):
        assert exact.terms.tolist() == [[[1, 2]]]


def test_values_put_nowhere_have_no_terms():
    x, grad = np.ones((1, 2, 3)), np.ones((1, 2, 1))
    for indices, expected in [([-1, -1, 0], [0, 0, 1]), ([0, -1, -1], [1, 0, 0])]:
        exact = reference.OPERATORS["max_unpool_grad"](grad, x, np.array([[indices] * 2]), 1)
        assert exact.terms.tolist() == exact.value.tolist() == [[expected] * 2]


def test_indices_count_in_the_unpadded_plane_row_major():
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    values, indices = reference.max_pool_with_indices(x, 2, padding=(1, 0))
    assert values[0, 1].tolist() == [[13, 15], [21, 23]]
    assert indices[0, 1].tolist() == [[1, 3], [9, 11]]
    assert indices.dtype == np.int64


def plane(values, dtype=np.float32):
    return np.array(values, dtype)[None, None]


def test_the_first_of_equals_has_the_index():
    assert reference.max_pool_with_indices(plane([[1, 2, 2], [2, 0, 2]]), (2, 3))[1].tolist() == [[[[1]]]]
    assert reference.max_pool_with_indices(plane([[1, 0], [2, 2]]), 2)[1].tolist() == [[[[2]]]]
    assert reference.max_pool_with_indices(plane([-0.0, 0.0, 0.0]), 3)[1].tolist() == [[[1]]]
    assert reference.max_pool_with_indices(plane([-np.inf, -np.inf]), 2)[1].tolist() == [[[0]]]
    assert reference.max_pool_with_indices(plane([np.inf, np.nan, -np.nan, 1]), 4)[1].tolist() == [[[1]]]
    assert reference.max_pool_with_indices(plane([-128, -128], "int8"), 2)[1].tolist() == [[[0]]]


def test_a_window_without_a_cell_has_the_index_minus_one():
    values, indices = reference.max_pool_with_indices(plane([5.0]), 1, padding=1)
    assert values.tolist() == [[[-np.inf, 5, -np.inf]]]
    assert indices.tolist() == [[[-1, 0, -1]]]


def test_indices_count_cropped_cells_too():
    values, indices = reference.max_pool_with_indices(plane([9, 1, 2, 3, 9]), 2, stride=1, padding=-1)
    assert values.tolist() == [[[2, 3]]]
    assert indices.tolist() == [[[2, 3]]]


def test_values_go_back_to_their_indices():
    x = plane([[1, 5, 2, 0], [3, 4, 8, 1]])
    values, indices = reference.max_pool_with_indices(x, 2)
    assert reference.max_unpool(values, indices, (2, 4)).tolist() == [[[[0, 5, 0, 0], [0, 0, 8, 0]]]]


def test_of_values_with_one_index_the_last_stays_and_minus_one_goes_nowhere():
    indices = np.array([[[1, 1, -1]]])
    assert reference.max_unpool(plane([7, 8, 9]), indices, 3).tolist() == [[[0, 8, 0]]]
    assert reference.max_unpool(plane([7, 8, 9], "uint8"), indices.astype("int8"), 2).dtype == np.uint8
