"""The further operators too take no more than their input, their output and a little.

HYPOTHESIS_PROFILE=nightly measures more dtypes and shapes.
"""

import os

import ml_dtypes
import numpy as np
import pytest

import reference
from tests.properties.test_memory import ALLOWED, noise, peak

SHAPE = (8, 4, 512, 1024)

CALLS = {
    "lp_pool": lambda x: reference.lp_pool(x, 3, stride=1),
    "max_pool_with_indices": lambda x: reference.max_pool_with_indices(x, 2)[1],
    "max_unpool": lambda x: reference.max_unpool(x, np.broadcast_to(np.int32(0), SHAPE), 1024),
    "global_max_pool": reference.global_max_pool,
    "global_avg_pool": reference.global_avg_pool,
    "adaptive_max_pool": lambda x: reference.adaptive_max_pool(x, (300, 7)),
    "adaptive_avg_pool": lambda x: reference.adaptive_avg_pool(x, (300, 7)),
    "fractional_max_pool": lambda x: reference.fractional_max_pool(x, 2, 200, np.full((8, 4, 2), 0.5)),
    "stochastic_pool": lambda x: reference.stochastic_pool(x, 3, np.broadcast_to(0.5, (8, 4, 170, 341))),
    "stochastic_pool_probabilities": lambda x: reference.stochastic_pool_probabilities(x, (2, 4)),
    "pad": lambda x: reference.pad(x, [(3, -2), (5, 700)], mode="wrap"),
}

LINES, SQUARES, CUBES = (16, 1, 2**20), (-1, 1, 1024, 1024), (16, 1, 64, 128, 128)
ONE_IMAGE, BYTES, HALVES = (1, 16, 1024, 1024), (4, 1, 2048, 2048), (8, 1, 1024, 2048)
float16, bfloat16, float32, float64, uint8 = np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.uint8


def fractional(x, output):
    return reference.fractional_max_pool(x, 2, output, np.full((*x.shape[:2], x.ndim - 2), 0.5))


def stochastic(x, **parameters):
    output = reference.Windows.of(x.shape[2:], 3, **parameters).output
    return reference.stochastic_pool(x, 3, np.broadcast_to(0.5, (*x.shape[:2], *output)), **parameters)


def unpooled(x):
    return reference.max_unpool(x, np.broadcast_to(np.int32(0), x.shape), x.shape[2:])


def call(name, *arguments, **parameters):
    return lambda x: getattr(reference, name)(x, *arguments, **parameters)


def of_dtypes(case, operation, *dtypes):
    return {f"{case}, {dtype.__name__}": (operation, SQUARES, dtype) for dtype in dtypes}


CROPPED, GONE_ON = [(-3, 500), (700, -5)], 2**20
MODES = ["edge", "reflect", "symmetric", "wrap"]

# (operation, shape of x, dtype). The squares are 64 MB of planes, of up to 4 MB each.
ORDINARY = {
    **{f"pad {mode}, cropped": (call("pad", CROPPED, mode=mode), SQUARES, float32) for mode in MODES},
    "pad of lines": (call("pad", GONE_ON, mode="symmetric"), LINES, float32),
    "pad of cubes": (call("pad", 3, mode="wrap"), CUBES, float32),
    **of_dtypes("pad", call("pad", 300, mode="wrap"), float64, np.bool_),
    "indices": (call("max_pool_with_indices", 3, stride=1, padding=1), SQUARES, float64),
    "indices of whole planes, uint8": (call("max_pool_with_indices", 2048), BYTES, uint8),
    "norm, p = 3": (call("lp_pool", 3, p=3), SQUARES, float64),
    "norm, p = 2.5": (call("lp_pool", 2, stride=128, p=2.5), SQUARES, float32),
    "norm of whole planes": (call("lp_pool", (512, 1024)), (8, 1, 512, 1024), float64),
    "softmax": (call("softmax_pool", 2, stride=64, padding=1, dilation=8, rounding="ceil"), SQUARES, float32),
    "averages of many bins": (call("adaptive_avg_pool", 700), SQUARES, float32),
    "averages of many bins of lines": (call("adaptive_avg_pool", 2**19), LINES, float32),
    "fractional, float16": (lambda x: fractional(x, 500), SQUARES, float16),
    "stochastic, stride 1": (lambda x: stochastic(x, stride=1), SQUARES, float64),
    "unpool, uint8": (unpooled, SQUARES, uint8),
    "dilated": (call("avg_pool", 3, stride=2, padding=1, dilation=2, rounding="ceil"), SQUARES, float32),
    "dilated lines": (call("max_pool", 100, stride=1, dilation=100), LINES, float32),
    "full, uint8": (call("min_pool", 7, stride=1, padding=9, dilation=3, rounding="full"), SQUARES, uint8),
    "cubes": (call("max_pool", 3, stride=1, padding=1), CUBES, float32),
}

