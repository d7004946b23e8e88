"""Candidates: their cases, the spaces they are drawn from, coverage guidance, and their features."""

import json
import math
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from conformance import CatalogueError
from conformance.adapters import registry
from conformance.adapters.api import Program, Unsupported
from conformance.cases.arrays import array_digest
from conformance.cases.features.case_features import case_features
from conformance.cases.operators import OPERATORS
from conformance.cases.schema import catalogue_folder
from conformance.catalogue import loading
from conformance.exploration.candidate import Candidate, shortened_id
from conformance.exploration.coverage import Coverage, OperatorScheduler, factor_kinds, feature_combinations
from conformance.exploration.diagnosis import neighbours_of
from conformance.exploration.draws.invalid_calls import Violation
from conformance.exploration.draws.sizes import LONG_AXIS_CELLS
from conformance.exploration.findings import ExplorationFinding
from conformance.exploration.output import _case_file_texts
from conformance.exploration.rng import Rng
from conformance.exploration.shrinking import shrink
from conformance.exploration.space import MAX_BINNED_CELLS, MAX_TERMS, OperatorSpace, count_terms, is_affordable
from conformance.exploration.symptoms import Symptom
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate
from reports.results.vocabulary import DifferenceKind

QUICK_TERMS = 2000
"""Number of terms up to which a test computes the reference."""
X = {"x": {"values": "integers"}}
LEVELS = {"rank": 2, "batch": 1, "channels": 1, "extent": (4, 5), "window": (2, 3), "stride": (1, 1), "padding": 0,
         "dilation": (1, 1), "rounding": "floor", "values": "integers", "dtype": "float32"}  # fmt: skip


def make_candidate(**levels):
    return Candidate("max_pool", {**LEVELS, **levels}, X)


def draws(space, count, *seeds):
    return [space.draw(Rng(*seeds, number)) for number in range(count)]


def test_random_numbers_are_fixed_by_the_seeds():
    rng = Rng(7, "max_pool", 3)
    assert [rng.randrange(1000) for _ in range(5)] == [147, 662, 249, 251, 260]
    assert {Rng(number).randint(2, 4) for number in range(50)} == {2, 3, 4}


def test_a_candidate_is_a_catalogue_case():
    case = make_candidate(padding=((1, 0), (0, 2)), stride=(2, 1)).case
    assert case.id == "max_pool/explored/2d-n1-c1-i4x5-w2x3-s2x1-p1.0x0.2"
    assert case.shape == (1, 1, 4, 5)
    assert case.parameters["padding"] == ((1, 0), (0, 2))
    assert case.parameters["stride"] == (2, 1)


def test_case_id_depends_on_explicit_numbers():
    drawn = make_candidate(extent=(1, 2), window=(1, 1))
    one, other = (drawn.with_numbers(x=[[[[number, 0]]]]) for number in (1, 2))
    assert len({drawn.case.id, one.case.id, other.case.id}) == 3
    assert one.case.inputs["x"].make().tolist() == [[[[1, 0]]]]


@pytest.mark.parametrize(
    "levels",
    [{"extent": (1, 1), "window": (2, 2)}, {"values": "nan", "dtype": "int32"}],
    ids=["window larger than the input", "NaN in an integer dtype"],
)
def test_impossible_levels_are_invalid(levels):
    assert not make_candidate(**levels).is_valid()


def test_windows_of_padding_only_are_valid_if_the_operator_has_a_convention_about_them():
    levels = {**LEVELS, "padding": ((0, 9), (0, 0))}
    assert Candidate("max_pool", levels, X).is_valid()
    assert not Candidate("softmax_pool", levels, X).is_valid()


def make_long_candidate(**levels):
    """Return a candidate whose levels and violation have a name of more than 100 characters."""
    long = {
        "rank": 3, "batch": 3, "channels": 17, "extent": (31, 64, 65), "window": (2, 15, 14), "stride": (13, 12, 11),
        "padding": ((0, 1), (2, 3), (4, 5)), "dilation": (3, 1, 2), "rounding": "ceil", "values": "wide",
        "dtype": "bfloat16",
    }  # fmt: skip
    return Candidate("max_pool", {**long, **levels}, X, violation=Violation("WindowExceedsPaddedInput", 2, 1000))


