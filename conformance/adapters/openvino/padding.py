"""OpenVINO: padding in every mode."""

from __future__ import annotations

import math

from conformance.adapters.api import Code, Step, Unsupported, call, exceeds_extent, indexed_pad, number, quoted
from conformance.cases.operators import PadMode

NO_WRAP = Unsupported("pad has no mode wrap")
SHORT_DTYPE_NAMES = {"float16": "f16", "bfloat16": "bf16"}
# Largest pad of a mode: the extent minus this number.
EXTENT_MARGINS = {"reflect": 1, "symmetric": 0}


def pad_lists(step: Step, *, outer: int = 0) -> tuple[str, str]:
    """Return the pads before and after as two lists; outer: number of leading axes without padding."""
    before, after = ([int(pair[side]) for pair in step.padding] for side in (0, 1))
    return str([0] * outer + before), str([0] * outer + after)


def pad_value_text(step: Step, value: float) -> str | None:
    """Return the source text of a value in the step's dtype; None for 0, the default.

    In float16 `ops.pad` rejects infinities and NaN as out of range, but not a constant of them. bfloat16 is converted.
    """
    # The value is a constant of the graph, in the dtype of x.
    if value == 0:
        return None
    if step.dtype == "bfloat16":
        return f"ops.convert(np.float32({number(value)}), ov.Type.bf16)"
    if step.dtype == "float16" and not math.isfinite(value):
        return f"ops.constant(np.float16({number(value)}))"
    return f"np.{step.dtype if step.dtype != 'bool' else 'bool_'}({number(value)})"


def pad(step: Step) -> Code:
    """Return the call, or the reason why it is unsupported."""
    mode = step.parameters["mode"]
    value = pad_value_text(step, step.parameters["value"]) if mode == PadMode.CONSTANT else None
    text = call("ops.pad", "x", *pad_lists(step, outer=2), quoted(mode), value)
    # The call is written although the mode does not exist: a convention case observes how it is rejected.
    if mode == PadMode.WRAP:
        return Unsupported(NO_WRAP.reason, rejected_call=text)
    if exceeds_extent(step, EXTENT_MARGINS):
        return Unsupported(f"mode {mode} cannot repeat the input more than once", rejected_call=text)
    return text


def crop(step: Step) -> str:
    """Return the call for negative pads."""
    return call("ops.pad", "x", *pad_lists(step, outer=2), '"constant"')


def gathered_pad(step: Step) -> Code:
    """Return indexing of each axis, for modes that the call does not have."""
    return indexed_pad(step, lambda cells, axis: (f"x = ops.gather(x, {cells}, {axis})",))
