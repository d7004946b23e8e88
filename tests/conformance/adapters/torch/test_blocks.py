"""The module `blocks` of the adapter for PyTorch."""

from conformance.adapters.api import Unsupported
from conformance.adapters.torch.blocks import FUNCTIONAL, LAYER, RECIPE
from conformance.cases.steps import Step


def step(operator="depth_to_space", shape=(1, 8, 4, 6), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {"block": 2, **parameters})


def test_the_calls_have_the_order_crd():
    assert FUNCTIONAL(step(order="crd")) == "F.pixel_shuffle(x, 2)"
    assert FUNCTIONAL(step("space_to_depth", order="crd")) == "F.pixel_unshuffle(x, 2)"
    assert LAYER(step(order="crd")) == "nn.PixelShuffle(2)(x)"
    assert LAYER(step("space_to_depth")) == "nn.PixelUnshuffle(2)(x)"
    assert isinstance(FUNCTIONAL(step(order="dcr")), Unsupported)


def test_unsigned_integers_have_no_kernel():
    assert "no kernel for uint16" in FUNCTIONAL(step(dtype="uint16", order="crd")).reason
    assert FUNCTIONAL(step(dtype="uint8", order="crd")) == "F.pixel_shuffle(x, 2)"


def test_the_recipe_permutes():
    assert RECIPE(step(order="dcr"))[2] == "x = x.permute(0, 3, 4, 1, 5, 2)"
