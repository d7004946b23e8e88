"""The module `blocks` of the adapter for Keras."""

from conformance.adapters.api import Unsupported
from conformance.adapters.keras.blocks import BLOCKS_OR_RECIPE, blocks, layer_lowerings
from conformance.adapters.keras.engines import ENGINES
from conformance.cases.steps import Step


def step(operator="depth_to_space", shape=(1, 8, 4, 6), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {"block": 2, **parameters})


def first(engine, **parameters):
    (found,) = (one for one in ENGINES if one.name == engine)
    return layer_lowerings(found.channels_first)["depth_to_space"](step(**parameters))


def test_with_channels_last_the_order_is_dcr():
    assert blocks(step(order="dcr")) == "keras.ops.depth_to_space(x, 2)"
    assert isinstance(blocks(step(order="crd")), Unsupported)
    assert BLOCKS_OR_RECIPE(step(order="dcr")) == "keras.ops.depth_to_space(x, 2)"
    assert BLOCKS_OR_RECIPE(step(order="crd"))[1] == "x = keras.ops.reshape(x, (n, h, w, c // 4, 2, 2))"


def test_with_channels_first_the_order_depends_on_the_engine():
    call = 'keras.ops.depth_to_space(x, 2, data_format="channels_first")'
    for engine, order, other in (("tensorflow", "dcr", "crd"), ("torch", "crd", "dcr"), ("jax", "crd", "dcr")):
        assert first(engine, order=order) == call
        assert isinstance(first(engine, order=other), Unsupported)
        assert first(engine) == call


def test_no_layer_has_channels_last():
    assert all(layer_lowerings(engine) == {} for engine in ENGINES)


def test_a_block_of_one_cell_is_a_rejected_call():
    assert blocks(step("space_to_depth", block=1)).rejected_call == "keras.ops.space_to_depth(x, 1)"
