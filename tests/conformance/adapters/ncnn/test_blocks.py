"""The module `blocks` of the adapter for ncnn."""

from conformance.adapters.api.blocks.recipes import NO_RANK
from conformance.adapters.ncnn.blocks import blocks
from conformance.cases.steps import Step


def step(operator="depth_to_space", shape=(1, 8, 4, 6), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {"block": 2, **parameters})


def test_the_mode_is_the_order():
    assert blocks(step(order="dcr")) == 'compute(network("PixelShuffle", "0=2 1=1"), x)'
    assert blocks(step("space_to_depth", order="crd")) == 'compute(network("Reorg", "0=2"), x)'
    assert blocks(step()) == 'compute(network("PixelShuffle", "0=2"), x)'
    assert blocks(step(shape=(1, 4, 6), order="dcr")) is NO_RANK
