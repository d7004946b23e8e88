"""Tests of conformance.adapters.api.normalization.reading."""

import pytest

from conformance import ConformanceError
from conformance.adapters.mxnet.layers import DIALECTS as MXNET
from conformance.adapters.onnx.layers import DIALECTS as ONNX
from conformance.adapters.openvino.layers import DIALECTS as OPENVINO
from conformance.adapters.paddle.layers import DIALECTS as PADDLE
from conformance.adapters.tensorflow.nn_layers import DIALECTS as TENSORFLOW
from conformance.adapters.torch.layers import DIALECTS as TORCH
from conformance.translation.layer import parse_layer

USUAL = {"local_size": 5, "alpha": 0.0001, "beta": 0.75, "k": 1}
BEFORE, AFTER = {**USUAL, "extra_channel": "before"}, {**USUAL, "extra_channel": "after"}


@pytest.mark.parametrize(
    ("dialects", "surface", "text", "expected"),
    [
        (TORCH, "torch.nn", "nn.LocalResponseNorm(5)", BEFORE),
        (TORCH, "torch.nn.functional", "F.local_response_norm(x, 4, 1, k=2)",
         {"local_size": 4, "alpha": 1, "beta": 0.75, "k": 2, "extra_channel": "before"}),
        (PADDLE, "paddle.nn", "nn.LocalResponseNorm(5, data_format='NCL')", BEFORE),
        (PADDLE, "paddle.nn.functional", "F.local_response_norm(x, 5)", BEFORE),
        (ONNX, "onnxruntime", "helper.make_node('LRN', ['x'], ['y'], size=5)", AFTER),
        (ONNX, "onnxruntime", "helper.make_node('LRN', ['x'], ['y'], size=5, bias=2.0)", {**AFTER, "k": 2}),
        (MXNET, "mxnet.nd", "mx.nd.LRN(x, nsize=5)", {**USUAL, "k": 2}),
        (MXNET, "mxnet.nd", "mx.nd.LRN(x, alpha=4, nsize=4)",
         {"local_size": 3, "alpha": 1, "beta": 0.75, "k": 2, "alpha_over_size": False}),
        (OPENVINO, "openvino.opset", "ops.lrn(x, [1], 1.0, 0.75, 2.0, 5)", {**USUAL, "alpha": 1, "k": 2}),
        (TENSORFLOW, "tf.nn", "tf.nn.local_response_normalization(x, 2)",
         {"local_size": 5, "alpha": 1, "beta": 0.5, "k": 1, "alpha_over_size": False}),
        (TENSORFLOW, "tf.nn", "tf.nn.lrn(x)",
         {"local_size": 11, "alpha": 1, "beta": 0.5, "k": 1, "alpha_over_size": False}),
    ],
)  # fmt: skip
def test_calls_of_normalization_are_read(dialects, surface, text, expected):
    request = parse_layer(text, dialects[surface]).request
    assert (request.operator, dict(request.parameters)) == ("lrn", expected)


def test_channels_last_and_a_negative_radius_are_no_translation():
    with pytest.raises(ConformanceError, match="NHWC"):
        parse_layer("nn.LocalResponseNorm(5, data_format='NHWC')", PADDLE["paddle.nn"])
    with pytest.raises(ConformanceError, match="a whole number of at least 0"):
        parse_layer("tf.nn.lrn(x, -1)", TENSORFLOW["tf.nn"])
