"""The module `blocks` of the built-in backend: the lines are run."""

import numpy as np
import pytest

import reference
from conformance.adapters.numpy import blocks
from conformance.cases.steps import Step


def run(lines, **arrays):
    names = {"np": np, **arrays}
    exec("\n".join(lines), names)  # noqa: S102 - lines of the adapter
    return names["x"]


@pytest.mark.parametrize("order", ["dcr", "crd"])
@pytest.mark.parametrize("extents", [(4,), (4, 2), (2, 4, 2)])
@pytest.mark.parametrize("name", ["depth_to_space", "space_to_depth"])
def test_the_loops_agree_with_the_reference(name, extents, order):
    x = np.arange(2 * 16 * np.prod(extents), dtype=np.float32).reshape(2, 16, *extents)
    step = Step(name, x.shape, "float32", {"block": 2, "order": order})
    expected = getattr(reference, name)(x, 2, order=order)
    np.testing.assert_array_equal(run(getattr(blocks, name)(step), x=x), expected)
    gradient = getattr(blocks, f"{name}_gradient")(step)
    np.testing.assert_array_equal(run(gradient, x=x, grad=expected), x)
