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
from conformance.cases.invalid.disputed import OF_QUESTIONS
from conformance.cases.operators import TIED
from conformance.catalogue import loading
from conformance.catalogue.factors import REACH, Level
from conformance.exploration.candidate import SELECTING, Recipe
from conformance.exploration.rng import Dice
from conformance.judging.expected import expected, reckon

Inputs = Mapping[str, Mapping[str, Any]]
Draft = tuple[dict[str, Level], Inputs]
"""Levels and inputs of a recipe that is being drawn."""
SIGNED = {"values": "integers", "low": -9, "high": 9}
NEGATIVE = {"values": "integers", "low": -9, "high": -1}
PLANE = 2
"""Axes that are not spatial: images and channels."""
DISTINCT = frozenset({"integers", "distinct"})
"""Levels of values at which an input that is to be distinct is."""


@dataclass(frozen=True)
class Ground:
    """Where one question lies.

    questions: what is asked of each operator, by the id of the question; there: whether a recipe of such an operator
    lies on it; enter: makes a draft lie on it, as often as not.
    """

    questions: Mapping[str, str]
    there: Callable[[Recipe], bool]
    enter: Callable[[Draft, Dice], Draft]


def asked(recipe: Recipe) -> tuple[str, ...]:
    """Return the questions that a sound recipe puts; none for most."""
    found = (ground.questions[recipe.operator] for ground in _of(recipe.operator) if ground.there(recipe))
    return tuple(dict.fromkeys(found))


def grounds(operator: str) -> Sequence[Ground]:
    """Return the ground that an operator has."""
    return _of(operator)


@cache
def _of(operator: str) -> tuple[Ground, ...]:
    return tuple(ground for ground in GROUNDS if operator in ground.questions)


def refusal(
    recipe: Recipe, surface: Surface, program: Program | Unsupported, known: Callable[[Case], bool]
) -> Unsupported | None:
    """Return why a surface is not held to what the reference answers, None where it may be.

    surface: as it is on the processor; program: what it carries the recipe out by; known: whether the ledger knows that
    the surface differs on a case of the catalogue.
    """
    questions = asked(recipe)
    if questions and isinstance(program, Program) and program.how != "native":
        return Unsupported(f"it puts {questions[0]}, which is asked of single calls")
    for question in questions:
        declared = surface.declares.get(question)
        if declared is None:
            return Unsupported(f"it puts {question}, to which the surface declares no answer")
        if declared.answer != answers()[question]:
            return Unsupported(f"it puts {question}, to which the surface answers {declared.answer}")
        if any(map(known, _put_again(question, recipe.rank))):
            return Unsupported(f"it puts {question}, to which the surface answers otherwise with {recipe.rank} axes")
    return None


@cache
def _put_again(question: str, rank: int) -> tuple[Case, ...]:
    """Return the cases that put a question in a rank, or the question itself if none does."""
    cases = [case for case in loading.load().cases if case.question == question]
    there = tuple(case for case in cases if len(case.shape) - PLANE == rank)
    return there or tuple(case for case in cases if case.id == question)


@cache
def answers() -> Mapping[str, str]:
    """Return the answer of the reference to each question of the ground, by the question's id."""
    wanted = {question for ground in GROUNDS for question in ground.questions.values()}
    return {case.id: _answer(case) for case in loading.load().cases if case.id in wanted}


def _answer(case: Case) -> str:
    """Return which answer to a question is what the reference makes of the case as it stands."""
    assert isinstance(case.expect, Answers)  # noqa: S101 - it is a question
    wanted = expected(case)
    own = array_digest(reckon(case.operator, wanted.inputs, case.parameters).value)
    for name, target in wanted.answers.items():
        if target.exact is not None and array_digest(target.exact.value) == own:
            return name
    raise CatalogueError(f"{case.place}: case {case.id}: the reference gives none of the answers")


def _given(recipe: Recipe, name: str) -> Mapping[str, Any]:
    return recipe.inputs.get(name, {})


def _cells(recipe: Recipe, name: str = "x") -> np.ndarray[Any, Any]:
    """Return the numbers of an input that is written out, none where it is generated."""
    return np.array(recipe.numbers.get(name, []), float)


def _without_cells(recipe: Recipe) -> bool:
    return OF_QUESTIONS["WindowOfPaddingOnly"](recipe.case)


