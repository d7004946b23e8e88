"""The gradients of a convolution towards its input and its kernel, on whole numbers."""

import numpy as np

from reference.geometry.adjoints import input_gradient, kernel_gradient
from reference.geometry.windows import Windows

ROW = Windows.of((4,), (2,), 1, 0, 1)
STRIDED = Windows.of((5,), (2,), 2, (((0, 1)),), 2)


def row(*values):
    return np.array([[values]], np.float64)


def test_each_input_cell_adds_gradients_times_the_weights_that_it_met():
    assert input_gradient(row(1, 10, 100), row(2, 3), ROW, 1).tolist() == [[[2, 23, 230, 300]]]


def test_each_weight_adds_gradients_times_the_cells_that_it_met():
    assert kernel_gradient(row(1, 10, 100), row(2, 3, 5, 7), ROW, 1).tolist() == [[[532, 753]]]


def test_cells_between_dilated_and_strided_windows_have_no_gradient():
    assert STRIDED.output == (2,)
    assert input_gradient(row(1, 10), row(2, 3), STRIDED, 1).tolist() == [[[2, 0, 23, 0, 30]]]


def test_groups_do_not_mix():
    grad = np.array([[[1, 1, 1], [10, 10, 10]]], np.float64)
    kernel = np.array([[[2, 3]], [[5, 7]]], np.float64)
    assert input_gradient(grad, kernel, ROW, 2).tolist() == [[[2, 5, 5, 3], [50, 120, 120, 70]]]
    x = np.array([[[1, 2, 3, 4], [0, 0, 0, 1]]], np.float64)
    assert kernel_gradient(grad, x, ROW, 2).tolist() == [[[6, 9]], [[0, 10]]]
