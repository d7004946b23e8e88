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
from conformance.cases.arrays import DTYPES, HALF, Array
from conformance.cases.case import Case
from conformance.cases.compositions import plan
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import first_step
from conformance.execution.worker_process import Job
from conformance.exploration.candidate import ENDS, PER_AXIS, Recipe
from conformance.exploration.conventions import asked
from conformance.exploration.evaluation import Lab, Seen, Tried
from conformance.judging.verdict import Outcome
from conformance.translation.lowering import translate

LAW = "law: "
WHOLE = frozenset({"integers", "distinct"})
SELECTIONS = ("max_", "min_", "pad", "global_max", "adaptive_max", "fractional")
LINEAR = ("conv", "conv_transpose")
SHARED = frozenset({"kernel", "bias"})
"""Inputs that have no batch."""

Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Part:
    """One call of a law: a case for its program, and the inputs that it is given."""

    case: Case
    inputs: Arrays


@dataclass(frozen=True)
class Law:
    """A law. parts: the calls beside the case's own, nothing where it says nothing; holds: whether it is kept."""

    name: str
    parts: Callable[[Recipe, Arrays], Sequence[Part]]
    holds: Callable[[Recipe, Arrays, Sequence[Array]], bool]


def _exact(recipe: Recipe) -> bool:
    """Whether nothing is rounded: selections, and sums of few whole numbers."""
    if recipe.levels["values"] not in WHOLE or recipe.levels["dtype"] in HALF:
        return False
    return recipe.operator.startswith((*SELECTIONS, *LINEAR))


def _in_items(recipe: Recipe) -> bool:
    return recipe.levels.get("output", "x") not in SHARED


def _cut(inputs: Arrays, place: tuple[slice, ...]) -> Arrays:
    return {name: array if name in SHARED else np.ascontiguousarray(array[place]) for name, array in inputs.items()}


def _batch(recipe: Recipe, inputs: Arrays) -> Sequence[Part]:
    batch = recipe.case.shape[0]
    if batch < 2 or not _exact(recipe) or not _in_items(recipe):  # noqa: PLR2004 - one is by itself
        return ()
    single = recipe.having(batch=1).case
    return [Part(single, _cut(inputs, (slice(item, item + 1),))) for item in range(batch)]


def _channels(recipe: Recipe, inputs: Arrays) -> Sequence[Part]:
    channels = recipe.case.shape[1]
    if channels < 2 or not _exact(recipe) or "kernel" in inputs:  # noqa: PLR2004 - one is by itself
        return ()
    single = recipe.having(channels=1).case
    return [Part(single, _cut(inputs, (slice(None), slice(item, item + 1)))) for item in (0, channels - 1)]


def _joined(_recipe: Recipe, _inputs: Arrays, outputs: Sequence[Array]) -> bool:
    return same(outputs[0], np.concatenate(outputs[1:]))


def _ends_of_channels(_recipe: Recipe, _inputs: Arrays, outputs: Sequence[Array]) -> bool:
    whole, first, last = outputs
    return same(whole[:, :1], first) and same(whole[:, -1:], last)


def _axes(recipe: Recipe, inputs: Arrays) -> Sequence[Part]:
    if recipe.rank < 2 or not _exact(recipe) or "indices" in {recipe.levels.get("output"), *inputs}:  # noqa: PLR2004
        return ()
    if "fractional" in recipe.operator:  # its samples are one for each axis
        return ()
    names = [*PER_AXIS, *(name for name in ENDS if not isinstance(recipe.levels.get(name, ""), str))]
    turned = {name: recipe.each(name)[::-1] for name in names if name in recipe.levels}
    return [Part(recipe.having(**turned).case, {name: _turned(array) for name, array in inputs.items()})]


def _turned(array: Array) -> Array:
    if array.ndim < 3:  # noqa: PLR2004 - a bias has no axes to turn
        return array
    return np.ascontiguousarray(array.transpose(0, 1, *range(array.ndim - 1, 1, -1)))


def _alike_turned(_recipe: Recipe, _inputs: Arrays, outputs: Sequence[Array]) -> bool:
    return same(_turned(outputs[0]), outputs[1])


def _shift(recipe: Recipe, inputs: Arrays) -> Sequence[Part]:
    skipped = _skipped(recipe)
    if not skipped:
        return ()
    step = (first_step(recipe.case).stride or (1,))[-1]
    extent = recipe.each("extent")
    shorter = recipe.having(extent=(*extent[:-1], extent[-1] - skipped * step))
    if not shorter.sound():
        return ()
    return [Part(shorter.case, {**inputs, "x": np.ascontiguousarray(inputs["x"][..., skipped * step :])})]


