"""Recipes, the space they are drawn from, and what is said of them."""

import math
from collections import Counter

import pytest

from conformance.adapters import registry
from conformance.adapters.api.surface import Program, Unsupported
from conformance.cases.operators import OPERATORS
from conformance.cases.yaml_reader import read_yaml_with_errors
from conformance.catalogue import loading
from conformance.exploration.candidate import Candidate
from conformance.exploration.coverage import Coverage, OperatorScheduler, feature_combinations
from conformance.exploration.diagnosis import neighbours_of
from conformance.exploration.features import candidate_conditions, factor_kinds
from conformance.exploration.rng import Rng
from conformance.exploration.sizes import LONG_AXIS_CELLS
from conformance.exploration.space import MAX_BINNED_CELLS, MAX_TERMS, OperatorSpace, count_terms, is_affordable
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate

QUICK = 2000
X = {"x": {"values": "integers"}}
PLAIN = {"rank": 2, "batch": 1, "channels": 1, "extent": (4, 5), "window": (2, 3), "stride": (1, 1), "padding": 0,
         "dilation": (1, 1), "rounding": "floor", "values": "integers", "dtype": "float32"}  # fmt: skip


@pytest.fixture(scope="module")
def sweeps():
    return loading.load_catalogue().sweeps


def recipe(**levels):
    return Candidate("max_pool", {**PLAIN, **levels}, X)


def draws(space, count, *seeds):
    return [space.draw(Rng(*seeds, number)) for number in range(count)]


def test_dice_are_the_same_for_ever():
    dice = Rng(7, "max_pool", 3)
    assert [dice.randrange(1000) for _ in range(5)] == [147, 662, 249, 251, 260]
    assert {Rng(number).randint(2, 4) for number in range(50)} == {2, 3, 4}


def test_a_recipe_is_a_case_of_the_catalogue():
    case = recipe(padding=((1, 0), (0, 2)), stride=(2, 1)).case
    assert case.id == "max_pool/explored/2d-n1-c1-i4x5-w2x3-s2x1-p1.0x0.2"
    assert case.shape == (1, 1, 4, 5)
    assert case.parameters["padding"] == ((1, 0), (0, 2))
    assert case.parameters["stride"] == (2, 1)


def test_numbers_that_are_written_out_are_part_of_the_name():
    drawn = recipe(extent=(1, 2), window=(1, 1))
    one, other = (drawn.with_numbers(x=[[[[number, 0]]]]) for number in (1, 2))
    assert len({drawn.case.id, one.case.id, other.case.id}) == 3
    assert one.case.inputs["x"].make().tolist() == [[[[1, 0]]]]


@pytest.mark.parametrize(
    "levels",
    [{"extent": (1, 1), "window": (2, 2)}, {"values": "nan", "dtype": "int32"}],
    ids=["no room", "no such number"],
)
def test_what_has_no_meaning_is_not_sound(levels):
    assert not recipe(**levels).is_valid()


def test_windows_of_padding_alone_are_sound_only_where_a_question_is_about_them():
    levels = {**PLAIN, "padding": ((0, 9), (0, 0))}
    assert Candidate("max_pool", levels, X).is_valid()
    assert not Candidate("softmax_pool", levels, X).is_valid()


def test_what_inputs_hold_is_part_of_the_name():
    cases = [Candidate("max_pool", PLAIN, {"x": {"values": "integers", **more}}).case for more in ({}, {"low": 1})]
    assert cases[0].id != cases[1].id


def test_smaller_is_nearer_to_plain_then_fewer_cells():
    small = recipe(extent=(2, 3))
    assert small.size < recipe().size < recipe(stride=(1, 2)).size < recipe(stride=(2, 2)).size
    assert sorted(recipe(stride=(2, 1), padding=((0, 1), (0, 0)), dtype="int8").non_default_factors()) == [
        "dtype", "padding", "rank", "stride", "window", "window",
    ]  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_a_space_of_sound_cases(operator, sweeps):
    space = OperatorSpace.from_sweeps(operator, sweeps)
    found = draws(space, 40, operator)
    assert all(is_affordable(one) and count_terms(one) <= MAX_TERMS for one in found)
    assert len({one.name for one in found}) > 30
    assert all(compute_expected(one.case).inputs for one in found if count_terms(one) < QUICK)
    assert [one.name for one in draws(space, 5, operator)] == [one.name for one in found[:5]]


def test_the_space_is_wide(sweeps):
    found = draws(OperatorSpace.from_sweeps("avg_pool", sweeps), 600, "wide")
    assert {one.rank for one in found} == {1, 2, 3}
    assert max(max(one.each("extent")) for one in found) >= LONG_AXIS_CELLS
    assert {one.levels["rounding"] for one in found} == {"floor", "ceil", "full"}
    assert any(max(one.each("stride")) > max(one.each("window")) for one in found)
    assert any(one.levels["divisor"] for one in found)
    assert any(math.prod(one.each("window")) > 256 for one in found)
    assert {"nan", "mantissas", "integers"} <= {one.levels["values"] for one in found}


def test_what_one_sweep_leaves_out_is_the_default_for_another(sweeps):
    found = draws(OperatorSpace.from_sweeps("pad", sweeps), 400, "words")
    assert {one.levels["mode"] for one in found} == {"constant", "edge", "reflect", "symmetric", "wrap"}
    assert {one.levels["value"] for one in found if one.levels["mode"] == "constant"} == {0, 7}
    assert {one.levels["value"] for one in found if one.levels["mode"] != "constant"} == {0}
    assert "extremes" in {one.levels["values"] for one in found}


