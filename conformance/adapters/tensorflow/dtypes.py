"""Dtypes that TensorFlow's CPU kernels support, and padding in TensorFlow's notation."""

from __future__ import annotations

from conformance.adapters.api import (
    FLOATING,
    INTEGERS,
    Code,
    Step,
    Unsupported,
    call,
    is_framework_same,
    pairs_for_all_axes,
    pairs_of,
    spatial_axes,
    too_many_axes,
    uses_framework_defaults,
)
from conformance.cases.operators import PadMode
from reference import Windows

VOLUME_RANK = 3
PLANE_RANK = 2
POOLING_DTYPES = FLOATING | INTEGERS - {"uint32", "uint64"}
ONEDNN_DTYPES = frozenset({"float32", "bfloat16"})
"""Dtypes that the kernels of oneDNN support.

Unlike TensorFlow's own kernels, they compute gradients with dilation, and three-dimensional pooling.
"""
FLOAT_ONLY = Unsupported(
    "three-dimensional pooling has kernels for float32 and bfloat16 only on the CPU",
    "https://github.com/tensorflow/tensorflow/issues/48644",
)
ROUNDS_DOWN = Unsupported("the call always rounds the output size down")
NO_STRIDED_DILATION = Unsupported("strides and dilations above 1 cannot be combined")
NO_INTEGER_AVERAGES = Unsupported("average pooling supports floating-point dtypes only")


def is_same_padding(step: Step) -> bool:
    """Whether the padding equals the padding of SAME for this input size."""
    # The padding of SAME depends on the stride, so padding that equals it for one input size may differ for another.
    # SAME has no window over an axis without cells.
    if step.stride is None or not step.padded or 0 in step.shape[2:]:
        return False
    return step.padding == Windows.of(step.shape[2:], step.window, step.stride, "same_upper", step.dilation).pads


def padding_name(step: Step) -> str | None:
    """Return "VALID" or "SAME", or None for any other padding."""
    if is_framework_same(step):
        return "SAME"
    return "VALID" if not step.padded else "SAME" if is_same_padding(step) else None


def array_padding_text(step: Step) -> str:
    """Return the explicit padding of every axis of the array, as text."""
    return str([list(pair) for pair in pairs_for_all_axes(step.padding, channels_last=True)])


def ones_per_axis(step: Step) -> tuple[int, ...]:
    """Return 1 for each spatial axis."""
    return (1,) * step.rank


def spatial_axes_text(step: Step) -> str:
    """Return the numbers of the spatial axes, as text."""
    return str(spatial_axes(step, first=1))


def padding_layer(module: str, step: Step, data_format: str | None = None) -> Code:
    """Return a layer that pads with zeros, or one that crops. No layer does both.

    module: the module of the layers, as text.
    """
    limit = too_many_axes(step)
    if limit:
        return limit
    if step.parameters.get("mode", PadMode.CONSTANT) != PadMode.CONSTANT or step.parameters.get("value", 0) != 0:
        return Unsupported("padding layers pad with zeros only")
    # ZeroPadding and Cropping are two layers, and users would need both for mixed signs.
    ends = [end for pair in step.padding for end in pair]
    if min(ends) < 0 < max(ends):
        return Unsupported("layers pad or crop, not both")
    # A convention case passes negative pads to ZeroPadding itself, to observe the result.
    crops = min(ends) < 0 and not uses_framework_defaults(step)
    removed = tuple((-before, -after) for before, after in step.padding)
    name, pads = ("Cropping", removed) if crops else ("ZeroPadding", step.padding)
    # The one-dimensional layers take one pair, the others a tuple of pairs.
    amounts = str(pads[0]) if step.rank == len(pads) == 1 else pairs_of(pads)
    return call(f"{module}.{name}{step.rank}D", amounts, data_format=data_format, dtype="x.dtype") + "(x)"
