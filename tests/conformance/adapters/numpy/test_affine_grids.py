"""The module `affine_grids` of the built-in backend."""

from fractions import Fraction

import numpy as np
import pytest

import reference
from conformance.adapters.numpy.affine_grids import affine_grid, affine_grid_gradient
from conformance.cases.steps import Step


def run(lines, **arrays):
    names = {"np": np, "Fraction": Fraction, **arrays}
    exec("\n".join(lines), names)  # noqa: S102 - the lines of the loops
    return names["x"]


@pytest.mark.parametrize("size", [(2, 3), (4, 1), (1, 1), (2, 3, 4), (1, 3, 1)])
@pytest.mark.parametrize("align", [False, True])
def test_loops_agree_with_the_reference(size, align):
    rng, axes = np.random.default_rng(1), len(size)
    x, grad = rng.standard_normal((2, axes, axes + 1)), rng.standard_normal((2, *size, axes))
    step = Step("affine_grid", x.shape, "float64", {"grid_size": size, "align_corners": align})
    expected = reference.affine_grid(x, size, align_corners=align)
    np.testing.assert_allclose(run(affine_grid(step), x=x), expected, rtol=1e-13, atol=1e-15)
    expected = reference.affine_grid_grad(grad, x, size, align_corners=align)
    np.testing.assert_allclose(run(affine_grid_gradient(step), x=x, grad=grad), expected, rtol=1e-13, atol=1e-14)
