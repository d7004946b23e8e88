"""Questions that drawn cases put: where they lie, who is asked, and that no convention passes for a fault."""

import sys
from dataclasses import replace

import pytest

from conformance.adapters import registry
from conformance.adapters.api.surface import Declaration, Program, Surface, Unsupported
from conformance.cases.operators import OPERATORS
from conformance.catalogue import loading
from conformance.exploration.candidate import Candidate
from conformance.exploration.conventions import (
    CONVENTION_DOMAINS,
    conventions_of,
    reference_answers,
    unsupported_by_oracle,
)
from conformance.exploration.evaluation import LocalEvaluator
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace, is_affordable
from conformance.judging.ledger import Ledger

NATIVE = Program("some.surface", "native", "def run(x): return x")
TIED = Candidate(
    "max_pool_with_indices",
    {"rank": 1, "batch": 1, "channels": 1, "extent": (2,), "window": (2,), "stride": (1,), "dilation": (1,),
     "padding": 0, "rounding": "floor", "output": "indices", "values": "integers", "dtype": "float32"},
    {"x": {"values": "integers", "low": 1, "high": 1}},
)  # fmt: skip
TIE = "max_pool_with_indices/tie"
BARE = {name: level for name, level in TIED.levels.items() if name != "output"} | {
    "extent": (1,), "padding": ((1, 1),), "dilation": (2,)
}  # fmt: skip


@pytest.fixture(scope="module")
def sweeps():
    return loading.load_catalogue().sweeps


def drawn(space, ground, *seeds):
    """Return a draw that entered some ground, None where nothing bearable came of it."""
    dice = Rng(*seeds)
    levels, inputs = space._draw_usual(dice)
    recipe = Candidate(space.operator, *ground.draw_inside((levels, inputs), dice))
    return recipe if is_affordable(recipe) else None


def test_every_question_stands_in_the_catalogue_and_the_reference_answers_it():
    assert set(reference_answers()) == {
        question for ground in CONVENTION_DOMAINS for question in ground.conventions.values()
    }
    assert reference_answers()["max_pool/window-of-padding-only"] == "minus-infinity"
    assert reference_answers()["max_pool/zeros-of-both-signs"] == "positive"


@pytest.mark.parametrize("ground", CONVENTION_DOMAINS, ids=lambda ground: next(iter(ground.conventions.values())))
def test_ground_that_is_entered_puts_its_question(ground, sweeps):
    for operator, question in ground.conventions.items():
        space = OperatorSpace.from_sweeps(operator, sweeps)
        found = [one for number in range(60) if (one := drawn(space, ground, operator, question, number))]
        assert sum(question in conventions_of(one) for one in found) > len(found) / 3 > 3, operator


def test_one_draw_in_four_at_most_puts_a_question(sweeps):
    for operator in OPERATORS:
        space = OperatorSpace.from_sweeps(operator, sweeps)
        asking = sum(bool(conventions_of(space.draw(Rng("asks", operator, number)))) for number in range(60))
        assert asking < 30, operator


def declaring(**declares):
    return Surface("some.surface", {}, declarations={name: Declaration(answer) for name, answer in declares.items()})


def nothing(_case):
    """Know of no difference."""
    return False


def test_a_surface_is_not_held_to_an_answer_in_a_rank_in_which_it_is_known_to_answer_otherwise():
    levels = {name: level for name, level in TIED.levels.items() if name != "output"}
    recipe = Candidate("max_pool_grad", levels, {**TIED.inputs, "grad": {"values": "integers"}})
    surface = declaring(**{"max_pool_grad/tie": "first"})

    def known(case):
        return case.id == "max_pool_grad/tie-in-three-dimensions"

    assert unsupported_by_oracle(recipe, surface, NATIVE, known) is None
    solid = recipe.with_levels(rank=3)
    assert unsupported_by_oracle(solid, surface, NATIVE, nothing) is None
    assert "answers otherwise with 3 axes" in unsupported_by_oracle(solid, surface, NATIVE, known).reason


