"""Metamorphic relations: equations between several calls of one backend, which need no reference.

Both sides of a relation must be equal. Relations are therefore checked only where nothing is rounded: for selections,
and for sums of integers that are exact in any order.

- batch: a batch gives the same results as its items one by one.
- channels: pooling gives the same results for each channel alone.
- axes: reversing the order of the spatial axes reverses it in the result.
- shift: removing the first cells of the input removes the first windows and does not change the others.
- negation: a minimum is the negated maximum of the negated values.
- convolution: an average is a convolution with equal weights.
- adjoint: a convolution and its gradient are adjoint, <conv x, y> = <x, gradient y>.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS, Array
from conformance.cases.case import Case
from conformance.cases.compositions import plan_steps
from conformance.cases.operators import CHANNEL_GEOMETRIES, GRADIENT_SUFFIX, OPERATORS, Arithmetic, Geometry, Rounding
from conformance.cases.steps import case_step
from conformance.exploration.candidate import WHOLE_NUMBER_VALUES, Candidate

EXACT_ARITHMETIC = frozenset({Arithmetic.SELECTION, Arithmetic.SUM})
NEGATED_OPERATORS = {"max_pool": "min_pool", "min_pool": "max_pool"}
"""The only pair of operators of which each is the other one, negated. The table of operators does not relate them."""
UNBATCHED_INPUTS = frozenset({"kernel", "bias"})
"""Inputs without a batch axis."""

InputArrays = Mapping[str, Array]


@dataclass(frozen=True)
class RelatedCall:
    """One call of a relation: the case that determines its program, and the inputs."""

    case: Case
    inputs: InputArrays


@dataclass(frozen=True)
class MetamorphicRelation:
    """A metamorphic relation.

    related_calls: returns the other calls for a candidate; empty if the relation does not apply.
    is_satisfied: checks the outputs: first that of the candidate, then those of the related calls.
    """

    name: str
    related_calls: Callable[[Candidate, InputArrays], Sequence[RelatedCall]]
    is_satisfied: Callable[[Candidate, InputArrays, Sequence[Array]], bool]


def _is_exact(candidate: Candidate) -> bool:
    """Check that nothing is rounded: a selection, or a linear operator on small integers."""
    if candidate.levels["values"] not in WHOLE_NUMBER_VALUES or candidate.levels["dtype"] in SHORT_FLOATS:
        return False
    return OPERATORS[candidate.operator].arithmetic in EXACT_ARITHMETIC


def _slice_inputs(inputs: InputArrays, index: tuple[slice, ...]) -> InputArrays:
    return {
        name: array if name in UNBATCHED_INPUTS else np.ascontiguousarray(array[index])
        for name, array in inputs.items()
    }


def _batch_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    batch = candidate.case.shape[0]
    has_batch = candidate.levels.get("output", "x") not in UNBATCHED_INPUTS  # the output of a gradient: of one input
    if batch < 2 or not _is_exact(candidate) or not has_batch:  # noqa: PLR2004 - several items
        return ()
    single = candidate.with_levels(batch=1).case
    return [RelatedCall(single, _slice_inputs(inputs, (slice(item, item + 1),))) for item in range(batch)]


def _channel_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    channels = candidate.case.shape[1]
    if channels < 2 or not _is_exact(candidate) or OPERATORS[candidate.operator].changes_channels:  # noqa: PLR2004 - several channels
        return ()
    single = candidate.with_levels(channels=1).case
    # The first and the last channel only: one call for each of up to 65 channels would take too long.
    return [
        RelatedCall(single, _slice_inputs(inputs, (slice(None), slice(item, item + 1)))) for item in (0, channels - 1)
    ]


def _is_concatenation(_candidate: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    return equal_arrays(outputs[0], np.concatenate(outputs[1:]))


def _matches_outer_channels(_candidate: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    output, first, last = outputs
    return equal_arrays(output[:, :1], first) and equal_arrays(output[:, -1:], last)


def _reversed_axes_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    # An index counts the cells in the order of the axes, so reversing them changes it.
    if candidate.rank < 2 or not _is_exact(candidate) or "indices" in {candidate.levels.get("output"), *inputs}:  # noqa: PLR2004
        return ()
    # Each axis has its own random sample, or cells that are channels are counted in the order of the axes.
    if OPERATORS[candidate.operator].geometry in {Geometry.FRACTIONS, *CHANNEL_GEOMETRIES}:
        return ()
    reversed_levels = {name: candidate.per_axis(name)[::-1] for name in candidate.per_axis_factors}
    reversed_inputs = {name: _reverse_axes(array) for name, array in inputs.items()}
    return [RelatedCall(candidate.with_levels(**reversed_levels).case, reversed_inputs)]


def _reverse_axes(array: Array) -> Array:
    if array.ndim < 3:  # noqa: PLR2004 - a bias has no spatial axes
        return array
    return np.ascontiguousarray(array.transpose(0, 1, *range(array.ndim - 1, 1, -1)))


def _equal_after_reversal(_candidate: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    return equal_arrays(_reverse_axes(outputs[0]), outputs[1])


def _shifted_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    skipped = _skipped_windows(candidate)
    if not skipped:
        return ()
    step = (case_step(candidate.case).stride or (1,))[-1]
    extent = candidate.per_axis("extent")
    shorter = candidate.with_levels(extent=(*extent[:-1], extent[-1] - skipped * step))
    if not shorter.is_valid():
        return ()
    return [RelatedCall(shorter.case, {**inputs, "x": np.ascontiguousarray(inputs["x"][..., skipped * step :])})]


def _skipped_windows(candidate: Candidate) -> int:
    """Return how many windows to skip at the start of the last axis; 0 if the relation does not apply."""
    case = candidate.case
    padding = case.parameters.get("padding", ())
    has_windows = (
        "padding" in candidate.levels and "stride" in candidate.levels and not OPERATORS[case.operator].is_gradient
    )
    if (
        not has_windows
        or not _is_exact(candidate)
        or OPERATORS[case.operator].geometry in {Geometry.TRANSPOSED, Geometry.FROM_COLUMNS}
        or candidate.levels.get("output") == "indices"
    ):
        return 0
    # Padding before the axis, and rules that depend on the extent, move the windows of the shorter input.
    if (
        isinstance(candidate.levels["padding"], str)
        or padding[-1][0]
        or candidate.levels.get("rounding") == Rounding.FULL
    ):
        return 0
    return int(case_step(case).output[-1] // 2)


def _equal_after_shift(candidate: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    return equal_arrays(np.ascontiguousarray(outputs[0][..., _skipped_windows(candidate) :]), outputs[1])


def _negated_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    other = NEGATED_OPERATORS.get(candidate.operator)
    # The smallest integer has no negative. Floating dtypes have one for every number.
    if not other or NUMPY_DTYPES[candidate.levels["dtype"]].kind not in "fV":
        return ()
    return [RelatedCall(Candidate(other, candidate.levels, candidate.inputs).case, {"x": -inputs["x"]})]


def _equal_after_negation(_candidate: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    return equal_arrays(outputs[0], -outputs[1])


def _convolution_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    operator = OPERATORS[candidate.operator]
    is_average = operator.is_pooling and operator.arithmetic is Arithmetic.AVERAGE and not operator.is_gradient
    integers = candidate.levels["values"] in WHOLE_NUMBER_VALUES and candidate.levels["dtype"] in {"float32", "float64"}
    if not is_average or not integers:
        return ()
    cells = int(np.prod(case_step(candidate.case).window))
    composed = replace(candidate.case, via=("conv",))
    try:
        plan_steps(composed)
    except ValueError:
        return ()
    return [RelatedCall(composed, inputs)] if cells & (cells - 1) == 0 else ()  # other weights 1/cells are rounded


def _adjoint_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    operator = OPERATORS[candidate.operator]
    is_linear = operator.arithmetic is Arithmetic.SUM and not operator.is_gradient
    if not is_linear or "bias" in inputs or not _is_exact(candidate):
        return ()
    levels = {**candidate.levels, "output": "x"}
    gradient = Candidate(
        candidate.operator + GRADIENT_SUFFIX, levels, {**candidate.inputs, "grad": {"values": "integers"}}
    ).case
    return [RelatedCall(gradient, {"grad": gradient.inputs["grad"].make(), **inputs})]


def _satisfies_adjoint(candidate: Candidate, inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    forward, backward = outputs
    (call,) = _adjoint_calls(candidate, inputs)
    grad = call.inputs["grad"].astype(np.float64)
    if forward.shape != grad.shape or backward.shape != inputs["x"].shape:
        return False
    # Sums of small integers are exact in float64, so both sides must be equal.
    left = (forward.astype(np.float64) * grad).sum()
    return bool(left == (inputs["x"].astype(np.float64) * backward.astype(np.float64)).sum())


def equal_arrays(one: Array, other: Array) -> bool:
    """Check that two arrays have the same shape, dtype and values. NaN equals NaN, and 0 equals -0."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124 - NaN


RELATIONS: tuple[MetamorphicRelation, ...] = (
    MetamorphicRelation("batch", _batch_calls, _is_concatenation),
    MetamorphicRelation("channels", _channel_calls, _matches_outer_channels),
    MetamorphicRelation("axes", _reversed_axes_calls, _equal_after_reversal),
    MetamorphicRelation("shift", _shifted_calls, _equal_after_shift),
    MetamorphicRelation("negation", _negated_calls, _equal_after_negation),
    MetamorphicRelation("convolution", _convolution_calls, lambda _candidate, _inputs, outputs: equal_arrays(*outputs)),
    MetamorphicRelation("adjoint", _adjoint_calls, _satisfies_adjoint),
)
