"""Tests of reference.geometry.columns."""

import numpy as np
import pytest

from reference import Windows
from reference.geometry.columns import window_columns


@pytest.mark.parametrize("padding", [0, 2, [(-1, 0)], [(0, -1)], [(-2, 1)], [(1, -2)], [(3, -1)]])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("rounding", ["floor", "full"])
def test_columns_hold_the_real_cells_of_each_window_and_zeros(padding, stride, rounding):
    x = np.arange(1.0, 13).reshape(1, 2, 6)
    windows = Windows.of((6,), 2, stride, padding, rounding=rounding)
    found = window_columns(x, windows, 1)[0, 0].T.reshape(-1, 2, 2)
    for o, window in enumerate(found):
        (cells,), (inputs,) = windows.inside((o,))
        expected = np.zeros((2, 2))
        expected[:, cells] = x[0, :, inputs]
        assert window.tolist() == expected.tolist()
