"""Other surfaces as an oracle: a comparison of the surfaces of a backend, where the reference gives no answer.

Selections return input values unchanged, so all surfaces must be equal. Sums of integers must be equal too, if the
dtype can represent every partial sum exactly. Any other sum may differ from the exact one by the error bound B
(`reference.arithmetic.bound`). B is computed from facts that are known in advance: the maximum number of terms, their
maximum absolute value, accumulation in the dtype itself, and subnormal numbers flushed to zero. Two results then differ
by at most 2·B. For nonlinear operators (powers, exponentials), for sums that may overflow and for sums without a bound,
only shapes and dtypes are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from conformance.adapters.api import Program
from conformance.cases.arrays import NUMPY_DTYPES, Array
from conformance.cases.operators import OPERATORS, WEIGHT_INPUTS, Arithmetic
from conformance.cases.steps import case_step
from conformance.execution.run import Run
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import make_checkable_task
from conformance.exploration.evaluation import Call, SurfaceResult
from conformance.exploration.relations import InputArrays, equal_arrays
from conformance.exploration.symptoms import OTHER_SURFACES, Symptom, fatal_symptom
from conformance.judging.verdict import ProgramOutcome
from reference import Exact, NoBound
from reports.results.vocabulary import DifferenceKind, Outcome, Status


@dataclass(frozen=True)
class SurfacesOracle:
    """Compares the results of the surfaces of a backend with each other."""

    needs_all_surfaces = True

    def checks(self, run: Run, candidate: Candidate, *, fatal: bool) -> Sequence[SurfacesCheck]:  # noqa: ARG002
        """Return one check of all surfaces that have a program and no ledger entry; none for fewer than two."""
        if candidate.violation or candidate.following:
            return []
        tasks = [make_checkable_task(run, candidate, surface) for surface in run.surfaces]
        tasks = [task for task in tasks if isinstance(task.program, Program) and not run.judge.ledger_entry(task)]
        if len(tasks) < 2:  # noqa: PLR2004 - surfaces to compare
            return []
        inputs = {name: spec.make() for name, spec in candidate.case.inputs.items()}
        return [SurfacesCheck(candidate, [Call(task, inputs) for task in tasks])]


@dataclass(frozen=True)
class SurfacesCheck:
    """A candidate on several surfaces."""

    candidate: Candidate
    calls: Sequence[Call]

    def judge(self, outcomes: Sequence[ProgramOutcome]) -> Iterator[SurfaceResult]:
        """Yield the results: first crashes and hangs, then comparisons of the returned arrays."""
        tasks = {call.task.surface.name: call.task for call in self.calls}
        outputs: dict[str, Array] = {}
        hows = {name: task.program.how for name, task in tasks.items() if isinstance(task.program, Program)}
        for name, one in zip(tasks, outcomes, strict=True):
            if symptom := fatal_symptom(one):
                yield SurfaceResult(
                    name, Status(one.kind), symptom, hows[name], str(OTHER_SURFACES), one.message, OTHER_SURFACES
                )
            elif one.kind == Outcome.RETURNED and len(one.arrays) == 1:
                outputs[name] = one.arrays[0]
        limit = max_distance(self.candidate, self.calls[0].inputs) if len(outputs) > 1 else None
        for name, difference in find_outliers(outputs, limit).items():
            if difference:
                symptom = Symptom(difference.kind, oracle=OTHER_SURFACES)
                message = f"differs from {difference.other_surface}: {difference.message}"
                yield SurfaceResult(name, Status.FAIL, symptom, hows[name], str(symptom), message, OTHER_SURFACES)
            else:
                yield SurfaceResult(name, Status.PASS, how=hows[name], kind=str(OTHER_SURFACES), oracle=OTHER_SURFACES)


@dataclass(frozen=True)
class SurfaceDifference:
    """A difference between two surfaces; kind: shape, dtype or value."""

    kind: DifferenceKind
    other_surface: str
    message: str


def find_outliers(outputs: InputArrays, limit: float | None) -> dict[str, SurfaceDifference | None]:
    """Return for each surface its difference from the majority, None if it agrees; empty for fewer than two surfaces.

    Without a majority every surface differs. limit: maximum distance of two numbers; None if values are not compared.
    """
    if len(outputs) < 2:  # noqa: PLR2004 - surfaces to compare
        return {}
    differences = {
        (one, other): _difference_between(outputs, one, other, limit) for one in outputs for other in outputs
    }
    # "Within the limit" is not transitive, so surfaces are not grouped: each counts those that agree with it.
    agreeing = {one: sum(differences[one, other] is None for other in outputs) for one in outputs}
    majority = [one for one in outputs if agreeing[one] == max(agreeing.values())]
    return {one: next(filter(None, (differences[one, other] for other in majority)), None) for one in outputs}


def _difference_between(outputs: InputArrays, one: str, other: str, limit: float | None) -> SurfaceDifference | None:
    left, right = outputs[one], outputs[other]
    for kind, first, second in (
        (DifferenceKind.SHAPE, left.shape, right.shape),
        (DifferenceKind.DTYPE, left.dtype, right.dtype),
    ):
        if first != second:
            return SurfaceDifference(kind, other, f"{first}, not {second}")
    if limit is None or equal_arrays(left, right):
        return None
    with np.errstate(invalid="ignore"):
        distance = np.abs(left.astype(np.float64) - right.astype(np.float64))
    # inf - inf is NaN: equal infinities and two NaNs have distance 0, a single NaN has an infinite distance.
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    distance = np.where(same, 0, np.where(np.isnan(distance), np.inf, distance))
    index = np.unravel_index(int(distance.argmax()), distance.shape)
    if limit and distance[index] <= limit:
        return None
    position = [int(number) for number in index]
    return SurfaceDifference(DifferenceKind.VALUE, other, f"{left[index]} at {position}, not {right[index]}")


def max_distance(candidate: Candidate, inputs: InputArrays) -> float | None:
    """Return the maximum distance of two correct results; None if there is no bound."""
    operator = OPERATORS[candidate.operator]
    if operator.arithmetic is Arithmetic.SELECTION and not operator.is_gradient:
        return 0.0
    if operator.arithmetic is not Arithmetic.SELECTION and not operator.arithmetic.is_linear:
        return None
    terms, total = _sum_size(candidate, inputs)
    dtype = NUMPY_DTYPES[candidate.case.dtype]
    exact = operator.arithmetic is not Arithmetic.AVERAGE and all(_is_whole(array) for array in inputs.values())
    if dtype.kind not in "fV":
        return 0.0 if exact and total <= np.iinfo(dtype).max else None
    info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    # Integers up to 2^(mantissa bits + 1) are exact in a floating-point dtype, in any order of summation.
    if exact and total <= 2.0 ** (info.nmant + 1):
        return 0.0
    in_range = not any(_has_subnormal(array, float(info.tiny)) for array in inputs.values())
    return _two_bounds(dtype, terms, total) if in_range and total < float(info.max) / 2 else None


def _two_bounds(dtype: np.dtype[Any], terms: int, total: float) -> float | None:
    """Return 2·B for a sum; None if there is no bound.

    terms: number of terms. total: sum of their absolute values.
    """
    size = np.array([total])
    sums = Exact(np.zeros(1, dtype), size, np.zeros(1), np.array([terms]), size, 0.0, exact=False)
    try:
        return 2 * float(sums.bound(accumulate=dtype, flush=True)[0])
    except NoBound:
        return None


def _sum_size(candidate: Candidate, inputs: InputArrays) -> tuple[int, float]:
    """Return the maximum number of terms of an output element, and the maximum sum of their absolute values."""
    largest = {name: float(np.abs(array.astype(np.float64)).max(initial=0)) for name, array in inputs.items()}
    operator = OPERATORS[candidate.operator]
    if operator.has_weights:
        output = candidate.levels.get("output")  # of a gradient: the input to which it belongs
        planes = max(inputs[name].size // max(inputs[name].shape[1], 1) for name in ("x", "grad") if name in inputs)
        terms = planes if output in WEIGHT_INPUTS else inputs["kernel"].size
        factors = math.prod(largest[name] for name in largest if name not in {"bias", output})
        return terms + 1, terms * factors + largest.get("bias", 0.0)
    step = case_step(candidate.case)
    # Without a window (global pooling, bins) an output may read all cells of a plane.
    cells = math.prod(step.window) if step.window else math.prod(step.shape[2:])
    if operator.is_gradient:
        outputs = inputs["grad"].size // max(math.prod(inputs["grad"].shape[:2]), 1)
        terms = min(cells, outputs) if step.window else outputs
        return terms, terms * largest["grad"]
    divisor = candidate.levels.get("divisor")
    # An average is at most the largest value. Any other result is a sum of up to all cells of a window.
    if divisor is None and operator.arithmetic is Arithmetic.AVERAGE:
        return cells, largest["x"]  # divided by the number of terms
    return cells, cells * largest["x"] / (divisor or 1)


def _is_whole(array: Array) -> bool:
    if array.dtype.kind in "iub":
        return True
    return bool(np.isfinite(wide := array.astype(np.float64)).all() and (wide == np.trunc(wide)).all())


def _has_subnormal(array: Array, tiny: float) -> bool:
    """Check whether a value is subnormal, infinite or NaN."""
    size = np.abs(array.astype(np.float64))
    return bool((~np.isfinite(size) | ((size > 0) & (size < tiny))).any())
