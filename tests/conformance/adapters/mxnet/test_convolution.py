"""The module `convolution` of MXNet."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.translation.lowering import translate
from tests.conformance.adapters.mxnet.programs import GLUON, GRAD, NPX, ROW, body, everywhere


@everywhere
def test_gradient_records_the_forward_lines(made, surface):
    case = made("global_max_pool_grad", f"{ROW}, {GRAD}")
    calls = {"mxnet.gluon": "nn.GlobalMaxPool1D()(x)", "mxnet.npx": "npx.pooling(x, global_pool=True)"}
    call = {**calls, "mxnet.nd": "mx.nd.Pooling(x, global_pool=True)"}[surface.name]
    assert body(translate(case, surface)) == [
        "leaf = x",
        "leaf.attach_grad()",
        "with autograd.record():",
        f"    x = {call}",
        "x.backward(grad)",
        "x = leaf.grad",
    ]


def test_weight_gradient_comes_from_the_layer_which_is_built_before_recording(made):
    case = made("conv_grad", f"{ROW}, kernel: {{values: [[[1, 2]]]}}, {GRAD}, output: kernel")
    assert body(translate(case, GLUON)) == [
        "conv = nn.Conv1D(1, 2, strides=1, use_bias=False, in_channels=1)",
        "conv.initialize()",
        "conv.cast(x.dtype)",
        "conv.weight.set_data(kernel)",
        "with autograd.record():",
        "    x = conv(x)",
        "x.backward(grad)",
        "x = conv.weight.grad()",
    ]


def test_kernel_gradient_of_a_call(made):
    case = made("conv_grad", f"{ROW}, kernel: {{values: [[[1, 2]]]}}, {GRAD}, output: kernel")
    lines = body(translate(case, NPX))
    assert (lines[0], lines[-1]) == ("leaf = kernel", "x = leaf.grad")


@everywhere
def test_convolution_in_float16_is_unsupported_with_an_issue(made, surface):
    spec = "{values: [[[1, 2, 3]]], dtype: float16}"
    unsupported = translate(made("conv", f"x: {spec}, kernel: {spec}"), surface)
    assert isinstance(unsupported, Unsupported)
    assert unsupported.issue == "https://github.com/apache/mxnet/issues/12700"


TRANSPOSED = "kernel: {values: [[[1, 2]]]}, stride: [2]"


def test_transposed_convolution_slices_if_the_call_cannot_crop_enough(made):
    program = translate(made("conv_transpose", f"{ROW}, {TRANSPOSED}, padding: [[0, 1]]"), NPX)
    assert program.how == "composed"
    assert body(program) == ["x = npx.deconvolution(x, kernel, kernel=(2,), stride=(2,), num_filter=1)[:, :, :-1]"]


@everywhere
def test_output_padding_must_be_smaller_than_the_stride(made, surface):
    case = made("conv_transpose", f"{ROW}, kernel: {{values: [[[1, 2]]]}}, dilation: [2], output_padding: [1]")
    assert translate(case, surface).reason == "adj must be smaller than the stride"


@everywhere
@pytest.mark.parametrize(
    ("more", "reason"), [("dilation: [1, 1, 2]", "Dilate"), ("stride: [1, 1, 1]", "Only 1D or 2D")]
)
def test_dilated_or_float64_transposed_convolution_in_3d_is_unsupported(made, surface, more, reason):
    spec = "{values: integers, shape: [1, 1, 2, 2, 2], dtype: float64}"
    assert reason in translate(made("conv_transpose", f"x: {spec}, kernel: {spec}, {more}"), surface).reason
