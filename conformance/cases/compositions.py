"""Translation of a case into steps: its operator or a composition of others (`via`), and the operators in `then`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.cases.arrays import FLOATING_DTYPES, ArraySpec
from conformance.cases.case import Case, FollowingOperator
from conformance.cases.generators import GeneratorName
from conformance.cases.operators import OPERATORS, Rounding
from conformance.cases.parameters import check_extents, check_ranks, parse_parameters
from conformance.cases.steps import BuildingBlock, Step, case_step, pad_step, without_padding

MAX_RELU_WINDOW_CELLS = 100
"""Maximum number of window cells for max pooling from convolutions and ReLU. The kernels grow with its square."""


# A case is translated for one surface after the other, and its steps cache their windows.
@lru_cache(maxsize=32)
def plan_steps(case: Case) -> tuple[Step, ...]:
    """Return the steps of a case. Raises ValueError for invalid parameters."""
    first = case_step(case)
    steps = COMPOSITIONS[case.operator, case.via](first) if case.via else (first,)
    for following in case.then:
        steps += (_following_step(following, steps[-1]),)
    return steps


def _following_step(following: FollowingOperator, before: Step) -> Step:
    inputs = {"x": ArraySpec(GeneratorName.ARANGE.value, before.output, before.dtype), **following.inputs}
    # Words such as `same_upper` become numbers, which depend on the output that this operator reads.
    parameters = parse_parameters(OPERATORS[following.operator], following.parameters, inputs, (), invalid=False)
    check_ranks(parameters, before.rank)
    check_extents(parameters, inputs, 1)
    constants = {name: spec.make() for name, spec in following.inputs.items()}
    kernel = inputs["kernel"].shape if "kernel" in inputs else ()
    return Step(
        following.operator, before.output, before.dtype, parameters, kernel, "bias" in constants, constants=constants
    )


def _require_defaults(step: Step, **allowed: Any) -> None:
    """Raise ValueError for a parameter that a composition cannot express."""
    for name, value in allowed.items():
        if step.parameters.get(name, value) != value:
            raise ValueError(f"the composition needs {name} {value}, it cannot express {step.parameters[name]}")


def average_pool_as_convolution(step: Step) -> tuple[Step, ...]:
    """Return average pooling as a depthwise convolution with equal weights."""
    _require_defaults(
        step, divisor=None, rounding=Rounding.FLOOR, **({"count_include_pad": True} if step.padded else {})
    )
    return window_sum_as_convolution(step, 1 / int(np.prod(step.window)))


def window_sum_as_convolution(step: Step, weight: float = 1) -> tuple[Step, ...]:
    """Return the sum of each window as a depthwise convolution; weight: the value of every kernel element."""
    channels = step.shape[1]
    weights = np.full((channels, 1, *step.window), weight, step.dtype)
    parameters = {key: step.parameters[key] for key in ("stride", "padding", "dilation")} | {"groups": channels}
    return (Step("conv", step.shape, step.dtype, parameters, weights.shape, constants={"kernel": weights}),)


def pad_zeros_then_pool(step: Step) -> tuple[Step, ...]:
    """Return max pooling with explicit zero padding. Correct only for inputs without negative values."""
    _require_defaults(step, rounding=Rounding.FLOOR)
    padding = pad_step(step, step.padding, 0)
    return padding, without_padding(step, padding)


def min_pool_as_negated_max(step: Step) -> tuple[Step, ...]:
    """Return min pooling as the negated max pooling of -x. Raises ValueError for dtypes in which -x is not exact."""
    if step.dtype not in FLOATING_DTYPES:
        raise ValueError(f"the composition needs a floating dtype; the lowest value of {step.dtype} cannot be negated")
    negate = Step(BuildingBlock.NEGATE, step.shape, step.dtype)
    pool = replace(step, operator="max_pool")
    return negate, pool, replace(negate, shape=pool.output)


def max_pool_from_relu(step: Step) -> tuple[Step, ...]:
    """Return max pooling from convolutions and ReLU, exact on integers; see `relu_maximum_kernels`."""
    _require_defaults(step, padding=((0, 0),) * step.rank, rounding=Rounding.FLOOR)
    if step.shape[1] != 1:
        raise ValueError(f"the composition needs one channel, not {step.shape[1]}")
    cells = int(np.prod(step.window))
    if cells > MAX_RELU_WINDOW_CELLS:
        raise ValueError(f"the composition needs a window of at most {MAX_RELU_WINDOW_CELLS} cells, not {cells}")
    steps: list[Step] = []
    shape = step.shape
    for weights in relu_maximum_kernels(step.window):
        kernel = weights.astype(step.dtype)
        first = not steps
        parameters = {
            # The first convolution computes one channel for each pair of cells, so the others have 1 x 1 kernels.
            "stride": step.stride if first else (1,) * step.rank,
            "padding": ((0, 0),) * step.rank,
            "dilation": step.dilation if first else (1,) * step.rank,
            "groups": 1,
        }
        if not first:
            steps.append(Step(BuildingBlock.RELU, shape, step.dtype))
        steps.append(Step("conv", shape, step.dtype, parameters, kernel.shape, constants={"kernel": kernel}))
        shape = steps[-1].output
    return tuple(steps)


Composition = Callable[[Step], tuple[Step, ...]]
COMPOSITIONS: Mapping[tuple[str, tuple[str, ...]], Composition] = MappingProxyType(
    {
        ("avg_pool", ("conv",)): average_pool_as_convolution,
        ("max_pool", ("pad", "max_pool")): pad_zeros_then_pool,
        ("max_pool", ("conv", "relu")): max_pool_from_relu,
        ("min_pool", ("max_pool",)): min_pool_as_negated_max,
    }
)

Matrix = NDArray[np.int64]

PAIR_BEFORE = np.array([[1, -1], [0, 1], [0, -1]])
PAIR_AFTER = np.array([[1, 1, -1]])
SINGLE_BEFORE = np.array([[1], [-1]])
SINGLE_AFTER = np.array([[1, -1]])


def relu_maximum_kernels(window: Sequence[int]) -> list[NDArray[Any]]:
    """Return the kernels (out, in, *window) of the convolutions that compute the maximum of one channel.

    A ReLU follows each convolution except the last. Each pair of values is replaced by its maximum,
    max(a, b) = ReLU(a - b) + ReLU(b) - ReLU(-b), until one value remains. The first kernel has the window's extents,
    the others have extent 1. A window of one cell needs one convolution.
    """
    cells = math.prod(window)
    linear: Matrix = np.eye(cells, dtype=np.int64)
    kernels = []
    while linear.shape[0] > 1:
        before, after = _pairwise_maximum_weights(linear.shape[0])
        kernels.append(before @ linear)
        linear = after
    kernels.append(linear)
    ones = (1,) * len(window)
    return [kernels[0].reshape(-1, 1, *window), *(kernel.reshape(*kernel.shape, *ones) for kernel in kernels[1:])]


def relu_maximum_channels(window: Sequence[int]) -> list[int]:
    """Return the number of channels after each convolution, for example 6, 3, 1 for a 2 x 2 window.

    For a 3 x 3 window: 14, 8, 5, 3, 1.
    """
    return [kernel.shape[0] for kernel in relu_maximum_kernels(window)]


def _pairwise_maximum_weights(values: int) -> tuple[Matrix, Matrix]:
    """Return the weights before and after one ReLU that replace each pair of values by its maximum."""
    pairs, single = divmod(values, 2)
    before = [PAIR_BEFORE] * pairs + [SINGLE_BEFORE] * single
    after = [PAIR_AFTER] * pairs + [SINGLE_AFTER] * single
    return _block_diagonal(before), _block_diagonal(after)


def _block_diagonal(matrices: Sequence[Matrix]) -> Matrix:
    """Return the block-diagonal matrix with these blocks."""
    rows = sum(matrix.shape[0] for matrix in matrices)
    columns = sum(matrix.shape[1] for matrix in matrices)
    combined = np.zeros((rows, columns), np.int64)
    row = column = 0
    for matrix in matrices:
        combined[row : row + matrix.shape[0], column : column + matrix.shape[1]] = matrix
        row, column = row + matrix.shape[0], column + matrix.shape[1]
    return combined
