"""Apache MXNet: deformable convolution by `mxnet.nd.contrib`, which takes `mxnet.nd` arrays only."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, call, groups_argument, tuple_of
from conformance.adapters.api.resizing.deform_conv import output_limit, plane_limit, symmetric_limit
from conformance.adapters.mxnet.calls import ArrayApi
from conformance.cases.operators import OutsideMode

NAME = "DeformableConvolution"
MODULATED_NAME = "ModulatedDeformableConvolution"
NO_MASK = Unsupported("DeformableConvolution takes no mask")
NO_ONES = Unsupported("ModulatedDeformableConvolution needs a mask")
NO_GRADIENT = Unsupported('the gradient of ModulatedDeformableConvolution on CPUs: "only implemented in GPU"')
OUTPUT_CHANNELS = '"output num_filter must divide deformable group size"'


def _limit(step: Step, name: str) -> Unsupported | None:
    modes = {NAME: OutsideMode.INSIDE, MODULATED_NAME: OutsideMode.ZEROS}
    limit = plane_limit(step, name, modes[name]) or symmetric_limit(step, name)
    return limit or output_limit(step, OUTPUT_CHANNELS)


def deform_conv(step: Step, api: ArrayApi, *, ones: bool = False) -> Code:
    """Return the call: the one with a mask interpolates zeros outside of x, the other one has the value 0 there.

    ones: whether a mask of ones may be written.
    """
    is_modulated = step.parameters.get("padding_mode", OutsideMode.INSIDE) == OutsideMode.ZEROS or step.mask
    name = MODULATED_NAME if is_modulated else NAME
    unsupported = _limit(step, name)
    if unsupported:
        return NO_MASK if step.mask and step.parameters.get("padding_mode") == OutsideMode.INSIDE else unsupported
    if is_modulated and step.gradient:
        return NO_GRADIENT
    if is_modulated and not step.mask and not ones:
        return NO_ONES
    groups, masks = step.parameters.get("offset_groups", 1), f"mask{api.to_framework}"
    if is_modulated and not step.mask:
        masks = f"mx.nd.ones_like(offset{api.to_framework}[:, ::2])"
    return (
        call(
            f"mx.nd.contrib.{name}",
            f"x{api.to_framework}",
            f"offset{api.to_framework}",
            *[masks] * is_modulated,
            f"kernel{api.to_framework}",
            f"bias{api.to_framework}" if step.bias else None,
            kernel=tuple_of(step.window),
            stride=tuple_of(step.stride or ()),
            pad=tuple_of(step.symmetric or ()) if step.padded else None,
            dilate=tuple_of(step.dilation) if step.dilated else None,
            num_filter=str(step.kernel[0]),
            num_group=groups_argument(step),
            num_deformable_group=None if groups == 1 else str(groups),
            no_bias=None if step.bias else "True",
        )
        + api.to_numpy
    )