def test_a_long_case_id_is_shortened_to_the_limit_of_the_schema_and_remains_unique(tmp_path):
    schema = json.loads((catalogue_folder() / "schema.json").read_text("utf-8"))["$defs"]["id"]
    longest = [make_long_candidate(stride=(13, 12, stride)) for stride in (10, 11, 12)]
    assert all(len(one.name) > schema["maxLength"] for one in longest)
    ids = [one.raw_case["id"] for one in longest]
    assert {len(one) for one in ids} == {schema["maxLength"]}
    assert all(re.fullmatch(schema["pattern"], one) for one in ids)
    assert len({*ids}) == len(longest)
    assert ids[1] == make_long_candidate().raw_case["id"]
    path = tmp_path / "max_pool.yaml"
    path.write_text(case_file_text(longest[0]), "utf-8")
    (case,) = loading.load_catalogue([path]).cases
    assert case.id == f"max_pool/{ids[0]}"


def test_case_ids_of_equal_starts_differ_by_a_digest():
    long = "explored/" + "2d-" * 40
    assert shortened_id(long[:100]) == long[:100]
    assert shortened_id(long) != shortened_id(long[:-1])
    assert shortened_id(long)[:83] == long[:83]


def test_case_id_depends_on_generator_options():
    cases = [Candidate("max_pool", LEVELS, {"x": {"values": "integers", **more}}).case for more in ({}, {"low": 1})]
    assert cases[0].id != cases[1].id


def test_shrink_key_counts_non_default_factors_before_cells():
    increasing = [
        make_candidate(extent=(2, 3)),
        make_candidate(),
        make_candidate(stride=(1, 2)),
        make_candidate(stride=(2, 2)),
    ]
    keys = [one.shrink_key for one in increasing]
    assert all(first < second for first, second in pairwise(keys))
    assert sorted(make_candidate(stride=(2, 1), padding=((0, 1), (0, 0)), dtype="int8").non_default_factors()) == [
        "dtype", "padding", "rank", "stride", "window", "window",
    ]  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_a_space_of_valid_cases(operator, sweeps):
    space = OperatorSpace.from_sweeps(operator, sweeps)
    found = draws(space, 40, operator)
    assert all(is_affordable(one) and count_terms(one) <= MAX_TERMS for one in found)
    assert len({one.name for one in found}) > 30
    assert all(compute_expected(one.case).inputs for one in found if count_terms(one) < QUICK_TERMS)
    assert [one.name for one in draws(space, 5, operator)] == [one.name for one in found[:5]]


def test_draws_cover_a_wide_range(sweeps):
    found = draws(OperatorSpace.from_sweeps("avg_pool", sweeps), 600, "wide")
    assert {one.rank for one in found} == {1, 2, 3}
    assert max(max(one.per_axis("extent")) for one in found) >= LONG_AXIS_CELLS
    assert {one.levels["rounding"] for one in found} == {"floor", "ceil", "full"}
    assert any(max(one.per_axis("stride")) > max(one.per_axis("window")) for one in found)
    assert any(one.levels["divisor"] for one in found)
    assert any(math.prod(one.per_axis("window")) > 256 for one in found)
    assert {"nan", "mantissas", "integers"} <= {one.levels["values"] for one in found}


def test_words_include_the_defaults_of_sweeps_without_the_factor(sweeps):
    found = draws(OperatorSpace.from_sweeps("pad", sweeps), 400, "words")
    assert {one.levels["mode"] for one in found} == {"constant", "edge", "reflect", "symmetric", "wrap"}
    assert {one.levels["value"] for one in found if one.levels["mode"] == "constant"} >= {0, 7, -1, 0.5}
    assert {one.levels["value"] for one in found if one.levels["mode"] != "constant"} == {0}
    assert "extremes" in {one.levels["values"] for one in found}


@pytest.mark.parametrize("operator", ["resize", "grid_sample", "pad"])
def test_only_padding_has_a_value_in_its_id(sweeps, operator):
    found = draws(OperatorSpace.from_sweeps(operator, sweeps), 40, "ids")
    assert {"value" in one.levels for one in found} == {operator == "pad"}
    assert [one.name for one in found if "None" in one.name] == []


def test_an_operator_without_sweeps_has_no_space():
    with pytest.raises(CatalogueError, match="max_pool: the catalogue has no sweep"):
        OperatorSpace.from_sweeps("max_pool", [])


