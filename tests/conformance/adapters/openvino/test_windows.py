"""The module `windows` of OpenVINO."""

from tests.conformance.adapters.openvino.programs import ROW, lines


def test_min_pool_is_negated_max_pool():
    assert lines("min_pool", x=ROW, window=2, stride=2) == [
        "x = ops.negative(x)",
        "x = ops.max_pool(x, [2], [1], [0], [0], [2]).output(0)",
        "x = ops.negative(x)",
    ]


def test_lp_pool_gathers_the_elements_of_each_window():
    assert lines("lp_pool", x=ROW, window=2, stride=2, padding=1, p=1) == [
        'x = ops.pad(x, [0, 0, 1], [0, 0, 1], "constant")',
        "plane = np.arange(8).reshape(8,)",
        "cells = np.lib.stride_tricks.sliding_window_view(plane, (2,))[::2].reshape(4, 2)",
        "windows = ops.gather(ops.reshape(x, [1, 2, -1], False), cells, 2)",
        "x = ops.reshape(ops.reduce_l1(windows, 3), [1, 2, 4], False)",
    ]
