"""The module `deform_conv` of the adapter for PaddlePaddle, and the gradients of its programs."""

import pytest

from conformance.adapters.paddle.convolution import autograd_gradient, layer_autograd_gradient
from conformance.adapters.paddle.deform_conv import deform_conv
from tests.support.deformed_steps import deformed_step

CALL = "paddle.vision.ops.deform_conv2d(x, offset, kernel, "


def test_the_function_takes_all_inputs():
    assert deform_conv(deformed_step(), layer=False) == f"{CALL}groups=2)"
    step = deformed_step(mask=True, bias=True, padding=((1, 1), (2, 2)), offset_groups=2)
    assert deform_conv(step, layer=False) == f"{CALL}bias, padding=(1, 2), groups=2, deformable_groups=2, mask=mask)"


def test_the_layer_is_given_the_weights():
    lines = deform_conv(deformed_step(mask=True, bias=True), layer=True)
    assert lines == (
        "conv = paddle.vision.ops.DeformConv2D(4, 4, 3, groups=2)",
        "conv.weight.set_value(kernel)",
        "conv.bias.set_value(bias)",
        "x = conv(x, offset, mask)",
    )
    assert deform_conv(deformed_step(), layer=True)[-1] == "x = conv(x, offset)"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (deformed_step(padding_mode="inside"), "interpolates zeros outside of x"),
        (deformed_step(padding=((0, 1), (0, 0))), "pads both ends of an axis equally"),
        (deformed_step(kernel=(3, 2, 3, 3), offset_groups=2), "divided by deformable groups"),
        (deformed_step(kernel=(4, 4, 3), padding=((0, 0),), stride=(1,)), "takes two spatial axes"),
    ],
)
def test_other_calls_have_a_reason(step, reason):
    assert reason in deform_conv(step, layer=False).reason


@pytest.mark.parametrize(("name", "index"), [("x", 0), ("offset", 1), ("kernel", 2), ("mask", 3)])
def test_gradients_with_a_mask_are_computed_together(name, index):
    names = ["x", "kernel", "offset", "mask"]
    *before, last = autograd_gradient(["x = f(x)"], names, name)
    assert last == f"x = paddle.grad(x, [image, offset, kernel, mask], grad)[{index}]"
    assert before == ["image = x", *(f"{one}.stop_gradient = False" for one in ("image", "offset", "kernel", "mask")),
                      "x = f(x)"]  # fmt: skip
    *before, last = layer_autograd_gradient(["x = f(x)"], names, name)
    assert last == f"x = paddle.grad(x, [image, offset, conv.weight, mask], grad)[{index}]"
    assert "kernel.stop_gradient = False" not in before


def test_gradients_without_a_mask_and_of_the_bias_are_computed_alone():
    assert "leaf = offset" in autograd_gradient(["x = f(x)"], ["x", "offset", "kernel"], "offset")
    assert "leaf = bias" in autograd_gradient(["x = f(x)"], ["x", "offset", "mask", "bias"], "bias")
