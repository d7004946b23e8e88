"""The surfaces of a backend against each other: what they must agree in though no reference says what is right.

Selections hand numbers on, so that surfaces are equal. Sums of whole numbers are, too, in whatever order and type they
are added, where the dtype holds all that they come to exactly. Any other sum may be off by B of the error bound (see
`reference.bound`), with what is known of it beforehand: so many terms at most, none larger than so much, added in the
dtype itself at worst, and flushed where they are below its normal numbers. Two results are then no further apart than
2·B. Of what is curved (powers, exponentials), what may overflow and what has no such bound, shapes and dtypes are
compared alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from conformance.adapters.api.surface import Program
from conformance.cases.arrays import NUMPY_DTYPES, Array
from conformance.cases.operators import GRADIENT_SUFFIX
from conformance.cases.steps import case_step
from conformance.execution.worker_process import Job
from conformance.exploration.candidate import Candidate
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, SurfaceResult
from conformance.exploration.metamorphic import equal_arrays
from conformance.judging.verdict import ProgramOutcome
from reference import Exact, NoBound

SURFACES_PREFIX = "surfaces: "
CURVED_OPERATORS = ("lp_pool", "softmax_pool", "stochastic_pool")
AVERAGE_OPERATORS = ("avg_pool", "global_avg_pool", "adaptive_avg_pool")
WEIGHT_INPUTS = frozenset({"kernel", "bias"})

InputArrays = Mapping[str, Array]


def compare_surfaces(evaluator: LocalEvaluator, candidates: Sequence[Candidate]) -> list[CandidateResult]:
    """Return for each recipe which surfaces part from the others, as the lab does; nothing of one that is alone."""
    programs = [evaluator.programs(recipe) for recipe in candidates]
    pairs = [(recipe, some if len(some) > 1 else {}) for recipe, some in zip(candidates, programs, strict=True)]
    outcomes = evaluator.run_jobs(_make_jobs(pairs))
    return [
        CandidateResult(recipe, tuple(_surface_results(evaluator, recipe, some, [next(outcomes) for _ in some])))
        for recipe, some in pairs
    ]


def _make_jobs(pairs: Sequence[tuple[Candidate, Mapping[str, Program]]]) -> Iterator[Job]:
    for recipe, programs in pairs:
        arrays = tuple(_make_inputs(recipe).values()) if programs else ()
        yield from (Job(program, arrays) for program in programs.values())


def _make_inputs(candidate: Candidate) -> InputArrays:
    return {name: spec.make() for name, spec in candidate.case.inputs.items()}


def _surface_results(
    evaluator: LocalEvaluator, candidate: Candidate, programs: Mapping[str, Program], outcomes: Sequence[ProgramOutcome]
) -> Iterator[SurfaceResult]:
    """Yield what came of each surface: whether it ended or hung, or else whether it is at odds with the others."""
    there: dict[str, Array] = {}
    for name, outcome in zip(programs, outcomes, strict=True):
        if way := evaluator.process_failure(candidate.case, outcome):
            yield SurfaceResult(name, outcome.kind, way, programs[name].how, SURFACES_PREFIX, outcome.message)
        elif outcome.kind == "returned" and len(outcome.arrays) == 1:
            there[name] = outcome.arrays[0]
    limit = max_distance(candidate, _make_inputs(candidate)) if len(there) > 1 else None
    for name, fault in find_outliers(there, limit).items():
        way = f"{SURFACES_PREFIX}{fault.kind}" if fault else ""
        status, message = ("fail", f"not as {fault.other_surface}: {fault.message}") if fault else ("pass", "")
        yield SurfaceResult(name, status, way, programs[name].how, f"{SURFACES_PREFIX}{way}", message)


@dataclass(frozen=True)
class SurfaceDifference:
    """How a surface parts from another: in shape, dtype or value."""

    kind: str
    other_surface: str
    message: str


def find_outliers(outputs: InputArrays, limit: float | None) -> dict[str, SurfaceDifference | None]:
    """Return for each surface how it parts from those that agree with most; nothing where there is nobody beside it.

    Where as many say one thing as another, all part. limit: how far apart numbers may be, None for any distance.
    """
    if len(outputs) < 2:  # noqa: PLR2004 - surfaces to compare
        return {}
    faults = {(one, other): _difference_between(outputs, one, other, limit) for one in outputs for other in outputs}
    alike = {one: sum(faults[one, other] is None for other in outputs) for one in outputs}
    most = [one for one in outputs if alike[one] == max(alike.values())]
    return {one: next(filter(None, (faults[one, other] for other in most)), None) for one in outputs}


def _difference_between(outputs: InputArrays, one: str, other: str, limit: float | None) -> SurfaceDifference | None:
    mine, yours = outputs[one], outputs[other]
    for kind, first, second in (("shape", mine.shape, yours.shape), ("dtype", mine.dtype, yours.dtype)):
        if first != second:
            return SurfaceDifference(kind, other, f"{first}, not {second}")
    if limit is None or equal_arrays(mine, yours):
        return None
    with np.errstate(invalid="ignore"):
        gap = np.abs(mine.astype(np.float64) - yours.astype(np.float64))
    gap = np.where((mine == yours) | (np.isnan(mine) & np.isnan(yours)), 0, np.where(np.isnan(gap), np.inf, gap))
    place = np.unravel_index(int(gap.argmax()), gap.shape)
    if limit and gap[place] <= limit:
        return None
    return SurfaceDifference("value", other, f"{mine[place]} at {[int(part) for part in place]}, not {yours[place]}")


def max_distance(candidate: Candidate, inputs: InputArrays) -> float | None:
    """Return how far apart two right results may be at most, None where nothing can be said."""
    forward = candidate.operator.removesuffix(GRADIENT_SUFFIX)
    if forward.startswith(CURVED_OPERATORS):
        return None
    if not candidate.operator.endswith(GRADIENT_SUFFIX) and not forward.startswith(("conv", *AVERAGE_OPERATORS)):
        return 0.0
    terms, total = _sum_size(candidate, inputs)
    dtype = NUMPY_DTYPES[candidate.case.dtype]
    exact = not forward.startswith(AVERAGE_OPERATORS) and all(_is_whole(array) for array in inputs.values())
    if dtype.kind not in "fV":
        return 0.0 if exact and total <= np.iinfo(dtype).max else None
    info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    if exact and total <= 2.0 ** (info.nmant + 1):
        return 0.0
    ordinary = not any(_has_subnormal(array, float(info.tiny)) for array in inputs.values())
    return _two_bounds(dtype, terms, total) if ordinary and total < float(info.max) / 2 else None


def _two_bounds(dtype: np.dtype[Any], terms: int, total: float) -> float | None:
    """Return 2·B for a sum of so many terms whose absolute values come to so much, None where there is no bound."""
    size = np.array([total])
    sums = Exact(np.zeros(1, dtype), size, np.zeros(1), np.array([terms]), size, 0.0, exact=False)
    try:
        return 2 * float(sums.bound(accumulate=dtype, flush=True)[0])
    except NoBound:
        return None


def _sum_size(candidate: Candidate, inputs: InputArrays) -> tuple[int, float]:
    """Return how many terms an element of a sum has at most, and what their absolute values add up to at most."""
    largest = {name: float(np.abs(array.astype(np.float64)).max(initial=0)) for name, array in inputs.items()}
    if candidate.operator.startswith("conv"):
        output = candidate.levels.get("output")
        planes = max(inputs[name].size // max(inputs[name].shape[1], 1) for name in ("x", "grad") if name in inputs)
        terms = planes if output in WEIGHT_INPUTS else inputs["kernel"].size
        factors = math.prod(largest[name] for name in largest if name not in {"bias", output})
        return terms + 1, terms * factors + largest.get("bias", 0.0)
    step = case_step(candidate.case)
    cells = math.prod(step.window) if step.window else math.prod(step.shape[2:])
    if candidate.operator.endswith(GRADIENT_SUFFIX):
        outputs = inputs["grad"].size // max(math.prod(inputs["grad"].shape[:2]), 1)
        terms = min(cells, outputs) if step.window else outputs
        return terms, terms * largest["grad"]
    divisor = candidate.levels.get("divisor")
    return cells, largest["x"] if divisor is None else cells * largest["x"] / divisor


def _is_whole(array: Array) -> bool:
    if array.dtype.kind in "iub":
        return True
    return bool(np.isfinite(wide := array.astype(np.float64)).all() and (wide == np.trunc(wide)).all())


def _has_subnormal(array: Array, tiny: float) -> bool:
    """Whether a number is below the normal ones, or is none at all."""
    size = np.abs(array.astype(np.float64))
    return bool((~np.isfinite(size) | ((size > 0) & (size < tiny))).any())
