"""Tests of conditions: cases that satisfy all of them, or all but one."""

import pytest

from conformance.exploration.candidate import Candidate
from conformance.exploration.conditions.testing import (
    DECISIVE_OF_EACH,
    MAX_PROBES,
    MAX_SATISFYING,
    MAX_VIOLATING,
    PROBED_SIZES,
    diagnose,
    other_numbers,
    size_probes,
    testing_candidates as candidates_for,
    with_tests,
)
from conformance.exploration.conditions.vocabulary import condition_features
from conformance.exploration.diagnosis import ShrunkSuspect, Suspect, neighbours_of, shrink_suspect
from conformance.exploration.evaluation import CandidateResult, SurfaceResult
from conformance.exploration.finding_conditions import Evidence, SurfaceRecord, find_conditions
from conformance.exploration.mixing import mixed_candidates
from conformance.exploration.space import OperatorSpace
from conformance.exploration.symptoms import Symptom
from reports.results.vocabulary import DifferenceKind
from tests.support.nightly import only_nightly
from tests.support.planted_evaluator import evaluator_of

LEVELS = {
    "rank": 1, "batch": 1, "channels": 1, "extent": (7,), "window": (3,), "stride": (2,), "padding": ((1, 0),),
    "dilation": (1,), "rounding": "floor", "values": "integers", "dtype": "float32",
}  # fmt: skip
CONDITIONS = ("an axis with padding before", "an axis with a stride")


@pytest.fixture(scope="module")
def space(sweeps):
    return OperatorSpace.from_sweeps("max_pool", sweeps)


def test_tests_satisfy_all_conditions_or_all_but_one(space):
    smallest = Candidate("max_pool", LEVELS, {"x": {"values": "integers"}})
    chosen = list(candidates_for(smallest, space, CONDITIONS, 1, []))
    violated = [frozenset(CONDITIONS) - condition_features(one.case) for one in chosen]
    assert max(map(len, violated)) == 1
    assert 20 < violated.count(frozenset()) <= MAX_SATISFYING
    for condition in CONDITIONS:
        assert 5 < violated.count(frozenset({condition})) <= MAX_VIOLATING
    later = {one.name for one in candidates_for(smallest, space, CONDITIONS, 2, [])}
    assert len(later - {one.name for one in chosen}) > len(later) / 2


def test_decisive_cases_satisfy_the_conditions_or_a_competing_conjunction(space):
    smallest = Candidate("max_pool", LEVELS, {"x": {"values": "integers"}})
    competing = frozenset({"an axis with padding before and a stride"})
    undecided = list(candidates_for(smallest, space, ("rounding = floor",), 1, []))
    chosen = list(candidates_for(smallest, space, ("rounding = floor",), 1, [competing]))
    assert [one.name for one in chosen[: len(undecided)]] == [one.name for one in undecided]
    decisive = chosen[len(undecided) :]
    assert 0 < len(decisive) <= DECISIVE_OF_EACH
    for one in decisive:
        assert ("rounding = floor" in one.features) != (competing <= one.features)


def test_sizes_are_tested_at_limits_one_at_a_time():
    smallest = Candidate("max_pool", LEVELS, {"x": {"values": "integers"}})
    probes = size_probes([smallest])
    assert {one.levels["channels"] for one in probes} == {1, *PROBED_SIZES}
    assert {one.levels["batch"] for one in probes} == {1, *PROBED_SIZES}
    for one in probes:
        assert one.is_valid()
        assert sum(one.levels[name] != level for name, level in LEVELS.items()) == 1
    many = [smallest.with_levels(stride=(stride,)) for stride in range(1, 9)]
    assert MAX_PROBES / 2 < len(size_probes(many)) <= MAX_PROBES


