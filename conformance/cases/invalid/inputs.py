"""Faults of inputs: arrays that do not go with one another, and numbers that mean nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.case import Case
from conformance.cases.invalid.parameters import forward_operator, has_parameter_violation
from conformance.cases.steps import input_shape


def kernel_rank_mismatch(case: Case) -> bool:
    """The kernel has more or fewer axes than the input."""
    return len(case.inputs["kernel"].shape) != len(case.shape)


def kernel_is_empty(case: Case) -> bool:
    """The kernel has no cell along some spatial axis."""
    return 0 in case.inputs["kernel"].shape[2:]


def kernel_channels_mismatch(case: Case) -> bool:
    """The kernel is made for another number of input channels."""
    kernel, groups = case.inputs["kernel"].shape, case.parameters["groups"]
    if forward_operator(case) == "conv_transpose":
        return kernel[0] != case.shape[1]
    # Where groups do not divide the channels, no kernel fits.
    return groups > 0 and not case.shape[1] % groups and kernel[1] * groups != case.shape[1]


def bias_length_mismatch(case: Case) -> bool:
    """The bias has more or fewer numbers than there are output channels."""
    (length,) = case.inputs["bias"].shape if len(case.inputs["bias"].shape) == 1 else (None,)
    kernel, groups = case.inputs["kernel"].shape, case.parameters["groups"]
    channels = kernel[1] * groups if forward_operator(case) == "conv_transpose" else kernel[0]
    return length is not None and groups > 0 and length != channels


def bias_rank_mismatch(case: Case) -> bool:
    """The bias has more or fewer axes than one."""
    return len(case.inputs["bias"].shape) != 1


def indices_shape_mismatch(case: Case) -> bool:
    """There are more or fewer indices than values, or they lie otherwise."""
    return case.inputs["indices"].shape != case.shape


def indices_are_floating(case: Case) -> bool:
    """The indices are no whole numbers."""
    return NUMPY_DTYPES[case.inputs["indices"].dtype].kind in "fV"


def index_beyond_output(case: Case) -> bool:
    """An index is at or beyond the number of cells of the output."""
    size = case.parameters["output_size"]
    return min(size) > 0 and bool((case.inputs["indices"].make() >= math.prod(size)).any())


def index_below_minus_one(case: Case) -> bool:
    """An index is below -1, which means that the value goes nowhere."""
    return bool((case.inputs["indices"].make() < -1).any())


def samples_shape_mismatch(case: Case) -> bool:
    """There is not one sample for each plane and spatial axis."""
    return case.inputs["samples"].shape != input_shape("samples", case)


def _leaves_unit_interval(case: Case, name: str) -> bool:
    numbers = case.inputs[name].make().astype(float)
    return not bool(((numbers >= 0) & (numbers < 1)).all())


def sample_out_of_range(case: Case) -> bool:
    """A sample is below 0, or not below 1."""
    return _leaves_unit_interval(case, "samples")


def draw_out_of_range(case: Case) -> bool:
    """A draw is below 0, or not below 1."""
    return _leaves_unit_interval(case, "draws")


def _has_other_shape(case: Case, name: str) -> bool:
    # From faulty parameters no shape follows that could be another.
    if has_parameter_violation(case) or (
        "kernel" in case.inputs and (kernel_rank_mismatch(case) or kernel_is_empty(case))
    ):
        return False
    return case.inputs[name].shape != input_shape(name, case)


def draws_shape_mismatch(case: Case) -> bool:
    """There is not one draw for each window."""
    return _has_other_shape(case, "draws")


def grad_shape_mismatch(case: Case) -> bool:
    """The gradient has not the shape of the output."""
    return _has_other_shape(case, "grad")


def negative_activation(case: Case) -> bool:
    """Stochastic pooling is given a negative value, which is no share of a sum."""
    return forward_operator(case).startswith("stochastic_pool") and bool((case.inputs["x"].make() < 0).any())


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
        "NegativeActivation": negative_activation,
        "DrawsShapeMismatch": draws_shape_mismatch,
        "DrawOutOfRange": draw_out_of_range,
        "GradShapeMismatch": grad_shape_mismatch,
    }
)
