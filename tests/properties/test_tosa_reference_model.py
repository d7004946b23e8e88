"""Convolutions of int8 against the reference model of TOSA, a second implementation.

See tests/support/tosa_calls.py for CONFORMANCE_TOSA_PYTHON.
"""

import itertools

import numpy as np
import pytest

import reference
from tests.support.tosa_calls import PYTHON, channels_last, check, convolution, flat

pytestmark = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_TOSA_PYTHON is not set")

ZEROS = [(0, 0), (-7, 5), (127, -128)]
GEOMETRIES = [
    ((6, 5), {"stride": (1, 1), "dilation": (1, 1), "padding": ((0, 0), (0, 0))}),
    ((6, 6), {"stride": (1, 2), "dilation": (2, 1), "padding": ((1, 1), (1, 0))}),
    ((9, 7), {"stride": (2, 2), "dilation": (1, 1), "padding": ((1, 0), (2, 0))}),
]


def numbers(shape, seed):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def attributes(geometry):
    return [flat(geometry["padding"]), [*geometry["stride"]], [*geometry["dilation"]]]


def zero_points(zeros):
    return dict(zip(("x_zero_point", "w_zero_point"), zeros, strict=True))


def test_sums_of_convolutions_are_those_of_tosa(tmp_path):
    calls, expected, kernel = [], [], numbers((4, 3, 2, 3), 1)
    for (size, geometry), zeros in itertools.product(GEOMETRIES, ZEROS):
        x = numbers((2, 3, *size), 0)
        expected.append(reference.conv_integer(x, kernel, **geometry, **zero_points(zeros)))
        operands = x, channels_last(kernel), zeros
        calls.append(convolution("CONV2D", operands, attributes(geometry), expected[-1].shape))
    check(calls, expected, tmp_path)


def test_sums_in_volumes_are_those_of_tosa(tmp_path):
    calls, expected, kernel, depth = [], [], numbers((4, 3, 2, 2, 3), 1), ((1, 1, (0, 0)), (2, 2, (1, 1)))
    for (size, plane), zeros, (stride, dilation, pad) in itertools.product(GEOMETRIES, ZEROS, depth):
        x, further = numbers((2, 3, 5, *size), 0), {"stride": stride, "dilation": dilation, "padding": pad}
        geometry = {name: (further[name], *plane[name]) for name in plane}
        expected.append(reference.conv_integer(x, kernel, **geometry, **zero_points(zeros)))
        operands = x, channels_last(kernel), zeros
        calls.append(convolution("CONV3D", operands, attributes(geometry), expected[-1].shape))
    check(calls, expected, tmp_path)


def test_sums_of_depthwise_convolutions_are_those_of_tosa(tmp_path):
    calls, expected = [], []
    for (size, geometry), zeros, multiplier in itertools.product(GEOMETRIES, ZEROS, (1, 2)):
        x, kernel = numbers((2, 3, *size), 0), numbers((3 * multiplier, 1, 2, 3), 1)
        expected.append(reference.conv_integer(x, kernel, **geometry, groups=3, **zero_points(zeros)))
        operands = x, kernel.reshape(3, multiplier, 2, 3).transpose(2, 3, 0, 1), zeros
        calls.append(convolution("DEPTHWISE_CONV2D", operands, attributes(geometry), expected[-1].shape))
    check(calls, expected, tmp_path)


@pytest.mark.parametrize("zeros", ZEROS)
def test_sums_of_transposed_convolutions_are_those_of_tosa(zeros, tmp_path):
    x, kernel, calls, expected = numbers((2, 3, 4, 3), 0), numbers((3, 4, 2, 3), 1), [], []
    wide, weights = x.astype(np.int32) - zeros[0], kernel.astype(np.int32) - zeros[1]
    for stride, padding, further in [
        ((1, 1), ((0, 0), (0, 0)), (0, 0)),
        ((2, 3), ((1, 0), (1, 2)), (0, 2)),
        ((3, 1), ((-2, 1), (0, -1)), (2, 0)),
    ]:
        given = {"stride": stride, "padding": padding, "output_padding": further}
        expected.append(reference.conv_transpose(wide, weights, **given))
        ends = [[-before, more - after] for (before, after), more in zip(padding, further, strict=True)]
        operands = x, kernel.transpose(1, 2, 3, 0), zeros
        calls.append(convolution("TRANSPOSE_CONV2D", operands, [flat(ends), [*stride]], expected[-1].shape))
    check(calls, expected, tmp_path)
