"""OpenVINO: its own pooling calls."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api.source_text import call, is_framework_same, text_unless_default
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.openvino.padding import pad_lists
from conformance.cases.steps import Step

NO_STRIDES = Unsupported("strides must be given")
NO_EXCLUDE = Unsupported("exclude_pad must be given")
NO_DIVISOR = Unsupported("average pooling has no divisor")
DROPS_WINDOWS = "ceil_torch drops windows that start in the padding, though they fit"
# "ceil" lets a last window start in the padding, "ceil_torch" does not.
ROUNDING_TYPES = {"floor": "floor", "ceil": "ceil_torch", "full": "ceil"}


def pooling_arguments(step: Step) -> tuple[list[str], dict[str, str | None]] | Unsupported:
    """Return pads and window as both calls take them, and their keywords."""
    if step.stride is None:
        return NO_STRIDES
    zeros = str([0] * step.rank)
    pads = (zeros, zeros) if is_framework_same(step) else pad_lists(step)
    rounding = ROUNDING_TYPES[step.parameters.get("rounding", "floor")]
    keywords = {
        "rounding_type": text_unless_default("floor", rounding, f'"{rounding}"'),
        "auto_pad": '"same_upper"' if is_framework_same(step) else None,
    }
    return [*pads, str([*step.window])], keywords


def _max_pool(step: Step, **more: str | None) -> str | Unsupported:
    said = pooling_arguments(step)
    if isinstance(said, Unsupported):
        return said
    stride, holes = str([*(step.stride or ())]), str([*step.dilation])
    text = call("ops.max_pool", "x", stride, holes, *said[0], **said[1], **more)
    return Unsupported(DROPS_WINDOWS, rejected_call=text) if step.has_windows_in_end_padding else text


def max_pool(step: Step) -> Code:
    """Return the call's values: of both outputs the plugin takes only one."""
    answer = _max_pool(step)
    return answer if isinstance(answer, Unsupported) else f"{answer}.output(0)"


def indexed_max_pool(step: Step) -> Code:
    """Return the values or the indices of one call, which count from the axis that it is told."""
    if step.parameters.get("output", "values") == "values":
        return max_pool(step)
    answer = _max_pool(step, axis="2")
    if isinstance(answer, Unsupported):
        return answer
    text = f"{answer}.output(1)"
    return Unsupported("no kernel finds indices in bfloat16", rejected_call=text) if step.dtype == "bfloat16" else text


def widened_max_pool(step: Step) -> Code:
    """Return the indices in bfloat16 as those in float32, which holds every number of it."""
    answer = indexed_max_pool(replace(step, dtype="float32"))
    return answer if isinstance(answer, Unsupported) else ("x = ops.convert(x, ov.Type.f32)", f"x = {answer}")


def avg_pool(step: Step) -> Code:
    """Return the call, or why there is none; without dilations, which it does not demand, it ends the process."""
    if step.parameters["divisor"] is not None:
        return NO_DIVISOR
    if "count_include_pad" not in step.parameters:
        return NO_EXCLUDE
    said = pooling_arguments(step)
    if isinstance(said, Unsupported):
        return said
    exclude = str(not step.parameters["count_include_pad"])
    stride, holes = str([*(step.stride or ())]), str([*step.dilation])
    text = call("ops.avg_pool", "x", stride, *said[0], exclude, **said[1], dilations=holes)
    reason = (
        DROPS_WINDOWS
        if step.has_windows_in_end_padding
        else None
        if is_framework_same(step)
        else _unsupported_divisor(step)
    )
    return Unsupported(reason, rejected_call=text) if reason else text


def _unsupported_divisor(step: Step) -> str | None:
    """Return why the call would not divide by what the step says."""
    if step.parameters["count_include_pad"]:
        return "cells past the padded input count" if any(step.windows.overhang) else None
    beyond = any(max(pair) >= extent for pair, extent in zip(step.padding, step.window, strict=False))
    return "padding that is not counted must be smaller than the window" if beyond else None


def spatial_axes(step: Step) -> str:
    """Return the spatial axes."""
    return str(list(range(2, 2 + step.rank)))


def global_pool(step: Step) -> Code:
    """Return the reduction of whole planes."""
    kind = "max" if step.operator == "global_max_pool" else "mean"
    return f"ops.reduce_{kind}(x, {spatial_axes(step)}, True)"


def adaptive_pool(step: Step) -> Code:
    """Return the call; the plugin does not take its default of 64-bit indices."""
    sizes = str([*step.parameters["output_size"]])
    if step.operator == "adaptive_avg_pool":
        return f"ops.adaptive_avg_pool(x, {sizes})"
    return f'ops.adaptive_max_pool(x, {sizes}, "i32").output(0)'
