"""The module `blocks` of the adapter for Apache MXNet."""

from conformance.adapters.api import Unsupported
from conformance.adapters.mxnet.blocks import NO_VOLUMES, nd_blocks, recipe
from conformance.cases.steps import Step


def step(operator="depth_to_space", shape=(1, 8, 4, 6), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {"block": 2, **parameters})


def test_the_calls_have_the_order_dcr():
    assert nd_blocks(step(order="dcr")) == "mx.nd.depth_to_space(x, 2)"
    assert nd_blocks(step("space_to_depth")) == "mx.nd.space_to_depth(x, 2)"
    assert isinstance(nd_blocks(step(order="crd")), Unsupported)


def test_the_recipe_has_six_axes_at_most():
    assert recipe(step(order="crd"))[2] == "x = x.transpose((0, 1, 4, 2, 5, 3))"
    assert recipe(step(shape=(1, 8, 2, 2, 2), order="crd")) is NO_VOLUMES