@pytest.mark.parametrize(
    ("mode", "divides", "affordable"), [("lanczos3", False, False), ("linear", True, False), ("linear", False, True)]
)
def test_a_gradient_with_divided_weights_has_a_limited_output(sweeps, mode, divides, affordable):
    space = OperatorSpace.from_sweeps("resize_grad", sweeps)
    draws = (space.draw(Rng("long", number)) for number in range(400))
    first = next(one for one in draws if one and one.rank == 1 and not one.violation and "size" in one.levels)
    levels = {"mode": mode, "antialias": divides, "exclude_outside": divides, "coordinates": "half_pixel"}
    levels |= {"nearest_rounding": "round_prefer_floor", "cubic_a": -0.75}
    assert is_affordable(first.with_levels(**levels, size=(2000,)))
    assert is_affordable(first.with_levels(**levels, size=(2001,))) is affordable


def test_mutation_changes_at_most_two_factors(sweeps):
    space = OperatorSpace.from_sweeps("conv", sweeps)
    first = space.draw(Rng("near"))
    for number in range(20):
        other = space.mutate(first, Rng("mutated", number))
        changed = {name for name, level in first.levels.items() if other.levels[name] != level}
        assert is_affordable(other)
        # An operator that follows needs whole numbers in float32.
        assert len(changed - {"dtype", "values"} if other.following else changed) <= 2


