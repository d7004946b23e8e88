"""The module `columns` of the adapter for JAX."""

from conformance.adapters.jax.columns import unfold
from conformance.cases.steps import Step

WINDOWS = {"window": (2, 3), "stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}


def step(operator="unfold", shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {**WINDOWS, **parameters})


def test_patches_have_the_order_crd_and_any_padding():
    padded = unfold(step(order="crd", padding=((1, 0), (0, 2))))
    assert padded == "lax.conv_general_dilated_patches(x, (2, 3), (1, 2), ((1, 0), (0, 2)))"
    assert "the order crd" in unfold(step(order="dcr")).reason
