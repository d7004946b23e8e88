"""The module `deform_conv` of the adapter for OpenVINO."""

from conformance.adapters.openvino.deform_conv import NO_BIAS, biased, deform_conv
from tests.support.deformed_steps import deformed_step

CALL = "ops.deformable_convolution(x, offset, kernel, "


def test_the_rule_for_points_outside_is_an_argument():
    tail = "[1, 1], [0, 0], [0, 0], [1, 1], group=2"
    assert deform_conv(deformed_step()) == f"{CALL}{tail}, bilinear_interpolation_pad=True)"
    assert deform_conv(deformed_step(padding_mode="inside")) == f"{CALL}{tail})"
    assert deform_conv(deformed_step(omitted=["padding_mode"])) == f"{CALL}{tail})"


def test_all_parameters_are_written():
    step = deformed_step(mask=True, stride=(2, 1), padding=((1, 0), (0, 2)), dilation=(1, 2), offset_groups=4)
    tail = "[2, 1], [1, 0], [0, 2], [1, 2], mask=mask, group=2, deformable_group=4, bilinear_interpolation_pad=True)"
    assert deform_conv(step) == CALL + tail


def test_a_bias_is_added():
    step = deformed_step(bias=True, padding_mode="inside")
    assert deform_conv(step) is NO_BIAS
    call, addition = biased(step)
    assert call == f"x = {deform_conv(deformed_step(padding_mode='inside'))}"
    assert addition == "x = ops.add(x, ops.reshape(bias, [1, -1, 1, 1], False))"


def test_other_ranks_have_a_reason():
    step = deformed_step(kernel=(4, 4, 3), padding=((0, 0),), stride=(1,), dilation=(1,))
    assert deform_conv(step).reason == "deformable_convolution takes two spatial axes"
