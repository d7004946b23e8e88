"""Laws of the operators, held on a backend itself: they need no reference, and hold where it would take too long.

A law carries a case out in two ways that must give the same bits: whole numbers and selections are exact in any order,
so that laws are held where nothing is rounded. What a surface breaks is a difference like any other.

batch: each item of a batch by itself; channels: each channel of a pooling by itself; axes: the axes in reverse order;
shift: without the first cells the first windows are missing, and nothing else; negation: the least value is the negated
largest of the negated values; convolution: an average is a convolution with equal weights; adjoint: a convolution and
its gradient are each other's transposes, <conv x, y> = <x, gradient y>.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conformance.adapters.api.surface import Program, Surface
from conformance.cases.arrays import NUMPY_DTYPES, SHORT_FLOATS, Array
from conformance.cases.case import Case
from conformance.cases.compositions import plan_steps
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import case_step
from conformance.execution.worker_process import Job
from conformance.exploration.candidate import NUMBER_PER_AXIS_FACTORS, PAIR_FACTORS, Candidate
from conformance.exploration.conventions import conventions_of
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, SurfaceResult
from conformance.judging.verdict import ProgramOutcome
from conformance.translation.lowering import translate

RELATION_PREFIX = "law: "
WHOLE_NUMBER_VALUES = frozenset({"integers", "distinct"})
SELECTION_PREFIXES = ("max_", "min_", "pad", "global_max", "adaptive_max", "fractional")
LINEAR_OPERATORS = ("conv", "conv_transpose")
UNBATCHED_INPUTS = frozenset({"kernel", "bias"})
"""Inputs that have no batch."""

InputArrays = Mapping[str, Array]


@dataclass(frozen=True)
class RelatedCall:
    """One call of a law: a case for its program, and the inputs that it is given."""

    case: Case
    inputs: InputArrays


@dataclass(frozen=True)
class MetamorphicRelation:
    """A law. parts: the calls beside the case's own, nothing where it says nothing; holds: whether it is kept."""

    name: str
    related_calls: Callable[[Candidate, InputArrays], Sequence[RelatedCall]]
    is_satisfied: Callable[[Candidate, InputArrays, Sequence[Array]], bool]


def _is_exact(candidate: Candidate) -> bool:
    """Whether nothing is rounded: selections, and sums of few whole numbers."""
    if candidate.levels["values"] not in WHOLE_NUMBER_VALUES or candidate.levels["dtype"] in SHORT_FLOATS:
        return False
    return candidate.operator.startswith((*SELECTION_PREFIXES, *LINEAR_OPERATORS))


def _has_batch(candidate: Candidate) -> bool:
    return candidate.levels.get("output", "x") not in UNBATCHED_INPUTS


def _slice_inputs(inputs: InputArrays, place: tuple[slice, ...]) -> InputArrays:
    return {
        name: array if name in UNBATCHED_INPUTS else np.ascontiguousarray(array[place])
        for name, array in inputs.items()
    }


def _batch_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    batch = candidate.case.shape[0]
    if batch < 2 or not _is_exact(candidate) or not _has_batch(candidate):  # noqa: PLR2004 - one is by itself
        return ()
    single = candidate.with_levels(batch=1).case
    return [RelatedCall(single, _slice_inputs(inputs, (slice(item, item + 1),))) for item in range(batch)]


def _channel_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    channels = candidate.case.shape[1]
    if channels < 2 or not _is_exact(candidate) or "kernel" in inputs:  # noqa: PLR2004 - one is by itself
        return ()
    single = candidate.with_levels(channels=1).case
    return [
        RelatedCall(single, _slice_inputs(inputs, (slice(None), slice(item, item + 1)))) for item in (0, channels - 1)
    ]


