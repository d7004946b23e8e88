"""The adapter for MLX: its programs, and the calls that it does not use."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from conformance.adapters.mlx import convolution, windows
from conformance.cases.steps import Step
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_by_id
from tests.support.example_steps import convolution_step, pooling_step

LAYERS, FUNCTIONS = registry.get_backend("mlx").surfaces
CASES = cases_by_id("smoke")
WINDOW = {"window": (2, 2), "stride": (2, 2)}
COUNTED = {"count_include_pad": True}


def pool(operator="max_pool", dtype="float32", **parameters):
    counted = COUNTED if operator == "avg_pool" else {}
    return pooling_step(operator, (1, 2, 5, 5), dtype, **{**WINDOW, **counted, **parameters})


def weighted(operator="conv", *, bias=False, shape=(1, 2, 5, 5), kernel=(2, 2, 3, 3), **parameters):
    return convolution_step(operator, shape, kernel, bias=bias, **parameters)


def padded(mode="constant", pads=((0, 0), (1, 2)), value=0, dtype="float32"):
    return Step("pad", (1, 2, 5, 5), dtype, {"pads": pads, "mode": mode, "value": value})


@pytest.mark.parametrize("parameters", [{"dilation": (2, 1)}, {"rounding": "ceil"}, {"padding": ((1, 0), (0, 0))}])
def test_layers_pool_with_equal_padding_and_without_dilation_or_rounding_up(parameters):
    assert windows.max_pool_layer(pool()) == "nn.MaxPool2d(2)(x)"
    assert isinstance(windows.max_pool_layer(pool(**parameters)), Unsupported)


def test_the_padding_of_integers_is_no_integer():
    step = pool(padding=((1, 1), (1, 1)))
    assert windows.max_pool_layer(step) == "nn.MaxPool2d(2, padding=1)(x)"
    assert windows.max_pool_layer(pool(dtype="int8", padding=((1, 1), (1, 1)))).rejected_call is not None
    assert windows.max_pool_layer(pool(dtype="int8")) == "nn.MaxPool2d(2)(x)"


def test_padding_counts_in_every_average():
    step = pool("avg_pool", padding=((1, 1), (1, 1)))
    assert windows.avg_pool_layer(step) == "nn.AvgPool2d(2, padding=1)(x)"
    assert isinstance(windows.avg_pool_layer(step.with_parameters(count_include_pad=False)), Unsupported)
    assert isinstance(windows.avg_pool_layer(pool("avg_pool", divisor=3)), Unsupported)


def test_padding_names_all_axes_of_the_array():
    assert windows.pad(padded()) == "mx.pad(x, [(0, 0), (0, 0), (1, 2), (0, 0)])"
    assert windows.pad(padded("symmetric")) == 'mx.pad(x, [(0, 0), (0, 0), (1, 2), (0, 0)], "symmetric")'
    assert windows.pad(padded("wrap")) is windows.NO_WRAP
    assert windows.pad(padded(value=2**64 - 1, dtype="uint64")) is windows.NO_LARGE_VALUE
    assert windows.pad(padded(pads=((-1, 0), (0, 0)))).rejected_call is not None


def test_kernels_start_with_the_output_channels():
    assert convolution.conv(weighted()) == "mx.conv2d(x, kernel.moveaxis(-1, 0))"
    assert convolution.transpose(weighted("conv_transpose")) == "mx.conv_transpose2d(x, kernel.moveaxis(-2, 0))"


def test_different_padding_at_both_ends_is_general():
    text = convolution.conv(weighted(padding=((1, 0), (0, 2)), dilation=(2, 2)))
    assert text == "mx.conv_general(x, kernel.moveaxis(-1, 0), padding=([1, 0], [0, 2]), kernel_dilation=2)"
    assert isinstance(convolution.conv_layer(weighted(padding=((1, 0), (0, 2)))), Unsupported)


def test_functions_have_no_bias():
    assert convolution.conv(weighted(bias=True)) is convolution.NO_BIAS
    assert convolution.fallback_conv(weighted(bias=True))[-1] == "x = x + bias"
    assert "conv.bias = bias" in convolution.conv_layer(weighted(bias=True))


def test_groups_of_transposed_convolutions_are_joined():
    step = weighted("conv_transpose", shape=(1, 4, 5, 5), kernel=(4, 2, 3, 3), groups=2)
    assert isinstance(convolution.transpose(step), Unsupported)
    assert "mx.split(kernel, 2, -1)" in convolution.fallback_transpose(step)[0]


def test_more_cropping_at_one_end_is_a_slice():
    step = weighted("conv_transpose", padding=((2, 0), (0, 0)))
    assert isinstance(convolution.transpose(step), Unsupported)
    assert convolution.fallback_transpose(step)[-1] == "x = x[:, 2:, :, :]"


def test_invalid_padding_that_differs_at_both_ends_is_not_left_out():
    step = weighted("conv_transpose", padding=((1, 0), (0, 0), (0, 0)))
    assert convolution.transpose(step) is convolution.NOT_CROPPED_AT_ONE_END
    assert convolution.transpose_layer(step) is convolution.NOT_CROPPED_AT_ONE_END
    assert isinstance(convolution.fallback_transpose(step), Unsupported)
    equal = weighted("conv_transpose", padding=((1, 1), (0, 0), (0, 0)))
    assert "padding=(1, 0, 0)" in convolution.transpose(equal)


def test_gradients_are_products_with_the_jacobian():
    program = translate(CASES["max_pool_grad/tie"], LAYERS)
    assert "_, (x,) = mx.vjp(lambda x: forward(x), [x], [grad])" in program.text


def test_the_gradient_of_a_kernel_has_the_order_of_data():
    lines = convolution.vjp_gradient(["x = mx.conv1d(x, kernel)"], ["x", "kernel"], "kernel")
    assert lines[-2:] == (
        "_, (x,) = mx.vjp(lambda kernel: forward(x, kernel), [kernel], [grad])",
        "x = x.moveaxis(-1, 0)",
    )