def _padded_far(draft: Draft, dice: Dice) -> Draft:
    """Pad an axis by its window or more, leave windows behind the input, or have the input lie in a window's hole."""
    levels, inputs = draft
    pairs = [[0, 0] for _ in levels["window"]]
    axis = dice.below(len(pairs))
    reach = (levels["window"][axis] - 1) * levels["dilation"][axis] + 1
    kind = dice.one_of(("before", "after", "rounding", "hole"))
    if kind == "hole":
        pairs[axis] = [1, 1]
        holes = {"window": (2,), "dilation": (levels["extent"][axis] + 1,)}
        changed = {name: (*levels[name][:axis], *there, *levels[name][axis + 1 :]) for name, there in holes.items()}
        return {**levels, **changed, "rounding": "floor", "padding": tuple(map(tuple, pairs))}, inputs
    if kind == "rounding":
        levels["stride"] = tuple(window + dice.between(0, 2) for window in levels["window"])
        return {**levels, "rounding": "full", "padding": tuple(map(tuple, pairs))}, inputs
    pairs[axis][kind == "after"] = reach + dice.below(3)
    return {**levels, "rounding": dice.one_of(("floor", "ceil")), "padding": tuple(map(tuple, pairs))}, inputs


def _beyond(mode: str) -> Callable[[Recipe], bool]:
    """Return whether a mode asks for more cells than there are beside a pad."""

    def there(recipe: Recipe) -> bool:
        pairs = zip(recipe.each("extent"), recipe.each("pads"), strict=True)
        left = [(size + sum(min(end, 0) for end in pair), max(pair)) for size, pair in pairs]
        return bool(recipe.levels["mode"] == mode) and any(most > size + REACH[mode] for size, most in left)

    return there


def _far(mode: str) -> Callable[[Draft, Dice], Draft]:
    def enter(draft: Draft, dice: Dice) -> Draft:
        levels, inputs = draft
        few = tuple(min(size, 9) for size in levels["extent"])
        pads = tuple((dice.between(0, 3 * size), dice.between(0, 3 * size)) for size in few)
        return {**levels, "mode": mode, "value": 0, "extent": few, "pads": pads}, inputs

    return enter


def _tied(recipe: Recipe) -> bool:
    """Whether values of one plane may be equal; those that are written out, or shall not be equal, are looked at.

    A dtype of 16 bits rounds many whole numbers to the same.
    """
    generated = "x" not in recipe.numbers
    if generated and (_given(recipe, "x").get("values") != "distinct" or recipe.levels["values"] not in DISTINCT):
        return True
    cells = recipe.case.inputs["x"].make().astype(float) if generated else _cells(recipe)
    planes = cells.reshape(math.prod(recipe.case.shape[:2]), -1)
    return any(len(np.unique(plane)) < plane.size for plane in planes)


def _holding(**made: Mapping[str, Any]) -> Callable[[Draft, Dice], Draft]:
    """Return what has inputs hold whole numbers of other kinds."""
    return lambda draft, _dice: ({**draft[0], "values": "integers"}, {**draft[1], **made})


def _marked(mark: str, *, low: int = -9, high: int = 9) -> Callable[[Draft, Dice], Draft]:
    """Return what marks a cell of each plane, any of them, among whole numbers."""

    def enter(draft: Draft, dice: Dice) -> Draft:
        levels, inputs = draft
        at = dice.below(math.prod(levels["extent"]))
        return {**levels, "values": mark}, {**inputs, "x": {"values": "integers", "low": low, "high": high, "at": at}}

    return enter


def _has(mark: str) -> Callable[[Recipe], bool]:
    number = float(mark)

    def there(recipe: Recipe) -> bool:
        cells = _cells(recipe)
        written = np.isnan(cells) if math.isnan(number) else cells == number
        return recipe.levels["values"] == mark or bool(written.any())

    return there


def _zeros(recipe: Recipe) -> bool:
    """Whether zeros of both signs may meet."""
    cells = _cells(recipe)
    both = len(set(np.signbit(cells[cells == 0]).tolist())) > 1
    return both or (recipe.levels["values"] == "-0.0" and _given(recipe, "x").get("high", 9) >= 0)


