"""Tests of conditions: cases that satisfy all of them, or all but one."""

import pytest

from conformance.exploration.candidate import Candidate
from conformance.exploration.conditions.testing import (
    MAX_SATISFYING,
    MAX_VIOLATING,
    diagnose,
    testing_candidates as candidates_for,
)
from conformance.exploration.conditions.vocabulary import condition_features
from conformance.exploration.diagnosis import Suspect, shrink_suspect
from conformance.exploration.finding_conditions import Evidence, SurfaceRecord, find_conditions
from conformance.exploration.space import OperatorSpace
from conformance.exploration.symptoms import Symptom
from reports.results.vocabulary import DifferenceKind
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
    chosen = list(candidates_for(smallest, space, CONDITIONS, 1))
    violated = [frozenset(CONDITIONS) - condition_features(one.case) for one in chosen]
    assert max(map(len, violated)) == 1
    assert 20 < violated.count(frozenset()) <= MAX_SATISFYING
    for condition in CONDITIONS:
        assert 5 < violated.count(frozenset({condition})) <= MAX_VIOLATING
    later = {one.name for one in candidates_for(smallest, space, CONDITIONS, 2)}
    assert len(later - {one.name for one in chosen}) > len(later) / 2


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
