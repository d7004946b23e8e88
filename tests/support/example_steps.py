"""Steps for tests of adapters; parameters that are not given have their defaults."""

from conformance.cases.steps import Step


def pooling_step(operator, shape, dtype="float32", *, gradient=False, **parameters):
    """Return a pooling step of stride 1."""
    rank = len(shape) - 2
    usual = {"stride": (1,) * rank, "padding": ((0, 0),) * rank, "dilation": (1,) * rank, "rounding": "floor"}
    if operator == "avg_pool":
        usual |= {"count_include_pad": False, "divisor": None}
    return Step(operator, shape, dtype, {**usual, **parameters}, gradient=gradient)


def convolution_step(operator, shape, kernel, dtype="float32", *, gradient=False, bias=False, **parameters):
    """Return a convolution step."""
    rank = len(shape) - 2
    usual = {"stride": (1,) * rank, "padding": ((0, 0),) * rank, "dilation": (1,) * rank, "groups": 1}
    usual |= {"output_padding": (0,) * rank} if operator == "conv_transpose" else {}
    return Step(operator, shape, dtype, {**usual, **parameters}, kernel, bias, gradient=gradient)


def dilation_step(shape=(1, 2, 3, 4), window=(1, 2), dtype="float32", *, gradient=False, **parameters):
    """Return a step of grey-scale dilation with stride 1."""
    rank = len(shape) - 2
    usual = {"stride": (1,) * rank, "padding": ((0, 0),) * rank, "dilation": (1,) * rank}
    return Step("dilation2d", shape, dtype, {**usual, **parameters}, (shape[1], 1, *window), gradient=gradient)
