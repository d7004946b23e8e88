"""The module `convolution` of OpenVINO."""

from tests.conformance.adapters.openvino.programs import lines, program

PLANE = {"values": "integers", "shape": [1, 2, 4, 5]}
KERNEL = {"values": "integers", "shape": [4, 1, 2, 2]}


def test_weights_are_constants_and_the_bias_is_added():
    translated = program("conv", x=PLANE, kernel={**KERNEL, "shape": [3, 2, 2, 2]}, bias={"values": [1, 2, 3]})
    assert translated.how == "composed"
    assert "    kernel = ops.constant(kernel)\n    bias = ops.constant(bias)\n" in translated.text
    assert "x = ops.convolution(x, kernel, [1, 1], [0, 0], [0, 0], [1, 1])" in translated.text
    assert "x = ops.add(x, ops.reshape(bias, [1, -1, 1, 1], False))" in translated.text


def test_kernel_of_a_grouped_convolution_has_an_axis_for_the_groups():
    assert lines("conv", x=PLANE, kernel=KERNEL, groups=2, padding=[[1, 0], [0, 2]]) == [
        "x = ops.group_convolution(x, ops.reshape(kernel, [2, 2, 1, 2, 2], False), [1, 1], [1, 0], [0, 2], [1, 1])"
    ]
