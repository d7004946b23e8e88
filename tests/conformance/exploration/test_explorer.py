"""Exploration of a backend: finding, shrinking and describing bugs, independent of chance and of the workers."""

import sys

import pytest

from conformance.adapters import registry
from conformance.execution.job import Limits
from conformance.exploration import diagnosis
from conformance.exploration.candidate import Candidate
from conformance.exploration.convention_domains import conventions_of
from conformance.exploration.evaluation import LocalEvaluator, make_requests
from conformance.exploration.explorer import Explorer
from conformance.exploration.oracles import ReferenceOracle, RelationOracle
from conformance.exploration.space import OperatorSpace
from conformance.exploration.symptoms import REFERENCE
from conformance.judging.ledger import Ledger
from tests.support.nightly import NIGHTLY, only_nightly
from tests.support.planted_evaluator import evaluator_of, explore


@pytest.mark.usefixtures("planted")
def test_a_surface_without_bugs_has_no_findings(sweeps):
    names = ("max_pool", "conv", "avg_pool_grad", "lp_pool_grad", "max_pool_with_indices", "max_unpool")
    explorer = explore(evaluator_of("none"), sweeps, 120 if NIGHTLY else 60, *names)
    assert explorer.findings.findings == []
    assert set(explorer.counts.statuses) <= {"pass", "unsupported"}
    assert explorer.counts.statuses["pass"] > 25


def test_surfaces_without_level_standard_are_explored_if_they_are_named_or_there_are_no_others():
    def explored_surfaces(backend, *named):
        return {one.name for one in LocalEvaluator(backend, sys.executable, Ledger(), surfaces=named).backend.surfaces}

    torch = registry.get_backend("torch")
    quantized = ("", "_channels_last", "_decomposed", "_onednn", "_qnnpack")
    complete = {
        "torch.nn",
        "torch.nn.functional",
        "torch.channels_last",
        *(f"torch.quantized{one}" for one in quantized),
    }
    assert explored_surfaces(torch) == complete
    others = {one.name for one in torch.surfaces} - complete
    assert {"torch.compile", "torch.func.vmap"} <= others
    assert explored_surfaces(torch, *others) == others
    assert explored_surfaces(registry.get_backend("tinygrad")) == {"tinygrad.Tensor"}


# Bug: operator, number of cases, condition of its finding.
BUGS = {
    "dilated-extent": ("min_pool", 40, "dilation"),
    "indices-over-channels": ("max_pool_with_indices", 60, "several channels"),
}


@pytest.mark.parametrize("name", BUGS if NIGHTLY else [*BUGS][:1])
@pytest.mark.usefixtures("planted")
def test_a_bug_is_found_shrunk_and_described(name, sweeps):
    operator, cases, condition = BUGS[name]
    findings = explore(evaluator_of(name), sweeps, cases, operator).findings.findings
    assert findings
    finding = min(findings, key=lambda one: (one.symptom.oracle != REFERENCE, one.candidate.shrink_key))
    assert condition in (finding.conditions or ())
    assert finding.surfaces == (f"planted.{name}",)
    assert finding.explained_count >= 1
    assert max(finding.candidate.per_axis("extent")) <= 3
    assert len(list(finding.candidate.non_default_factors())) <= 2


BUGS_IN_CONVENTIONS = {
    "minus-one-is-the-last": "max_unpool",
    "whole-averages-round-down": "avg_pool",
    "slope-without-a-sign": "lp_pool_grad",
    "reflected-once": "pad",
}
"""Bugs that show only in cases that observe a convention, with their operators."""


@pytest.mark.parametrize("name", BUGS_IN_CONVENTIONS)
@pytest.mark.usefixtures("planted")
def test_a_bug_that_shows_only_in_a_convention_is_found(name, sweeps):
    operator = BUGS_IN_CONVENTIONS[name]
    with evaluator_of(name, "none") as evaluator:
        explorer = Explorer(evaluator, {operator: OperatorSpace.from_sweeps(operator, sweeps)})
        drawn = explorer.draw_generation(120)
        observing = [candidate for candidate in drawn if NIGHTLY or conventions_of(candidate)]
        results = evaluator.evaluate(make_requests(ReferenceOracle(), observing))
    new = [one for result in results for one in result.surface_results if one.is_new]
    assert {one.surface for one in new} == {f"planted.{name}"}


