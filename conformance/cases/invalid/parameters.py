"""Faults of parameters: what no window, stride, size or group can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS


def spatial_rank(case: Case) -> int:
    """Return the number of spatial axes."""
    return len(case.shape) - 2


def forward_operator(case: Case) -> str:
    """Return the operator, or the one whose gradient it is."""
    return OPERATORS[case.operator].forward


def _parameter_values(case: Case, name: str) -> tuple[Any, ...]:
    value = case.parameters.get(name)
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _has_other_rank(case: Case, name: str) -> bool:
    return len(case.parameters[name]) != spatial_rank(case)


def stride_is_zero(case: Case) -> bool:
    """The window steps by 0 along some axis."""
    return 0 in _parameter_values(case, "stride")


def negative_stride(case: Case) -> bool:
    """The window steps backwards along some axis."""
    return any(step < 0 for step in _parameter_values(case, "stride"))


def dilation_is_zero(case: Case) -> bool:
    """All cells of the window are one along some axis."""
    return 0 in _parameter_values(case, "dilation")


def negative_dilation(case: Case) -> bool:
    """The cells of the window go backwards along some axis."""
    return any(distance < 0 for distance in _parameter_values(case, "dilation"))


def window_is_zero(case: Case) -> bool:
    """The window has no cell along some axis."""
    return 0 in _parameter_values(case, "window")


def negative_window(case: Case) -> bool:
    """The extent of the window is negative along some axis."""
    return any(extent < 0 for extent in _parameter_values(case, "window"))


def window_rank_mismatch(case: Case) -> bool:
    """The window has more or fewer axes than the input."""
    return _has_other_rank(case, "window")


def stride_rank_mismatch(case: Case) -> bool:
    """The stride has more or fewer entries than the input has spatial axes."""
    return _has_other_rank(case, "stride")


def padding_rank_mismatch(case: Case) -> bool:
    """The padding has more or fewer pairs than the input has spatial axes."""
    return _has_other_rank(case, "padding")


def dilation_rank_mismatch(case: Case) -> bool:
    """The dilation has more or fewer entries than the input has spatial axes."""
    return _has_other_rank(case, "dilation")


def window_exceeds_padded_input(case: Case) -> bool:
    """The window, holes counted, is larger than the input with its padding along some axis."""
    if forward_operator(case) == "conv_transpose":
        return False
    window = case.inputs["kernel"].shape[2:] if "kernel" in case.inputs else case.parameters["window"]
    along = (window, case.parameters["padding"], case.parameters["dilation"])
    if any(len(values) != spatial_rank(case) for values in along):
        return False
    axes = zip(case.shape[2:], *along, strict=True)
    return any(
        extent > 0 and distance > 0 and distance * (extent - 1) + 1 > size + sum(pads)
        for size, extent, pads, distance in axes
    )


def padding_reaches_window(case: Case) -> bool:
    """The padding at some end is as large as the window, so that a window may hold nothing else."""
    padding = case.parameters["padding"]  # a word of the framework's own never reaches so far
    pairs = zip(case.parameters["window"], () if isinstance(padding, str) else padding, strict=False)
    return any(max(pads) >= extent > 0 for extent, pads in pairs)


def divisor_is_zero(case: Case) -> bool:
    """The sum of a window is divided by 0."""
    return 0 in _parameter_values(case, "divisor")


def power_is_zero(case: Case) -> bool:
    """A norm is taken to the power 0, whose root there is not."""
    return 0 in _parameter_values(case, "p")


def groups_are_zero(case: Case) -> bool:
    """The channels fall into 0 groups."""
    return 0 in _parameter_values(case, "groups")


def negative_groups(case: Case) -> bool:
    """The channels fall into less than 0 groups."""
    return any(groups < 0 for groups in _parameter_values(case, "groups"))


def groups_do_not_divide_channels(case: Case) -> bool:
    """The channels of the input do not fall into equal groups."""
    groups = case.parameters["groups"]
    return groups > 0 and bool(case.shape[1] % groups)


def groups_do_not_divide_outputs(case: Case) -> bool:
    """The channels of the output do not fall into equal groups."""
    groups = case.parameters["groups"]
    return forward_operator(case) == "conv" and groups > 0 and bool(case.inputs["kernel"].shape[0] % groups)


def negative_output_padding(case: Case) -> bool:
    """A transposed convolution adds less than 0 cells after some axis."""
    return any(further < 0 for further in _parameter_values(case, "output_padding"))


def output_padding_rank_mismatch(case: Case) -> bool:
    """The output padding has more or fewer entries than the input has spatial axes."""
    return _has_other_rank(case, "output_padding")


def padding_exceeds_output(case: Case) -> bool:
    """A transposed convolution takes away more cells than it has laid out along some axis."""
    kernel, names = case.inputs["kernel"].shape[2:], ("stride", "padding", "dilation", "output_padding")
    along = (kernel, *(case.parameters[name] for name in names))
    if forward_operator(case) != "conv_transpose" or any(len(values) != spatial_rank(case) for values in along):
        return False
    return any(
        min(extent, step, distance) > 0 and (size - 1) * step + distance * (extent - 1) + 1 + further < sum(pads)
        for size, extent, step, pads, distance, further in zip(case.shape[2:], *along, strict=True)
    )


def crop_exceeds_input(case: Case) -> bool:
    """Negative pads take away more cells than some axis has."""
    pairs = zip(case.shape[2:], case.parameters["pads"], strict=False)
    return any(-sum(min(end, 0) for end in pads) > size for size, pads in pairs)


def pads_rank_mismatch(case: Case) -> bool:
    """There are more or fewer pairs of pads than spatial axes."""
    return _has_other_rank(case, "pads")


def nothing_to_repeat(case: Case) -> bool:
    """Padding repeats the cells of an axis that has none."""
    pairs = zip(case.shape[2:], case.parameters["pads"], strict=False)
    return case.parameters["mode"] != "constant" and any(size == 0 and max(pads) > 0 for size, pads in pairs)


def negative_output_size(case: Case) -> bool:
    """The output is to have a negative extent along some axis."""
    return any(extent < 0 for extent in _parameter_values(case, "output_size"))


def output_size_rank_mismatch(case: Case) -> bool:
    """The output size has more or fewer entries than the input has spatial axes."""
    return _has_other_rank(case, "output_size")


def windows_exceed_input(case: Case) -> bool:
    """The windows of fractional pooling cannot all start at cells of their own and lie in the input."""
    along = (case.parameters["window"], case.parameters["output_size"])
    if forward_operator(case) != "fractional_max_pool" or any(len(values) != spatial_rank(case) for values in along):
        return False
    axes = zip(case.shape[2:], *along, strict=True)
    return any(min(extent, count) > 0 and extent + count - 1 > size for size, extent, count in axes)


PARAMETER_VIOLATIONS: Mapping[str, Callable[[Case], bool]] = MappingProxyType(
    {
        "StrideIsZero": stride_is_zero,
        "NegativeStride": negative_stride,
        "StrideRankMismatch": stride_rank_mismatch,
        "DilationIsZero": dilation_is_zero,
        "NegativeDilation": negative_dilation,
        "DilationRankMismatch": dilation_rank_mismatch,
        "WindowIsZero": window_is_zero,
        "NegativeWindow": negative_window,
        "WindowRankMismatch": window_rank_mismatch,
        "WindowExceedsPaddedInput": window_exceeds_padded_input,
        "PaddingRankMismatch": padding_rank_mismatch,
        "PaddingReachesWindow": padding_reaches_window,
        "DivisorIsZero": divisor_is_zero,
        "PowerIsZero": power_is_zero,
        "GroupsAreZero": groups_are_zero,
        "NegativeGroups": negative_groups,
        "GroupsDoNotDivideChannels": groups_do_not_divide_channels,
        "GroupsDoNotDivideOutputs": groups_do_not_divide_outputs,
        "NegativeOutputPadding": negative_output_padding,
        "OutputPaddingRankMismatch": output_padding_rank_mismatch,
        "PaddingExceedsOutput": padding_exceeds_output,
        "CropExceedsInput": crop_exceeds_input,
        "PadsRankMismatch": pads_rank_mismatch,
        "NothingToRepeat": nothing_to_repeat,
        "NegativeOutputSize": negative_output_size,
        "OutputSizeRankMismatch": output_size_rank_mismatch,
        "WindowsExceedInput": windows_exceed_input,
    }
)


def test_violation(test: Callable[[Case], bool], case: Case) -> bool:
    """Whether the case has a fault; never where it lacks what the fault is of."""
    try:
        return test(case)
    except LookupError:
        return False


def has_parameter_violation(case: Case) -> bool:
    """Whether some parameter is faulty."""
    return any(test_violation(test, case) for test in PARAMETER_VIOLATIONS.values())
