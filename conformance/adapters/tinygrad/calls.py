"""tinygrad: its own pooling and convolution, which take any number of axes in spite of their names."""

from __future__ import annotations

from conformance.adapters.api.source_text import call, is_framework_same, per_axis, text_unless_default, tuple_of
from conformance.adapters.api.surface import Code, Unsupported
from conformance.adapters.tinygrad.padding import flat_pads_text
from conformance.cases.steps import Step

NO_NAMED_PADDING = Unsupported("there is no padding by name")
NO_FLAT_PADS = Unsupported("twice as many numbers as there are axes are the padding before and behind each")
NO_FULL_ROUNDING = Unsupported("ceil_mode drops a last window that would start in the padding")
DROPS_WINDOWS = "ceil_mode drops windows that start in the padding, though they fit"


def padding_text(step: Step) -> str | None:
    """Return the padding: one number an axis, or both ends of every axis in one list, the last axis first."""
    if not step.padded:
        return None
    return flat_pads_text(step) if step.symmetric is None else per_axis(step.symmetric)


def _unsupported_padding(step: Step) -> Unsupported | None:
    """Return why the padding has no words, be it that of a case that must be refused."""
    if is_framework_same(step):
        return NO_NAMED_PADDING
    return NO_FLAT_PADS if step.padded and len(step.padding) == 2 * step.rank else None


def _pool_call(name: str, step: Step, **more: str | None) -> str | Unsupported:
    lacking = _unsupported_padding(step)
    if lacking:
        return lacking
    rounding = step.parameters.get("rounding", "floor")
    if rounding == "full":
        return NO_FULL_ROUNDING
    text = call(
        f"x.{name}",
        tuple_of(step.window),
        stride=per_axis(step.stride) if step.stride != step.window else None,
        dilation=per_axis(step.dilation) if step.dilated else None,
        padding=padding_text(step),
        ceil_mode=text_unless_default("floor", rounding, "True"),
        **more,
    )
    return Unsupported(DROPS_WINDOWS, rejected_call=text) if step.has_windows_in_end_padding else text


def max_pool(step: Step) -> Code:
    """Return the call, or why there is none."""
    return _pool_call("max_pool2d", step)


def indexed_max_pool(step: Step) -> Code:
    """Return the values or the indices of one call; indices are int32, and are made the suite's int64."""
    answer = _pool_call("max_pool2d", step, return_indices="True")
    which = "[1].cast(dtypes.int64)" if step.parameters.get("output") == "indices" else "[0]"
    return answer if isinstance(answer, Unsupported) else f"{answer}{which}"


def avg_pool(step: Step) -> Code:
    """Return the call, or why there is none."""
    if step.parameters["divisor"] is not None:
        return Unsupported("average pooling has no divisor")
    # Without padding both rules count the same cells; the default, which counts padding, then need not be named.
    include = None if not step.padded or step.parameters.get("count_include_pad", True) else "False"
    return _pool_call("avg_pool2d", step, count_include_pad=include)


def max_unpool(step: Step) -> Code:
    """Return the call, which needs no window where it is told the size."""
    return call("x.max_unpool2d", "indices", output_size=tuple_of(step.parameters["output_size"]))


def spatial_axes(step: Step) -> str:
    """Return the spatial axes."""
    return tuple_of(range(2, 2 + step.rank))


def global_pool(step: Step) -> Code:
    """Return the reduction of whole planes."""
    kind = "max" if step.operator == "global_max_pool" else "mean"
    return f"x.{kind}({spatial_axes(step)}, keepdim=True)"


def convolution(name: str, step: Step) -> Code:
    """Return the call; sums of narrow integers would be 32-bit ones."""
    lacking = _unsupported_padding(step)
    if lacking:
        return lacking
    narrow = step.dtype in ("int8", "int16", "uint8", "uint16")
    if narrow and name != "conv2d":
        return Unsupported("transposed convolution has no dtype, and sums of narrow integers have 32 bits")
    further = step.parameters.get("output_padding", ())
    return call(
        f"x.{name}",
        "kernel",
        "bias" if step.bias else None,
        groups=text_unless_default(1, step.parameters["groups"]),
        stride=per_axis(step.stride) if any(stride != 1 for stride in step.stride or ()) else None,
        dilation=per_axis(step.dilation) if step.dilated else None,
        padding=padding_text(step),
        output_padding=per_axis(further) if any(further) else None,
        dtype=f"dtypes.{step.dtype}" if narrow else None,
    )
