"""The module `convolution` of PyTorch."""

import pytest

from tests.conformance.adapters.torch.programs import CONV, GRAD, NN, lines

TRANSPOSED = "x: {values: integers, shape: [1, 2, 4]}, kernel: {values: integers, shape: [2, 3, 3]}"


@pytest.mark.parametrize(
    ("text", "call", "how"),
    [
        ("padding: 1, stride: 2", "F.conv_transpose1d(x, kernel, stride=2, padding=1)", "native"),
        (
            "padding: 1, stride: 2, output_padding: 1",
            "F.conv_transpose1d(x, kernel, stride=2, padding=1, output_padding=1)",
            "native",
        ),
        (
            "padding: [[1, 0]], stride: 2",
            "F.conv_transpose1d(x, kernel, stride=2, padding=1, output_padding=1)",
            "native",
        ),
        ("padding: [[0, 1]], stride: 2", "F.conv_transpose1d(x, kernel, stride=2)[:, :, :-1]", "composed"),
        ("padding: [[1, 2]]", "F.conv_transpose1d(x, kernel, padding=1)[:, :, :-1]", "composed"),
        ("padding: [[2, 0]]", "F.conv_transpose1d(x, kernel)[:, :, 2:]", "composed"),
        ("padding: [[0, 2]], stride: 3, output_padding: 2", "F.conv_transpose1d(x, kernel, stride=3)", "native"),
        (
            "padding: [[3, 1]], dilation: 2, output_padding: 1",
            "F.conv_transpose1d(x, kernel, dilation=2)[:, :, 3:]",
            "composed",
        ),
    ],
)
def test_transposed_convolution_crops_by_padding_and_a_slice(tmp_path, text, call, how):
    assert lines(tmp_path, "conv_transpose", f"{TRANSPOSED}, {text}") == ([f"x = {call}"], how)


def test_layer_of_a_transposed_convolution_has_the_weights_of_the_case(tmp_path):
    body, _ = lines(tmp_path, "conv_transpose", f"{TRANSPOSED}, padding: [[0, 1]]", NN)
    assert body == [
        "conv = nn.ConvTranspose1d(2, 3, 3, bias=False, dtype=x.dtype)",
        "conv.weight = nn.Parameter(kernel, requires_grad=False)",
        "x = conv(x)",
        "x = x[:, :, :-1]",
    ]


@pytest.mark.parametrize("name", ["x", "kernel", "bias"])
def test_gradient_is_of_the_input_that_the_case_names(tmp_path, name):
    body, _ = lines(tmp_path, "conv_grad", f"{CONV}, {GRAD}, output: {name}")
    assert body == [
        f"leaf = {name}.requires_grad_()",
        "x = F.conv1d(x, kernel, bias)",
        "(x,) = torch.autograd.grad(x, leaf, grad)",
    ]


@pytest.mark.parametrize(("name", "parameter"), [("kernel", "conv.weight"), ("bias", "conv.bias")])
def test_gradient_of_weights_is_of_the_parameter_of_the_layer(tmp_path, name, parameter):
    body, _ = lines(tmp_path, "conv_grad", f"{CONV}, {GRAD}, output: {name}", NN)
    assert body[1:] == [
        "conv.weight = nn.Parameter(kernel)",
        "conv.bias = nn.Parameter(bias)",
        "x = conv(x)",
        f"(x,) = torch.autograd.grad(x, {parameter}, grad)",
    ]


def test_gradient_of_the_input_of_a_layer_does_not_track_the_weights(tmp_path):
    body, _ = lines(tmp_path, "conv_grad", f"{CONV}, {GRAD}, output: x", NN)
    assert body[0] == "leaf = x.requires_grad_()"
    assert "conv.weight = nn.Parameter(kernel, requires_grad=False)" in body
