"""The module `morphology` of the adapter for NumPy."""

import numpy as np
import pytest

import reference
from conformance.adapters.numpy.morphology import dilation2d, dilation2d_gradient
from tests.support.example_steps import dilation_step

CALLS = [
    {},
    {"stride": (2, 3)},
    {"padding": ((1, 0), (2, 1)), "dilation": (2, 1)},
    {"padding": ((0, 0), (8, 8)), "dilation": (1, 7), "stride": (1, 2)},
]


def computed(lines, **arrays):
    names = {"np": np, **arrays}
    exec("\n".join(lines), names)  # noqa: S102 - the lines of the loops
    return names["x"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8"])
def test_loops_agree_with_the_reference(call, dtype):
    generator = np.random.default_rng(13)
    x, kernel = (generator.integers(0, 100, shape).astype(dtype) for shape in ((2, 3, 5, 6), (3, 1, 2, 3)))
    found = computed(dilation2d(dilation_step(x.shape, (2, 3), dtype, **call)), x=x, kernel=kernel)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, reference.dilation2d(x, kernel, **call))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("output", ["x", "kernel"])
def test_gradients_of_loops_agree_with_the_reference(call, output):
    generator = np.random.default_rng(17)
    x, kernel = (
        generator.integers(-2, 3, (2, 3, 5, 6)).astype(float),
        generator.integers(-2, 3, (3, 1, 2, 3)).astype(float),
    )
    grad = np.ones(reference.dilation2d(x, kernel, **call).shape)
    step = dilation_step(x.shape, (2, 3), "float64", output=output, **call)
    found = computed(dilation2d_gradient(step), x=x, kernel=kernel, grad=grad)
    expected = dict(zip(("x", "kernel"), reference.dilation2d_grad(grad, x, kernel, **call), strict=True))
    np.testing.assert_array_equal(found, expected[output])
