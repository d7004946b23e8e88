"""Gradients of global and adaptive pooling."""

import numpy as np
import pytest

import reference


def row(*values):
    return np.array([[values]], np.float32)


def test_an_average_of_a_plane_gives_each_cell_the_same_share():
    x = np.zeros((1, 2, 2, 2), np.float32)
    grad = np.array([[[[8]], [[4]]]], np.float32)
    assert reference.global_avg_pool_grad(grad, x).tolist() == [[[[2, 2], [2, 2]], [[1, 1], [1, 1]]]]


def test_the_largest_value_of_a_plane_is_given_the_gradient():
    assert reference.global_max_pool_grad(row(5), row(1, 7, 2)).tolist() == [[[0, 5, 0]]]
    assert reference.global_max_pool_grad(row(6), row(7, 1, 7), ties="split").tolist() == [[[3, 0, 3]]]


def test_cells_of_two_bins_add_both_gradients():
    # Three bins of five cells: 0-1, 1-3 and 3-4.
    assert reference.adaptive_avg_pool_grad(row(2, 6, 4), row(0, 0, 0, 0, 0), 3).tolist() == [[[1, 3, 2, 4, 2]]]
    assert reference.adaptive_max_pool_grad(row(2, 6, 4), row(0, 5, 1, 4, 0), 3).tolist() == [[[0, 8, 0, 4, 0]]]


def test_gradient_of_another_shape_is_rejected():
    with pytest.raises(ValueError, match="grad has shape"):
        reference.adaptive_max_pool_grad(row(1, 2), row(1, 2, 3), 3)
