"""ncnn: the layers Unfold and Fold of planes, whose order is crd. A row is a plane with one row."""

from __future__ import annotations

from conformance.adapters.api import Code, Step, Unsupported, as_lines, crops, is_framework_same
from conformance.adapters.api.blocks.recipes import NO_RANK
from conformance.adapters.api.columns.recipes import PLANE_RANK, with_one_window_axis, with_window_axes
from conformance.adapters.ncnn.convolution import SAME_UPPER
from conformance.adapters.ncnn.pooling import layer, pads, per_axis
from conformance.cases.operators import BlockOrder

NAMES = {"unfold": "Unfold", "fold": "Fold"}
OTHER_ORDER = Unsupported("the layer has the order crd")
NO_CROP = Unsupported("the layer ignores a negative pad")
NO_NAMED_OUTPUT = Unsupported("Fold takes the padding as numbers")


def _one_row(step: Step, numbers: list[str], first: int) -> list[str]:
    """Return the numbers of a layer, and that of the height of a plane with one row."""
    return [*numbers, f"{first}=1"] if step.rank == 1 else numbers


def _padding(step: Step) -> list[str]:
    if is_framework_same(step):
        return [SAME_UPPER]
    # The pads of the height are those of the width by default.
    return [*pads(step, 4), *["14=0", "16=0"] * (step.rank == 1 and step.padded)]


def _text(step: Step) -> str:
    stride = [] if step.stride is None else _one_row(step, per_axis(step, step.stride, 3), 13)
    return layer(
        NAMES[step.operator],
        [
            *_one_row(step, per_axis(step, step.window, 1), 11),
            *_one_row(step, per_axis(step, step.dilation, 2), 12),
            *stride,
            *_padding(step),
            *_output(step),
        ],
    )


def _output(step: Step) -> list[str]:
    if step.operator != "fold":
        return []
    extents = [1, *step.parameters["output_size"]][-PLANE_RANK:]
    return [f"{20 + axis}={int(size)}" for axis, size in enumerate(reversed(extents))]


def columns(step: Step) -> Code:
    """Return the layer."""
    if step.parameters.get("order", BlockOrder.CRD) != BlockOrder.CRD:
        return OTHER_ORDER
    if step.rank > PLANE_RANK:
        return NO_RANK
    is_same, is_fold = is_framework_same(step), step.operator == "fold"
    if is_same and is_fold:
        return NO_NAMED_OUTPUT
    if not is_same and crops(step):
        return NO_CROP
    return _fold(step) if is_fold else _unfold(step)


def _unfold(step: Step) -> Code:
    code = with_window_axes(step, _text(step))
    return code if step.rank == PLANE_RANK else ("x = x[:, :, None]", *as_lines(code))


def _fold(step: Step) -> Code:
    lines = with_one_window_axis(step, _text(step))
    return lines if step.rank == PLANE_RANK else (*lines, "x = x[:, :, 0]")
