"""Layers of Gluon and calls of npx and nd: parameters that agree with the observed behaviour of MXNet 1.9.1."""

import pytest

from tests.support.layer_calls import IMAGE, LINE, case_of, check_case, check_rejected

GLUON, NPX, ND = "mxnet.gluon", "mxnet.npx", "mxnet.nd"
READ = [
    (GLUON, "nn.MaxPool2D()", IMAGE, "max_pool", {"window": (2, 2), "stride": (2, 2), "rounding": "floor"}),
    (GLUON, "nn.MaxPool2D(3, 2, 1, 'NCHW', True)", IMAGE, "max_pool", {"rounding": "full", "stride": (2, 2)}),
    (GLUON, "nn.AvgPool2D(3, 2, 1, True)", IMAGE, "avg_pool", {"rounding": "full", "count_include_pad": True}),
    (GLUON, "nn.GlobalAvgPool1D()", LINE, "global_avg_pool", {}),
    (NPX, "npx.pooling(x, (2, 2))", IMAGE, "max_pool", {"window": (2, 2), "stride": (1, 1)}),
    (NPX, "npx.pooling(x, kernel=(2,), pool_type='lp', p_value=3)", LINE, "lp_pool", {"p": 3}),
    (NPX, "npx.pooling(x, pool_type='avg', global_pool=True)", IMAGE, "global_avg_pool", {}),
    (ND, "mx.nd.pad(x, 'edge', (0, 0, 0, 0, 1, 2, 0, 3))", IMAGE, "pad", {"pads": ((1, 2), (0, 3)), "mode": "edge"}),
    (ND, "nd.contrib.AdaptiveAvgPooling2D(x, (3, 2))", IMAGE, "adaptive_avg_pool", {"output_size": (3, 2)}),
]


@pytest.mark.parametrize(("surface", "text", "shape", "operator", "parameters"), READ)
def test_layers_and_calls_are_read_with_their_own_defaults(surface, text, shape, operator, parameters):
    check_case(case_of(surface, text, shape), operator, parameters)


def test_deconvolution_has_no_bias_by_default_and_convolution_has_one():
    forward, transposed = (
        case_of(NPX, f"npx.{name}(x, w, b, kernel=(2,), num_filter=3)", LINE, (3, 3, 2))
        for name in ("convolution", "deconvolution")
    )
    assert ("bias" in forward.inputs, "bias" in transposed.inputs) == (True, False)


@pytest.mark.parametrize(
    ("surface", "text", "message"),
    [
        (NPX, "npx.pooling(x, (2, 2), pool_type='sum')", "only max, avg and lp can be translated"),
        (NPX, "npx.pooling(x)", "kernel is required unless global_pool=True"),
        (NPX, "npx.pooling(x, pool_type='lp', global_pool=True)", "only max and avg can be translated"),
        (ND, "nd.pad(x, 'edge', (0, 0, 1, 1, 0, 0))", "zeros for batch and channels"),
        (GLUON, "nn.MaxPool2D(layout='NHWC')", "layout='NHWC'"),
    ],
)
def test_call_without_equivalent_in_the_catalogue_is_rejected_with_one_line(surface, text, message):
    check_rejected(surface, text, IMAGE, None, message)
