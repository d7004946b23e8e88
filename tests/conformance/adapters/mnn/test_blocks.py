"""The module `blocks` of the adapter for MNN."""

from conformance.adapters.api import Unsupported
from conformance.adapters.mnn.blocks import blocks
from conformance.cases.steps import Step


def step(operator="depth_to_space", shape=(1, 8, 4, 6), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {"block": 2, **parameters})


def test_the_calls_have_the_order_dcr():
    assert blocks(step(order="dcr")) == "F.depth_to_space(x, 2)"
    assert blocks(step("space_to_depth")) == "F.space_to_depth(x, 2)"
    assert isinstance(blocks(step(order="crd")), Unsupported)
