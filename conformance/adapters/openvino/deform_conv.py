"""OpenVINO: deformable convolution, which has both rules for points outside of x."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, is_framework_same
from conformance.adapters.api.resizing.deform_conv import plane_limit
from conformance.adapters.openvino.convolution import with_bias
from conformance.adapters.openvino.padding import pad_lists
from conformance.cases.operators import OutsideMode

NO_BIAS = Unsupported("deformable convolutions have no bias")


def deform_conv(step: Step) -> Code:
    """Return the call, which takes no bias."""
    unsupported = plane_limit(step, "deformable_convolution", OutsideMode.ZEROS, OutsideMode.INSIDE)
    if unsupported or step.bias:
        return unsupported or NO_BIAS
    given, zeros = step.parameters, str([0] * step.rank)
    pads = (zeros, zeros) if is_framework_same(step) else pad_lists(step)
    counts = {"group": given.get("groups", 1), "deformable_group": given.get("offset_groups", 1)}
    return call(
        "ops.deformable_convolution",
        "x",
        "offset",
        "kernel",
        *(str([*(step.stride or ())]), *pads, str([*step.dilation])),
        mask="mask" if step.mask else None,
        **{name: None if count == 1 else str(count) for name, count in counts.items()},
        bilinear_interpolation_pad="True" if given.get("padding_mode") == OutsideMode.ZEROS else None,
    )


def biased(step: Step) -> Code:
    """Return the call and the addition of the bias."""
    return with_bias(deform_conv, step)
