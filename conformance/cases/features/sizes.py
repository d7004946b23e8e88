"""Features of the sizes of a case: parity, sizes that are equal, and sizes just above the width of a block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from conformance.cases import geometry
from conformance.cases.case import Case, Rejected
from conformance.cases.geometry import WindowAxis, parameter_per_axis
from reference import Windows

BLOCK_WIDTHS = (8, 16, 64)
"""Sizes of the blocks in which frameworks process channels and windows. A last block of one is a special case."""
MAX_FEW_CHANNELS = 8
"""Largest number of channels for which `many_channels` is false."""
VECTOR_CELLS = 32
"""Number of cells of a plane that fills vectors without a remainder."""
MAX_NAMED_WINDOW = 5
"""Largest extent of a window whose exact size is a feature."""


def output_channels(case: Case) -> int:
    """Return the number of channels of the output. Operators without a kernel have those of x."""
    kernel = case.inputs["kernel"].shape if "kernel" in case.inputs else ()
    # The kernel of a case that must be rejected may have any rank.
    if len(kernel) <= 1:
        return case.shape[1]
    return kernel[1] * case.parameters["groups"] if geometry.is_transposed(case) else kernel[0]


def is_depthwise(case: Case) -> bool:
    """Whether each group of a convolution has one input channel and one output channel."""
    return "kernel" in case.inputs and case.shape[1] == output_channels(case) == case.parameters.get("groups")


def exceeds_eight_channels(case: Case) -> bool:
    """Whether a convolution has more than eight input channels or output channels in a group.

    Larger convolutions of 3 × 3 are computed with another algorithm on some runtimes.
    """
    groups = case.parameters.get("groups")
    if "kernel" not in case.inputs or not isinstance(groups, int) or groups < 1:
        return False
    return max(case.shape[1], output_channels(case)) > MAX_FEW_CHANNELS * groups


def size_features(case: Case) -> Iterator[str]:
    """Yield the features of channels, extents, windows, padding and bins that compare sizes with each other."""
    batch, channels, *extents = case.shape
    yield from _count_features("images", [batch])
    yield from _count_features("planes", [batch * channels])
    yield from _count_features("channels", [channels])
    if math.prod(extents) == 1:
        yield "one cell in a plane"
    if math.prod(extents) and math.prod(extents) % VECTOR_CELLS == 0:
        yield f"a multiple of {VECTOR_CELLS} cells in a plane"
    yield from _count_features("cells on an axis", extents)
    output = geometry.output_shape(case)
    if len(output) > 2:  # noqa: PLR2004 - batch and channels
        spatial = list(output[2:])
        yield from _count_features("cells of output on an axis", spatial)
        if math.prod(spatial) > 1:
            yield "several cells of output"
        if math.prod(spatial) % 2 == 1 and math.prod(spatial) > 1:
            yield "an odd number of cells in a plane of output"
    groups = case.parameters.get("groups", 1)
    if isinstance(groups, int) and 1 < groups == channels:
        yield "a group for each channel"
    kernel = case.inputs["kernel"].shape if "kernel" in case.inputs else ()
    if len(kernel) > 1:
        yield from _count_features("channels in a group", [kernel[0 if geometry.is_transposed(case) else 1]])
        yield from _output_channel_features(kernel, groups, is_transposed=geometry.is_transposed(case))
    yield from _window_size_features(case)
    yield from _padding_features(case)
    yield from _output_size_features(list(zip(extents, parameter_per_axis(case, "output_size"), strict=False)))
    yield from _power_features(case.parameters.get("p"))
    yield from _value_features(case.parameters.get("value", 0))
    yield from (f"{following.operator} after {case.operator}" for following in case.then[:1])
    if isinstance(case.expect, Rejected):
        yield f"the violation {case.expect.violation}"


def _output_channel_features(kernel: tuple[int, ...], groups: object, *, is_transposed: bool) -> Iterator[str]:
    if not isinstance(groups, int) or groups < 1:
        return
    in_group = kernel[1] if is_transposed else kernel[0] // groups
    if in_group > 1:
        yield "several output channels in a group"
    if in_group * groups > BLOCK_WIDTHS[0]:
        yield f"more than {BLOCK_WIDTHS[0]} output channels"


def _count_features(what: str, counts: list[int]) -> Iterator[str]:
    if any(count % 2 and count > 1 for count in counts):
        yield f"an odd number of {what}, above 1"
    if any(count % 2 == 0 for count in counts):
        yield f"an even number of {what}"
    for width in BLOCK_WIDTHS:
        if any(count > width and count % width == 1 for count in counts):
            yield f"one more than a multiple of {width} {what}"


AXIS_FEATURES: Mapping[str, Callable[[WindowAxis], bool]] = MappingProxyType(
    {
        "stride equal to dilation, above 1": lambda axis: axis.stride == axis.dilation > 1,
        "stride and dilation with a common factor": lambda axis: (
            axis.window > 1 and math.gcd(abs(axis.stride), abs(axis.dilation)) > 1
        ),
        "a stride above 1 and one less than the window": lambda axis: 1 < axis.stride == axis.window - 1,
        "a dilated window as large as the extent": lambda axis: axis.dilation > 1 and axis.reach == axis.extent,
        "a window as large as the extent": lambda axis: axis.window == axis.extent,
        "a larger window on an axis of one cell": lambda axis: axis.window > axis.extent == 1,
        "several cells of a window": lambda axis: axis.window > 1,
    }
)
"""Checks that one axis has to pass."""
WHOLE_FEATURES: Mapping[str, Callable[[list[WindowAxis]], bool]] = MappingProxyType(
    {
        "stride 1": lambda axes: all(axis.stride == 1 for axis in axes),
        "no dilation": lambda axes: all(axis.dilation == 1 for axis in axes),
        "windows of one cell": lambda axes: all(axis.window == 1 for axis in axes),
        "a dilated window as large as the input": lambda axes: (
            all(axis.reach == axis.extent for axis in axes) and any(axis.dilation > 1 for axis in axes)
        ),
        "stride equal to the window": lambda axes: all(axis.stride == axis.window for axis in axes),
        "a stride above 1 on the first axis": lambda axes: len(axes) > 1 and axes[0].stride > 1,
        "a window of one cell on the first axis": lambda axes: len(axes) > 1 and axes[0].window == 1,
        "a dilated last axis": lambda axes: len(axes) > 1 and axes[-1].dilation > 1 and axes[-1].window > 1,
        "strides that differ": lambda axes: len({axis.stride for axis in axes}) > 1,
    }
)
"""Checks on all axes."""


def _window_size_features(case: Case) -> Iterator[str]:
    axes = geometry.window_axes(case)
    if not axes:
        return
    yield from (phrase for phrase, is_true in AXIS_FEATURES.items() if any(map(is_true, axes)))
    yield from (phrase for phrase, is_true in WHOLE_FEATURES.items() if is_true(axes))
    if geometry.has_window_of_padding(case):
        yield "a window of padding only"
    windows = None if geometry.is_transposed(case) else geometry.case_windows(case)
    if windows is not None and any(_starts_behind(windows, axis) for axis in range(len(axes))):
        yield "a window that starts in the padding after an axis"
    sizes = [axis.window for axis in axes]
    if max(sizes) <= MAX_NAMED_WINDOW and len(sizes) > 1:
        yield f"a window of {' × '.join(map(str, sizes))}"


def _starts_behind(windows: Windows, axis: int) -> bool:
    last = (windows.output[axis] - 1) * windows.stride[axis] - windows.pads[axis][0]
    return bool(last >= windows.size[axis])


def _padding_features(case: Case) -> Iterator[str]:
    pairs = geometry.number_pairs(case)
    axes = list(zip(case.shape[2:], pairs, strict=False))
    if pairs and not any(any(pair) for pair in pairs):
        yield "no padding"
    if {end for pair in pairs for end in pair} == {1}:
        yield "one cell of padding on every side"
    yield from (phrase for phrase, is_true in PADDING_AXIS_FEATURES.items() if any(is_true(*axis) for axis in axes))
    if sum(max(pair) > 0 for pair in pairs) > 1:
        yield "padding of several axes"
    if len(pairs) > 1 and len({end for pair in pairs for end in pair}) == 2 * len(pairs):
        yield "padding that is different at every end"
    if any(any(pair) for pair in pairs) and case.parameters.get("count_include_pad") is False:
        yield "padding that is not counted"
    if "divisor" in case.parameters and case.parameters["divisor"] is None:
        yield "no divisor"
    if len(pairs) > 1 and max(pairs[0]) > 0:
        yield "padding of the first axis"


PADDING_AXIS_FEATURES: Mapping[str, Callable[[int, tuple[int, int]], bool]] = MappingProxyType(
    {
        "padding before as wide as the extent": lambda extent, pair: pair[0] == extent > 0,
        "padding after as wide as the extent": lambda extent, pair: pair[1] == extent > 0,
        "padding at least as wide as the extent": lambda extent, pair: max(pair) >= extent > 0,
        "padding wider than the extent": lambda extent, pair: max(pair) > extent,
        "padding of an axis of one cell": lambda extent, pair: extent == 1 and max(pair) > 0,
        "an axis with a crop and padding": lambda _, pair: min(pair) < 0 < max(pair),
        "a crop before": lambda _, pair: pair[0] < 0,
        "a crop before and padding after an axis": lambda _, pair: pair[0] < 0 < pair[1],
        "padding before and a crop after an axis": lambda _, pair: pair[1] < 0 < pair[0],
        "a crop to one cell": lambda extent, pair: (
            min(pair) < 0 and extent + min(pair[0], 0) + min(pair[1], 0) == 1 < extent
        ),
        "different padding at the two ends of an axis": lambda _, pair: pair[0] != pair[1],
    }
)
"""Checks on the extent and the padding of one axis."""


def _output_size_features(axes: list[tuple[int, int]]) -> Iterator[str]:
    """Yield the features of an output size. axes: extent and output size of each axis."""
    if not axes:
        return
    kept = [extent == output for extent, output in axes]
    if any(kept) and not all(kept):
        yield "an output size equal to the extent on some axes only"
    if all(kept):
        yield "an output size equal to the extent on all axes"
    sizes = [output for _, output in axes]
    if min(sizes) == 1 < max(sizes):
        yield "an output size of 1 on some axes only"
    if any(output > 8 and extent % output for extent, output in axes):  # noqa: PLR2004 - the text names it
        yield "more than 8 bins that do not divide the extent"


def _power_features(power: object) -> Iterator[str]:
    if isinstance(power, (int, float)):
        if power != int(power):
            yield "a p that is not an integer"
        elif power % 2:
            yield "an odd p"
            if power > 1:
                yield "an odd p above 1"


def _value_features(value: object) -> Iterator[str]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if math.isnan(value):
            yield "a value of NaN"
        if math.isinf(value):
            yield "an infinite value"
        elif math.isfinite(value) and value != int(value):
            yield "a value that is not an integer"
