"""tinygrad: pooling and convolution. The methods named `…2d` accept any number of axes."""

from __future__ import annotations

from conformance.adapters.api import (
    Code,
    Step,
    Unsupported,
    call,
    count_include_pad_argument,
    dilation_argument,
    flat_pads,
    groups_argument,
    is_framework_same,
    nonzero_argument,
    per_axis,
    pooling_stride_argument,
    spatial_axes,
    text_unless_default,
    tuple_of,
)
from conformance.cases.operators import Rounding

NO_NAMED_PADDING = Unsupported("tinygrad has no padding by name")
# (1, 0, 0, 1) for two axes is read as both ends of each axis, so a wrong number of pads cannot be observed.
NO_FLAT_PADS = Unsupported("two numbers for each axis are read as the padding before and after it")
NO_FULL_ROUNDING = Unsupported("ceil_mode drops a last window that would start in the padding")
DROPS_WINDOWS = "ceil_mode drops windows that start in the padding, although they fit"


def padding_text(step: Step) -> str | None:
    """Return the padding: one number for each axis, or one list with both ends of each axis, the last axis first."""
    if not step.padded:
        return None
    return flat_pads(step) if step.symmetric is None else per_axis(step.symmetric)


def _unsupported_padding(step: Step) -> Unsupported | None:
    """Return why the padding cannot be written, also for cases that must be rejected."""
    if is_framework_same(step):
        return NO_NAMED_PADDING
    return NO_FLAT_PADS if step.padded and len(step.padding) == 2 * step.rank else None


def _pool_call(name: str, step: Step, **options: str | None) -> str | Unsupported:
    unsupported = _unsupported_padding(step)
    if unsupported:
        return unsupported
    # ceil_mode follows PyTorch's formula, which drops windows that start in the padding, also those that fit.
    rounding = step.parameters.get("rounding", Rounding.FLOOR)
    if rounding == Rounding.FULL:
        return NO_FULL_ROUNDING
    text = call(
        f"x.{name}",
        # Not one number for all axes: the methods pool as many axes as the window has numbers.
        tuple_of(step.window),
        stride=pooling_stride_argument(step),
        dilation=dilation_argument(step),
        padding=padding_text(step),
        ceil_mode=text_unless_default("floor", rounding, "True"),
        **options,
    )
    return Unsupported(DROPS_WINDOWS, rejected_call=text) if step.has_windows_in_end_padding else text


def max_pool(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    return _pool_call("max_pool2d", step)


def indexed_max_pool(step: Step) -> Code:
    """Return the values or the indices of one call; int32 indices are converted to int64, as in the suite."""
    answer = _pool_call("max_pool2d", step, return_indices="True")
    # The indices are int32, as everywhere in tinygrad; the suite compares dtypes, too.
    result = "[1].cast(dtypes.int64)" if step.parameters.get("output") == "indices" else "[0]"
    return answer if isinstance(answer, Unsupported) else f"{answer}{result}"


def avg_pool(step: Step) -> Code:
    """Return the call, or Unsupported with the reason."""
    if step.parameters["divisor"] is not None:
        return Unsupported("average pooling has no divisor")
    return _pool_call("avg_pool2d", step, count_include_pad=count_include_pad_argument(step))


def max_unpool(step: Step) -> Code:
    """Return the call; with output_size, it needs no window."""
    return call("x.max_unpool2d", "indices", output_size=tuple_of(step.parameters["output_size"]))


def global_pool(step: Step) -> Code:
    """Return the reduction of whole planes."""
    kind = "max" if step.operator == "global_max_pool" else "mean"
    return f"x.{kind}({tuple_of(spatial_axes(step))}, keepdim=True)"


def convolution(name: str, step: Step) -> Code:
    """Return the call. For narrow integers, dtype is set, because the default sums them in 32 bits."""
    unsupported = _unsupported_padding(step)
    if unsupported:
        return unsupported
    # Products are summed in int32 by default; the catalogue defines sums that wrap in the dtype of x.
    narrow = step.dtype in ("int8", "int16", "uint8", "uint16")
    if narrow and name != "conv2d":
        return Unsupported("transposed convolution has no argument dtype, and sums narrow integers in 32 bits")
    output_padding = step.parameters.get("output_padding", ())
    return call(
        f"x.{name}",
        "kernel",
        "bias" if step.bias else None,
        groups=groups_argument(step),
        stride=per_axis(step.stride) if any(stride != 1 for stride in step.stride or ()) else None,
        dilation=dilation_argument(step),
        padding=padding_text(step),
        output_padding=nonzero_argument(output_padding),
        dtype=f"dtypes.{step.dtype}" if narrow else None,
    )