def _is_concatenation(_recipe: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    return equal_arrays(outputs[0], np.concatenate(outputs[1:]))


def _matches_outer_channels(_recipe: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    whole, first, last = outputs
    return equal_arrays(whole[:, :1], first) and equal_arrays(whole[:, -1:], last)


def _reversed_axes_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    if candidate.rank < 2 or not _is_exact(candidate) or "indices" in {candidate.levels.get("output"), *inputs}:  # noqa: PLR2004
        return ()
    if "fractional" in candidate.operator:  # its samples are one for each axis
        return ()
    names = [
        *NUMBER_PER_AXIS_FACTORS,
        *(name for name in PAIR_FACTORS if not isinstance(candidate.levels.get(name, ""), str)),
    ]
    turned = {name: candidate.per_axis(name)[::-1] for name in names if name in candidate.levels}
    return [
        RelatedCall(
            candidate.with_levels(**turned).case, {name: _reverse_axes(array) for name, array in inputs.items()}
        )
    ]


def _reverse_axes(array: Array) -> Array:
    if array.ndim < 3:  # noqa: PLR2004 - a bias has no axes to turn
        return array
    return np.ascontiguousarray(array.transpose(0, 1, *range(array.ndim - 1, 1, -1)))


def _equal_after_reversal(_recipe: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
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
    """Return how many windows are left out at the front of the last axis, 0 where the law says nothing."""
    case = candidate.case
    ends = case.parameters.get("padding", ())
    walks = "padding" in candidate.levels and "stride" in candidate.levels and not case.operator.endswith("_grad")
    if (
        not walks
        or not _is_exact(candidate)
        or case.operator == "conv_transpose"
        or candidate.levels.get("output") == "indices"
    ):
        return 0
    if isinstance(candidate.levels["padding"], str) or ends[-1][0] or candidate.levels.get("rounding") == "full":
        return 0
    return int(case_step(case).output[-1] // 2)


def _equal_after_shift(candidate: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    return equal_arrays(np.ascontiguousarray(outputs[0][..., _skipped_windows(candidate) :]), outputs[1])


def _negated_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    other = {"max_pool": "min_pool", "min_pool": "max_pool"}.get(candidate.operator)
    if not other or NUMPY_DTYPES[candidate.levels["dtype"]].kind not in "fV":
        return ()
    return [RelatedCall(Candidate(other, candidate.levels, candidate.inputs).case, {"x": -inputs["x"]})]


def _equal_after_negation(_recipe: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    return equal_arrays(outputs[0], -outputs[1])


def _convolution_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    whole = candidate.levels["values"] in WHOLE_NUMBER_VALUES and candidate.levels["dtype"] in {"float32", "float64"}
    if candidate.operator != "avg_pool" or not whole:
        return ()
    cells = int(np.prod(case_step(candidate.case).window))
    composed = replace(candidate.case, via=("conv",))
    try:
        plan_steps(composed)
    except ValueError:
        return ()
    return [RelatedCall(composed, inputs)] if cells & (cells - 1) == 0 else ()  # or else weights are rounded


def _is_equal(_recipe: Candidate, _inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    return equal_arrays(outputs[0], outputs[1])


def _adjoint_calls(candidate: Candidate, inputs: InputArrays) -> Sequence[RelatedCall]:
    if candidate.operator not in LINEAR_OPERATORS or "bias" in inputs or not _is_exact(candidate):
        return ()
    levels = {**candidate.levels, "output": "x"}
    gradient = Candidate(
        f"{candidate.operator}_grad", levels, {**candidate.inputs, "grad": {"values": "integers"}}
    ).case
    return [RelatedCall(gradient, {"grad": gradient.inputs["grad"].make(), **inputs})]


def _satisfies_adjoint(candidate: Candidate, inputs: InputArrays, outputs: Sequence[Array]) -> bool:
    forward, backward = outputs
    (part,) = _adjoint_calls(candidate, inputs)
    above = part.inputs["grad"].astype(np.float64)
    if forward.shape != above.shape or backward.shape != inputs["x"].shape:
        return False
    left = (forward.astype(np.float64) * above).sum()
    return bool(left == (inputs["x"].astype(np.float64) * backward.astype(np.float64)).sum())


def equal_arrays(one: Array, other: Array) -> bool:
    """Whether two results are the same numbers of the same dtype; zeros have no sign here."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124 - NaN


RELATIONS: tuple[MetamorphicRelation, ...] = (
    MetamorphicRelation("batch", _batch_calls, _is_concatenation),
    MetamorphicRelation("channels", _channel_calls, _matches_outer_channels),
    MetamorphicRelation("axes", _reversed_axes_calls, _equal_after_reversal),
    MetamorphicRelation("shift", _shifted_calls, _equal_after_shift),
    MetamorphicRelation("negation", _negated_calls, _equal_after_negation),
    MetamorphicRelation("convolution", _convolution_calls, _is_equal),
    MetamorphicRelation("adjoint", _adjoint_calls, _satisfies_adjoint),
)


class MetamorphicChecker:
    """Holds a backend to laws: the lab's workers, and no reference."""

    def __init__(self, evaluator: LocalEvaluator) -> None:
        self.evaluator = evaluator

    def evaluate(
        self, candidates: Sequence[Candidate], surfaces: Sequence[str] = (), relation: str = "", *, fatal: bool = False
    ) -> list[CandidateResult]:
        """Return for each recipe what its laws, or the one that is named, say of each surface, as the lab does."""
        chosen = [one for one in self.evaluator.backend.surfaces if not surfaces or one.name in surfaces]
        laws = [one for one in RELATIONS if not relation or one.name == relation]
        trials = [
            trial for recipe in candidates for trial in _relation_tests(recipe, chosen, laws, self.evaluator.is_known)
        ]
        jobs = (job for trial in trials for job in trial.jobs)
        outcomes = self.evaluator.run_jobs(replace(job, expect_failure=True) if fatal else job for job in jobs)
        seen: dict[int, list[SurfaceResult]] = {id(recipe): [] for recipe in candidates}
        for trial in trials:
            seen[id(trial.candidate)].append(trial.judge(self.evaluator, [next(outcomes) for _ in trial.jobs]))
        return [CandidateResult(recipe, tuple(seen[id(recipe)])) for recipe in candidates]


@dataclass(frozen=True)
class _RelationTest:
    """A law about to be held on a surface: the case's own call, then the others."""

    candidate: Candidate
    surface: str
    relation: MetamorphicRelation
    inputs: InputArrays
    jobs: Sequence[Job]

    def judge(self, evaluator: LocalEvaluator, outcomes: Sequence[ProgramOutcome]) -> SurfaceResult:
        way = f"{RELATION_PREFIX}{self.relation.name}"
        if any(one.kind != "returned" or len(one.arrays) != 1 for one in outcomes):
            for number, one in enumerate(outcomes):
                if ended := evaluator.process_failure(self.candidate.case, one):
                    # What another call does says nothing of the case's own.
                    ended = f"{way}: {ended}" if number else ended
                    return SurfaceResult(self.surface, one.kind, ended, kind=way, message=one.message)
            return SurfaceResult(self.surface, "unsupported", kind=way)
        kept = self.relation.is_satisfied(self.candidate, self.inputs, [one.arrays[0] for one in outcomes])
        return SurfaceResult(self.surface, "pass" if kept else "fail", "" if kept else way, kind=way)


def _relation_tests(
    candidate: Candidate,
    surfaces: Sequence[Surface],
    relations: Sequence[MetamorphicRelation],
    knows: Callable[[Case, str], bool],
) -> list[_RelationTest]:
    """Return the trials of a recipe; none of one that puts a question, as laws hold for no answer but the usual.

    knows: whether the ledger knows something of a case on a surface, which is left out then.
    """
    if conventions_of(candidate):
        return []
    inputs = {name: spec.make() for name, spec in candidate.case.inputs.items()}
    own = RelatedCall(candidate.case, inputs)
    found = []
    for law in relations:
        parts = law.related_calls(candidate, inputs)
        for surface in surfaces if parts else ():
            programs = [translate(part.case, surface) for part in (own, *parts)]
            texts = [one for one in programs if isinstance(one, Program)]
            if len(texts) == len(programs) and not any(knows(part.case, surface.name) for part in (own, *parts)):
                arrays = [tuple(_c_contiguous(part)) for part in (own, *parts)]
                jobs = [Job(text, given) for text, given in zip(texts, arrays, strict=True)]
                found.append(_RelationTest(candidate, surface.name, law, inputs, jobs))
    return found


def _c_contiguous(part: RelatedCall) -> list[Array]:
    return [part.inputs[name] for name in OPERATORS[part.case.operator].inputs if name in part.inputs]
