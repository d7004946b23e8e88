"""The module `blocks` of the adapter for LiteRT."""

from conformance.adapters.api import Unsupported
from conformance.adapters.litert.blocks import blocks
from conformance.cases.steps import Step


def step(operator="depth_to_space", shape=(1, 8, 4, 6), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {"block": 2, **parameters})


def test_the_operators_have_the_order_dcr():
    text = 'graph.node("DEPTH_TO_SPACE", ["x"], schema.DepthToSpaceOptionsT(2))'
    assert blocks(step(order="dcr")).replace("[x]", '["x"]') == text
    assert "SpaceToDepthOptionsT(2)" in blocks(step("space_to_depth"))
    assert isinstance(blocks(step(order="crd")), Unsupported)
