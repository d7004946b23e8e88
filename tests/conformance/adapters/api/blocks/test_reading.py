"""Tests of conformance.adapters.api.blocks.reading: what calls of blocks set, and calls that are not read."""

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api.blocks.reading import block_layers
from conformance.cases.operators import BlockOrder
from conformance.translation.layer import parse_layer


def test_a_signature_has_its_block_its_order_and_its_array():
    (layer,) = block_layers({"depth_to_space": "f(x, scale_factor, data_format=None)"}, BlockOrder.CRD, array="x")
    assert layer.readings["block"].argument == "scale_factor"
    assert layer.fixed_parameters == {"order": "crd"}
    assert layer.array_arguments == ("x",)


@pytest.mark.parametrize(
    ("surface", "text", "problem"),
    [
        ("tf.nn", "tf.nn.depth_to_space(x, 2, data_format='NCHW')", "data_format"),
        ("keras-torch.ops", "keras.ops.depth_to_space(x, 2, data_format='channels_first')", "data_format"),
        ("torch.nn", "nn.PixelShuffle(2.5)", "not an integer"),
        ("onnxruntime", "helper.make_node('DepthToSpace', ['x'], ['y'], blocksize=2, mode='RCD')", "not one of"),
    ],
)
def test_another_layout_block_or_mode_is_not_read(surface, text, problem):
    with pytest.raises(ConformanceError, match=problem):
        parse_layer(text, registry.dialects()[surface])
