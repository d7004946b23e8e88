"""The module `deform_conv` of the adapter for Apache MXNet."""

import pytest

from conformance.adapters.mxnet.deform_conv import NO_GRADIENT, NO_MASK, NO_ONES, OUTPUT_CHANNELS, deform_conv
from conformance.adapters.mxnet.ndarray import ND_API
from conformance.adapters.mxnet.padding import NP_API
from tests.support.deformed_steps import deformed_step

TAIL = "kernel=(3, 3), stride=(1, 1), num_filter=4, num_group=2"


def test_points_outside_with_the_value_0_are_the_call_without_a_mask():
    text = f"mx.nd.contrib.DeformableConvolution(x, offset, kernel, {TAIL}, no_bias=True)"
    assert deform_conv(deformed_step(padding_mode="inside"), ND_API) == text
    assert deform_conv(deformed_step(omitted=["padding_mode"]), ND_API) == text


def test_zeros_outside_are_the_call_with_a_mask():
    text = f"mx.nd.contrib.ModulatedDeformableConvolution(x, offset, mask, kernel, bias, {TAIL})"
    assert deform_conv(deformed_step(mask=True, bias=True), ND_API) == text


def test_a_mask_of_ones_is_a_composition():
    assert deform_conv(deformed_step(), ND_API) is NO_ONES
    assert "mx.nd.ones_like(offset[:, ::2]), kernel" in deform_conv(deformed_step(), ND_API, ones=True)


def test_arrays_of_numpy_are_converted():
    text = deform_conv(deformed_step(padding_mode="inside", bias=True), NP_API)
    assert "x.as_nd_ndarray(), offset.as_nd_ndarray(), kernel.as_nd_ndarray(), bias.as_nd_ndarray(), " in text
    assert text.endswith(".as_np_ndarray()")


def test_parameters_are_written_if_they_are_not_the_defaults():
    step = deformed_step(
        padding_mode="inside", stride=(2, 1), padding=((1, 1), (2, 2)), dilation=(1, 2), groups=1, offset_groups=2,
        kernel=(4, 4, 3, 3),
    )  # fmt: skip
    tail = "stride=(2, 1), pad=(1, 2), dilate=(1, 2), num_filter=4, num_deformable_group=2, no_bias=True)"
    assert deform_conv(step, ND_API).endswith(tail)


def test_the_gradient_with_a_mask_is_not_written():
    assert deform_conv(deformed_step(mask=True, gradient=True), ND_API) is NO_GRADIENT
    assert deform_conv(deformed_step(gradient=True), ND_API, ones=True) is NO_GRADIENT
    assert isinstance(deform_conv(deformed_step(gradient=True, padding_mode="inside"), ND_API), str)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (deformed_step(mask=True, padding_mode="inside"), NO_MASK.reason),
        (deformed_step(mask=True, kernel=(3, 2, 3, 3), offset_groups=2), OUTPUT_CHANNELS),
        (deformed_step(mask=True, padding=((0, 1), (0, 0))), "pads both ends of an axis equally"),
        (deformed_step(mask=True, kernel=(4, 4, 3), padding=((0, 0),), stride=(1,)), "takes two spatial axes"),
    ],
)
def test_other_calls_have_a_reason(step, reason):
    assert reason in deform_conv(step, ND_API, ones=True).reason
