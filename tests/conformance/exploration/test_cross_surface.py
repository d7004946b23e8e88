"""Comparison of surfaces without a reference: it finds the surface that differs and no correct one."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from conformance.adapters.api import Surface
from conformance.cases.operators import OPERATORS, Arithmetic
from conformance.execution.targets import RunTarget
from conformance.exploration import cross_surface, diagnosis, space
from conformance.exploration.candidate import Candidate
from conformance.exploration.cluster import EvaluatorSpec
from conformance.exploration.cross_surface import SurfacesOracle, find_outliers, max_distance
from conformance.exploration.evaluation import LocalEvaluator, make_requests
from conformance.exploration.explorer import Explorer, StopCondition
from conformance.exploration.findings import FindingCollector
from conformance.exploration.oracles import ReferenceOrSurfacesOracle
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace, count_terms
from conformance.judging.ledger import Ledger
from tests.support import fake_backends
from tests.support.nightly import only_nightly

RIGHT = "x.mean(axis=tuple(range(2, x.ndim)), keepdims=True)"
MAX_CORRECT_EXTENT = 1023
WRONG_BEYOND = f"({RIGHT} * np.asarray(1 if max(x.shape[2:]) <= {MAX_CORRECT_EXTENT} else 1.25, x.dtype))"
CASES = 160


def averaging_surface(name, text):
    return Surface(name, {"global_avg_pool": lambda _step: text})


@pytest.fixture
def low_limits(monkeypatch):
    """Lower the limits on terms, so that cases too large for the reference are still small."""
    monkeypatch.setattr(space, "MAX_TERMS", MAX_CORRECT_EXTENT)
    monkeypatch.setattr(space, "MAX_METAMORPHIC_TERMS", 20 * MAX_CORRECT_EXTENT)


def explore(sweeps):
    surfaces = [
        averaging_surface("fake.right", RIGHT),
        averaging_surface("fake.also", RIGHT),
        averaging_surface("fake.wrong", WRONG_BEYOND),
    ]
    with LocalEvaluator(fake_backends.backend(*surfaces), sys.executable, Ledger()) as evaluator:
        explorer = Explorer(evaluator, {"global_avg_pool": OperatorSpace.from_sweeps("global_avg_pool", sweeps)})
        explorer.explore(StopCondition(CASES))
    assert set(explorer.counts.statuses) <= {"pass", "unsupported"}
    return explorer.findings.findings


@only_nightly
@pytest.mark.usefixtures("low_limits")
def test_a_bug_in_large_cases_is_found_by_comparing_surfaces(sweeps):
    (finding,) = explore(sweeps)
    assert (str(finding.symptom), finding.surfaces) == ("surfaces: value", ("fake.wrong",))
    assert count_terms(finding.candidate) > MAX_CORRECT_EXTENT
    assert list(finding.candidate.non_default_factors()) == []
    assert finding.sentence == (
        "global_avg_pool on fake.wrong: the surfaces of the backend disagree"
        " (numbers differ by more than rounding allows) in all tested cases with an extent of 1,024 or more."
    )
    assert "differs from fake.right" in finding.message


@pytest.mark.usefixtures("low_limits")
def test_without_comparing_surfaces_it_is_not_found(sweeps, monkeypatch):
    monkeypatch.setattr(cross_surface, "find_outliers", lambda _outputs, _limit: {})
    assert explore(sweeps) == []


@pytest.mark.usefixtures("planted")
def test_correct_surfaces_do_not_differ(sweeps):
    rng, results = Rng("peers"), []
    with EvaluatorSpec(
        RunTarget("planted", ""), ("planted.none", "planted.channel-alone-in-its-block")
    ).open_evaluator() as evaluator:
        for operator in ("avg_pool", "conv", "conv_grad", "lp_pool", "max_pool_grad", "avg_pool_grad", "pad"):
            draw = OperatorSpace.from_sweeps(operator, sweeps).draw
            results += [
                one
                for result in evaluator.evaluate(make_requests(SurfacesOracle(), [draw(rng) for _ in range(12)]))
                for one in result.surface_results
            ]
    assert len(results) > 60
    assert [one for one in results if one.is_new] == []


def test_a_single_surface_has_no_results(sweeps):
    backend = fake_backends.backend(averaging_surface("fake.right", RIGHT))
    with LocalEvaluator(backend, sys.executable, Ledger()) as evaluator:
        candidate = OperatorSpace.from_sweeps("global_avg_pool", sweeps).draw(Rng(1))
        (result,) = evaluator.evaluate(make_requests(SurfacesOracle(), [candidate]))
    assert result.surface_results == ()


MAY_OVERFLOW = "x.dtype == np.float16 and x[0, 0].size * np.abs(x.astype(float)).max() > 65504"
CRASHES = f"(os._exit(5) if {MAY_OVERFLOW} else {RIGHT})"
AVERAGED = {"rank": 2, "batch": 2, "channels": 3, "values": "integers", "dtype": "float16"}
CANDIDATES = {
    "may overflow": Candidate("global_avg_pool", {**AVERAGED, "extent": (100, 160)}, {"x": {"values": "integers"}}),
    "too large": Candidate("global_avg_pool", {**AVERAGED, "extent": (300, 320)}, {"x": {"values": "integers"}}),
}


@pytest.mark.parametrize("candidate", CANDIDATES.values(), ids=CANDIDATES)
def test_a_crash_is_shrunk_although_the_reference_gives_no_answer(candidate, sweeps, monkeypatch):
    monkeypatch.setitem(diagnosis.MAX_FATAL_EVALUATIONS, "crashed", 12)
    surfaces = [averaging_surface("fake.right", RIGHT), averaging_surface("fake.ends", CRASHES)]
    half_surfaces = [replace(one, dtypes={"": frozenset({"float16"})}) for one in surfaces]
    candidates = (candidate, candidate.with_levels(rank=1, extent=(3,)))
    with LocalEvaluator(fake_backends.backend(*half_surfaces), sys.executable, Ledger()) as evaluator:
        results = evaluator.evaluate(make_requests(ReferenceOrSurfacesOracle(), candidates))
        (finding,) = FindingCollector(
            evaluator, {"global_avg_pool": OperatorSpace.from_sweeps("global_avg_pool", sweeps)}
        ).add(results, 0)
    assert str(finding.symptom).startswith("crashed: ")
    assert finding.surfaces == ("fake.ends",)
    assert (finding.candidate.levels["batch"], finding.candidate.levels["channels"]) == (1, 1)
    assert finding.conditions
    assert finding.agreeing_count == 0


ONE, OTHER = np.array([1.0, np.nan], np.float32), np.array([1.5, np.nan], np.float32)


@pytest.mark.parametrize(
    ("outputs", "limit", "kinds"),
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
def test_outliers_differ_from_the_majority(outputs, limit, kinds):
    differences = find_outliers(outputs, limit)
    assert {name: difference.kind for name, difference in differences.items() if difference} == kinds


LEVELS = {"rank": 1, "batch": 1, "channels": 1, "extent": (5,), "window": (2,), "stride": (1,), "padding": ((0, 0),),
          "dilation": (1,), "rounding": "floor", "values": "integers", "dtype": "float32"}  # fmt: skip
AVERAGE = {**LEVELS, "count_include_pad": False, "divisor": None}
CONV = {**LEVELS, "out": 1, "groups": 1, "bias": False}
UNIT_ROUNDOFF = 2.0**-24


def limit_of(operator, levels, **numbers):
    common = {name: {"values": "integers"} for name in ("x", "kernel") if name in OPERATORS[operator].inputs}
    candidate = Candidate(operator, levels, common, numbers)
    inputs = {name: spec.make() for name, spec in candidate.case.inputs.items()}
    return max_distance(candidate, inputs)


def test_selections_and_integer_sums_must_be_equal():
    assert limit_of("max_pool", LEVELS) == 0
    assert limit_of("conv", CONV) == 0
    assert limit_of("conv", {**CONV, "dtype": "int32"}) == 0


def test_rounded_sums_may_differ_by_two_bounds():
    limit = limit_of("avg_pool", AVERAGE, x=[[[1, 2, -9, 3, 4]]])
    # n + 3 roundings of at most 9, and the last one.
    assert 2 * 9 * 5 * UNIT_ROUNDOFF < limit < 2 * 9 * 8 * UNIT_ROUNDOFF
    assert limit_of("conv", {**CONV, "values": "mantissas"}) > 0


def test_sums_of_windows_are_not_divided(monkeypatch):
    summed = replace(OPERATORS["avg_pool"], arithmetic=Arithmetic.SUM)
    monkeypatch.setattr(cross_surface, "OPERATORS", {**OPERATORS, "avg_pool": summed})
    assert limit_of("avg_pool", AVERAGE) == 0
    # Two numbers of 9 at most fit in int8, 20 of them may not.
    assert limit_of("avg_pool", {**AVERAGE, "dtype": "int8"}) == 0
    assert limit_of("avg_pool", {**AVERAGE, "dtype": "int8", "extent": (20,), "window": (20,)}) is None


@pytest.mark.parametrize(
    ("operator", "levels"),
    [
        ("lp_pool", {**LEVELS, "p": 2}),
        ("conv", {**CONV, "dtype": "int8", "window": (5,)}),
        ("avg_pool", {**AVERAGE, "dtype": "bfloat16", "extent": (300,), "window": (200,)}),
    ],
    ids=["nonlinear", "integers that may overflow", "no bound"],
)
def test_values_without_a_bound_are_not_compared(operator, levels):
    assert limit_of(operator, levels) is None
