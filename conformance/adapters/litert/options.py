"""LiteRT: arguments that operators share: padding by name, strides, and the conversion of one axis to two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conformance.adapters.api import (
    Code,
    Lowering,
    Step,
    Unsupported,
    as_lines,
    call,
    is_framework_same,
    padding_word,
)
from conformance.cases.operators import PaddingWord

PLANE_RANK = 2
"""Number of spatial axes of pooling, CONV_2D and TRANSPOSE_CONV."""
VOLUME_RANK = 3
"""Number of spatial axes of CONV_3D and CONV_3D_TRANSPOSE."""
AXIS_NAMES = {PLANE_RANK: "HW", VOLUME_RANK: "DHW"}
"""Letters of the spatial axes in the names of options."""
INT16_MAX, INT32_MAX = 2**15 - 1, 2**31 - 1
NO_LARGE_NUMBERS = Unsupported("the schema stores options as 32-bit integers")
NO_PADDING = Unsupported("the padding is VALID or SAME")
NO_STRIDE = Unsupported("the schema has no default stride: a model without strides has a stride of 0")


def node(name: str, inputs: Sequence[str], options: str | None = None) -> str:
    """Return the call that adds an operator to the graph."""
    return call("graph.node", f'"{name}"', f"[{', '.join(inputs)}]", options)


def integers(values: Sequence[int]) -> str:
    """Return an array of 32-bit integers as text, such as the sizes that an operator takes as an input."""
    return f"np.int32({[int(value) for value in values]})"


def pad_pairs(step: Step) -> str:
    """Return the pads of all axes of the array as text."""
    pairs = [[0, 0], *([int(before), int(after)] for before, after in step.padding), [0, 0]]
    return f"np.int32({pairs})"


def padding_option(step: Step) -> str | Unsupported:
    """Return the padding as a constant of the schema. It has no padding by numbers."""
    if is_framework_same(step):
        return "schema.Padding.SAME"
    # A case to reject can have pads for another number of axes, which the schema cannot store.
    if len(step.padding) != step.rank:
        return NO_PADDING
    if not step.padded:
        return "schema.Padding.VALID"
    return "schema.Padding.SAME" if padding_word(step) is PaddingWord.SAME_UPPER else NO_PADDING


def axis_options(name: str, values: Sequence[int], suffix: str = "") -> dict[str, str]:
    """Return one option for each axis: strideH and strideW for the name "stride"."""
    axes = zip(AXIS_NAMES[len(values)], values, strict=True)
    return {f"{name}{axis}{suffix}": str(int(value)) for axis, value in axes}


def first_reason(*limits: tuple[bool, Unsupported]) -> Unsupported | None:
    """Return the reason of the first limit that applies."""
    return next((reason for applies, reason in limits if applies), None)


def beyond_int32(step: Step) -> bool:
    """Whether an option is beyond 32 bits."""
    values = (*step.window, *(step.stride or ()), *step.dilation)
    return any(not -INT32_MAX <= value <= INT32_MAX for value in values)


def limit_stride(step: Step, text: str) -> str | Unsupported:
    """Return the call of a convolution, or the reason why the interpreter rejects its stride."""
    if max(step.stride or (0,)) <= INT16_MAX:
        return text
    return Unsupported(f"strides of convolutions are at most {INT16_MAX}", rejected_call=text)


EXPAND_LINE = f"x = {node('EXPAND_DIMS', ['x', 'np.int32(1)'])}"
SQUEEZE_LINE = f"x = {node('SQUEEZE', ['x'], 'schema.SqueezeOptionsT([1])')}"
KERNEL_LINE = "kernel = kernel[:, :, None]"


def as_plane(step: Step) -> Step:
    """Return a step of one axis as a step of two, the first of which has one cell."""
    first: dict[str, Any] = {"window": 1, "stride": 1, "dilation": 1, "padding": (0, 0), "output_padding": 0}
    given = {name: step.parameters[name] for name in first if step.parameters.get(name) is not None}
    changed = {name: values if isinstance(values, str) else (first[name], *values) for name, values in given.items()}
    kernel = (*step.kernel[:2], 1, *step.kernel[2:])
    shape = (*step.shape[:2], 1, *step.shape[2:])
    return replace(step.with_parameters(**changed), shape=shape, kernel=kernel if step.kernel else ())


def through_plane(lowering: Lowering) -> Lowering:
    """Return a lowering that writes a step of one axis as a step of two axes; other steps are lowered directly.

    The two lines around the operator change no value, so the program counts as one call.
    """

    def lower(step: Step) -> Code:
        code = lowering(as_plane(step) if step.rank == 1 else step)
        if step.rank != 1 or (isinstance(code, Unsupported) and code.rejected_call is None):
            return code
        if isinstance(code, Unsupported):
            return replace(code, rejected_call=_plane_lines(step, code.rejected_call or ()))
        return _plane_lines(step, code)

    return lower


def _plane_lines(step: Step, code: str | tuple[str, ...]) -> tuple[str, ...]:
    return (EXPAND_LINE, *(KERNEL_LINE,) * bool(step.kernel), *as_lines(code), SQUEEZE_LINE)
