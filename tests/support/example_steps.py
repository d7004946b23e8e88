"""Steps as tests of adapters write them: every parameter that they do not name has its usual value."""

from conformance.cases.steps import Step


def pooling(verb, shape, dtype="float32", *, gradient=False, **parameters):
    """Return a pooling step of stride 1."""
    rank = len(shape) - 2
    usual = {"stride": (1,) * rank, "padding": ((0, 0),) * rank, "dilation": (1,) * rank, "rounding": "floor"}
    if verb == "avg_pool":
        usual |= {"count_include_pad": False, "divisor": None}
    return Step(verb, shape, dtype, {**usual, **parameters}, gradient=gradient)


def weights(verb, shape, kernel, dtype="float32", *, gradient=False, bias=False, **parameters):
    """Return a convolution step."""
    rank = len(shape) - 2
    usual = {"stride": (1,) * rank, "padding": ((0, 0),) * rank, "dilation": (1,) * rank, "groups": 1}
    usual |= {"output_padding": (0,) * rank} if verb == "conv_transpose" else {}
    return Step(verb, shape, dtype, {**usual, **parameters}, kernel, bias, gradient=gradient)