def test_a_number_of_channels_that_draws_rarely_have_is_a_condition(space):
    """A surface is wrong unless the number of channels is a multiple of 4."""
    surface, symptom = "s", Symptom(DifferenceKind.VALUE)
    smallest = Candidate("max_pool", LEVELS, {"x": {"values": "integers"}})

    def run(candidates):
        return [result_of(one) for one in candidates]

    def result_of(one):
        wrong = "dtype float32" in one.features and one.levels["channels"] % 4 != 0
        symptoms = symptom if wrong else None
        return CandidateResult(one, [SurfaceResult(surface, "fail" if wrong else "pass", symptoms)])

    near, mixed = run(neighbours_of(smallest, space)), run(mixed_candidates(smallest, space))
    tested = with_tests(ShrunkSuspect(smallest, (), near, mixed), space, surface, symptom, run)
    evidence = Evidence.of(tested, "", surface, symptom)
    found = find_conditions(evidence, SurfaceRecord(), symptom, lambda _: False).conditions
    assert {*found} == {"dtype float32", "a number of channels that is not a multiple of 4"}


def test_other_numbers_are_those_of_another_seed_and_drawn_ones(space):
    candidate = Candidate("max_pool", LEVELS, {"x": {"values": "integers"}})
    seeded, drawn = other_numbers(candidate, space)
    assert seeded.inputs["x"]["seed"] != 0
    assert "x" in drawn.written_numbers
    assert seeded.levels == drawn.levels == candidate.levels
    assert [one.case.id for one in other_numbers(candidate, space)] == [seeded.case.id, drawn.case.id]


def test_cases_that_differ_with_other_numbers_are_hidden(space):
    """A surface is wrong where it is padded before, except for several images with the usual numbers."""
    surface, symptom = "s", Symptom(DifferenceKind.VALUE)
    smallest = Candidate("max_pool", LEVELS, {"x": {"values": "integers"}})

    def run(candidates):
        return [result_of(one) for one in candidates]

    def result_of(one):
        usual = not one.written_numbers and "seed" not in one.inputs["x"]
        wrong = "an axis with padding before" in one.features and not (usual and one.levels["batch"] > 1)
        symptoms = symptom if wrong else None
        return CandidateResult(one, [SurfaceResult(surface, "fail" if wrong else "pass", symptoms)])

    near, mixed = run(neighbours_of(smallest, space)), run(mixed_candidates(smallest, space))
    tested = with_tests(ShrunkSuspect(smallest, (), near, mixed), space, surface, symptom, run)
    assert tested.hidden
    known = {one.candidate.case.id: one for one in [*tested.neighbour_results, *tested.mixed_results]}
    for name in tested.hidden:
        assert not known[name].shows(surface, symptom)
        assert known[name].candidate.levels["batch"] > 1
    evidence = Evidence.of(tested, "", surface, symptom)
    assert len(evidence.hidden) >= len(tested.hidden)
    found = find_conditions(evidence, SurfaceRecord(), symptom, lambda _: False).conditions
    assert found == ("an axis with padding before",)


@only_nightly
def test_a_diagnosis_has_the_results_of_the_tests(planted, space):
    """`clipped-start-of-dilated-windows` needs padding before and dilation on one axis."""
    surface, symptom = "planted.clipped-start-of-dilated-windows", Symptom(DifferenceKind.VALUE)
    assert surface in {bug.surface for bug in planted.BUGS.values()}
    candidate = Candidate("max_pool", {**LEVELS, "dilation": (2,)}, {"x": {"values": "integers"}})
    suspect = Suspect(candidate, surface, symptom, 1)
    with evaluator_of(surface.removeprefix("planted.")) as evaluator:
        untested = shrink_suspect(evaluator, suspect, space)
        tested = diagnose(evaluator, suspect, space)
    assert tested.smallest.case.id == untested.smallest.case.id
    assert len(tested.mixed_results) > len(untested.mixed_results) + 20
    evidence = Evidence.of(tested, "native", surface, symptom)
    found = find_conditions(evidence, SurfaceRecord(), symptom, lambda _: False).conditions
    assert found is not None
    assert any("dilation" in one or "holes" in one for one in found)
    assert any("padding" in one for one in found)
