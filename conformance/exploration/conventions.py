"""Questions of convention that drawn cases may put, and who may be asked them.

Ground is where a question of the catalogue lies: windows without a cell, equal values, negative numbers under an odd
power. There the reference gives one of the answers, and a surface is held to it where it declares that very answer to
each question that a case puts, and carries the case out by one call of its own. Nobody else is tried: another answer is
a convention, what declares none was never asked, and what an adapter writes around a call answers nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from conformance import CatalogueError
from conformance.adapters.api.surface import Program, Surface, Unsupported
from conformance.cases.arrays import array_digest
from conformance.cases.case import Answers, Case
from conformance.cases.invalid.disputed import DISPUTED_VIOLATIONS
from conformance.cases.operators import OPERATORS_WITH_TIES
from conformance.catalogue import loading
from conformance.catalogue.factors import PADDING_REACH, FactorLevel
from conformance.exploration.candidate import INDEXED_SELECTION_OPERATORS, Candidate
from conformance.exploration.rng import Rng
from conformance.judging.expected import compute_expected, compute_reference

InputOptions = Mapping[str, Mapping[str, Any]]
CandidateDraft = tuple[dict[str, FactorLevel], InputOptions]
"""Levels and inputs of a recipe that is being drawn."""
SIGNED_INTEGER_INPUT = {"values": "integers", "low": -9, "high": 9}
NEGATIVE_INTEGER_INPUT = {"values": "integers", "low": -9, "high": -1}
NON_SPATIAL_AXES = 2
"""Axes that are not spatial: images and channels."""
DISTINCT_VALUES = frozenset({"integers", "distinct"})
"""Levels of values at which an input that is to be distinct is."""


@dataclass(frozen=True)
class ConventionDomain:
    """Where one question lies.

    questions: what is asked of each operator, by the id of the question; there: whether a recipe of such an operator
    lies on it; enter: makes a draft lie on it, as often as not.
    """

    conventions: Mapping[str, str]
    contains: Callable[[Candidate], bool]
    draw_inside: Callable[[CandidateDraft, Rng], CandidateDraft]


def conventions_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the questions that a sound recipe puts; none for most."""
    found = (
        ground.conventions[candidate.operator]
        for ground in _domains_of(candidate.operator)
        if ground.contains(candidate)
    )
    return tuple(dict.fromkeys(found))


def convention_domains(operator: str) -> Sequence[ConventionDomain]:
    """Return the ground that an operator has."""
    return _domains_of(operator)


@cache
def _domains_of(operator: str) -> tuple[ConventionDomain, ...]:
    return tuple(ground for ground in CONVENTION_DOMAINS if operator in ground.conventions)


def unsupported_by_oracle(
    candidate: Candidate, surface: Surface, program: Program | Unsupported, known: Callable[[Case], bool]
) -> Unsupported | None:
    """Return why a surface is not held to what the reference answers, None where it may be.

    surface: as it is on the processor; program: what it carries the recipe out by; known: whether the ledger knows that
    the surface differs on a case of the catalogue.
    """
    questions = conventions_of(candidate)
    if questions and isinstance(program, Program) and program.how != "native":
        return Unsupported(f"it puts {questions[0]}, which is asked of single calls")
    for question in questions:
        declared = surface.declarations.get(question)
        if declared is None:
            return Unsupported(f"it puts {question}, to which the surface declares no answer")
        if declared.answer != reference_answers()[question]:
            return Unsupported(f"it puts {question}, to which the surface answers {declared.answer}")
        if any(map(known, _cases_of_convention(question, candidate.rank))):
            return Unsupported(f"it puts {question}, to which the surface answers otherwise with {candidate.rank} axes")
    return None


@cache
def _cases_of_convention(question: str, rank: int) -> tuple[Case, ...]:
    """Return the cases that put a question in a rank, or the question itself if none does."""
    cases = [case for case in loading.load_catalogue().cases if case.convention_id == question]
    there = tuple(case for case in cases if len(case.shape) - NON_SPATIAL_AXES == rank)
    return there or tuple(case for case in cases if case.id == question)


@cache
def reference_answers() -> Mapping[str, str]:
    """Return the answer of the reference to each question of the ground, by the question's id."""
    wanted = {question for ground in CONVENTION_DOMAINS for question in ground.conventions.values()}
    return {case.id: _reference_answer(case) for case in loading.load_catalogue().cases if case.id in wanted}


def _reference_answer(case: Case) -> str:
    """Return which answer to a question is what the reference makes of the case as it stands."""
    assert isinstance(case.expect, Answers)  # noqa: S101 - it is a question
    wanted = compute_expected(case)
    own = array_digest(compute_reference(case.operator, wanted.inputs, case.parameters).value)
    for name, target in wanted.answers.items():
        if target.exact is not None and array_digest(target.exact.value) == own:
            return name
    raise CatalogueError(f"{case.location}: case {case.id}: the reference gives none of the answers")


def _is_written_out(candidate: Candidate, name: str) -> Mapping[str, Any]:
    return candidate.inputs.get(name, {})


