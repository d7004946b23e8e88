"""ncnn: the layer DeformableConv2D, which takes the offsets and the mask as further inputs."""

from __future__ import annotations

import math

from conformance.adapters.api import Code, Step, Unsupported, is_framework_same
from conformance.adapters.api.resizing.deform_conv import plane_limit
from conformance.adapters.ncnn.pooling import pads, per_axis
from conformance.cases.operators import OutsideMode

NO_GROUPS = Unsupported("DeformableConv2D has no groups of channels")
NO_OFFSET_GROUPS = Unsupported("DeformableConv2D has the same offsets for all channels")
NO_NAMED_PADDING = Unsupported("DeformableConv2D has no named padding")


def deform_conv(step: Step) -> Code:
    """Return the layer, or the reason why it is unsupported."""
    given = step.parameters
    if given.get("groups", 1) != 1:
        return NO_GROUPS
    if given.get("offset_groups", 1) != 1:
        return NO_OFFSET_GROUPS
    if is_framework_same(step):
        return NO_NAMED_PADDING
    return plane_limit(step, "DeformableConv2D", OutsideMode.ZEROS) or _layer(step)


def _layer(step: Step) -> str:
    parameters = " ".join(
        [
            f"0={step.channels}",
            *per_axis(step, step.window, 1),
            *per_axis(step, step.dilation, 2),
            *([] if step.stride is None else per_axis(step, step.stride, 3)),
            *pads(step, 4),
            *["5=1"] * step.bias,
            f"6={math.prod(step.kernel)}",
        ]
    )
    inputs = ", ".join(["x", "offset", *["mask"] * step.mask])
    names = ", ".join(f'"{name}"' for name in inputs.split(", "))
    weights = ", ".join(["kernel", *["bias"] * step.bias])
    return f'compute(network("DeformableConv2D", "{parameters}", {weights}, inputs=({names})), {inputs})'
