"""The surfaces of a backend against each other: what parts is found, and nothing else, where no reference is asked."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from conformance.adapters.api.surface import Surface
from conformance.cases.operators import OPERATORS
from conformance.catalogue import loading
from conformance.execution.targets import RunTarget
from conformance.exploration import cross_surface, diagnosis, space
from conformance.exploration.candidate import Candidate
from conformance.exploration.cluster import EvaluatorSpec
from conformance.exploration.cross_surface import find_outliers, max_distance
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator
from conformance.exploration.explorer import Explorer, StopCondition
from conformance.exploration.findings import FindingCollector
from conformance.exploration.oracles import OracleRequest, evaluate_all
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace, count_terms
from conformance.judging.ledger import Ledger
from tests.support import fake_backends

RIGHT = "x.mean(axis=tuple(range(2, x.ndim)), keepdims=True)"
MOST = 1023
WRONG_BEYOND = f"({RIGHT} * np.asarray(1 if max(x.shape[2:]) <= {MOST} else 1.25, x.dtype))"
CASES = 80


@pytest.fixture(scope="module")
def sweeps():
    return loading.load_catalogue().sweeps


def averaging(name, text):
    return Surface(name, {"global_avg_pool": lambda _step: text})


@pytest.fixture
def little(monkeypatch):
    """As if the reference bore little, so that cases beyond it are small."""
    monkeypatch.setattr(space, "MAX_TERMS", MOST)
    monkeypatch.setattr(space, "MAX_METAMORPHIC_TERMS", 20 * MOST)


def explored(sweeps):
    surfaces = [averaging("fake.right", RIGHT), averaging("fake.also", RIGHT), averaging("fake.wrong", WRONG_BEYOND)]
    with LocalEvaluator(fake_backends.backend(*surfaces), sys.executable, Ledger()) as lab:
        explorer = Explorer(lab, {"global_avg_pool": OperatorSpace.from_sweeps("global_avg_pool", sweeps)})
        explorer.explore(StopCondition(CASES))
    assert set(explorer.counts.statuses) <= {"pass", "unsupported"}
    return explorer.findings.findings


@pytest.mark.usefixtures("little")
def test_a_fault_beyond_the_reference_is_found_by_other_surfaces(sweeps):
    (finding,) = explored(sweeps)
    assert (finding.way, finding.surfaces) == ("surfaces: value", ("fake.wrong",))
    assert count_terms(finding.candidate) > MOST
    assert list(finding.candidate.non_default_factors()) == []
    assert finding.sentence == (
        "global_avg_pool on fake.wrong: the surfaces of the backend do not agree"
        " (numbers are further apart than rounding allows) whenever there is an extent of 1,024 or more."
    )
    assert "not as fake.right" in finding.message


@pytest.mark.usefixtures("little")
def test_without_other_surfaces_it_is_not_found(sweeps, monkeypatch):
    monkeypatch.setattr(cross_surface, "find_outliers", lambda _there, _limit: {})
    assert explored(sweeps) == []


@pytest.mark.usefixtures("planted")
def test_right_surfaces_do_not_part(sweeps):
    dice, seen = Rng("peers"), []
    with EvaluatorSpec(
        RunTarget("planted", ""), ("planted.none", "planted.channel-alone-in-its-block")
    ).open_evaluator() as lab:
        for operator in ("avg_pool", "conv", "conv_grad", "lp_pool", "max_pool_grad", "avg_pool_grad", "pad"):
            draw = OperatorSpace.from_sweeps(operator, sweeps).draw
            seen += [
                one
                for tried in cross_surface.compare_surfaces(lab, [draw(dice) for _ in range(12)])
                for one in tried.surface_results
            ]
    assert len(seen) > 60
    assert [one for one in seen if one.is_new] == []


def test_a_surface_that_is_alone_has_nobody_to_part_from(sweeps):
    with LocalEvaluator(fake_backends.backend(averaging("fake.right", RIGHT)), sys.executable, Ledger()) as lab:
        (tried,) = cross_surface.compare_surfaces(
            lab, [OperatorSpace.from_sweeps("global_avg_pool", sweeps).draw(Rng(1))]
        )
    assert tried.surface_results == ()


HUGE = "x.dtype == np.float16 and x[0, 0].size * np.abs(x.astype(float)).max() > 65504"
ENDS = f"(os._exit(5) if {HUGE} else {RIGHT})"
AVERAGED = {"rank": 2, "batch": 2, "channels": 3, "values": "integers", "dtype": "float16"}
RECIPES = {
    "may overflow": Candidate("global_avg_pool", {**AVERAGED, "extent": (100, 160)}, {"x": {"values": "integers"}}),
    "too much": Candidate("global_avg_pool", {**AVERAGED, "extent": (300, 320)}, {"x": {"values": "integers"}}),
}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_a_crash_is_shrunk_where_the_reference_says_nothing(recipe, sweeps, monkeypatch):
    monkeypatch.setitem(diagnosis.MAX_FATAL_EVALUATIONS, "crashed", 12)
    surfaces = [averaging("fake.right", RIGHT), averaging("fake.ends", ENDS)]
    halves = [replace(one, dtypes={"": frozenset({"float16"})}) for one in surfaces]
    some = (recipe, recipe.with_levels(rank=1, extent=(3,)))
    with LocalEvaluator(fake_backends.backend(*halves), sys.executable, Ledger()) as lab:
        seen = evaluate_all(lab, [OracleRequest(one) for one in some])
        tried = [CandidateResult(one, these) for one, these in zip(some, seen, strict=True)]
        (finding,) = FindingCollector(
            lab, {"global_avg_pool": OperatorSpace.from_sweeps("global_avg_pool", sweeps)}
        ).add(tried, 0)
    assert finding.symptom.startswith("crashed: ")
    assert finding.surfaces == ("fake.ends",)
    assert (finding.candidate.levels["batch"], finding.candidate.levels["channels"]) == (1, 1)
    assert finding.conditions
    assert finding.agreeing_count == 0


ONE, OTHER = np.array([1.0, np.nan], np.float32), np.array([1.5, np.nan], np.float32)


@pytest.mark.parametrize(
    ("there", "limit", "faults"),
    [
        ({"a": ONE, "b": ONE, "c": OTHER}, 0.0, {"c": "value"}),
        ({"a": ONE, "b": OTHER}, 0.0, {"a": "value", "b": "value"}),
        ({"a": ONE, "b": OTHER}, 0.5, {}),
        ({"a": ONE, "b": OTHER}, 0.4, {"a": "value", "b": "value"}),
        ({"a": ONE, "b": OTHER}, None, {}),
        ({"a": ONE, "b": ONE, "c": OTHER.astype(float)}, None, {"c": "dtype"}),
        ({"a": ONE, "b": ONE, "c": OTHER[:1]}, None, {"c": "shape"}),
        ({"a": ONE, "b": ONE, "c": ONE[::-1]}, 9.0, {"c": "value"}),
        ({"a": np.zeros(1), "b": -np.zeros(1)}, 0.0, {}),
        ({"a": ONE}, 0.0, {}),
    ],
)
def test_who_parts_from_most_is_odd(there, limit, faults):
    assert {name: fault.kind for name, fault in find_outliers(there, limit).items() if fault} == faults


LEVELS = {"rank": 1, "batch": 1, "channels": 1, "extent": (5,), "window": (2,), "stride": (1,), "padding": ((0, 0),),
          "dilation": (1,), "rounding": "floor", "values": "integers", "dtype": "float32"}  # fmt: skip
AVERAGE = {**LEVELS, "count_include_pad": False, "divisor": None}
CONV = {**LEVELS, "out": 1, "groups": 1, "bias": False}
U = 2.0**-24


def limit_of(operator, levels, **numbers):
    common = {name: {"values": "integers"} for name in ("x", "kernel") if name in OPERATORS[operator].inputs}
    recipe = Candidate(operator, levels, common, numbers)
    given = {name: spec.make() for name, spec in recipe.case.inputs.items()}
    return max_distance(recipe, given)


def test_selections_and_whole_sums_are_equal():
    assert limit_of("max_pool", LEVELS) == 0
    assert limit_of("conv", CONV) == 0
    assert limit_of("conv", {**CONV, "dtype": "int32"}) == 0


def test_sums_that_are_rounded_are_as_far_apart_as_two_bounds():
    limit = limit_of("avg_pool", AVERAGE, x=[[[1, 2, -9, 3, 4]]])
    assert 2 * 9 * 5 * U < limit < 2 * 9 * 8 * U  # n + 3 roundings of 9 at most, and the last
    assert limit_of("conv", {**CONV, "values": "mantissas"}) > 0


@pytest.mark.parametrize(
    ("operator", "levels"),
    [
        ("lp_pool", {**LEVELS, "p": 2}),
        ("conv", {**CONV, "dtype": "int8", "window": (5,)}),
        ("avg_pool", {**AVERAGE, "dtype": "bfloat16", "extent": (300,), "window": (200,)}),
    ],
    ids=["curved", "integers that may overflow", "no bound"],
)
def test_of_what_has_no_bound_numbers_are_not_compared(operator, levels):
    assert limit_of(operator, levels) is None