def _odd(power: Callable[[float], bool]) -> Callable[[Recipe], bool]:
    """Return whether numbers below 0 stand under such a power."""

    def there(recipe: Recipe) -> bool:
        below = _given(recipe, "x").get("low", -9) < 0 if "x" not in recipe.numbers else (_cells(recipe) < 0).any()
        return bool(power(recipe.levels["p"]) and below)

    return there


def _powered(*powers: int) -> Callable[[Draft, Dice], Draft]:
    enter = _holding(x=NEGATIVE)
    return lambda draft, dice: enter(({**draft[0], "p": dice.one_of(powers)}, draft[1]), dice)


def _whole(dtype: str) -> Callable[[Draft, Dice], Draft]:
    enter = _holding(x=SIGNED)
    return lambda draft, dice: enter(({**draft[0], "dtype": dtype}, draft[1]), dice)


def _nowhere(recipe: Recipe) -> bool:
    return _given(recipe, "indices").get("low", 0) < 0 or bool((_cells(recipe, "indices") < 0).any())


def _alike(question: str, *operators: str) -> dict[str, str]:
    return dict.fromkeys(operators, question)


CELLLESS = "max_pool/window-of-padding-only"
GROUNDS: tuple[Ground, ...] = (
    Ground(
        {
            **_alike(CELLLESS, *SELECTING, *(f"{name}_grad" for name in SELECTING)),
            "avg_pool": "avg_pool/window-of-padding-only",
        },
        _without_cells,
        _padded_far,
    ),
    Ground(
        {"max_pool_with_indices": "max_pool_with_indices/window-of-padding-only"},
        lambda recipe: recipe.levels["output"] == "indices" and _without_cells(recipe),
        lambda draft, dice: _padded_far(({**draft[0], "output": "indices"}, draft[1]), dice),
    ),
    # The index -1 is that of a window without a cell: who takes no padding that makes such windows has no such index.
    *(
        Ground(
            _alike(question, "max_unpool", "max_unpool_grad"),
            _nowhere,
            _holding(indices={"values": "distinct", "low": -1}),
        )
        for question in (CELLLESS, "max_pool/padding-equal-to-window")
    ),
    *(
        Ground(
            _alike(f"pad/{mode}-beyond-the-extent", "pad", "pad_grad"),
            _beyond(mode),
            _far(mode),
        )
        for mode in REACH
    ),
    Ground(
        {
            **{f"{name}_grad": f"{name}_grad/tie" for name in sorted(TIED)},
            "max_pool_with_indices": "max_pool_with_indices/tie",
        },
        _tied,
        _holding(x=SIGNED),
    ),
    Ground(
        {"adaptive_max_pool_grad": "adaptive_max_pool_grad/tie-in-a-plane"},
        lambda recipe: recipe.rank > 1 and _tied(recipe),
        _holding(x=SIGNED),
    ),
    Ground(
        {
            "global_max_pool": "global_max_pool/nan-in-channel",
            "max_pool_with_indices": "max_pool_with_indices/nan",
            "max_pool_grad": "max_pool_grad/nan",
        },
        _has("nan"),
        _marked("nan"),
    ),
    Ground(
        {
            "global_max_pool": "global_max_pool/channel-of-minus-infinity",
            "max_pool_grad": "max_pool_grad/window-of-minus-infinity",
        },
        _has("-inf"),
        _marked("-inf"),
    ),
    Ground(
        _alike("max_pool/zeros-of-both-signs", "max_pool_with_indices"),
        _zeros,
        _marked("-0.0", low=0, high=0),
    ),
    Ground(
        _alike("lp_pool/p-1-of-negative-values", "lp_pool_grad"),
        _odd(lambda power: power == 1),
        _powered(1),
    ),
    Ground(
        _alike("lp_pool/odd-p-of-negative-values", "lp_pool_grad"),
        _odd(lambda power: power % 2 == 1 and power > 1),
        _powered(3, 5),
    ),
    Ground(
        {"avg_pool": "avg_pool/integers", "global_avg_pool": "avg_pool/integers"},
        lambda recipe: bool(recipe.levels["dtype"] == "int64"),
        _whole("int64"),
    ),
    Ground(
        {"avg_pool": "avg_pool/integers-in-int32", "global_avg_pool": "global_avg_pool/integers"},
        lambda recipe: bool(recipe.levels["dtype"] == "int32"),
        _whole("int32"),
    ),
)
"""All ground that is entered. Where operators have no question of their own, it is that of what they are made of."""
