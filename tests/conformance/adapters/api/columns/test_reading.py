"""Tests of conformance.adapters.api.columns.reading."""

import pytest

from conformance.adapters.api.columns.reading import ColumnArguments, column_layers
from conformance.adapters.mxnet.layers import DIALECTS as MXNET
from conformance.adapters.paddle.layers import DIALECTS as PADDLE
from conformance.adapters.torch.layers import DIALECTS as TORCH
from conformance.cases.operators import BlockOrder
from conformance.translation.layer import parse_layer

WINDOWS = {"window": 3, "stride": 2, "padding": 1, "dilation": 1, "order": "crd"}


@pytest.mark.parametrize(
    ("dialects", "surface", "text", "operator", "expected"),
    [
        (TORCH, "torch.nn", "nn.Unfold(3, padding=1, stride=2)", "unfold", WINDOWS),
        (TORCH, "torch.nn.functional", "F.unfold(x, 3, 1, 1, 2)", "unfold", WINDOWS),
        (TORCH, "torch.nn", "nn.Fold((8, 6), 3, padding=1, stride=2)", "fold", {**WINDOWS, "output_size": (8, 6)}),
        (PADDLE, "paddle.nn.functional", "F.unfold(x, 3, 2, 1)", "unfold", WINDOWS),
        (PADDLE, "paddle.nn", "nn.Fold(8, 3, paddings=1, strides=2)", "fold", {**WINDOWS, "output_size": 8}),
        (MXNET, "mxnet.nd", "mx.nd.im2col(x, 3, stride=2, pad=1)", "unfold", WINDOWS),
        (MXNET, "mxnet.nd", "mx.nd.col2im(x, (8, 6), 3, 2, 1, 1)", "fold", {**WINDOWS, "output_size": (8, 6)}),
    ],
)
def test_calls_of_columns_are_read(dialects, surface, text, operator, expected):
    request = parse_layer(text, dialects[surface]).request
    assert (request.operator, dict(request.parameters)) == (operator, expected)


def test_a_layer_has_one_order():
    signature = {"unfold": "f(x, size, step, pads, gap)"}
    (layer,) = column_layers(signature, BlockOrder.DCR, ColumnArguments("size", "step", "pads", "gap"), array="x")
    assert layer.fixed_parameters == {"order": "dcr"}
    assert layer.readings["window"].argument == "size"