def _written_numbers(candidate: Candidate, name: str = "x") -> np.ndarray[Any, Any]:
    """Return the numbers of an input that is written out, none where it is generated."""
    return np.array(candidate.written_numbers.get(name, []), float)


def _has_window_without_cells(candidate: Candidate) -> bool:
    return DISPUTED_VIOLATIONS["WindowOfPaddingOnly"](candidate.case)


def _draw_large_padding(draft: CandidateDraft, rng: Rng) -> CandidateDraft:
    """Pad an axis by its window or more, leave windows behind the input, or have the input lie in a window's hole."""
    levels, inputs = draft
    pairs = [[0, 0] for _ in levels["window"]]
    axis = rng.randrange(len(pairs))
    reach = (levels["window"][axis] - 1) * levels["dilation"][axis] + 1
    kind = rng.choice(("before", "after", "rounding", "hole"))
    if kind == "hole":
        pairs[axis] = [1, 1]
        holes = {"window": (2,), "dilation": (levels["extent"][axis] + 1,)}
        changed = {name: (*levels[name][:axis], *there, *levels[name][axis + 1 :]) for name, there in holes.items()}
        return {**levels, **changed, "rounding": "floor", "padding": tuple(map(tuple, pairs))}, inputs
    if kind == "rounding":
        levels["stride"] = tuple(window + rng.randint(0, 2) for window in levels["window"])
        return {**levels, "rounding": "full", "padding": tuple(map(tuple, pairs))}, inputs
    pairs[axis][kind == "after"] = reach + rng.randrange(3)
    return {**levels, "rounding": rng.choice(("floor", "ceil")), "padding": tuple(map(tuple, pairs))}, inputs


def _pads_beyond_extent(mode: str) -> Callable[[Candidate], bool]:
    """Return whether a mode asks for more cells than there are beside a pad."""

    def there(recipe: Candidate) -> bool:
        pairs = zip(recipe.per_axis("extent"), recipe.per_axis("pads"), strict=True)
        left = [(size + sum(min(end, 0) for end in pair), max(pair)) for size, pair in pairs]
        return bool(recipe.levels["mode"] == mode) and any(most > size + PADDING_REACH[mode] for size, most in left)

    return there


def _draw_pads_beyond_extent(mode: str) -> Callable[[CandidateDraft, Rng], CandidateDraft]:
    def enter(draft: CandidateDraft, dice: Rng) -> CandidateDraft:
        levels, inputs = draft
        few = tuple(min(size, 9) for size in levels["extent"])
        pads = tuple((dice.randint(0, 3 * size), dice.randint(0, 3 * size)) for size in few)
        return {**levels, "mode": mode, "value": 0, "extent": few, "pads": pads}, inputs

    return enter


def _may_have_ties(candidate: Candidate) -> bool:
    """Whether values of one plane may be equal; those that are written out, or shall not be equal, are looked at.

    A dtype of 16 bits rounds many whole numbers to the same.
    """
    generated = "x" not in candidate.written_numbers
    if generated and (
        _is_written_out(candidate, "x").get("values") != "distinct" or candidate.levels["values"] not in DISTINCT_VALUES
    ):
        return True
    cells = candidate.case.inputs["x"].make().astype(float) if generated else _written_numbers(candidate)
    planes = cells.reshape(math.prod(candidate.case.shape[:2]), -1)
    return any(len(np.unique(plane)) < plane.size for plane in planes)


def _draw_inputs(**made: Mapping[str, Any]) -> Callable[[CandidateDraft, Rng], CandidateDraft]:
    """Return what has inputs hold whole numbers of other kinds."""
    return lambda draft, _dice: ({**draft[0], "values": "integers"}, {**draft[1], **made})


def _draw_marked(mark: str, *, low: int = -9, high: int = 9) -> Callable[[CandidateDraft, Rng], CandidateDraft]:
    """Return what marks a cell of each plane, any of them, among whole numbers."""

    def enter(draft: CandidateDraft, dice: Rng) -> CandidateDraft:
        levels, inputs = draft
        at = dice.randrange(math.prod(levels["extent"]))
        return {**levels, "values": mark}, {**inputs, "x": {"values": "integers", "low": low, "high": high, "at": at}}

    return enter


def _has_mark(mark: str) -> Callable[[Candidate], bool]:
    number = float(mark)

    def there(recipe: Candidate) -> bool:
        cells = _written_numbers(recipe)
        written = np.isnan(cells) if math.isnan(number) else cells == number
        return recipe.levels["values"] == mark or bool(written.any())

    return there


def _may_mix_signed_zeros(candidate: Candidate) -> bool:
    """Whether zeros of both signs may meet."""
    cells = _written_numbers(candidate)
    both = len(set(np.signbit(cells[cells == 0]).tolist())) > 1
    return both or (candidate.levels["values"] == "-0.0" and _is_written_out(candidate, "x").get("high", 9) >= 0)


def _has_negative_under_power(power: Callable[[float], bool]) -> Callable[[Candidate], bool]:
    """Return whether numbers below 0 stand under such a power."""

    def there(recipe: Candidate) -> bool:
        below = (
            _is_written_out(recipe, "x").get("low", -9) < 0
            if "x" not in recipe.written_numbers
            else (_written_numbers(recipe) < 0).any()
        )
        return bool(power(recipe.levels["p"]) and below)

    return there


