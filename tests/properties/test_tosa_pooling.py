"""Pooling of int8 against the reference model of TOSA.

AVG_POOL2D multiplies the sum S of n cells by M / 2 ** s, which is above 1/n by at most 1 / (2 ** 30 · n), and rounds
half up. So a tie is rounded away from zero, and for |S| < 2 ** 29 no other result changes. See
tests/support/tosa_calls.py for CONFORMANCE_TOSA_PYTHON.
"""

import itertools

import numpy as np
import pytest

import reference
from tests.support.tosa_calls import PYTHON, Call, channels_last, check, flat, one_number, results

pytestmark = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_TOSA_PYTHON is not set")


def numbers(shape):
    return np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)


def test_maxima_are_those_of_tosa(tmp_path):
    calls, expected = [], []
    for size, window, stride, padding in [
        ((6, 5), (2, 3), (1, 1), ((0, 0), (0, 0))),
        ((7, 6), (3, 2), (2, 2), ((1, 1), (0, 0))),
        ((4, 5), (3, 3), (1, 2), ((2, 1), (2, 2))),
    ]:
        x = numbers((2, 3, *size))
        x[:, 0] = -128
        expected.append(reference.max_pool(x, window, stride=stride, padding=padding))
        given = [[*window], [*stride], flat(padding), "PROPAGATE"]
        calls.append(Call("MAX_POOL2D", [channels_last(x)], given, expected[-1].shape, "int8"))
    check(calls, expected, tmp_path)


def averaging(totals, window, zero):
    """Return AVG_POOL2D of one window for each sum of the differences to the zero point, and x: (sums, 1, *window)."""
    cells = window[0] * window[1]
    low, more = np.divmod(np.array(totals)[:, None], cells)
    x = (low + (np.arange(cells) < more) + zero).astype(np.int8).reshape(-1, 1, *window)
    operands = [channels_last(x), one_number(zero), one_number(zero)]
    return Call("AVG_POOL2D", operands, [[*window], [1, 1], [0] * 4, "INT32"], (len(totals), 1, 1, 1), "int8"), x


def average(x, zero, formula="quotient"):
    return reference.quantized_avg_pool(x, x.shape[2:], x_zero_point=zero, round_mode="half_away", formula=formula)


def test_averages_are_rounded_half_away_from_zero_for_every_sum(tmp_path):
    calls, expected = [], []
    for cells, (zero, sign) in itertools.product(range(1, 17), [(-128, 1), (127, -1)]):
        call, x = averaging(np.arange(255 * cells + 1) * sign, (1, cells), zero)
        calls.append(call)
        expected.append(average(x, zero))
    check(calls, expected, tmp_path)


def test_averages_of_padded_windows_are_those_of_tosa(tmp_path):
    x, calls, expected = numbers((2, 3, 7, 6)), [], []
    for zero in (0, -7, 127):
        for window, stride, padding in [((3, 2), (2, 2), ((1, 1), (0, 0))), ((3, 3), (1, 1), ((2, 1), (2, 2)))]:
            rule = {"x_zero_point": zero, "round_mode": "half_away"}
            expected.append(reference.quantized_avg_pool(x, window, stride=stride, padding=padding, **rule))
            attributes = [[*window], [*stride], flat(padding), "INT32"]
            operands = [channels_last(x), one_number(zero), one_number(zero)]
            calls.append(Call("AVG_POOL2D", operands, attributes, expected[-1].shape, "int8"))
    check(calls, expected, tmp_path)


def test_averages_of_float32_differ_at_a_sum_of_23_binary_digits(tmp_path):
    """S / n is 128.5 − 1/131082, which float32 rounds to 128.5. TOSA gives 128, the reference 129."""
    window, zeros, calls, x = (21, 3121), ((-128, 1), (127, -1)), [], []
    for (zero, sign), total in itertools.product(zeros, (8_422_017, 8_422_018)):
        for one, of in zip(averaging([sign * total], window, zero), (calls, x), strict=True):
            of.append(one)
    assert [int(y[0, 0, 0, 0]) for y in results(calls, tmp_path)] == [0, 0, -1, -1]
    assert [int(average(one, zero).item()) for one, zero in zip(x, (-128, -128, 127, 127), strict=True)] == [
        0,
        1,
        -1,
        -2,
    ]


def test_averages_of_tosa_are_rounded_away_from_the_zero_point(tmp_path):
    """LiteRT rounds the average of x, so the two differ at a tie of different signs, with a zero point."""
    given = [(-1, -1), (-1, 0), (-1, 1), (1, 1)]
    calls, x = zip(*(averaging([total], (1, 2), zero) for total, zero in given), strict=True)
    assert [int(y[0, 0, 0, 0]) for y in results(calls, tmp_path)] == [-2, -1, 0, 2]
    raw = [average(one, zero, "quotient_plus_zero_point").item() for one, (_, zero) in zip(x, given, strict=True)]
    assert raw == [-2, -1, 1, 2]


def test_the_reciprocal_of_tosa_passes_a_tie(tmp_path):
    """For sums above 2 ** 29. S / n is 254.5 − 3/2n and 254.5 − 1/2n in the smallest such window with sides to 8192."""
    totals = (537_431_466, 537_431_467)
    calls = [averaging([total], (1503, 1405), -128)[0] for total in totals]
    assert [int(y[0, 0, 0, 0]) + 128 for y in results(calls, tmp_path)] == [254, 255]
