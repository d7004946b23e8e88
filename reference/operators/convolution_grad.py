"""Gradients of convolution and transposed convolution: with respect to x, to the kernel and to the bias."""

import numpy.typing as npt

from reference.arguments import FLOAT_DTYPES, Array, PaddingArgument, PerAxis, check_image
from reference.arithmetic.exact import Exact
from reference.arithmetic.sums import exact_products, exact_sums
from reference.geometry.adjoints import input_gradient, kernel_gradient
from reference.geometry.windows import Windows
from reference.operators.conv_transpose import check_transposed_operands, transposed_windows
from reference.operators.convolution import check_operands, correlate
from reference.operators.pooling_grad import check_gradient
from reference.registry import operator


@operator
def conv_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    kernel: npt.ArrayLike,
    bias: npt.ArrayLike | None = None,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> tuple[Exact, ...]:
    """Return the gradients with respect to x, kernel and, if there is one, bias.

    grad: (n, out, *output); x: (n, c, *spatial); kernel: (out, c / groups, *window); bias: (out,); all of one
    floating dtype. Results have the shapes of x, kernel and bias. Each is a sum of products, each term one product:
    for x over the windows and output channels that the cell is multiplied in, for the kernel over the batch and the
    windows in which its cell meets the input, for the bias (no product) over batch and windows; n and S accordingly.
    Raises ValueError if grad has not the output's shape, or for what conv refuses.
    Source: the adjoints of ONNX Conv-22, https://onnx.ai/onnx/operators/onnx__Conv.html
    """
    x = check_image(x, FLOAT_DTYPES)
    kernel, biases, groups = check_operands(x, kernel, bias, groups)
    windows = Windows.of(x.shape[2:], kernel.shape[2:], stride, padding, dilation, called="kernel")
    grad = check_gradient(grad, x, (x.shape[0], kernel.shape[0], *windows.output))
    return (
        exact_products(grad, kernel, lambda g, weights: input_gradient(g, weights, windows, groups)),
        exact_products(grad, x, lambda g, cells: kernel_gradient(g, cells, windows, groups)),
        *(bias_grad(grad) for _ in biases),
    )


def bias_grad(grad: Array) -> Exact:
    """Add a gradient (n, out, *output) over everything but its channels, to (out,)."""
    return exact_sums(grad, lambda shares: shares.sum(axis=(0, *range(2, shares.ndim))))


@operator
def conv_transpose_grad(
    grad: npt.ArrayLike,
    x: npt.ArrayLike,
    kernel: npt.ArrayLike,
    bias: npt.ArrayLike | None = None,
    *,
    stride: PerAxis = 1,
    padding: PaddingArgument = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
    output_padding: PerAxis = 0,
) -> tuple[Exact, ...]:
    """Return the gradients with respect to x, kernel and, if there is one, bias.

    grad: (n, out, *output); x: (n, c, *spatial); kernel: (c, out / groups, *window); bias: (out,); all of one
    floating dtype. Results have the shapes of x, kernel and bias. The first is conv of grad with the kernel, the
    second the kernel gradient of that convolution, with the parts of x and grad exchanged; each is a sum of products.
    Raises ValueError if grad has not the output's shape, or for what conv_transpose refuses.
    Source: the adjoints of ONNX ConvTranspose-22, https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
    """
    x = check_image(x, FLOAT_DTYPES)
    kernel, biases, groups = check_transposed_operands(x, kernel, bias, groups)
    windows = transposed_windows(x, kernel, stride, padding, dilation, output_padding)
    grad = check_gradient(grad, x, (x.shape[0], kernel.shape[1] * groups, *windows.size))
    return (
        exact_products(grad, kernel, lambda g, weights: correlate(g, weights, windows, groups)),
        exact_products(x, grad, lambda cells, g: kernel_gradient(cells, g, windows, groups)),
        *(bias_grad(grad) for _ in biases),
    )
