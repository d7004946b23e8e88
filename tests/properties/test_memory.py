"""No operator takes more than its input, its output and a little, however large both are.

HYPOTHESIS_PROFILE=nightly measures minima too, which are computed like maxima, and more dtypes and shapes.
"""

import tracemalloc

import ml_dtypes
import numpy as np
import pytest

import reference
from tests.support.nightly import NIGHTLY

ALLOWED = 64 * 2**20

# Shapes of about 100 MB in float32, from many small planes to planes of 4 MB.
SHAPES = [(8, 64, 224, 224), (25, 1, 1048576), (25, 1, 1024, 1024), (2, 16, 28, 168, 168)]
SHAPES = SHAPES if NIGHTLY else SHAPES[:2]
POOLS = ["max_pool", "avg_pool", *(["min_pool"] if NIGHTLY else [])]
DTYPES = [np.float16, np.float64, np.uint8, *([ml_dtypes.bfloat16, np.int64] if NIGHTLY else [])]


def peak(operation):
    """Bytes at the greatest moment, the input not counted, and the result."""
    tracemalloc.start()
    try:
        result = operation()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


def noise(shape, dtype):
    """Bits of any size, made without a copy in float64."""
    bits = np.random.default_rng(1).integers(0, 2**15, shape, np.uint16)
    return bits.view(dtype) if np.dtype(dtype).itemsize == 2 else bits.astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("parameters", [{"window": 3, "stride": 1, "padding": 1}, {"window": 3, "stride": 2}])
def test_pooling_takes_its_output_and_a_little(name, shape, parameters):
    x = noise(shape, np.float32)
    used, result = peak(lambda: getattr(reference, name)(x, **parameters))
    assert used <= result.nbytes + ALLOWED


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", POOLS)
def test_every_dtype_takes_its_output_and_a_little(name, dtype):
    x = noise((4, 2, 2**11 // np.dtype(dtype).itemsize, 2**11), dtype)
    used, result = peak(lambda: getattr(reference, name)(x, 3, stride=1, padding=1))
    assert used <= result.nbytes + ALLOWED


@pytest.mark.parametrize("window", [(1024, 1024), (512, 1)])
@pytest.mark.parametrize("name", POOLS)
def test_large_windows_take_a_little(name, window):
    x = noise((8, 1, 1024, 1024), np.float32)
    used, result = peak(lambda: getattr(reference, name)(x, window, stride=1))
    assert used <= result.nbytes + ALLOWED


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_padding_takes_its_output_and_a_little(shape, mode):
    x = noise(shape, np.float32)
    used, result = peak(lambda: reference.pad(x, 2, mode=mode))
    assert used <= result.nbytes + ALLOWED


def test_convolution_works_in_blocks():
    x = noise((16, 16, 256, 256), np.float32)
    used, result = peak(lambda: reference.conv(x, np.ones((4, 16, 3, 3), np.float32), padding=1))
    assert used <= result.nbytes + ALLOWED


@pytest.mark.parametrize("name", ["avg_pool", "lp_pool"])
def test_what_is_asked_of_a_large_result_takes_sixty_four_bytes_an_element_and_a_little(name):
    exact = reference.OPERATORS[name](noise((8, 1, 1024, 1024), np.float32), 2)
    assert exact.value.size > 2**20
    used, _ = peak(exact.bound)
    assert used <= 64 * exact.value.size + ALLOWED


def test_the_measure_sees_an_array():
    used, _ = peak(lambda: np.zeros(2**24, np.uint8))
    assert 2**24 <= used < 2**24 + 2**20
