"""Exploration of a backend: finding, shrinking and describing bugs, independent of chance and of the workers."""

import itertools
import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import yaml

from conformance.adapters import registry
from conformance.cases.steps import case_step
from conformance.catalogue import loading
from conformance.execution.worker_process import Limits, Worker
from conformance.exploration import diagnosis
from conformance.exploration import findings as findings_module
from conformance.exploration.candidate import Candidate
from conformance.exploration.diagnosis import neighbours_of
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, SurfaceResult, normalise_message
from conformance.exploration.explorer import Explorer, StopCondition
from conformance.exploration.features import candidate_conditions
from conformance.exploration.findings import ExplorationFinding
from conformance.exploration.metamorphic import RELATION_PREFIX, MetamorphicChecker
from conformance.exploration.oracles import evaluate
from conformance.exploration.output import finding_record
from conformance.exploration.promote import promote_finding
from conformance.exploration.relations import RELATIONS
from conformance.exploration.rng import Rng
from conformance.exploration.shrinking import shrink
from conformance.exploration.space import OperatorSpace
from conformance.judging import ledger
from conformance.judging.ledger import Ledger


@pytest.fixture(scope="module")
def sweeps():
    return loading.load_catalogue().sweeps


def evaluator_of(*bugs, jobs=1, limits=None):
    names = [f"planted.{name}" for name in bugs]
    return LocalEvaluator(
        registry.get_backend("planted"), sys.executable, Ledger(), surfaces=names, jobs=jobs, limits=limits
    )


def explore(evaluator, sweeps, cases, *operators, seed=0):
    with evaluator:
        explorer = Explorer(evaluator, {name: OperatorSpace.from_sweeps(name, sweeps) for name in operators}, seed)
        explorer.explore(StopCondition(cases))
    return explorer


@pytest.mark.usefixtures("planted")
def test_a_surface_without_bugs_has_no_findings(sweeps):
    names = ("max_pool", "conv", "avg_pool_grad", "lp_pool_grad", "max_pool_with_indices", "max_unpool")
    explorer = explore(evaluator_of("none"), sweeps, 120, *names)
    assert explorer.findings.findings == []
    assert set(explorer.counts.statuses) <= {"pass", "unsupported"}
    assert explorer.counts.statuses["pass"] > 50


def test_slow_surfaces_are_explored_if_they_are_named_or_there_are_no_others():
    def explored_surfaces(backend, *named):
        return {one.name for one in LocalEvaluator(backend, sys.executable, Ledger(), surfaces=named).backend.surfaces}

    torch = registry.get_backend("torch")
    slow = {one.name for one in torch.surfaces if one.slow_tag}
    assert slow
    assert explored_surfaces(torch) == {one.name for one in torch.surfaces} - slow
    assert explored_surfaces(torch, *slow) == slow
    assert explored_surfaces(registry.get_backend("tinygrad")) == {"tinygrad.Tensor"}


# Bug: operator, number of cases, condition of its finding.
BUGS = {
    "dilated-extent": ("min_pool", 40, "dilation"),
    "indices-over-channels": ("max_pool_with_indices", 60, "channels of 2 or more"),
}


@pytest.mark.parametrize("name", BUGS)
@pytest.mark.usefixtures("planted")
def test_a_bug_is_found_shrunk_and_described(name, sweeps):
    operator, cases, condition = BUGS[name]
    findings = explore(evaluator_of(name), sweeps, cases, operator).findings.findings
    assert findings
    finding = min(findings, key=lambda one: (one.symptom.startswith(RELATION_PREFIX), one.candidate.shrink_key))
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
        results = evaluator.evaluate(list(explorer.draw_generation(120)))
    new = [one for result in results for one in result.surface_results if one.is_new]
    assert {one.surface for one in new} == {f"planted.{name}"}


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
        (finding,) = explorer.findings.add(evaluator.evaluate([candidate]), 0)
    assert finding.symptom.startswith("crashed")
    assert "the process crashes" in finding.sentence
    assert finding.candidate.shrink_key < candidate.shrink_key
    assert finding.surfaces == ("planted.crash-of-two-channels-for-one",)


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
        slow, metamorphic = evaluator.evaluate([large]), MetamorphicChecker(evaluator).evaluate([large])
        assert findings.add([*slow, *metamorphic], 0) == []
        assert [one.kind for one in slow[0].surface_results] == ["takes more than 1 seconds"]
        assert {one.status for one in metamorphic[0].surface_results} == {"unsupported"}
        (finding,) = findings.add(evaluator.evaluate([candidate]), 0)
    assert finding.symptom == "timed_out"
    assert finding.candidate.shrink_key < candidate.shrink_key