def test_a_surface_is_not_held_to_an_answer_that_it_is_known_not_to_give():
    recipe = Candidate("max_pool", {**BARE, "values": "integers"}, {"x": {"values": "integers"}})
    assert conventions_of(recipe) == ("max_pool/window-of-padding-only",)
    surface = declaring(**{"max_pool/window-of-padding-only": "minus-infinity"})
    assert unsupported_by_oracle(recipe, surface, NATIVE, nothing) is None
    assert (
        unsupported_by_oracle(recipe, surface, NATIVE, lambda case: case.id == "max_pool/window-of-padding-only")
        is not None
    )


def test_the_index_of_a_window_without_a_cell_is_asked_for_by_itself():
    recipe = Candidate("max_pool_with_indices", {**BARE, "output": "indices"}, {"x": {"values": "distinct"}})
    assert "max_pool_with_indices/window-of-padding-only" in conventions_of(recipe)
    assert "max_pool_with_indices/window-of-padding-only" not in conventions_of(recipe.with_levels(output="values"))


def test_a_draw_may_have_the_whole_input_in_a_hole_of_a_window(sweeps):
    ground = next(one for one in CONVENTION_DOMAINS if "min_pool_grad" in one.conventions)
    space = OperatorSpace.from_sweeps("min_pool_grad", sweeps)
    found = [one for number in range(60) if (one := drawn(space, ground, "hole", number))]
    holes = [one for one in found if (1, 1) in one.each("padding") and max(one.each("dilation")) > 1]
    assert any("max_pool/window-of-padding-only" in conventions_of(one) for one in holes)


def test_distinct_numbers_that_a_dtype_rounds_to_the_same_are_tied():
    few = replace(TIED, inputs={"x": {"values": "distinct"}}).with_levels(dtype="bfloat16", extent=(128,))
    assert conventions_of(few) == ()
    assert conventions_of(few.with_levels(extent=(600,))) == (TIE,)


def test_a_surface_is_held_to_the_answer_that_it_declares_and_to_no_other():
    assert conventions_of(TIED) == (TIE,)
    assert unsupported_by_oracle(TIED, declaring(**{TIE: "first"}), NATIVE, nothing) is None
    for surface, program, said in (
        (declaring(**{TIE: "last"}), NATIVE, "answers last"),
        (declaring(), NATIVE, "declares no answer"),
        (declaring(**{TIE: "first"}), replace(NATIVE, how="composed"), "asked of single calls"),
    ):
        why = unsupported_by_oracle(TIED, surface, program, nothing)
        assert isinstance(why, Unsupported)
        assert said in why.reason


def test_what_puts_no_question_is_asked_of_everybody():
    plain = replace(TIED, inputs={"x": {"values": "distinct"}})
    assert conventions_of(plain) == ()
    assert unsupported_by_oracle(plain, declaring(), replace(NATIVE, how="composed"), nothing) is None


def test_numbers_that_are_written_out_put_the_questions_that_they_hold():
    plain = replace(TIED, inputs={"x": {"values": "distinct"}})
    assert conventions_of(plain.with_numbers(x=[[[1, 2]]])) == ()
    assert conventions_of(plain.with_numbers(x=[[[2, 2]]])) == (TIE,)
    assert conventions_of(plain.with_numbers(x=[[[-0.0, 0.0]]])) == (TIE, "max_pool/zeros-of-both-signs")
    assert "max_pool_with_indices/nan" in conventions_of(plain.with_numbers(x=[[[float("nan"), 1]]]))


@pytest.mark.usefixtures("planted")
def test_another_answer_is_a_convention_and_the_declared_one_is_not_broken_unseen():
    """The fault `ties-last` is one only where the surface declares that the first of equals wins."""
    statuses = {}
    for answer in ("first", "last"):
        lab = LocalEvaluator(registry.get_backend("planted"), sys.executable, Ledger(), surfaces=["planted.ties-last"])
        (surface,) = lab.backend.surfaces
        declares = {**surface.declarations, TIE: Declaration(answer)}
        lab.backend = replace(lab.backend, surfaces=(replace(surface, declarations=declares),))
        with lab:
            (tried,) = lab.evaluate([TIED])
        statuses[answer] = tried.surface_results[0].status
    assert statuses == {"first": "fail", "last": "unsupported"}