NIGHTLY = {
    **of_dtypes("pad", call("pad", 300, mode="wrap"), float16, uint8),
    "norm, p = 1": (call("lp_pool", 3, p=1), SQUARES, float32),
    "stochastic of one image": (stochastic, ONE_IMAGE, float32),
    "indices, float16": (call("max_pool_with_indices", 2), SQUARES, float16),
    "averages of whole planes, bfloat16": (call("avg_pool", (1024, 2048)), HALVES, bfloat16),
    **{
        f"norm of whole planes, p = {p}, float16": (call("lp_pool", (1024, 2048), p=p), HALVES, float16) for p in (2, 7)
    },
    **{f"pad {mode} far": (call("pad", 1000, mode=mode), SQUARES, float32) for mode in MODES},
    **{f"pad {mode} of lines": (call("pad", GONE_ON, mode=mode), LINES, float32) for mode in MODES},
    "pad, bfloat16": (call("pad", 300, mode="symmetric"), SQUARES, bfloat16),
    "indices, uint8": (call("max_pool_with_indices", 3, stride=1, padding=1), SQUARES, uint8),
    "indices, bfloat16": (call("max_pool_with_indices", 3, stride=1, padding=1), SQUARES, bfloat16),
    "indices of large windows": (call("max_pool_with_indices", (256, 3), stride=1), SQUARES, float32),
    "indices of lines": (call("max_pool_with_indices", 3, stride=1, padding=1), LINES, float32),
    "indices of cubes": (call("max_pool_with_indices", 3, stride=1, padding=1), CUBES, float32),
    **of_dtypes("norm, p = 2", call("lp_pool", 3, p=2), float16, bfloat16),
    **of_dtypes("norm, p = 3", call("lp_pool", 3, p=3), float16, bfloat16),
    "norm, p = 2.5, float16": (call("lp_pool", 2, stride=128, p=2.5), SQUARES, float16),
    "norm of lines": (call("lp_pool", 100, stride=1, dilation=100), LINES, float32),
    "norm of cubes": (call("lp_pool", 3, stride=1, padding=1), CUBES, float32),
    "norm of large windows": (call("lp_pool", (256, 1), stride=1), SQUARES, float32),
    **of_dtypes("softmax", call("softmax_pool", 2, stride=64), float16, bfloat16, float64),
    "softmax of cubes": (call("softmax_pool", 2, stride=32), CUBES, float32),
    **{f"averages of {m} bins": (call("adaptive_avg_pool", m), SQUARES, float32) for m in (512, 1023, (1500, 1025))},
    "averages of many bins, float64": (call("adaptive_avg_pool", (500, 999)), (8, 1, 512, 1024), float64),
    "averages of many bins of cubes": (call("adaptive_avg_pool", (63, 100, 127)), CUBES, float32),
    **of_dtypes("maxima of bins", call("adaptive_max_pool", 1023), float16, bfloat16, uint8),
    **of_dtypes("fractional", lambda x: fractional(x, 500), bfloat16, float64, uint8),
    **of_dtypes("stochastic", lambda x: stochastic(x, stride=1), float16, bfloat16),
    "stochastic of lines": (lambda x: stochastic(x, stride=1), LINES, float32),
    "probabilities, float16": (call("stochastic_pool_probabilities", (2, 4)), SQUARES, float16),
    "dilated, float16": (call("avg_pool", 3, stride=2, padding=1, dilation=2, rounding="ceil"), SQUARES, float16),
    "averages of half planes, float16": (call("avg_pool", (512, 1), stride=1), HALVES, float16),
    "norm of half planes, bfloat16": (call("lp_pool", (512, 1), stride=1), HALVES, bfloat16),
    "averages of lines": (call("avg_pool", 100, stride=1, dilation=100), LINES, float32),
    "maxima of whole planes, float16": (call("max_pool", (1024, 2048)), HALVES, float16),
}

CASES = ORDINARY | (NIGHTLY if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else {})


@pytest.mark.parametrize("name", CALLS)
def test_an_operator_takes_its_output_and_a_little(name):
    x = noise(SHAPE, np.float32)
    used, result = peak(lambda: CALLS[name](x))
    assert used <= result.nbytes + ALLOWED


def planes(shape, dtype):
    """Noise of some shape; as many planes as make 64 MB in place of −1."""
    images = 2**26 // (np.prod(shape[1:]) * np.dtype(dtype).itemsize)
    return noise((images, *shape[1:]) if shape[0] < 0 else shape, dtype)


@pytest.mark.parametrize("case", CASES)
def test_every_operator_mode_dtype_and_rank_takes_its_output_and_a_little(case):
    operation, shape, dtype = CASES[case]
    x = planes(shape, dtype)
    used, result = peak(lambda: operation(x))
    assert used <= sum(part.nbytes for part in (result if isinstance(result, tuple) else (result,))) + ALLOWED
