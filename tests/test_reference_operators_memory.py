"""The further operators too take no more than their input, their output and a little."""

import numpy as np
import pytest
from test_reference_memory import ALLOWED, noise, peak

import reference

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


@pytest.mark.parametrize("name", CALLS)
def test_an_operator_takes_its_output_and_a_little(name):
    x = noise(SHAPE, np.float32)
    used, result = peak(lambda: CALLS[name](x))
    assert used <= result.nbytes + ALLOWED