def _draw_power(*powers: int) -> Callable[[CandidateDraft, Rng], CandidateDraft]:
    enter = _draw_inputs(x=NEGATIVE_INTEGER_INPUT)
    return lambda draft, dice: enter(({**draft[0], "p": dice.choice(powers)}, draft[1]), dice)


def _draw_whole_dtype(dtype: str) -> Callable[[CandidateDraft, Rng], CandidateDraft]:
    enter = _draw_inputs(x=SIGNED_INTEGER_INPUT)
    return lambda draft, dice: enter(({**draft[0], "dtype": dtype}, draft[1]), dice)


def _has_no_target(candidate: Candidate) -> bool:
    return _is_written_out(candidate, "indices").get("low", 0) < 0 or bool(
        (_written_numbers(candidate, "indices") < 0).any()
    )


def _same_convention(question: str, *operators: str) -> dict[str, str]:
    return dict.fromkeys(operators, question)


PADDING_ONLY_CONVENTION = "max_pool/window-of-padding-only"
CONVENTION_DOMAINS: tuple[ConventionDomain, ...] = (
    ConventionDomain(
        {
            **_same_convention(
                PADDING_ONLY_CONVENTION,
                *INDEXED_SELECTION_OPERATORS,
                *(f"{name}_grad" for name in INDEXED_SELECTION_OPERATORS),
            ),
            "avg_pool": "avg_pool/window-of-padding-only",
        },
        _has_window_without_cells,
        _draw_large_padding,
    ),
    ConventionDomain(
        {"max_pool_with_indices": "max_pool_with_indices/window-of-padding-only"},
        lambda recipe: recipe.levels["output"] == "indices" and _has_window_without_cells(recipe),
        lambda draft, dice: _draw_large_padding(({**draft[0], "output": "indices"}, draft[1]), dice),
    ),
    # The index -1 is that of a window without a cell: who takes no padding that makes such windows has no such index.
    *(
        ConventionDomain(
            _same_convention(question, "max_unpool", "max_unpool_grad"),
            _has_no_target,
            _draw_inputs(indices={"values": "distinct", "low": -1}),
        )
        for question in (PADDING_ONLY_CONVENTION, "max_pool/padding-equal-to-window")
    ),
    *(
        ConventionDomain(
            _same_convention(f"pad/{mode}-beyond-the-extent", "pad", "pad_grad"),
            _pads_beyond_extent(mode),
            _draw_pads_beyond_extent(mode),
        )
        for mode in PADDING_REACH
    ),
    ConventionDomain(
        {
            **{f"{name}_grad": f"{name}_grad/tie" for name in sorted(OPERATORS_WITH_TIES)},
            "max_pool_with_indices": "max_pool_with_indices/tie",
        },
        _may_have_ties,
        _draw_inputs(x=SIGNED_INTEGER_INPUT),
    ),
    ConventionDomain(
        {"adaptive_max_pool_grad": "adaptive_max_pool_grad/tie-in-a-plane"},
        lambda recipe: recipe.rank > 1 and _may_have_ties(recipe),
        _draw_inputs(x=SIGNED_INTEGER_INPUT),
    ),
    ConventionDomain(
        {
            "global_max_pool": "global_max_pool/nan-in-channel",
            "max_pool_with_indices": "max_pool_with_indices/nan",
            "max_pool_grad": "max_pool_grad/nan",
        },
        _has_mark("nan"),
        _draw_marked("nan"),
    ),
    ConventionDomain(
        {
            "global_max_pool": "global_max_pool/channel-of-minus-infinity",
            "max_pool_grad": "max_pool_grad/window-of-minus-infinity",
        },
        _has_mark("-inf"),
        _draw_marked("-inf"),
    ),
    ConventionDomain(
        _same_convention("max_pool/zeros-of-both-signs", "max_pool_with_indices"),
        _may_mix_signed_zeros,
        _draw_marked("-0.0", low=0, high=0),
    ),
    ConventionDomain(
        _same_convention("lp_pool/p-1-of-negative-values", "lp_pool_grad"),
        _has_negative_under_power(lambda power: power == 1),
        _draw_power(1),
    ),
    ConventionDomain(
        _same_convention("lp_pool/odd-p-of-negative-values", "lp_pool_grad"),
        _has_negative_under_power(lambda power: power % 2 == 1 and power > 1),
        _draw_power(3, 5),
    ),
    ConventionDomain(
        {"avg_pool": "avg_pool/integers", "global_avg_pool": "avg_pool/integers"},
        lambda recipe: bool(recipe.levels["dtype"] == "int64"),
        _draw_whole_dtype("int64"),
    ),
    ConventionDomain(
        {"avg_pool": "avg_pool/integers-in-int32", "global_avg_pool": "global_avg_pool/integers"},
        lambda recipe: bool(recipe.levels["dtype"] == "int32"),
        _draw_whole_dtype("int32"),
    ),
)
"""All ground that is entered. Where operators have no question of their own, it is that of what they are made of."""
