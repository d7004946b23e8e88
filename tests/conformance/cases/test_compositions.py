import itertools
import math

import numpy as np
import pytest

import reference
from conformance.cases.compositions import max_pool_from_relu, relu_maximum_channels, relu_maximum_kernels
from conformance.catalogue.describe import case_text
from conformance.judging.expected import compute_expected
from tests.support.fake_backends import one
from tests.support.run_steps import pooling_step_for, run_steps

WINDOWS = [
    window
    for rank in (1, 2, 3)
    for window in itertools.product(*[range(1, 13)] * rank)
    if math.prod(window) <= 12 and (rank < 3 or sorted(window) == list(window))
]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_convolutions_and_relu_give_the_largest_value(window):
    generator = np.random.default_rng(math.prod(window))
    size = tuple(extent + 3 for extent in window)
    x = generator.integers(-1000, 1000, (2, 1, *size)).astype(np.float64)
    step = pooling_step_for(x, window=window, stride=(2,) * len(window))
    assert np.array_equal(run_steps(max_pool_from_relu(step), x), reference.max_pool(x, window, stride=2))


@pytest.mark.parametrize(
    ("window", "numbers"),
    [((1,), [1]), ((2,), [3, 1]), ((1, 2), [3, 1]), ((2, 2), [6, 3, 1]), ((3, 3), [14, 8, 5, 3, 1]), ((3,), [5, 3, 1])],
)
def test_number_of_layers_and_channels(window, numbers):
    assert relu_maximum_channels(window) == numbers


@pytest.mark.parametrize("window", [(2, 2), (3, 3), (2, 3, 2)], ids=str)
def test_layers_fit_each_other_and_weigh_by_one(window):
    kernels = relu_maximum_kernels(window)
    assert kernels[0].shape[1:] == (1, *window)
    for before, after in itertools.pairwise(kernels):
        assert after.shape[1] == before.shape[0]
    assert set(np.concatenate([kernel.ravel() for kernel in kernels]).tolist()) == {-1, 0, 1}


def test_show_prints_the_number_of_convolutions_and_channels(tmp_path):
    text = "id: a, x: {values: arange, shape: [1, 1, 6, 6]}, window: [3, 3], via: [conv, relu]"
    case = one(tmp_path, text)
    assert "5 convolutions with 14, 8, 5, 3, 1 output channels" in case_text(case, compute_expected(case))
