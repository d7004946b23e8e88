"""The module `normalization` of the adapter for NumPy."""

import numpy as np
import pytest

import reference
from conformance.adapters.numpy.normalization import lrn, lrn_gradient
from conformance.cases.steps import Step

NUMBERS = {"alpha": 0.5, "beta": 0.75, "k": 2}


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("over_size", [True, False])
def test_loops_agree_with_the_reference(size, side, over_size):
    x, grad = np.random.default_rng(size).standard_normal((2, 2, 5, 3))
    parameters = {**NUMBERS, "local_size": size, "alpha_over_size": over_size, "extra_channel": side}
    step = Step("lrn", x.shape, "float64", parameters)
    names = {"np": np, "x": x, "grad": grad}
    exec("\n".join(lrn(step)), names)  # noqa: S102 - the lines of the loops
    np.testing.assert_allclose(names["x"], reference.lrn(x, **parameters), rtol=1e-14)
    names = {"np": np, "x": x, "grad": grad}
    exec("\n".join(lrn_gradient(step)), names)  # noqa: S102 - the lines of the loops
    np.testing.assert_allclose(names["x"], reference.lrn_grad(grad, x, **parameters), rtol=1e-12, atol=1e-14)