def _skipped(recipe: Recipe) -> int:
    """Return how many windows are left out at the front of the last axis, 0 where the law says nothing."""
    case = recipe.case
    ends = case.parameters.get("padding", ())
    walks = "padding" in recipe.levels and "stride" in recipe.levels and not case.operator.endswith("_grad")
    if not walks or not _exact(recipe) or case.operator == "conv_transpose" or recipe.levels.get("output") == "indices":
        return 0
    if isinstance(recipe.levels["padding"], str) or ends[-1][0] or recipe.levels.get("rounding") == "full":
        return 0
    return int(first_step(case).output[-1] // 2)


def _shifted(recipe: Recipe, _inputs: Arrays, outputs: Sequence[Array]) -> bool:
    return same(np.ascontiguousarray(outputs[0][..., _skipped(recipe) :]), outputs[1])


def _negation(recipe: Recipe, inputs: Arrays) -> Sequence[Part]:
    other = {"max_pool": "min_pool", "min_pool": "max_pool"}.get(recipe.operator)
    if not other or DTYPES[recipe.levels["dtype"]].kind not in "fV":
        return ()
    return [Part(Recipe(other, recipe.levels, recipe.inputs).case, {"x": -inputs["x"]})]


def _negated(_recipe: Recipe, _inputs: Arrays, outputs: Sequence[Array]) -> bool:
    return same(outputs[0], -outputs[1])


def _convolution(recipe: Recipe, inputs: Arrays) -> Sequence[Part]:
    whole = recipe.levels["values"] in WHOLE and recipe.levels["dtype"] in {"float32", "float64"}
    if recipe.operator != "avg_pool" or not whole:
        return ()
    cells = int(np.prod(first_step(recipe.case).window))
    composed = replace(recipe.case, via=("conv",))
    try:
        plan(composed)
    except ValueError:
        return ()
    return [Part(composed, inputs)] if cells & (cells - 1) == 0 else ()  # or else weights are rounded


def _equal(_recipe: Recipe, _inputs: Arrays, outputs: Sequence[Array]) -> bool:
    return same(outputs[0], outputs[1])


def _adjoint(recipe: Recipe, inputs: Arrays) -> Sequence[Part]:
    if recipe.operator not in LINEAR or "bias" in inputs or not _exact(recipe):
        return ()
    levels = {**recipe.levels, "output": "x"}
    gradient = Recipe(f"{recipe.operator}_grad", levels, {**recipe.inputs, "grad": {"values": "integers"}}).case
    return [Part(gradient, {"grad": gradient.inputs["grad"].make(), **inputs})]


def _adjoined(recipe: Recipe, inputs: Arrays, outputs: Sequence[Array]) -> bool:
    forward, backward = outputs
    (part,) = _adjoint(recipe, inputs)
    above = part.inputs["grad"].astype(np.float64)
    if forward.shape != above.shape or backward.shape != inputs["x"].shape:
        return False
    left = (forward.astype(np.float64) * above).sum()
    return bool(left == (inputs["x"].astype(np.float64) * backward.astype(np.float64)).sum())


def same(one: Array, other: Array) -> bool:
    """Whether two results are the same numbers of the same dtype; zeros have no sign here."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124 - NaN


LAWS: tuple[Law, ...] = (
    Law("batch", _batch, _joined),
    Law("channels", _channels, _ends_of_channels),
    Law("axes", _axes, _alike_turned),
    Law("shift", _shift, _shifted),
    Law("negation", _negation, _negated),
    Law("convolution", _convolution, _equal),
    Law("adjoint", _adjoint, _adjoined),
)


class Court:
    """Holds a backend to laws: the lab's workers, and no reference."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def tried(
        self, recipes: Sequence[Recipe], surfaces: Sequence[str] = (), law: str = "", *, fatal: bool = False
    ) -> list[Tried]:
        """Return for each recipe what its laws, or the one that is named, say of each surface, as the lab does."""
        chosen = [one for one in self.lab.backend.surfaces if not surfaces or one.name in surfaces]
        laws = [one for one in LAWS if not law or one.name == law]
        trials = [trial for recipe in recipes for trial in _trials(recipe, chosen, laws, self.lab.knows)]
        jobs = (job for trial in trials for job in trial.jobs)
        outcomes = self.lab.returned(replace(job, fatal=True) if fatal else job for job in jobs)
        seen: dict[int, list[Seen]] = {id(recipe): [] for recipe in recipes}
        for trial in trials:
            seen[id(trial.recipe)].append(trial.judged(self.lab, [next(outcomes) for _ in trial.jobs]))
        return [Tried(recipe, tuple(seen[id(recipe)])) for recipe in recipes]


@dataclass(frozen=True)
class _Trial:
    """A law about to be held on a surface: the case's own call, then the others."""

    recipe: Recipe
    surface: str
    law: Law
    inputs: Arrays
    jobs: Sequence[Job]

    def judged(self, lab: Lab, outcomes: Sequence[Outcome]) -> Seen:
        way = f"{LAW}{self.law.name}"
        if any(one.kind != "returned" or len(one.arrays) != 1 for one in outcomes):
            for number, one in enumerate(outcomes):
                if ended := lab.ended(self.recipe.case, one):
                    # What another call does says nothing of the case's own.
                    ended = f"{way}: {ended}" if number else ended
                    return Seen(self.surface, one.kind, ended, kind=way, message=one.message)
            return Seen(self.surface, "unsupported", kind=way)
        kept = self.law.holds(self.recipe, self.inputs, [one.arrays[0] for one in outcomes])
        return Seen(self.surface, "pass" if kept else "fail", "" if kept else way, kind=way)


def _trials(
    recipe: Recipe, surfaces: Sequence[Surface], laws: Sequence[Law], knows: Callable[[Case, str], bool]
) -> list[_Trial]:
    """Return the trials of a recipe; none of one that puts a question, as laws hold for no answer but the usual.

    knows: whether the ledger knows something of a case on a surface, which is left out then.
    """
    if asked(recipe):
        return []
    inputs = {name: spec.make() for name, spec in recipe.case.inputs.items()}
    own = Part(recipe.case, inputs)
    found = []
    for law in laws:
        parts = law.parts(recipe, inputs)
        for surface in surfaces if parts else ():
            programs = [translate(part.case, surface) for part in (own, *parts)]
            texts = [one for one in programs if isinstance(one, Program)]
            if len(texts) == len(programs) and not any(knows(part.case, surface.name) for part in (own, *parts)):
                arrays = [tuple(_ordered(part)) for part in (own, *parts)]
                jobs = [Job(text, given) for text, given in zip(texts, arrays, strict=True)]
                found.append(_Trial(recipe, surface.name, law, inputs, jobs))
    return found


def _ordered(part: Part) -> list[Array]:
    return [part.inputs[name] for name in OPERATORS[part.case.operator].inputs if name in part.inputs]
