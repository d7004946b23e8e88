"""The module `blocks` of the adapter for TensorFlow."""

from conformance.adapters.api import Unsupported
from conformance.adapters.tensorflow.blocks import RECIPE, blocks
from conformance.cases.steps import Step


def step(operator="depth_to_space", shape=(1, 8, 4, 6), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {"block": 2, **parameters})


def test_the_calls_have_the_order_dcr():
    assert blocks(step(order="dcr")) == "tf.nn.depth_to_space(x, 2)"
    assert blocks(step("space_to_depth")) == "tf.nn.space_to_depth(x, 2)"
    assert isinstance(blocks(step(order="crd")), Unsupported)


def test_a_block_of_one_cell_is_a_rejected_call():
    assert blocks(step(block=1, order="dcr")).rejected_call == "tf.nn.depth_to_space(x, 1)"


def test_the_recipe_has_channels_last():
    assert RECIPE(step(order="crd"))[:3] == (
        "n, h, w, c = x.shape",
        "x = tf.reshape(x, [n, h, w, c // 4, 2, 2])",
        "x = tf.transpose(x, [0, 1, 4, 2, 5, 3])",
    )
