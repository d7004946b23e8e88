"""The module `blocks` of the adapter for OpenVINO."""

from conformance.adapters.openvino.blocks import NO_DEFAULT, blocks
from conformance.cases.steps import Step


def step(operator="depth_to_space", shape=(1, 8, 4, 6), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {"block": 2, **parameters})


def test_the_order_is_the_mode():
    assert blocks(step(order="dcr")) == 'ops.depth_to_space(x, "blocks_first", 2)'
    assert blocks(step("space_to_depth", (1, 1, 4, 4, 4), order="crd")) == 'ops.space_to_depth(x, "depth_first", 2)'
    assert blocks(step()) is NO_DEFAULT
