"""The named faults for which a case must be rejected, each with a test that the case really has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from conformance.cases import Case


def _stride_is_zero(case: Case) -> bool:
    return 0 in case.parameters["stride"]


def _dilation_is_zero(case: Case) -> bool:
    return 0 in case.parameters["dilation"]


def _window_exceeds_padded_input(case: Case) -> bool:
    kernel = case.inputs["kernel"].shape[2:] if "kernel" in case.inputs else ()
    window = case.parameters.get("window", kernel)
    axes = zip(case.shape[2:], window, case.parameters["padding"], case.parameters["dilation"], strict=True)
    return any(dilation * (extent - 1) + 1 > size + sum(pads) for size, extent, pads, dilation in axes)


def _padding_reaches_window(case: Case) -> bool:
    pairs = zip(case.parameters["window"], case.parameters["padding"], strict=True)
    return any(max(pads) >= extent for extent, pads in pairs)


def _groups_do_not_divide_channels(case: Case) -> bool:
    return bool(case.shape[1] % case.parameters["groups"])


def _kernel_channels_mismatch(case: Case) -> bool:
    return bool(case.inputs["kernel"].shape[1] * case.parameters["groups"] != case.shape[1])


PREDICATES: Mapping[str, Callable[[Case], bool]] = MappingProxyType(
    {
        "StrideIsZero": _stride_is_zero,
        "DilationIsZero": _dilation_is_zero,
        "WindowExceedsPaddedInput": _window_exceeds_padded_input,
        "PaddingReachesWindow": _padding_reaches_window,
        "GroupsDoNotDivideChannels": _groups_do_not_divide_channels,
        "KernelChannelsMismatch": _kernel_channels_mismatch,
    }
)