@only_nightly
@pytest.mark.usefixtures("planted")
def test_results_do_not_depend_on_the_number_of_workers(sweeps):
    found = []
    for jobs in (1, 2):
        explorer = explore(evaluator_of("dilated-extent", "none", jobs=jobs), sweeps, 50, "min_pool", "pad", seed=3)
        findings = explorer.findings.findings
        found.append([(one.id, one.sentence, one.explained_count, one.first_number) for one in findings])
    assert found[0] == found[1] != []


def test_another_seed_draws_other_cases(sweeps):
    spaces = {"pad": OperatorSpace.from_sweeps("pad", sweeps)}
    evaluator = LocalEvaluator(registry.get_backend("numpy"), sys.executable, Ledger())
    names = [[one.name for one in Explorer(evaluator, spaces, seed).draw_generation(20)] for seed in (0, 0, 1)]
    assert names[0] == names[1] != names[2]


@pytest.mark.usefixtures("planted")
def test_a_crash_is_a_finding(sweeps, monkeypatch):
    monkeypatch.setitem(diagnosis.MAX_FATAL_EVALUATIONS, "crashed", 8)
    space = OperatorSpace.from_sweeps("conv", sweeps)
    with evaluator_of("crash-of-two-channels-for-one") as evaluator:
        explorer = Explorer(evaluator, {"conv": space})
        levels = {
            "rank": 1, "batch": 2, "channels": 1, "out": 2, "groups": 2, "extent": (3,), "window": (2,), "stride": (1,),
            "padding": ((0, 0),), "dilation": (1,), "bias": True, "values": "integers", "dtype": "float32",
        }  # fmt: skip
        inputs = {name: {"values": "integers"} for name in ("x", "kernel", "bias")}
        candidate = Candidate("conv", levels, inputs)
        (finding,) = explorer.findings.add(evaluator.evaluate(make_requests(ReferenceOracle(), [candidate])), 0)
    assert str(finding.symptom).startswith("crashed: ")
    assert "the process crashes" in finding.sentence
    assert finding.candidate.shrink_key < candidate.shrink_key
    assert finding.surfaces == ("planted.crash-of-two-channels-for-one",)


@only_nightly
@pytest.mark.usefixtures("planted")
def test_a_hang_is_a_finding_but_a_slow_large_case_is_not(sweeps, monkeypatch):
    monkeypatch.setitem(diagnosis.MAX_FATAL_EVALUATIONS, "timed_out", 3)
    name, space = "hang-of-dilated-output-padding", OperatorSpace.from_sweeps("conv_transpose", sweeps)
    levels = {
        "rank": 1, "batch": 1, "channels": 1, "out": 1, "groups": 1, "extent": (2,), "window": (1,), "stride": (1,),
        "padding": ((0, 0),), "dilation": (2,), "output_padding": (1,), "bias": False, "values": "integers",
        "dtype": "float32",
    }  # fmt: skip
    inputs = {name: {"values": "integers"} for name in ("x", "kernel")}
    candidate = Candidate("conv_transpose", levels, inputs)
    large = candidate.with_levels(extent=(1001,))
    with evaluator_of(name, limits=Limits(case_seconds=1)) as evaluator:
        findings = Explorer(evaluator, {"conv_transpose": space}).findings
        slow, metamorphic = (
            evaluator.evaluate(make_requests(one, [large])) for one in (ReferenceOracle(), RelationOracle())
        )
        assert findings.add([*slow, *metamorphic], 0) == []
        assert [one.kind for one in slow[0].surface_results] == ["takes more than 1 seconds"]
        assert {one.status for one in metamorphic[0].surface_results} == {"unsupported"}
        (finding,) = findings.add(evaluator.evaluate(make_requests(ReferenceOracle(), [candidate])), 0)
    assert str(finding.symptom) == "timed_out"
    assert finding.candidate.shrink_key < candidate.shrink_key
