"""Violations of parameters: invalid windows, strides, paddings, dilations, sizes and groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from conformance.cases.case import Case
from conformance.cases.operators import OPERATORS, Geometry, Operator, PadMode
from reference import Windows


def spatial_rank(case: Case) -> int:
    """Return the number of spatial axes."""
    return len(case.shape) - 2


def operator_of(case: Case) -> Operator:
    """Return the operator of a case."""
    return OPERATORS[case.operator]


def _parameter_values(case: Case, name: str) -> tuple[Any, ...]:
    value = case.parameters.get(name)
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _has_other_rank(case: Case, name: str) -> bool:
    return len(case.parameters[name]) != spatial_rank(case)


def stride_is_zero(case: Case) -> bool:
    """The stride is 0 along some axis."""
    return 0 in _parameter_values(case, "stride")


def negative_stride(case: Case) -> bool:
    """The stride is negative along some axis."""
    return any(step < 0 for step in _parameter_values(case, "stride"))


def dilation_is_zero(case: Case) -> bool:
    """The dilation is 0 along some axis."""
    return 0 in _parameter_values(case, "dilation")


def negative_dilation(case: Case) -> bool:
    """The dilation is negative along some axis."""
    return any(distance < 0 for distance in _parameter_values(case, "dilation"))


def window_is_zero(case: Case) -> bool:
    """The extent of the window is 0 along some axis."""
    return 0 in _parameter_values(case, "window")


def negative_window(case: Case) -> bool:
    """The extent of the window is negative along some axis."""
    return any(extent < 0 for extent in _parameter_values(case, "window"))


def window_rank_mismatch(case: Case) -> bool:
    """The window has more or fewer entries than the input has spatial axes."""
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


def _plane(case: Case) -> tuple[int, ...]:
    """Return the extents of the plane that the windows are on: the output if columns are added to it, otherwise x."""
    is_output = operator_of(case).geometry is Geometry.FROM_COLUMNS
    return tuple(case.parameters["output_size"] if is_output else case.shape[2:])


def window_exceeds_padded_input(case: Case) -> bool:
    """The dilated window is larger than the padded input, or for fold the padded output, along some axis."""
    if operator_of(case).geometry is Geometry.TRANSPOSED:
        return False
    window = case.inputs["kernel"].shape[2:] if "kernel" in case.inputs else case.parameters["window"]
    along = (window, case.parameters["padding"], case.parameters["dilation"])
    if any(len(values) != spatial_rank(case) for values in along):
        return False
    plane = _plane(case)
    if len(plane) != spatial_rank(case) or min(plane) < 0:
        return False
    axes = zip(plane, *along, strict=True)
    # Padding that crops more cells than there are leaves no input to compare the window with.
    return not crop_exceeds_input(case) and any(
        extent > 0 and distance > 0 and distance * (extent - 1) + 1 > size + sum(pads)
        for size, extent, pads, distance in axes
    )


def padding_reaches_window(case: Case) -> bool:
    """The padding at some end is at least as large as the window, so that a window may contain only padding."""
    padding = case.parameters["padding"]  # the word "same" never adds that much
    pairs = zip(case.parameters["window"], () if isinstance(padding, str) else padding, strict=False)
    return any(max(pads) >= extent > 0 for extent, pads in pairs)


def divisor_is_zero(case: Case) -> bool:
    """The divisor is 0."""
    return 0 in _parameter_values(case, "divisor")


def power_is_zero(case: Case) -> bool:
    """The power p of a norm is 0, so that the root 1/p does not exist."""
    return 0 in _parameter_values(case, "p")


def groups_are_zero(case: Case) -> bool:
    """The number of groups is 0."""
    return 0 in _parameter_values(case, "groups")


def negative_groups(case: Case) -> bool:
    """The number of groups is negative."""
    return any(groups < 0 for groups in _parameter_values(case, "groups"))


def groups_do_not_divide_channels(case: Case) -> bool:
    """The number of groups does not divide the number of input channels."""
    groups = case.parameters["groups"]
    return groups > 0 and bool(case.shape[1] % groups)


def groups_do_not_divide_outputs(case: Case) -> bool:
    """The number of groups does not divide the number of output channels."""
    groups, kernel = case.parameters["groups"], case.inputs["kernel"].shape
    has_outputs_first = operator_of(case).geometry in {Geometry.WINDOWS, Geometry.DEFORMED}
    return has_outputs_first and groups > 0 and bool(kernel[0] % groups)


def offset_groups_do_not_divide_channels(case: Case) -> bool:
    """The number of offset groups does not divide the number of input channels."""
    groups = case.parameters["offset_groups"]
    return groups > 0 and bool(case.shape[1] % groups)


def negative_output_padding(case: Case) -> bool:
    """The output padding of a transposed convolution is negative along some axis."""
    return any(further < 0 for further in _parameter_values(case, "output_padding"))


def output_padding_rank_mismatch(case: Case) -> bool:
    """The output padding has more or fewer entries than the input has spatial axes."""
    return _has_other_rank(case, "output_padding")


def padding_exceeds_output(case: Case) -> bool:
    """The padding of a transposed convolution crops more cells than the uncropped output has along some axis."""
    kernel, names = case.inputs["kernel"].shape[2:], ("stride", "padding", "dilation", "output_padding")
    along = (kernel, *(case.parameters[name] for name in names))
    if operator_of(case).geometry is not Geometry.TRANSPOSED or any(len(one) != spatial_rank(case) for one in along):
        return False
    return any(
        min(extent, step, distance, further + 1) > 0
        and (size - 1) * step + distance * (extent - 1) + 1 + further < sum(pads)
        for size, extent, step, pads, distance, further in zip(case.shape[2:], *along, strict=True)
    )


def crop_exceeds_input(case: Case) -> bool:
    """Negative pads, or negative padding of windows, crop more cells than some axis has."""
    geometry = operator_of(case).geometry
    pads = case.parameters["pads" if geometry is Geometry.PADS else "padding"]
    # The word "same" never crops. The padding of a transposed convolution crops its output.
    crops = geometry is not Geometry.TRANSPOSED and not isinstance(pads, str)
    pairs = zip(_plane(case), pads, strict=False) if crops else ()
    return any(-sum(min(end, 0) for end in pads) > max(size, 0) for size, pads in pairs)


def pads_rank_mismatch(case: Case) -> bool:
    """The pads have more or fewer pairs than the input has spatial axes."""
    return _has_other_rank(case, "pads")


def nothing_to_repeat(case: Case) -> bool:
    """A padding mode that copies cells of the input is applied to an empty axis."""
    pairs = zip(case.shape[2:], case.parameters["pads"], strict=False)
    return case.parameters["mode"] != PadMode.CONSTANT and any(size == 0 and max(pads) > 0 for size, pads in pairs)


def negative_output_size(case: Case) -> bool:
    """The output size is negative along some axis."""
    return any(extent < 0 for extent in _parameter_values(case, "output_size"))


def output_size_rank_mismatch(case: Case) -> bool:
    """The output size has more or fewer entries than the input has spatial axes."""
    return _has_other_rank(case, "output_size")


def negative_size(case: Case) -> bool:
    """The size is negative along some axis."""
    return any(extent < 0 for extent in _parameter_values(case, "size"))


def size_rank_mismatch(case: Case) -> bool:
    """The size has more or fewer entries than the input has spatial axes."""
    return case.parameters["size"] is not None and _has_other_rank(case, "size")


def scale_is_zero(case: Case) -> bool:
    """The scale is 0 along some axis."""
    return 0 in _parameter_values(case, "scale")


def negative_scale(case: Case) -> bool:
    """The scale is negative along some axis."""
    return any(number < 0 for number in _parameter_values(case, "scale"))


def scale_rank_mismatch(case: Case) -> bool:
    """The scale has more or fewer entries than the input has spatial axes."""
    return case.parameters["scale"] is not None and _has_other_rank(case, "scale")


def roi_start_rank_mismatch(case: Case) -> bool:
    """The start of the region has more or fewer entries than the input has spatial axes."""
    return case.parameters["roi_start"] is not None and _has_other_rank(case, "roi_start")


def roi_end_rank_mismatch(case: Case) -> bool:
    """The end of the region has more or fewer entries than the input has spatial axes."""
    return case.parameters["roi_end"] is not None and _has_other_rank(case, "roi_end")


def size_and_scale(case: Case) -> bool:
    """Both a size and a scale are given."""
    return case.parameters["size"] is not None and case.parameters["scale"] is not None


def block_is_zero(case: Case) -> bool:
    """The extent of the blocks is 0."""
    return 0 in _parameter_values(case, "block")


def negative_block(case: Case) -> bool:
    """The extent of the blocks is negative."""
    return any(block < 0 for block in _parameter_values(case, "block"))


def block_does_not_divide_channels(case: Case) -> bool:
    """The number of cells of a block does not divide the number of channels."""
    if operator_of(case).geometry is not Geometry.TO_BLOCKS:
        return False
    return bool(case.shape[1] % operator_of(case).channel_multiple(case.parameters, spatial_rank(case)))


def block_does_not_divide_extent(case: Case) -> bool:
    """The extent of the blocks does not divide the extent of the input along some axis."""
    block = case.parameters["block"]
    if operator_of(case).geometry is not Geometry.FROM_BLOCKS or block < 1:
        return False
    return any(extent % block for extent in case.shape[2:])


def window_does_not_divide_channels(case: Case) -> bool:
    """The number of cells of a window does not divide the number of channels of fold."""
    if operator_of(case).geometry is not Geometry.FROM_COLUMNS:
        return False
    return bool(case.shape[1] % operator_of(case).channel_multiple(case.parameters, spatial_rank(case)))


def column_count_mismatch(case: Case) -> bool:
    """The extents of x are not the numbers of windows of the output of fold."""
    if operator_of(case).geometry is not Geometry.FROM_COLUMNS:
        return False
    names = ("output_size", "window", "stride", "padding", "dilation")
    if any(len(case.parameters[name]) != spatial_rank(case) for name in names):
        return False
    try:
        return Windows.of(*(case.parameters[name] for name in names)).output != case.shape[2:]
    except ValueError:  # there are no windows, which is another violation
        return False


def negative_grid_size(case: Case) -> bool:
    """The extent of a grid is negative along some axis."""
    return any(size < 0 for size in _parameter_values(case, "grid_size"))


def local_size_is_zero(case: Case) -> bool:
    """The number of channels in the window of a normalization is 0."""
    return 0 in _parameter_values(case, "local_size")


def negative_local_size(case: Case) -> bool:
    """The number of channels in the window of a normalization is negative."""
    return any(size < 0 for size in _parameter_values(case, "local_size"))


def windows_exceed_input(case: Case) -> bool:
    """The input is too small for the windows of fractional pooling to start at different cells and fit inside."""
    along = (case.parameters["window"], case.parameters["output_size"])
    if operator_of(case).geometry is not Geometry.FRACTIONS or any(len(one) != spatial_rank(case) for one in along):
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
        "OffsetGroupsDoNotDivideChannels": offset_groups_do_not_divide_channels,
        "NegativeOutputPadding": negative_output_padding,
        "OutputPaddingRankMismatch": output_padding_rank_mismatch,
        "PaddingExceedsOutput": padding_exceeds_output,
        "CropExceedsInput": crop_exceeds_input,
        "PadsRankMismatch": pads_rank_mismatch,
        "NothingToRepeat": nothing_to_repeat,
        "NegativeOutputSize": negative_output_size,
        "OutputSizeRankMismatch": output_size_rank_mismatch,
        "WindowsExceedInput": windows_exceed_input,
        "NegativeSize": negative_size,
        "SizeRankMismatch": size_rank_mismatch,
        "ScaleIsZero": scale_is_zero,
        "NegativeScale": negative_scale,
        "ScaleRankMismatch": scale_rank_mismatch,
        "RoiStartRankMismatch": roi_start_rank_mismatch,
        "RoiEndRankMismatch": roi_end_rank_mismatch,
        "SizeAndScale": size_and_scale,
        "BlockIsZero": block_is_zero,
        "NegativeBlock": negative_block,
        "BlockDoesNotDivideChannels": block_does_not_divide_channels,
        "BlockDoesNotDivideExtent": block_does_not_divide_extent,
        "WindowDoesNotDivideChannels": window_does_not_divide_channels,
        "ColumnCountMismatch": column_count_mismatch,
        "NegativeGridSize": negative_grid_size,
        "LocalSizeIsZero": local_size_is_zero,
        "NegativeLocalSize": negative_local_size,
    }
)


def violates(predicate: Callable[[Case], bool], case: Case) -> bool:
    """Whether the predicate is true for the case; False if the case lacks the parameter or input concerned."""
    try:
        return predicate(case)
    except LookupError:
        return False


def has_parameter_violation(case: Case) -> bool:
    """Whether some parameter is invalid."""
    return any(violates(predicate, case) for predicate in PARAMETER_VIOLATIONS.values())
