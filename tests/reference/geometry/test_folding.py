"""Tests of reference.geometry.folding."""

import numpy as np
import pytest

import reference
from reference import Windows
from reference.geometry.bins import Bins
from reference.geometry.folding import _fastest_pass, _plan_passes


@pytest.mark.parametrize(
    ("walk", "innermost", "expected"),
    [
        (Windows.of((9,), 2, 1), True, "_end_to_end"),
        (Windows.of((9,), 2, 4), True, "_end_to_end"),
        (Windows.of((9,), 2, 5), True, "_cell_by_cell"),
        (Windows.of((9,), 1, 2), True, "_cell_by_cell"),
        (Windows.of((9,), 2, 1), False, "_cell_by_cell"),
        (Windows.of((9,), 3, 1), False, "_cell_by_cell"),
        (Windows.of((9,), 4, 1), False, "_span_by_span"),
        (Windows.of((9,), 4, 2), False, "_cell_by_cell"),
        (Windows.of((9,), 9), True, "_window_by_window"),
        (Windows.of((10,), 9, 1), True, "_end_to_end"),
        (Windows.of((16,), 8, 8), False, "_cell_by_cell"),
        (Windows.of((17,), 9, 8), False, "_window_by_window"),
        (Bins.of((9,), 1), True, "_window_by_window"),
        (Bins.of((9,), 3), True, "_cell_by_cell"),
        (Bins.of((16,), 2), True, "_cell_by_cell"),
        (Bins.of((18,), 2), True, "_window_by_window"),
    ],
)
def test_the_way_to_fold_is_the_one_that_takes_the_least_time(walk, innermost, expected):
    assert _fastest_pass(walk, innermost).func.__name__ == expected


def test_axes_that_shrink_most_come_first_and_the_last_one_is_innermost():
    plan = _plan_passes(Windows.of((9, 9), (2, 5), 1))
    assert [(axis, outputs, way.func.__name__) for axis, outputs, way in plan] == [
        (3, 5, "_end_to_end"),
        (2, 8, "_cell_by_cell"),
    ]
    assert [axis for axis, _, _ in _plan_passes(Windows.of((9, 9), (5, 2), 1))] == [2, 3]
    assert _plan_passes(Windows.of((9, 9), 1)) == ()


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [8, 9, 10, 11])
def test_rows_of_any_length_fold_at_stride_2(dtype, size):
    x = np.arange(2 * size).reshape(1, 2, size).astype(dtype)
    assert reference.max_pool(x, 2).tolist() == x[..., 1::2].tolist()
    assert reference.max_pool(x, 3, stride=2).tolist() == x[..., 2::2].tolist()


@pytest.mark.parametrize("padding", [(-1, 0), (-1, -1), (0, -1), (1, -1), (-1, 1)])
@pytest.mark.parametrize("window", [2, 3, 4, 5, 8])
def test_folding_crops_and_pads_whichever_way_it_takes(padding, window):
    x = np.arange(36.0).reshape(1, 1, 3, 12)
    before, after = padding
    kept = np.full((3, 12 + before + after), -np.inf)
    kept[:, max(before, 0) : kept.shape[1] - max(after, 0)] = x[0, 0, :, max(-before, 0) : 12 + min(after, 0)]
    expected = np.lib.stride_tricks.sliding_window_view(kept, window, axis=1).max(-1)
    for shape, parts in [((1, window), [0, padding]), ((window, 1), [padding, 0])]:
        turned = x if shape[0] == 1 else x.swapaxes(2, 3)
        got = reference.max_pool(turned, shape, stride=1, padding=parts)
        assert (got if shape[0] == 1 else got.swapaxes(2, 3))[0, 0].tolist() == expected.tolist()
