"""Tests of conformance.exploration.relations, and of the oracle that checks them."""

import pytest

from conformance.execution.task import TaskJudge
from conformance.exploration.evaluation import make_requests
from conformance.exploration.oracles import RelationOracle
from conformance.exploration.relations import RELATIONS
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace
from tests.support.nightly import only_nightly
from tests.support.planted_evaluator import evaluator_of


@pytest.mark.usefixtures("planted")
def test_correct_surfaces_satisfy_every_relation(sweeps):
    names = set()
    with evaluator_of("none") as evaluator:
        for operator in ("max_pool", "min_pool", "avg_pool", "conv", "conv_transpose", "pad", "max_pool_grad"):
            space = OperatorSpace.from_sweeps(operator, sweeps)
            drawn = [space.draw(Rng("law", operator, number)) for number in range(250)]
            for result in evaluator.evaluate(make_requests(RelationOracle(), drawn)):
                assert not [one for one in result.surface_results if one.is_new]
                names |= {str(one.oracle) for one in result.surface_results if one.status == "pass"}
    assert names == {f"law: {relation.name}" for relation in RELATIONS}


VIOLATED_RELATIONS = {
    "channel-alone-in-its-block": ("max_pool", "channels"),
    "dilation-lost-in-groups": ("conv", "adjoint"),
}


@pytest.mark.usefixtures("planted")
def test_relations_are_not_checked_on_surfaces_with_a_ledger_entry(sweeps, monkeypatch):
    operator, relation = VIOLATED_RELATIONS["channel-alone-in-its-block"]
    drawn = [OperatorSpace.from_sweeps(operator, sweeps).draw(Rng("known", number)) for number in range(100)]
    with evaluator_of("channel-alone-in-its-block") as evaluator:
        results = evaluator.evaluate(make_requests(RelationOracle(), drawn))
        monkeypatch.setattr(TaskJudge, "ledger_entry", lambda *_: True)
        known = [
            one
            for result in evaluator.evaluate(make_requests(RelationOracle(), drawn))
            for one in result.surface_results
        ]
    assert f"law: {relation}" in {str(one.oracle) for result in results for one in result.surface_results}
    assert known == []


# The first bug shows only after several hundred draws.
@pytest.mark.parametrize(
    "name", [pytest.param("channel-alone-in-its-block", marks=only_nightly), "dilation-lost-in-groups"]
)
@pytest.mark.usefixtures("planted")
def test_a_bug_violates_a_relation_without_any_reference(name, sweeps, monkeypatch):
    monkeypatch.setattr(
        "conformance.exploration.oracles.compute_expected", lambda _case: pytest.fail("the reference was used")
    )
    operator, relation = VIOLATED_RELATIONS[name]
    space = OperatorSpace.from_sweeps(operator, sweeps)
    with evaluator_of(name) as evaluator:
        assert any(f"law: {relation}" in symptoms for symptoms in new_symptoms(evaluator, space))


def new_symptoms(evaluator, space):
    """Yield the symptoms of 1,200 draws, 100 at a time."""
    for first in range(0, 1200, 100):
        drawn = [space.draw(Rng("broken", number)) for number in range(first, first + 100)]
        results = evaluator.evaluate(make_requests(RelationOracle(), drawn))
        yield {str(one.symptom) for result in results for one in result.surface_results if one.is_new}
