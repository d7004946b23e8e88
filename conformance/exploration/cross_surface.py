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
from conformance.cases.arrays import DTYPES, Array
from conformance.cases.operators import GRADIENT
from conformance.cases.steps import first_step
from conformance.execution.worker_process import Job
from conformance.exploration.candidate import Recipe
from conformance.exploration.evaluation import Lab, Seen, Tried
from conformance.exploration.metamorphic import same
from conformance.judging.verdict import Outcome
from reference import Exact, NoBound

SURFACES = "surfaces: "
CURVED = ("lp_pool", "softmax_pool", "stochastic_pool")
AVERAGES = ("avg_pool", "global_avg_pool", "adaptive_avg_pool")
WEIGHTS = frozenset({"kernel", "bias"})

Arrays = Mapping[str, Array]


def tried(lab: Lab, recipes: Sequence[Recipe]) -> list[Tried]:
    """Return for each recipe which surfaces part from the others, as the lab does; nothing of one that is alone."""
    programs = [lab.programs(recipe) for recipe in recipes]
    pairs = [(recipe, some if len(some) > 1 else {}) for recipe, some in zip(recipes, programs, strict=True)]
    outcomes = lab.returned(_jobs(pairs))
    return [Tried(recipe, tuple(_seen(lab, recipe, some, [next(outcomes) for _ in some]))) for recipe, some in pairs]


def _jobs(pairs: Sequence[tuple[Recipe, Mapping[str, Program]]]) -> Iterator[Job]:
    for recipe, programs in pairs:
        arrays = tuple(_inputs(recipe).values()) if programs else ()
        yield from (Job(program, arrays) for program in programs.values())


def _inputs(recipe: Recipe) -> Arrays:
    return {name: spec.make() for name, spec in recipe.case.inputs.items()}


def _seen(lab: Lab, recipe: Recipe, programs: Mapping[str, Program], outcomes: Sequence[Outcome]) -> Iterator[Seen]:
    """Yield what came of each surface: whether it ended or hung, or else whether it is at odds with the others."""
    there: dict[str, Array] = {}
    for name, outcome in zip(programs, outcomes, strict=True):
        if way := lab.ended(recipe.case, outcome):
            yield Seen(name, outcome.kind, way, programs[name].how, SURFACES, outcome.message)
        elif outcome.kind == "returned" and len(outcome.arrays) == 1:
            there[name] = outcome.arrays[0]
    limit = apart(recipe, _inputs(recipe)) if len(there) > 1 else None
    for name, fault in odd(there, limit).items():
        way = f"{SURFACES}{fault.kind}" if fault else ""
        status, message = ("fail", f"not as {fault.other}: {fault.message}") if fault else ("pass", "")
        yield Seen(name, status, way, programs[name].how, f"{SURFACES}{way}", message)


@dataclass(frozen=True)
class Fault:
    """How a surface parts from another: in shape, dtype or value."""

    kind: str
    other: str
    message: str


def odd(there: Arrays, limit: float | None) -> dict[str, Fault | None]:
    """Return for each surface how it parts from those that agree with most; nothing where there is nobody beside it.

    Where as many say one thing as another, all part. limit: how far apart numbers may be, None for any distance.
    """
    if len(there) < 2:  # noqa: PLR2004 - surfaces to compare
        return {}
    faults = {(one, other): _fault(there, one, other, limit) for one in there for other in there}
    alike = {one: sum(faults[one, other] is None for other in there) for one in there}
    most = [one for one in there if alike[one] == max(alike.values())]
    return {one: next(filter(None, (faults[one, other] for other in most)), None) for one in there}


def _fault(there: Arrays, one: str, other: str, limit: float | None) -> Fault | None:
    mine, yours = there[one], there[other]
    for kind, first, second in (("shape", mine.shape, yours.shape), ("dtype", mine.dtype, yours.dtype)):
        if first != second:
            return Fault(kind, other, f"{first}, not {second}")
    if limit is None or same(mine, yours):
        return None
    with np.errstate(invalid="ignore"):
        gap = np.abs(mine.astype(np.float64) - yours.astype(np.float64))
    gap = np.where((mine == yours) | (np.isnan(mine) & np.isnan(yours)), 0, np.where(np.isnan(gap), np.inf, gap))
    place = np.unravel_index(int(gap.argmax()), gap.shape)
    if limit and gap[place] <= limit:
        return None
    return Fault("value", other, f"{mine[place]} at {[int(part) for part in place]}, not {yours[place]}")


def apart(recipe: Recipe, inputs: Arrays) -> float | None:
    """Return how far apart two right results may be at most, None where nothing can be said."""
    forward = recipe.operator.removesuffix(GRADIENT)
    if forward.startswith(CURVED):
        return None
    if not recipe.operator.endswith(GRADIENT) and not forward.startswith(("conv", *AVERAGES)):
        return 0.0
    terms, total = _total(recipe, inputs)
    dtype = DTYPES[recipe.case.dtype]
    exact = not forward.startswith(AVERAGES) and all(_whole(array) for array in inputs.values())
    if dtype.kind not in "fV":
        return 0.0 if exact and total <= np.iinfo(dtype).max else None
    info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    if exact and total <= 2.0 ** (info.nmant + 1):
        return 0.0
    ordinary = not any(_subnormal(array, float(info.tiny)) for array in inputs.values())
    return _rounded(dtype, terms, total) if ordinary and total < float(info.max) / 2 else None


def _rounded(dtype: np.dtype[Any], terms: int, total: float) -> float | None:
    """Return 2·B for a sum of so many terms whose absolute values come to so much, None where there is no bound."""
    size = np.array([total])
    sums = Exact(np.zeros(1, dtype), size, np.zeros(1), np.array([terms]), size, 0.0, exact=False)
    try:
        return 2 * float(sums.bound(accumulate=dtype, flush=True)[0])
    except NoBound:
        return None


def _total(recipe: Recipe, inputs: Arrays) -> tuple[int, float]:
    """Return how many terms an element of a sum has at most, and what their absolute values add up to at most."""
    largest = {name: float(np.abs(array.astype(np.float64)).max(initial=0)) for name, array in inputs.items()}
    if recipe.operator.startswith("conv"):
        output = recipe.levels.get("output")
        planes = max(inputs[name].size // max(inputs[name].shape[1], 1) for name in ("x", "grad") if name in inputs)
        terms = planes if output in WEIGHTS else inputs["kernel"].size
        factors = math.prod(largest[name] for name in largest if name not in {"bias", output})
        return terms + 1, terms * factors + largest.get("bias", 0.0)
    step = first_step(recipe.case)
    cells = math.prod(step.window) if step.window else math.prod(step.shape[2:])
    if recipe.operator.endswith(GRADIENT):
        outputs = inputs["grad"].size // max(math.prod(inputs["grad"].shape[:2]), 1)
        terms = min(cells, outputs) if step.window else outputs
        return terms, terms * largest["grad"]
    divisor = recipe.levels.get("divisor")
    return cells, largest["x"] if divisor is None else cells * largest["x"] / divisor


def _whole(array: Array) -> bool:
    if array.dtype.kind in "iub":
        return True
    return bool(np.isfinite(wide := array.astype(np.float64)).all() and (wide == np.trunc(wide)).all())


def _subnormal(array: Array, tiny: float) -> bool:
    """Whether a number is below the normal ones, or is none at all."""
    size = np.abs(array.astype(np.float64))
    return bool((~np.isfinite(size) | ((size > 0) & (size < tiny))).any())