def test_an_operator_without_sweeps_has_no_space():
    with pytest.raises(ValueError, match="max_pool: no sweep"):
        OperatorSpace.from_sweeps("max_pool", [])


def test_a_neighbour_is_sound_and_near(sweeps):
    space = OperatorSpace.from_sweeps("conv", sweeps)
    first = space.draw(Rng("near"))
    for number in range(20):
        other = space.mutate(first, Rng("mutated", number))
        changed = [name for name, level in first.levels.items() if other.levels[name] != level]
        assert is_affordable(other)
        assert len(changed) <= 2


def test_vast_recipes_are_more_than_the_reference_is_asked(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    found = [one for number in range(10) if (one := space.draw_large(Rng("vast", number)))]
    assert found
    assert all(count_terms(one) > MAX_TERMS and one.is_valid() for one in found)


def test_vast_recipes_have_no_more_bins_than_programs_slice_soon(sweeps):
    space = OperatorSpace.from_sweeps("adaptive_max_pool", sweeps)
    found = [one for number in range(60) if (one := space.draw_large(Rng("vast", number)))]
    assert found
    assert max(math.prod(one.per_axis("output_size")) for one in found) <= MAX_BINNED_CELLS


def test_the_guide_brings_together_what_was_not(sweeps):
    space, guide = OperatorSpace.from_sweeps("max_pool", sweeps), Coverage()
    guided = Counter()
    for number in range(60):
        dice = Rng("guided", number)
        chosen = guide.choose(lambda dice=dice: space.draw(dice))
        guide.count(chosen)
        guided.update(set(feature_combinations(chosen)))
    plain = Counter()
    for one in draws(space, 60, "plain"):
        plain.update(set(feature_combinations(one)))
    assert len(guided) > 1.1 * len(plain)


def test_turns_go_where_there_is_more_that_is_new():
    turns, taken = OperatorScheduler(["narrow", "wide"]), Counter()
    for _ in range(2000):
        operator = turns.next()
        taken[operator] += 1
        turns.record_novelty(operator, {"narrow": 0.1, "wide": 0.5}[operator])
    assert 4 < taken["wide"] / taken["narrow"] < 6


def test_half_of_all_draws_take_nothing_plain():
    drawn = Counter()
    for number in range(400):
        dice = Rng("bold", number)
        dice.start_draw()
        drawn[sum(dice.usual_or_unusual((0,), (1,)) for _ in range(8))] += 1
    assert 160 < drawn[8] < 240
    assert drawn[3] > drawn[7]


def test_conditions_are_what_is_true():
    true = candidate_conditions(recipe(stride=(3, 1), padding=((1, 0), (0, 0)), rounding="ceil", extent=(4, 70_000)))
    assert {"2-D", "stride > window", "padding before", "more padding before than after", "ceil or full"} <= true
    assert {"an extent of 65,536 or more", "a window of 3 or more", "dtype float32"} <= true
    assert not {"dilation", "padding after", "groups", "16-bit floats", "whole numbers"} & true


@pytest.mark.parametrize("operator", OPERATORS)
def test_all_of_a_space_can_be_said(operator, sweeps):
    for one in draws(OperatorSpace.from_sweeps(operator, sweeps), 15, "said"):
        assert candidate_conditions(one)
        assert len(factor_kinds(one)) == len({word.split()[0] for word in factor_kinds(one)})


def test_a_recipe_reads_back_from_its_file(tmp_path, sweeps):
    from conformance.exploration.output import case_item_text  # noqa: PLC0415

    for number, operator in enumerate(OPERATORS):
        one = OperatorSpace.from_sweeps(operator, sweeps).draw(Rng("file", number))
        path = tmp_path / "pooling" / f"{operator}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"operator: {operator}\nsource: here\n\ncases:\n{case_item_text(one.raw_case)}", "utf-8")
        assert read_yaml_with_errors(path).data["cases"][0]["id"] == one.raw_case["id"]
        (case,) = loading.load_catalogue([path]).cases
        assert case.canonical_text() == one.case.canonical_text()


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_backend_translates_what_is_drawn_and_what_lies_near(operator, sweeps):
    space = OperatorSpace.from_sweeps(operator, sweeps)
    surfaces = [surface for name in registry.backend_names() for surface in registry.get_backend(name).surfaces]
    for drawn in draws(space, 3, "translated"):
        for one in (drawn, *neighbours_of(drawn, space)[::9]):
            answers = [translate(one.case, surface) for surface in surfaces]
            assert all(isinstance(answer, Program | Unsupported) for answer in answers), one.name


def test_nothing_that_was_pooled_is_unpooled_by_every_backend():
    """No cells and a size all the same: a window that leads there cannot be told from sizes divided by extents."""
    nothing = Candidate(
        "max_unpool",
        {"rank": 1, "extent": 0, "output_size": 3},
        {"x": {"values": "integers"}, "indices": {"values": "distinct"}},
    )
    assert nothing.is_valid()
    for name in registry.backend_names():
        for surface in registry.get_backend(name).surfaces:
            assert translate(nothing.case, surface)


def test_a_neighbour_has_no_bias_where_the_sweep_has_none(sweeps):
    space = OperatorSpace.from_sweeps("conv", sweeps)
    drawn = next(one for one in draws(space, 100, "no bias") if "bias" not in one.inputs)
    assert not any(one.levels["bias"] for one in neighbours_of(drawn, space))