def test_large_draws_exceed_the_limit_of_the_reference(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    found = [one for number in range(10) if (one := space.draw_large(Rng("vast", number)))]
    assert found
    assert all(count_terms(one) > MAX_TERMS and one.is_valid() for one in found)


def test_large_draws_respect_the_limit_on_bins(sweeps):
    space = OperatorSpace.from_sweeps("adaptive_max_pool", sweeps)
    found = [one for number in range(60) if (one := space.draw_large(Rng("vast", number)))]
    assert found
    assert max(math.prod(one.per_axis("output_size")) for one in found) <= MAX_BINNED_CELLS


def test_coverage_guidance_covers_more_combinations(sweeps):
    space, coverage = OperatorSpace.from_sweeps("max_pool", sweeps), Coverage()
    guided = Counter()
    for number in range(60):
        rng = Rng("guided", number)
        chosen = coverage.choose(lambda rng=rng: space.draw(rng), lambda _: True)
        coverage.count(chosen)
        guided.update(set(feature_combinations(chosen)))
    independent = Counter()
    for one in draws(space, 60, "plain"):
        independent.update(set(feature_combinations(one)))
    assert len(guided) > 1.1 * len(independent)


def test_operators_with_higher_novelty_get_more_turns():
    scheduler, turns = OperatorScheduler(["narrow", "wide"]), Counter()
    for _ in range(2000):
        operator = scheduler.next()
        turns[operator] += 1
        scheduler.record_novelty(operator, {"narrow": 0.1, "wide": 0.5}[operator])
    assert 4 < turns["wide"] / turns["narrow"] < 6


def test_half_of_all_draws_choose_unusual_values_only():
    unusual_counts = Counter()
    for number in range(400):
        rng = Rng("bold", number)
        rng.start_draw()
        unusual_counts[sum(rng.usual_or_unusual((0,), (1,)) for _ in range(8))] += 1
    assert 160 < unusual_counts[8] < 240
    assert unusual_counts[3] > unusual_counts[7]


def test_conditions_of_a_candidate():
    candidate = make_candidate(stride=(3, 1), padding=((1, 0), (0, 0)), rounding="ceil", extent=(4, 70_000))
    features = {*case_features(candidate.case)}
    assert {"2-D input", "stride > window", "padding before", "more padding before than after"} <= features
    assert {"an extent of 65,536 or more", "a window of 3 or more", "dtype float32", "ceil or full"} <= features
    assert not {"dilation", "padding after", "groups", "16-bit floats", "whole numbers"} & features


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_candidate_has_conditions_and_one_kind_per_factor(operator, sweeps):
    for one in draws(OperatorSpace.from_sweeps(operator, sweeps), 15, "said"):
        assert case_features(one.case)
        assert len(factor_kinds(one)) == len({word.split()[0] for word in factor_kinds(one)})


def case_file_text(candidate):
    """Return the text of a case file with the case of a candidate."""
    finding = ExplorationFinding(candidate.operator, Symptom(DifferenceKind.VALUE), candidate, ("s",), None, 1)
    (text,) = _case_file_texts("backend", [finding]).values()
    return text


def test_a_candidate_reads_back_from_its_file(tmp_path, sweeps):
    for number, operator in enumerate(OPERATORS):
        one = OperatorSpace.from_sweeps(operator, sweeps).draw(Rng("file", number))
        path = tmp_path / "pooling" / f"{operator}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(case_file_text(one), "utf-8")
        (case,) = loading.load_catalogue([path]).cases
        assert (case.id, case.parameters) == (one.case.id, one.case.parameters)
        assert (case.expect, case.then) == (one.case.expect, one.case.then)
        # Explicit numbers are read as decimals, so the arrays are compared.
        for name, spec in one.case.inputs.items():
            assert array_digest(case.inputs[name].make()) == array_digest(spec.make()), name


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_backend_translates_draws_and_their_neighbours(operator, sweeps):
    space = OperatorSpace.from_sweeps(operator, sweeps)
    surfaces = [surface for name in registry.backend_names() for surface in registry.get_backend(name).surfaces]
    for drawn in draws(space, 3, "translated"):
        for one in (drawn, *neighbours_of(drawn, space)[::9]):
            programs = [translate(one.case, surface) for surface in surfaces]
            assert all(isinstance(program, Program | Unsupported) for program in programs), one.name


def test_every_backend_translates_unpooling_of_an_empty_input():
    """An adapter must not compute the window as output size divided by extent: the extent is 0."""
    empty = Candidate(
        "max_unpool",
        {"rank": 1, "extent": 0, "output_size": 3},
        {"x": {"values": "integers"}, "indices": {"values": "distinct"}},
    )
    assert empty.is_valid()
    for name in registry.backend_names():
        for surface in registry.get_backend(name).surfaces:
            assert translate(empty.case, surface)


def test_neighbours_have_no_bias_if_the_sweep_has_none(sweeps):
    space = OperatorSpace.from_sweeps("conv", sweeps)
    drawn = next(one for one in draws(space, 100, "no bias") if "bias" not in one.inputs)
    assert not any(one.levels["bias"] for one in neighbours_of(drawn, space))


@pytest.mark.parametrize(("numbers", "shrunk"), [([0, 0, 3, 1, 0], [1, 1]), ([1, 5, 0, 0], [1, 1])])
def test_numbers_are_cut_at_either_end(numbers, shrunk):
    levels = {
        "rank": 1, "batch": 1, "channels": 1, "extent": (len(numbers),), "window": (1,), "stride": (1,),
        "padding": ((0, 0),), "dilation": (1,), "rounding": "floor", "values": "integers", "dtype": "float32",
    }  # fmt: skip
    candidate = Candidate("max_pool", levels, {"x": {"values": "integers"}}, {"x": [[numbers]]})

    def has_adjacent_nonzeros(one):
        x = one.case.inputs["x"].make().ravel()
        return bool(one.written_numbers) and bool((x[:-1] * x[1:]).any())

    def differs(candidates):
        return list(map(has_adjacent_nonzeros, candidates))

    assert shrink(candidate, differs).written_numbers["x"] == [[shrunk]]


@pytest.mark.parametrize(
    ("dtype", "number"), [("uint64", 2**64 - 2), ("int64", -(2**63)), ("bool", 1), ("float16", 0.5)]
)
def test_written_numbers_are_exact(dtype, number):
    """64-bit integers are not converted through another dtype."""
    levels = {
        "rank": 1, "batch": 1, "channels": 1, "extent": (2,), "window": (1,), "stride": (2,), "padding": ((0, 0),),
        "dilation": (1,), "rounding": "floor", "values": "integers", "dtype": dtype,
    }  # fmt: skip
    candidate = Candidate("max_pool", levels, {"x": {"values": "integers"}}, {"x": [[[number, 0]]]})
    assert candidate.is_valid()

    def differs(candidates):
        return [one.case.inputs["x"].make().ravel()[0] == number for one in candidates]

    assert shrink(candidate, differs).written_numbers["x"][0][0][0] == number


def test_an_invalid_call_reads_back_from_its_file(tmp_path, sweeps):
    drawn = draws(OperatorSpace.from_sweeps("conv", sweeps), 40, "invalid file")
    one = next(bad for one in drawn if (bad := replace(one, violation=Violation("StrideIsZero"))).is_valid())
    path = tmp_path / "convolution" / "conv.yaml"
    path.parent.mkdir()
    path.write_text(case_file_text(one), "utf-8")
    (case,) = loading.load_catalogue([path]).cases
    assert (case.id, case.expect) == (one.case.id, one.case.expect)
    assert case.parameters == one.case.parameters