def test_shrinking_reaches_the_smallest_candidate_that_differs(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)

    def differs(candidates):
        return [max(one.per_axis("window")) > 1 and max(one.per_axis("stride")) > 2 for one in candidates]

    for number in range(8):
        drawn = next(one for seed in range(999) if differs([one := space.draw(Rng(number, seed))])[0])
        smallest = shrink(drawn, differs)
        assert sorted(smallest.non_default_factors()) == ["stride", "window"]
        assert (smallest.per_axis("window"), smallest.per_axis("stride"), smallest.rank) == ((2,), (3,), 1)
        assert smallest.written_numbers["x"] == [[[0.0, 0.0]]]


def has_tie(candidate):
    """Check whether the largest number of a window occurs twice in it."""
    x, step = candidate.case.inputs["x"].make(), case_step(candidate.case)
    if any(map(any, step.padding)) or max(step.dilation) > 1:
        return False
    windows = np.lib.stride_tricks.sliding_window_view(x, step.window, axis=tuple(range(2, x.ndim)))
    flat = windows.reshape(-1, math.prod(step.window))
    return bool(((flat == flat.max(axis=1, keepdims=True)).sum(axis=1) > 1).any())


def test_shrinking_removes_numbers_that_are_not_needed(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    drawn = (space.draw(Rng("ties", number)) for number in range(999))
    tied = list(itertools.islice((one for one in drawn if one.levels["dtype"] == "float32" and has_tie(one)), 8))
    smallest = [shrink(one, lambda candidates: list(map(has_tie, candidates))) for one in tied]
    assert [one.written_numbers["x"] for one in smallest] == [[[[0.0, 0.0]]]] * 8
    assert {one.per_axis("window") for one in smallest} == {(2,)}


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


def test_neighbours_are_valid_and_differ_in_one_parameter(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    levels = {
        "rank": 1, "batch": 1, "channels": 1, "extent": (3,), "window": (2,), "stride": (1,), "padding": ((0, 0),),
        "dilation": (1,), "rounding": "floor", "values": "integers", "dtype": "float32",
    }  # fmt: skip
    neighbours = neighbours_of(Candidate("max_pool", levels, {"x": {"values": "integers"}}), space)
    assert len(neighbours) > 20
    assert all(one.is_valid() for one in neighbours)
    assert {one.rank for one in neighbours} == {1, 2}
    assert {"ceil", "full", "floor"} == {one.levels["rounding"] for one in neighbours}


@pytest.mark.usefixtures("planted")
def test_correct_surfaces_satisfy_every_relation(sweeps):
    kinds = set()
    with evaluator_of("none") as evaluator:
        checker = MetamorphicChecker(evaluator)
        for operator in ("max_pool", "min_pool", "avg_pool", "conv", "conv_transpose", "pad", "max_pool_grad"):
            space = OperatorSpace.from_sweeps(operator, sweeps)
            for result in checker.evaluate([space.draw(Rng("law", operator, number)) for number in range(250)]):
                assert not [one for one in result.surface_results if one.is_new]
                kinds |= {one.kind for one in result.surface_results if one.status == "pass"}
    assert kinds == {f"law: {relation.name}" for relation in RELATIONS}


@pytest.mark.usefixtures("planted")
def test_relations_are_not_checked_on_surfaces_with_a_ledger_entry(sweeps, monkeypatch):
    operator, relation = VIOLATED_RELATIONS["channel-alone-in-its-block"]
    drawn = [OperatorSpace.from_sweeps(operator, sweeps).draw(Rng("known", number)) for number in range(100)]
    with evaluator_of("channel-alone-in-its-block") as evaluator:
        kinds = {one.kind for result in MetamorphicChecker(evaluator).evaluate(drawn) for one in result.surface_results}
        monkeypatch.setattr(LocalEvaluator, "is_known", lambda *_: True)
        known = [one for result in MetamorphicChecker(evaluator).evaluate(drawn) for one in result.surface_results]
    assert f"law: {relation}" in kinds
    assert known == []


VIOLATED_RELATIONS = {
    "channel-alone-in-its-block": ("max_pool", "channels"),
    "dilation-lost-in-groups": ("conv", "adjoint"),
}
"""Operator and violated relation of some bugs."""


@pytest.mark.parametrize("name", VIOLATED_RELATIONS)
@pytest.mark.usefixtures("planted")
def test_a_bug_violates_a_relation_without_any_reference(name, sweeps, monkeypatch):
    monkeypatch.setattr(
        "conformance.exploration.evaluation.compute_expected", lambda _case: pytest.fail("the reference was used")
    )
    operator, relation = VIOLATED_RELATIONS[name]
    space = OperatorSpace.from_sweeps(operator, sweeps)
    with evaluator_of(name) as evaluator:
        results = MetamorphicChecker(evaluator).evaluate([space.draw(Rng("broken", number)) for number in range(400)])
    assert f"law: {relation}" in {one.symptom for result in results for one in result.surface_results if one.is_new}


def test_known_deviations_are_only_counted(sweeps):
    evaluator = LocalEvaluator(registry.get_backend("numpy"), sys.executable, Ledger())
    collector = findings_module.FindingCollector(evaluator, {})
    candidate = OperatorSpace.from_sweeps("pad", sweeps).draw(Rng(1))
    known = CandidateResult(
        candidate, [SurfaceResult("numpy.loops", "known", "value"), SurfaceResult("numpy.loops", "stale")]
    )
    assert collector.add([known], 0) == []


@pytest.mark.usefixtures("planted")
def test_differences_with_one_cause_are_grouped(sweeps):
    explorer = explore(evaluator_of("dilated-extent"), sweeps, 60, "min_pool")
    collector, failed = explorer.findings, explorer.counts.statuses["fail"]
    assert failed > 10
    assert len(collector.findings) <= 3
    assert sum(one.explained_count for one in collector.findings) + collector.uncounted >= failed


def test_messages_that_differ_only_in_numbers_are_equal():
    one = normalise_message("RuntimeError: input image (T: 1 H: 2) smaller than kernel size (kT: 1)\nmore")
    assert one == normalise_message("RuntimeError: input image (T: 7 H: 9) smaller than kernel size (kT: 13)")
    assert normalise_message("") == ""


def finding_of(sweeps, **changed):
    candidate = OperatorSpace.from_sweeps("max_pool", sweeps).draw(Rng("finding"))
    finding = ExplorationFinding("max_pool", "value", candidate, ("torch.nn",), ("dilation", "ceil"), 1)
    return replace(finding, **changed)


def test_a_finding_is_a_sentence(sweeps):
    assert finding_of(sweeps).sentence == (
        "max_pool on torch.nn: numbers are wrong by more than rounding allows"
        " in all tested cases with dilation and ceil."
    )
    assert " in most tested cases with " in finding_of(sweeps, agreeing_count=1).sentence
    assert finding_of(sweeps, conditions=None).sentence.endswith("; no simple condition describes when.")
    assert "the metamorphic relation shift is violated" in finding_of(sweeps, symptom="law: shift").sentence


@pytest.fixture
def output(conformance, planted, tmp_path):
    """Output folder and console output of an exploration with a finding."""
    assert "dilated-extent" in planted.BUGS
    options = ("--backend", "planted", "--surface", "planted.dilated-extent", "--operator", "min_pool")
    status, out, err = conformance("explore", *options, "--cases", 60, "--jobs", 1, "--out", tmp_path / "explored")
    assert status == 1
    return tmp_path / "explored", out, err


def test_the_command_writes_results_cases_scripts_and_a_page(output, conformance):
    folder, out, err = output
    assert "60 cases" in out
    assert any("per second" in line for line in err)
    header = json.loads((folder / "results" / "planted.jsonl").read_text("utf-8").splitlines()[0])
    (first, *_) = header["explored"]["findings"]
    assert first["sentence"] in out
    assert (folder / "repro" / "planted" / f"{first['id']}.py").exists()
    assert f"## `{first['id']}`" in (folder / "planted.md").read_text("utf-8")
    path = folder / "cases" / "planted" / "pooling" / "min_pool.yaml"
    assert first["case"] in {case.id for case in loading.load_catalogue([path]).cases}
    surface = ("--backend", "planted", "--surface", "planted.dilated-extent")
    status, shown, _ = conformance("run", *surface, "--cases", path, "--out", folder / "again")
    assert status == 1
    assert "fail" in shown


def test_a_finding_becomes_a_case(output, conformance, tmp_path):
    folder, _, _ = output
    header = json.loads((folder / "results" / "planted.jsonl").read_text("utf-8").splitlines()[0])
    name = header["explored"]["findings"][0]["id"]
    home = tmp_path / "home" / "pooling"
    home.mkdir(parents=True)
    (home / "min_pool.yaml").write_text(
        "operator: min_pool\nsource: here\n\ncases:\n  - id: one\n    x: {values: [[[1, 2]]]}\n    window: [1]\n",
        "utf-8",
    )
    where = ("--out", folder, "--into", home.parent)
    status, out, _ = conformance("explore", "--promote", name, "--as", "found/by-chance", *where)
    assert status == 0
    assert "min_pool/found/by-chance" in out
    assert [case.id for case in loading.load_catalogue([home.parent]).cases] == [
        "min_pool/one",
        "min_pool/found/by-chance",
    ]
    status, _, err = conformance("explore", "--promote", name, "--as", "one", *where)
    assert status == 2
    assert "duplicate case id min_pool/one" in err[-1]
    assert len(yaml.safe_load((home / "min_pool.yaml").read_text("utf-8"))["cases"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cases", "10", "--minutes", "1"), "cannot be combined"),
        (("--cases", "0"), "0 is not in the range"),
        (("--promote", "max_pool-0"), "contains no findings"),
        (("--as", "name"), "need --promote"),
        (("--backend", "nobody", "--cases", "1"), "backend 'nobody'"),
        (("--backend", "numpy", "--surface", "other", "--cases", "1"), "surface 'other'"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(options, message, conformance, tmp_path):
    status, _, err = conformance("explore", *options, "--out", tmp_path)
    assert status == 2
    (line,) = err[-1:]
    assert message in line
    assert "Traceback" not in line


def test_a_missing_interpreter_is_reported_in_one_line(conformance, tmp_path):
    status, _, err = conformance(
        "explore", "--backend", f"numpy={tmp_path / 'python'}", "--cases", 5, "--out", tmp_path
    )
    assert status == 3
    assert "No such file" in err[-1]


def test_a_promoted_case_needs_its_file(output, tmp_path):
    folder, _, _ = output
    header = json.loads((folder / "results" / "planted.jsonl").read_text("utf-8").splitlines()[0])
    with pytest.raises(Exception, match="no such file"):
        promote_finding(folder, header["explored"]["findings"][0]["id"], tmp_path / "empty")


@pytest.mark.usefixtures("planted")
def test_differences_covered_by_a_ledger_entry_are_only_counted(sweeps, tmp_path):
    ledger_file = tmp_path / "ledger.yaml"
    entry = (
        "{id: e, cases: [min_pool/of-the-catalogue], surfaces: [planted.dilated-extent], kinds: [shape],"
        " reason: its output is known to be small, beyond: {operator: min_pool, dilated: true}}"
    )
    ledger_file.write_text(f"entries:\n  - {entry}\n", "utf-8")
    names, loaded = ["planted.dilated-extent"], ledger.load_ledger(ledger_file)
    evaluator = LocalEvaluator(registry.get_backend("planted"), sys.executable, loaded, surfaces=names)
    explorer = explore(evaluator, sweeps, 40, "min_pool")
    assert explorer.findings.findings == []
    assert explorer.counts.statuses["known"] > 5


class InlineEvaluator:
    """An evaluator that runs work in this process, without a backend."""

    def map(self, work, pieces):
        return [work(self, *piece) for piece in pieces]


def test_agreeing_compositions_do_not_hide_a_cause_in_native_calls(sweeps):
    """Native calls with a remainder are wrong, compositions are correct: the conditions name the native call."""

    class WrongNativeCalls(InlineEvaluator):
        def evaluate(self, candidates, _surfaces=(), **_options):
            return [CandidateResult(one, (self.surface_result(one),)) for one in candidates]

        def surface_result(self, one):
            if one.levels["p"] % 2:
                return SurfaceResult("s", "pass", how="composed")
            wrong = "cells left over" in candidate_conditions(one)
            return SurfaceResult("s", "fail", "value", "native") if wrong else SurfaceResult("s", "pass", how="native")

    evaluator = WrongNativeCalls()
    space = OperatorSpace.from_sweeps("lp_pool", sweeps)
    collector = findings_module.FindingCollector(evaluator, {"lp_pool": space})
    drawn = [space.draw(Rng("own call", number)) for number in range(60)]
    (finding,) = collector.add(evaluator.evaluate(drawn), 0)
    assert set(finding.conditions) == {"a call of its own", "cells left over"}
    assert set(finding.conditions) <= set(finding_record(finding)["true"])


def test_a_crash_that_does_not_repeat_is_counted_but_no_finding(sweeps):
    class AlwaysPasses(InlineEvaluator):
        calls = 0

        def evaluate(self, candidates, _surfaces=(), **_options):
            self.calls += 1
            return [CandidateResult(one, (SurfaceResult("s", "pass"),)) for one in candidates]

    evaluator = AlwaysPasses()
    space = OperatorSpace.from_sweeps("pad", sweeps)
    collector = findings_module.FindingCollector(evaluator, {"pad": space})
    candidate = space.draw(Rng("spoilt"))
    assert collector.add([CandidateResult(candidate, (SurfaceResult("s", "flaky", "flaky"),))], 0) == []
    assert collector.passing_candidates == 1
    assert evaluator.calls > 1


@pytest.mark.usefixtures("planted")
def test_findings_before_an_interruption_are_written(conformance, monkeypatch, tmp_path):
    explore_until = Explorer.explore

    def interrupted(self, _stop, on_generation):
        explore_until(self, StopCondition(60), on_generation)
        raise KeyboardInterrupt

    monkeypatch.setattr(Explorer, "explore", interrupted)
    options = ("--backend", "planted", "--surface", "planted.dilated-extent", "--operator", "min_pool")
    status, out, err = conformance("explore", *options, "--jobs", 1, "--out", tmp_path)
    assert status == 130
    assert "planted: interrupted; the findings so far are written" in err
    assert "60 cases" in out
    assert (tmp_path / "planted.md").exists()
    assert (tmp_path / "results" / "planted.jsonl").exists()


@pytest.mark.usefixtures("planted")
def test_a_crash_is_not_repeated_while_shrinking(sweeps, monkeypatch):
    def run_again(*_):
        raise AssertionError("run again")

    space = OperatorSpace.from_sweeps("conv", sweeps)
    drawn = [space.draw(Rng("crash", number)) for number in range(150)]
    with evaluator_of("crash-of-two-channels-for-one") as evaluator:
        results = (one for one in evaluator.evaluate(drawn) if one.surface_results)
        first = next(one.candidate for one in results if one.surface_results[0].symptom.startswith("crashed"))
        monkeypatch.setattr(Worker, "_run_in_new_process", run_again)
        (once,) = evaluate(evaluator, "crashed: signal", [first])
        assert once.surface_results[0].status == "crashed"
        with pytest.raises(AssertionError, match="run again"):
            evaluate(evaluator, "", [first])


def test_candidates_that_satisfy_another_relation_do_not_count_as_agreeing(sweeps, monkeypatch):
    def batch_result(one):
        violated = one.levels["batch"] > 1
        return SurfaceResult("s", "fail" if violated else "pass", "law: batch" if violated else "", kind="law: batch")

    def fake_evaluate(_evaluator, _symptom, candidates, *_surfaces):
        return [CandidateResult(one, (batch_result(one),)) for one in candidates]

    monkeypatch.setattr(diagnosis, "evaluate", fake_evaluate)
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    drawn = [space.draw(Rng("two laws", number)) for number in range(60)]
    channels_result = SurfaceResult("s", "pass", kind="law: channels")
    results = [CandidateResult(one, (channels_result, batch_result(one))) for one in drawn]
    (finding,) = findings_module.FindingCollector(InlineEvaluator(), {"max_pool": space}).add(results, 0)
    assert (finding.symptom, finding.conditions) == ("law: batch", ("batch of 2 or more",))


def test_a_crash_in_a_related_call_is_a_finding_of_the_relation(sweeps, monkeypatch):
    monkeypatch.setitem(diagnosis.MAX_FATAL_EVALUATIONS, "crashed", 8)
    numpy = registry.get_backend("numpy")
    (loops,) = numpy.surfaces
    crashing = replace(loops, lowerings={**loops.lowerings, "conv_grad": lambda _step: "__import__('os')._exit(7)"})
    space = OperatorSpace.from_sweeps("conv", sweeps)
    drawn = [space.draw(Rng("other call", number)) for number in range(200)]
    with LocalEvaluator(replace(numpy, surfaces=(crashing,)), sys.executable, Ledger()) as evaluator:
        results = MetamorphicChecker(evaluator).evaluate(drawn, relation="adjoint")
        first = next(one for one in results if any(item.is_new for item in one.surface_results))
        collector = findings_module.FindingCollector(evaluator, {"conv": space})
        (finding,) = collector.add([first], 0)
    assert finding.symptom.startswith("law: adjoint: crashed: ")
    assert "in another call of the metamorphic relation adjoint the process crashes" in finding.sentence
    assert finding.candidate.shrink_key < first.candidate.shrink_key
    assert collector.passing_candidates == 0


def test_a_difference_that_does_not_repeat_is_counted_but_no_finding(sweeps, monkeypatch):
    evaluated = []

    def agreeing(_evaluator, _symptom, candidates, *_surfaces):
        evaluated.extend(candidates)
        return [CandidateResult(one, (SurfaceResult("s", "pass"),)) for one in candidates]

    monkeypatch.setattr(diagnosis, "evaluate", agreeing)
    space = OperatorSpace.from_sweeps("pad", sweeps)
    candidate = space.draw(Rng("once"))
    collector = findings_module.FindingCollector(InlineEvaluator(), {"pad": space})
    assert collector.add([CandidateResult(candidate, (SurfaceResult("s", "fail", "value"),))], 0) == []
    assert collector.passing_candidates == 1
    assert evaluated.count(candidate) >= diagnosis.MAX_CONFIRMATIONS
