"""PaddlePaddle: deformable convolution by `paddle.vision.ops`."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, call, nonzero_argument
from conformance.adapters.api.resizing.deform_conv import output_limit, plane_limit, symmetric_limit
from conformance.adapters.paddle.convolution import Keywords, convolution_keywords, layer_lines
from conformance.cases.operators import OutsideMode

DTYPES = frozenset({"float32", "float64"})
NAME = "deform_conv2d"
MODULE = "paddle.vision.ops"
OUTPUT_CHANNELS = '"The number of output channels should be divided by deformable groups."'


def _keywords(step: Step) -> Keywords:
    groups = step.parameters.get("offset_groups", 1)
    return {
        **convolution_keywords(step),
        "padding": nonzero_argument(step.symmetric or ()),
        "deformable_groups": None if groups == 1 else str(groups),
    }


def deform_conv(step: Step, *, layer: bool) -> Code:
    """Return the call or the layer, or the reason why it is unsupported."""
    limit = plane_limit(step, NAME, OutsideMode.ZEROS) or symmetric_limit(step, NAME)
    unsupported = limit or output_limit(step, OUTPUT_CHANNELS)
    if unsupported:
        return unsupported
    mask, keywords = "mask" if step.mask else None, _keywords(step)
    if not layer:
        inputs = ("x", "offset", "kernel", "bias" if step.bias else None)
        return call(f"{MODULE}.deform_conv2d", *inputs, **keywords, mask=mask)
    *lines, _ = layer_lines("DeformConv2D", step, keywords, module=MODULE)
    return (*lines, f"x = {call('conv', 'x', 'offset', mask)}")
