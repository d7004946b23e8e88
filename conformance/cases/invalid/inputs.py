"""Violations of inputs: arrays whose shapes do not fit each other, and values out of range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from conformance.cases.arrays import FLOATING_DTYPES
from conformance.cases.case import Case
from conformance.cases.invalid.parameters import has_parameter_violation, operator_of
from conformance.cases.operators import Arithmetic, Geometry
from conformance.cases.steps import input_shape


def kernel_rank_mismatch(case: Case) -> bool:
    """The kernel has more or fewer axes than the input."""
    return len(case.inputs["kernel"].shape) != len(case.shape)


def kernel_is_empty(case: Case) -> bool:
    """The kernel has extent 0 along some spatial axis."""
    return 0 in case.inputs["kernel"].shape[2:]


def kernel_channels_mismatch(case: Case) -> bool:
    """The number of input channels of the kernel differs from that of x."""
    kernel = case.inputs["kernel"].shape
    if operator_of(case).has_channel_kernels:
        return kernel[:2] != (case.shape[1], 1)
    groups = case.parameters["groups"]
    if operator_of(case).geometry is Geometry.TRANSPOSED:
        return kernel[0] != case.shape[1]
    # Where groups do not divide the channels, no kernel fits.
    return groups > 0 and not case.shape[1] % groups and kernel[1] * groups != case.shape[1]


def bias_length_mismatch(case: Case) -> bool:
    """The length of the bias differs from the number of output channels."""
    (length,) = case.inputs["bias"].shape if len(case.inputs["bias"].shape) == 1 else (None,)
    kernel, groups = case.inputs["kernel"].shape, case.parameters["groups"]
    return length is not None and groups > 0 and length != operator_of(case).output_channels(kernel, groups)


def bias_rank_mismatch(case: Case) -> bool:
    """The number of axes of the bias is not 1."""
    return len(case.inputs["bias"].shape) != 1


def indices_shape_mismatch(case: Case) -> bool:
    """The shape of the indices differs from that of x."""
    return case.inputs["indices"].shape != case.shape


def indices_are_floating(case: Case) -> bool:
    """The indices have a floating dtype."""
    return case.inputs["indices"].dtype in FLOATING_DTYPES


def index_beyond_output(case: Case) -> bool:
    """An index is at least the number of output elements in a plane."""
    size = case.parameters["output_size"]
    return min(size) > 0 and bool((case.inputs["indices"].make() >= math.prod(size)).any())


def index_below_minus_one(case: Case) -> bool:
    """An index is below -1. The index -1 means that the value is dropped."""
    return bool((case.inputs["indices"].make() < -1).any())


def samples_shape_mismatch(case: Case) -> bool:
    """The samples do not have one number for each plane and spatial axis."""
    return case.inputs["samples"].shape != input_shape("samples", case)


def grid_rank_mismatch(case: Case) -> bool:
    """The number of axes of the grid differs from that of x."""
    return len(case.inputs["grid"].shape) != len(case.shape)


def grid_batch_mismatch(case: Case) -> bool:
    """The grid has points for another number of images than x has."""
    return case.inputs["grid"].shape[0] != case.shape[0]


def grid_axes_mismatch(case: Case) -> bool:
    """The points of the grid have more or fewer coordinates than x has spatial axes."""
    return not grid_rank_mismatch(case) and case.inputs["grid"].shape[-1] != len(case.shape) - 2


def matrix_shape_mismatch(case: Case) -> bool:
    """The matrices of x are not 2 × 3 for a grid of two axes, or 3 × 4 for a grid of three axes."""
    if operator_of(case).geometry is not Geometry.POINTS:
        return False
    axes = len(case.parameters["grid_size"])
    return case.shape[1:] != (axes, axes + 1)


def _leaves_unit_interval(case: Case, name: str) -> bool:
    numbers = case.inputs[name].make().astype(float)
    return not bool(((numbers >= 0) & (numbers < 1)).all())


def sample_out_of_range(case: Case) -> bool:
    """A sample is not in [0, 1)."""
    return _leaves_unit_interval(case, "samples")


def draw_out_of_range(case: Case) -> bool:
    """A draw is not in [0, 1)."""
    return _leaves_unit_interval(case, "draws")


def _has_other_shape(case: Case, name: str) -> bool:
    # With invalid parameters, or an invalid kernel, the required shape is not defined.
    if has_parameter_violation(case) or ("kernel" in case.inputs and _has_undefined_output(case)):
        return False
    return case.inputs[name].shape != input_shape(name, case)


def _has_undefined_output(case: Case) -> bool:
    # A kernel of channels that do not match those of x gives the output no number of channels.
    is_per_channel = operator_of(case).has_channel_kernels
    return kernel_rank_mismatch(case) or kernel_is_empty(case) or (is_per_channel and kernel_channels_mismatch(case))


def draws_shape_mismatch(case: Case) -> bool:
    """The draws do not have one number for each window."""
    return _has_other_shape(case, "draws")


def offset_shape_mismatch(case: Case) -> bool:
    """The offsets do not have one number for each axis, cell and window of each offset group."""
    return _has_other_shape(case, "offset")


def mask_shape_mismatch(case: Case) -> bool:
    """The mask does not have one number for each cell and window of each offset group."""
    return _has_other_shape(case, "mask")


def grad_shape_mismatch(case: Case) -> bool:
    """The shape of the gradient differs from that of the output."""
    return _has_other_shape(case, "grad")


def negative_activation(case: Case) -> bool:
    """An input of stochastic pooling is negative, so it cannot be used as a probability."""
    return operator_of(case).arithmetic is Arithmetic.PROBABILITIES and bool((case.inputs["x"].make() < 0).any())


INPUT_VIOLATIONS: Mapping[str, Callable[[Case], bool]] = MappingProxyType(
    {
        "KernelRankMismatch": kernel_rank_mismatch,
        "KernelIsEmpty": kernel_is_empty,
        "KernelChannelsMismatch": kernel_channels_mismatch,
        "BiasLengthMismatch": bias_length_mismatch,
        "BiasRankMismatch": bias_rank_mismatch,
        "IndicesShapeMismatch": indices_shape_mismatch,
        "IndicesAreFloating": indices_are_floating,
        "IndexBeyondOutput": index_beyond_output,
        "IndexBelowMinusOne": index_below_minus_one,
        "SamplesShapeMismatch": samples_shape_mismatch,
        "SampleOutOfRange": sample_out_of_range,
        "GridRankMismatch": grid_rank_mismatch,
        "GridBatchMismatch": grid_batch_mismatch,
        "GridAxesMismatch": grid_axes_mismatch,
        "MatrixShapeMismatch": matrix_shape_mismatch,
        "NegativeActivation": negative_activation,
        "DrawsShapeMismatch": draws_shape_mismatch,
        "DrawOutOfRange": draw_out_of_range,
        "OffsetShapeMismatch": offset_shape_mismatch,
        "MaskShapeMismatch": mask_shape_mismatch,
        "GradShapeMismatch": grad_shape_mismatch,
    }
)
