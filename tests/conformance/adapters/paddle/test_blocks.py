"""The module `blocks` of the adapter for PaddlePaddle."""

from conformance.adapters.api import Unsupported
from conformance.adapters.paddle.blocks import NEVER_RETURNS, RECIPE, blocks
from conformance.cases.steps import Step


def step(operator="depth_to_space", shape=(1, 8, 4, 6), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {"block": 2, **parameters})


def test_the_calls_have_the_order_crd():
    assert blocks(step(order="crd"), layer=False) == "F.pixel_shuffle(x, 2)"
    assert blocks(step("space_to_depth", order="crd"), layer=True) == "nn.PixelUnshuffle(2)(x)"
    assert isinstance(blocks(step(order="dcr"), layer=False), Unsupported)


def test_only_floating_dtypes_have_kernels():
    assert "no kernel for int32" in blocks(step(dtype="int32", order="crd"), layer=False).reason


def test_a_negative_factor_is_not_run():
    assert blocks(step(block=-2, order="crd"), layer=False) is NEVER_RETURNS
    assert blocks(step("space_to_depth", block=-2, order="crd"), layer=False) == "F.pixel_unshuffle(x, -2)"


def test_the_recipe_takes_lists():
    assert RECIPE(step(order="dcr"))[2] == "x = x.transpose([0, 3, 4, 1, 5, 2])"
