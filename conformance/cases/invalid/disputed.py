"""Violations that some frameworks reject and others accept. Only answers of a convention may name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from conformance.cases.arrays import FLOATING_DTYPES, SHORT_FLOATS
from conformance.cases.case import ARRAYS_KEY, FRAMEWORK_SAME, MIXED_KEY, ArrayUse, Case
from conformance.cases.operators import WINDOW_PARAMETERS, PadMode, Rounding
from reference import Windows

MAX_INT32 = 2**31 - 1


def _window_exceeds_input(case: Case) -> bool:
    return any(extent > size for extent, size in zip(case.parameters["window"], case.shape[2:], strict=True))


def _padding_over_half_the_window(case: Case) -> bool:
    pairs = zip(case.parameters["window"], case.parameters["padding"], strict=True)
    return any(2 * max(pads) > extent for extent, pads in pairs)


def _window_of_padding_only(case: Case) -> bool:
    kernel = case.inputs["kernel"].shape[2:] if "kernel" in case.inputs else ()
    given = {"window": kernel, "rounding": Rounding.FLOOR.value, **case.parameters}
    windows = Windows.of(case.shape[2:], *(given[name] for name in WINDOW_PARAMETERS))
    return bool((windows.counts(False) == 0).any())


def _same_with_stride(case: Case) -> bool:
    return case.parameters["padding"] == FRAMEWORK_SAME and any(step != 1 for step in case.parameters["stride"])


def _pads_beyond_the_extent(case: Case) -> bool:
    inner = case.parameters["mode"] == PadMode.REFLECT
    pairs = zip(case.parameters["pads"], case.shape[2:], strict=True)
    return any(max(pads) > size - inner for pads, size in pairs)


def _crops(case: Case) -> bool:
    return any(min(pair) < 0 for pair in case.parameters["padding"])


def _exceeds_32_bits(case: Case) -> bool:
    names = ("window", "stride", "dilation")
    return any(number > MAX_INT32 for name in names for number in case.parameters.get(name, ()))


def _output_padding_not_below_stride(case: Case) -> bool:
    pairs = zip(case.parameters["output_padding"], case.parameters["stride"], strict=True)
    return any(further >= step for further, step in pairs)


def _bins_of_different_sizes(case: Case) -> bool:
    return any(size % bins for size, bins in zip(case.shape[2:], case.parameters["output_size"], strict=True))


def _has_coordinate_that_is_not_finite(case: Case) -> bool:
    points = case.inputs["grid" if "grid" in case.inputs else "offset"]
    return not bool(np.isfinite(points.make().astype(np.float64)).all())


DISPUTED_VIOLATIONS: Mapping[str, Callable[[Case], bool]] = MappingProxyType(
    {
        "WindowExceedsInput": _window_exceeds_input,
        "PaddingOverHalfTheWindow": _padding_over_half_the_window,
        "WindowOfPaddingOnly": _window_of_padding_only,
        "SameWithStride": _same_with_stride,
        "PadsBeyondTheExtent": _pads_beyond_the_extent,
        "NegativePads": lambda case: any(min(pads) < 0 for pads in case.parameters["pads"]),
        "NegativePadding": _crops,
        "NegativeDivisor": lambda case: case.parameters["divisor"] < 0,
        "EvenLocalSize": lambda case: case.parameters["local_size"] % 2 == 0,
        "NegativePower": lambda case: case.parameters["beta"] < 0,
        "PowerBelowOne": lambda case: case.parameters["p"] < 1,
        "ExceedsThirtyTwoBits": _exceeds_32_bits,
        "OutputSizeIsZero": lambda case: 0 in case.parameters["output_size"],
        "GridSizeIsZero": lambda case: 0 in case.parameters["grid_size"],
        "OutputPaddingNotBelowStride": _output_padding_not_below_stride,
        "BinsOfDifferentSizes": _bins_of_different_sizes,
        "EmptyBatch": lambda case: case.shape[0] == 0,
        "EmptyChannels": lambda case: case.shape[1] == 0,
        "EmptyExtent": lambda case: 0 in case.shape[2:],
        "SixteenBits": lambda case: case.dtype in SHORT_FLOATS or MIXED_KEY in case.parameters,
        "OtherByteOrder": lambda case: case.parameters.get(ARRAYS_KEY) == ArrayUse.BYTE_SWAPPED,
        "BlockOfOneCell": lambda case: case.parameters["block"] == 1,
        "NoStride": lambda case: "stride" not in case.parameters,
        "IndicesOfAnotherDtype": lambda case: case.inputs["indices"].dtype != "int64",
        "CoordinateNotFinite": _has_coordinate_that_is_not_finite,
        "NotFloating": lambda case: case.dtype not in FLOATING_DTYPES,
    }
)
