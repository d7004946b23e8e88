"""OpenVINO: native pooling calls."""

from __future__ import annotations

from dataclasses import replace

from conformance.adapters.api import Code, Step, Unsupported, call, is_framework_same, text_unless_default
from conformance.adapters.openvino.padding import pad_lists
from conformance.cases.operators import Rounding

NO_STRIDES = Unsupported("strides must be given")
NO_EXCLUDE = Unsupported("exclude_pad must be given")
NO_DILATIONS = Unsupported("average pooling has dilations from opset 16 on")
NO_DIVISOR = Unsupported("average pooling has no divisor")
DROPS_WINDOWS = "ceil_torch drops complete windows that start in the padding"
# With "ceil" a last window may start in the padding; with "ceil_torch" it may not.
ROUNDING_TYPES = {"floor": "floor", "ceil": "ceil_torch", "full": "ceil"}


def pooling_arguments(step: Step) -> tuple[list[str], dict[str, str | None]] | Unsupported:
    """Return the positional arguments pads_begin, pads_end and kernel_shape, and the keyword arguments."""
    if step.stride is None:
        return NO_STRIDES
    zeros = str([0] * step.rank)
    pads = (zeros, zeros) if is_framework_same(step) else pad_lists(step)
    rounding = ROUNDING_TYPES[step.parameters.get("rounding", Rounding.FLOOR)]
    keywords = {
        "rounding_type": text_unless_default("floor", rounding, f'"{rounding}"'),
        "auto_pad": '"same_upper"' if is_framework_same(step) else None,
    }
    return [*pads, str([*step.window])], keywords


def _max_pool(step: Step, **options: str | None) -> str | Unsupported:
    arguments = pooling_arguments(step)
    if isinstance(arguments, Unsupported):
        return arguments
    stride, dilation = str([*(step.stride or ())]), str([*step.dilation])
    text = call("ops.max_pool", "x", stride, dilation, *arguments[0], **arguments[1], **options)
    return Unsupported(DROPS_WINDOWS, rejected_call=text) if step.has_windows_in_end_padding else text


def max_pool(step: Step) -> Code:
    """Return the values, output 0 of the call: the plugin takes one output of it only."""
    text = _max_pool(step)
    return text if isinstance(text, Unsupported) else f"{text}.output(0)"


def indexed_max_pool(step: Step) -> Code:
    """Return the values or the indices of the call; indices count from the axis given by `axis`."""
    if step.parameters.get("output", "values") == "values":
        return max_pool(step)
    pool = _max_pool(step, axis="2")
    if isinstance(pool, Unsupported):
        return pool
    text = f"{pool}.output(1)"
    return (
        Unsupported("no kernel returns indices for bfloat16", rejected_call=text) if step.dtype == "bfloat16" else text
    )


def widened_max_pool(step: Step) -> Code:
    """Return the indices for bfloat16, computed in float32, which represents every bfloat16 exactly."""
    indices = indexed_max_pool(replace(step, dtype="float32"))
    return indices if isinstance(indices, Unsupported) else ("x = ops.convert(x, ov.Type.f32)", f"x = {indices}")


def avg_pool(step: Step, *, has_dilations: bool = True) -> Code:
    """Return the call, or the reason why it is unsupported.

    has_dilations: whether the opset's call has `dilations`. They are optional, but without them the process ends.
    """
    if step.dilated and not has_dilations:
        return NO_DILATIONS
    if step.parameters["divisor"] is not None:
        return NO_DIVISOR
    if "count_include_pad" not in step.parameters:
        return NO_EXCLUDE
    arguments = pooling_arguments(step)
    if isinstance(arguments, Unsupported):
        return arguments
    # exclude_pad is the opposite of the usual count_include_pad.
    exclude = str(not step.parameters["count_include_pad"])
    stride, dilation = str([*(step.stride or ())]), str([*step.dilation])
    options = arguments[1] | ({"dilations": dilation} if has_dilations else {})
    text = call("ops.avg_pool", "x", stride, *arguments[0], exclude, **options)
    reason = (
        DROPS_WINDOWS
        if step.has_windows_in_end_padding
        else None
        if is_framework_same(step)
        else _unsupported_divisor(step)
    )
    return Unsupported(reason, rejected_call=text) if reason else text


def _unsupported_divisor(step: Step) -> str | None:
    """Return the reason why the call uses another divisor than the step, or None."""
    if step.parameters["count_include_pad"]:
        return "elements past the padded input count" if any(step.windows.overhang) else None
    too_large = any(max(pair) >= extent for pair, extent in zip(step.padding, step.window, strict=False))
    return "padding that does not count must be smaller than the window" if too_large else None


def spatial_axes(step: Step) -> str:
    """Return the source text of the list of spatial axes."""
    return str(list(range(2, 2 + step.rank)))


def global_pool(step: Step) -> Code:
    """Return global pooling as a reduction over the spatial axes."""
    # Unlike ops.max_pool, ops.reduce_max returns NaN if it is the last cell.
    kind = "max" if step.operator == "global_max_pool" else "mean"
    return f"ops.reduce_{kind}(x, {spatial_axes(step)}, True)"


def adaptive_pool(step: Step) -> Code:
    """Return the call; indices are i32, since the plugin does not take the default, i64."""
    sizes = str([*step.parameters["output_size"]])
    if step.operator == "adaptive_avg_pool":
        return f"ops.adaptive_avg_pool(x, {sizes})"
    return f'ops.adaptive_max_pool(x, {sizes}, "i32").output(0)'
