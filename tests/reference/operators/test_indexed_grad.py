"""Tests of reference.operators.indexed_grad."""

import numpy as np

import reference


def row(values, dtype=np.float32):
    return np.array([[values]]).astype(dtype)


def listed(x):
    assert x.shape[:2] == (1, 1)
    return x[0, 0].astype(np.float64).tolist()


def test_gradients_through_indices_go_back_where_the_values_came_from():
    x = row([1, 5, 2, 4])
    _, indices = reference.max_pool_with_indices(x, 2)
    assert listed(reference.max_pool_with_indices_grad(row([7, 8]), x, 2)) == [0, 7, 0, 8]
    assert listed(reference.max_unpool_grad(row([1, 2, 3, 4]), row([5, 4]), indices, 4)) == [2, 4]


def test_a_value_that_another_replaced_is_given_nothing():
    indices = np.array([[[2, 0, 2, -1]]])
    assert listed(reference.max_unpool_grad(row([1, 2, 3]), row([9, 9, 9, 9]), indices, 3)) == [0, 1, 3, 0]


def test_copies_give_their_gradients_to_what_they_copy():
    grad = row([1, 2, 4, 8, 16, 32, 64])
    x = row([0, 0, 0])
    for mode, expected in [
        ("constant", [4, 8, 16]),
        ("edge", [7, 8, 112]),
        ("reflect", [4 + 64, 8 + 2 + 32, 16 + 1]),
        ("symmetric", [4 + 2, 8 + 1 + 64, 16 + 32]),
        ("wrap", [4 + 32, 8 + 1 + 64, 16 + 2]),
    ]:
        assert listed(reference.pad_grad(grad, x, 2, mode=mode)) == expected


def test_cropped_cells_are_given_nothing():
    assert listed(reference.pad_grad(row([1, 2, 3]), row([0] * 4), [(-2, 1)])) == [0, 0, 1, 2]
    assert listed(reference.pad_grad(row([1, 2, 3]), row([0] * 4), [(-2, 1)], mode="edge")) == [0, 0, 1, 5]
