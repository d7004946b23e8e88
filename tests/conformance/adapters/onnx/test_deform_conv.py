"""The node DeformConv, and the limits of its runtimes."""

import pytest

from conformance.adapters import onnx, onnx2torch, onnxruntime, opencv, tract
from conformance.adapters.onnx.nodes import deform_conv
from conformance.adapters.openvino import onnx_graphs
from tests.support.deformed_steps import deformed_step


def test_optional_inputs_come_last():
    assert deform_conv(deformed_step()) == "DeformConv(x, kernel, offset, group=2)"
    assert deform_conv(deformed_step(bias=True)) == "DeformConv(x, kernel, offset, bias, group=2)"
    assert deform_conv(deformed_step(mask=True)) == 'DeformConv(x, kernel, offset, "", mask, group=2)'
    assert deform_conv(deformed_step(mask=True, bias=True)) == "DeformConv(x, kernel, offset, bias, mask, group=2)"


def test_attributes_are_written_if_they_are_not_the_defaults():
    step = deformed_step(stride=(2, 1), padding=((1, 0), (0, 2)), dilation=(1, 2), offset_groups=4)
    attributes = "strides=[2, 1], pads=[1, 0, 0, 2], dilations=[1, 2], group=2, offset_group=4"
    assert deform_conv(step) == f"DeformConv(x, kernel, offset, {attributes})"


def test_other_rules_and_ranks_have_a_reason():
    assert deform_conv(deformed_step(padding_mode="inside")).reason == "DeformConv interpolates zeros outside of x"
    step = deformed_step(kernel=(4, 4, 3), padding=((0, 0),), stride=(1,), dilation=(1,))
    assert deform_conv(step).reason == "DeformConv takes two spatial axes"


@pytest.mark.parametrize("runtime", [onnx, onnxruntime])
def test_runtimes_with_the_node_have_no_limit(runtime):
    assert runtime.node_limit(deformed_step()) is None


@pytest.mark.parametrize("runtime", [onnx2torch, onnx_graphs, opencv, tract])
def test_runtimes_without_the_node_have_a_reason(runtime):
    assert "DeformConv" in runtime.node_limit(deformed_step()).reason
