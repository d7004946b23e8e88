"""Exploring a backend: what it finds, how it shrinks and says it, and that nothing depends on chance or on workers."""

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


def evaluator_of(*faults, jobs=1, limits=None):
    names = [f"planted.{name}" for name in faults]
    return LocalEvaluator(
        registry.get_backend("planted"), sys.executable, Ledger(), surfaces=names, jobs=jobs, limits=limits
    )


def explored(evaluator, sweeps, cases, *operators, seed=0):
    with evaluator:
        explorer = Explorer(evaluator, {name: OperatorSpace.from_sweeps(name, sweeps) for name in operators}, seed)
        explorer.explore(StopCondition(cases))
    return explorer


@pytest.mark.usefixtures("planted")
def test_a_surface_without_fault_shows_nothing(sweeps):
    names = ("max_pool", "conv", "avg_pool_grad", "lp_pool_grad", "max_pool_with_indices", "max_unpool")
    explorer = explored(evaluator_of("none"), sweeps, 120, *names)
    assert explorer.findings.findings == []
    assert set(explorer.counts.statuses) <= {"pass", "unsupported"}
    assert explorer.counts.statuses["pass"] > 50


def test_surfaces_that_compile_every_call_are_tried_where_they_are_named_or_there_are_no_others():
    def tried_of(backend, *named):
        return {one.name for one in LocalEvaluator(backend, sys.executable, Ledger(), surfaces=named).backend.surfaces}

    torch = registry.get_backend("torch")
    slow = {one.name for one in torch.surfaces if one.slow_tag}
    assert slow
    assert tried_of(torch) == {one.name for one in torch.surfaces} - slow
    assert tried_of(torch, *slow) == slow
    assert tried_of(registry.get_backend("tinygrad")) == {"tinygrad.Tensor"}


FOUND = {
    "dilated-extent": ("min_pool", 40, "dilation"),
    "indices-over-channels": ("max_pool_with_indices", 60, "channels of 2 or more"),
}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.usefixtures("planted")
def test_a_fault_is_found_shrunk_and_told(name, sweeps):
    operator, cases, said = FOUND[name]
    found = explored(evaluator_of(name), sweeps, cases, operator).findings.findings
    assert found
    finding = min(found, key=lambda one: (one.way.startswith(RELATION_PREFIX), one.candidate.size))
    assert said in (finding.conditions or ())
    assert finding.surfaces == (f"planted.{name}",)
    assert finding.explained_count >= 1
    assert max(finding.candidate.per_axis("extent")) <= 3
    assert len(list(finding.candidate.non_default_factors())) <= 2


ASKED = {
    "minus-one-is-the-last": "max_unpool",
    "whole-averages-round-down": "avg_pool",
    "slope-without-a-sign": "lp_pool_grad",
    "reflected-once": "pad",
}
"""Faults that show only where a question is put."""


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.usefixtures("planted")
def test_a_fault_that_only_a_question_shows_is_found(name, sweeps):
    with evaluator_of(name, "none") as evaluator:
        explorer = Explorer(evaluator, {ASKED[name]: OperatorSpace.from_sweeps(ASKED[name], sweeps)})
        seen = [one for tried in evaluator.tried(list(explorer.draw_generation(120))) for one in tried.seen if one.new]
    assert {one.surface for one in seen} == {f"planted.{name}"}


@pytest.mark.usefixtures("planted")
def test_results_depend_neither_on_workers_nor_on_the_run(sweeps):
    told = []
    for jobs in (1, 2):
        explorer = explored(evaluator_of("dilated-extent", "none", jobs=jobs), sweeps, 50, "min_pool", "pad", seed=3)
        told.append([(one.id, one.sentence, one.explained_count, one.first) for one in explorer.findings.findings])
    assert told[0] == told[1] != []


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
        (finding,) = explorer.findings.add(evaluator.tried([candidate]), 0)
    assert finding.symptom.startswith("crashed")
    assert "the process ends" in finding.sentence
    assert finding.candidate.shrink_key < candidate.shrink_key
    assert finding.surfaces == ("planted.crash-of-two-channels-for-one",)


@pytest.mark.usefixtures("planted")
def test_a_hang_is_a_finding_unless_there_is_much_to_do(sweeps, monkeypatch):
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
        slow, metamorphic = evaluator.tried([large]), MetamorphicChecker(evaluator).evaluate([large])
        assert findings.add([*slow, *metamorphic], 0) == []
        assert [one.kind for one in slow[0].seen] == ["takes more than 1 seconds"]
        assert {one.status for one in metamorphic[0].surface_results} == {"unsupported"}
        (finding,) = findings.add(evaluator.tried([candidate]), 0)
    assert finding.symptom == "timed_out"
    assert finding.candidate.shrink_key < candidate.shrink_key


def test_shrinking_goes_to_the_least_that_differs(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)

    def differs(candidates):
        return [max(one.per_axis("window")) > 1 and max(one.per_axis("stride")) > 2 for one in candidates]

    for number in range(8):
        drawn = next(one for seed in range(999) if differs([one := space.draw(Rng(number, seed))])[0])
        small = shrink(drawn, differs)
        assert sorted(small.non_default_factors()) == ["stride", "window"]
        assert (small.per_axis("window"), small.per_axis("stride"), small.rank) == ((2,), (3,), 1)
        assert small.written_numbers["x"] == [[[0.0, 0.0]]]


def ties(candidate):
    """Whether the largest number of some window of a maximum stands there twice."""
    x, step = candidate.case.inputs["x"].make(), case_step(candidate.case)
    if any(map(any, step.padding)) or max(step.dilation) > 1:
        return False
    windows = np.lib.stride_tricks.sliding_window_view(x, step.window, axis=tuple(range(2, x.ndim)))
    flat = windows.reshape(-1, math.prod(step.window))
    return bool(((flat == flat.max(axis=1, keepdims=True)).sum(axis=1) > 1).any())


def test_of_plain_numbers_no_more_are_left_than_differ(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    drawn = (space.draw(Rng("ties", number)) for number in range(999))
    some = list(itertools.islice((one for one in drawn if one.levels["dtype"] == "float32" and ties(one)), 8))
    smallest = [shrink(one, lambda candidates: list(map(ties, candidates))) for one in some]
    assert [one.written_numbers["x"] for one in smallest] == [[[[0.0, 0.0]]]] * 8
    assert {one.per_axis("window") for one in smallest} == {(2,)}


@pytest.mark.parametrize(("kept", "left"), [([0, 0, 3, 1, 0], [1, 1]), ([1, 5, 0, 0], [1, 1])])
def test_numbers_are_cut_at_either_end(kept, output):
    levels = {
        "rank": 1, "batch": 1, "channels": 1, "extent": (len(kept),), "window": (1,), "stride": (1,),
        "padding": ((0, 0),), "dilation": (1,), "rounding": "floor", "values": "integers", "dtype": "float32",
    }  # fmt: skip
    candidate = Candidate("max_pool", levels, {"x": {"values": "integers"}}, {"x": [[kept]]})

    def neighbours(one):
        x = one.case.inputs["x"].make().ravel()
        return bool(one.numbers) and bool((x[:-1] * x[1:]).any())

    def differs(candidates):
        return list(map(neighbours, candidates))

    assert shrink(candidate, differs).written_numbers["x"] == [[output]]


@pytest.mark.parametrize(
    ("dtype", "number"), [("uint64", 2**64 - 2), ("int64", -(2**63)), ("bool", 1), ("float16", 0.5)]
)
def test_numbers_are_written_out_as_they_are(dtype, number):
    """Those of 64 bits too, of which none is lost on the way through another dtype."""
    levels = {
        "rank": 1, "batch": 1, "channels": 1, "extent": (2,), "window": (1,), "stride": (2,), "padding": ((0, 0),),
        "dilation": (1,), "rounding": "floor", "values": "integers", "dtype": dtype,
    }  # fmt: skip
    candidate = Candidate("max_pool", levels, {"x": {"values": "integers"}}, {"x": [[[number, 0]]]})
    assert candidate.is_valid()

    def differs(candidates):
        return [one.case.inputs["x"].make().ravel()[0] == number for one in candidates]

    assert shrink(candidate, differs).written_numbers["x"][0][0][0] == number


def test_neighbours_are_near_and_sound(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    levels = {
        "rank": 1, "batch": 1, "channels": 1, "extent": (3,), "window": (2,), "stride": (1,), "padding": ((0, 0),),
        "dilation": (1,), "rounding": "floor", "values": "integers", "dtype": "float32",
    }  # fmt: skip
    near = neighbours_of(Candidate("max_pool", levels, {"x": {"values": "integers"}}), space)
    assert len(near) > 20
    assert all(one.is_valid() for one in near)
    assert {one.rank for one in near} == {1, 2}
    assert {"ceil", "full", "floor"} == {one.levels["rounding"] for one in near}


@pytest.mark.usefixtures("planted")
def test_laws_hold_where_nothing_is_wrong(sweeps):
    seen = set()
    with evaluator_of("none") as evaluator:
        checker = MetamorphicChecker(evaluator)
        for operator in ("max_pool", "min_pool", "avg_pool", "conv", "conv_transpose", "pad", "max_pool_grad"):
            space = OperatorSpace.from_sweeps(operator, sweeps)
            for tried in checker.evaluate([space.draw(Rng("law", operator, number)) for number in range(250)]):
                assert not [one for one in tried.surface_results if one.is_new]
                seen |= {one.kind for one in tried.surface_results if one.status == "pass"}
    assert seen == {f"law: {relation.name}" for relation in RELATIONS}


@pytest.mark.usefixtures("planted")
def test_laws_are_held_on_no_surface_of_which_the_ledger_knows_something(sweeps, monkeypatch):
    operator, relation = LAWLESS["channel-alone-in-its-block"]
    some = [OperatorSpace.from_sweeps(operator, sweeps).draw(Rng("known", number)) for number in range(100)]
    with evaluator_of("channel-alone-in-its-block") as evaluator:
        kinds = {one.kind for tried in MetamorphicChecker(evaluator).evaluate(some) for one in tried.surface_results}
        monkeypatch.setattr(LocalEvaluator, "is_known", lambda *_: True)
        known = [one for tried in MetamorphicChecker(evaluator).evaluate(some) for one in tried.surface_results]
    assert f"law: {relation}" in kinds
    assert known == []


LAWLESS = {"channel-alone-in-its-block": ("max_pool", "channels"), "dilation-lost-in-groups": ("conv", "adjoint")}


@pytest.mark.parametrize("name", LAWLESS)
@pytest.mark.usefixtures("planted")
def test_a_fault_breaks_a_law_without_any_reference(name, sweeps, monkeypatch):
    monkeypatch.setattr(
        "conformance.exploration.evaluation.expected", lambda _case: pytest.fail("the reference was asked")
    )
    operator, relation = LAWLESS[name]
    space = OperatorSpace.from_sweeps(operator, sweeps)
    with evaluator_of(name) as evaluator:
        tried = MetamorphicChecker(evaluator).evaluate([space.draw(Rng("broken", number)) for number in range(400)])
    assert f"law: {relation}" in {one.symptom for some in tried for one in some.surface_results if one.is_new}


def test_what_the_ledger_knows_is_counted_only(sweeps):
    made = findings_module.FindingCollector(LocalEvaluator(registry.get_backend("numpy"), sys.executable, Ledger()), {})
    candidate = OperatorSpace.from_sweeps("pad", sweeps).draw(Rng(1))
    known = CandidateResult(
        candidate, [SurfaceResult("numpy.loops", "known", "value"), SurfaceResult("numpy.loops", "stale")]
    )
    assert made.add([known], 0) == []


@pytest.mark.usefixtures("planted")
def test_findings_of_one_cause_are_one(sweeps):
    explorer = explored(evaluator_of("dilated-extent"), sweeps, 60, "min_pool")
    assert explorer.counts.statuses["fail"] > 10
    assert len(explorer.findings.findings) <= 3
    assert (
        sum(one.explained_count for one in explorer.findings.findings) + explorer.findings.uncounted
        >= explorer.counts.statuses["fail"]
    )


def test_messages_are_alike_where_only_numbers_differ():
    one = normalise_message("RuntimeError: input image (T: 1 H: 2) smaller than kernel size (kT: 1)\nmore")
    assert one == normalise_message("RuntimeError: input image (T: 7 H: 9) smaller than kernel size (kT: 13)")
    assert normalise_message("") == ""


def finding_of(sweeps, **changed):
    candidate = OperatorSpace.from_sweeps("max_pool", sweeps).draw(Rng("finding"))
    return replace(
        ExplorationFinding("max_pool", "value", candidate, ("torch.nn",), ("dilation", "ceil"), 1), **changed
    )


def test_a_finding_is_a_sentence(sweeps):
    assert finding_of(sweeps).sentence == (
        "max_pool on torch.nn: numbers are off by more than rounding allows whenever there is dilation and ceil."
    )
    assert finding_of(sweeps, conditions=None).sentence.endswith("; no plain condition tells when.")
    assert "the law of shift is broken" in finding_of(sweeps, way="law: shift").sentence


@pytest.fixture
def output(conformance, planted, tmp_path):
    """What the command leaves of an exploration with a finding."""
    assert "dilated-extent" in planted.FAULTS
    options = ("--backend", "planted", "--surface", "planted.dilated-extent", "--operator", "min_pool")
    status, out, err = conformance("explore", *options, "--cases", 60, "--jobs", 1, "--out", tmp_path / "explored")
    assert status == 1
    return tmp_path / "explored", out, err


def test_the_command_leaves_results_cases_scripts_and_a_page(output, conformance):
    folder, out, err = output
    assert "60 cases" in out
    assert any("a second" in line for line in err)
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
    ("words", "said"),
    [
        (("--cases", "10", "--minutes", "1"), "cannot be combined"),
        (("--cases", "0"), "0 is not in the range"),
        (("--promote", "max_pool-0"), "no findings in it"),
        (("--as", "name"), "need --promote"),
        (("--backend", "nobody", "--cases", "1"), "backend 'nobody'"),
        (("--backend", "numpy", "--surface", "other", "--cases", "1"), "surface 'other'"),
    ],
)
def test_wrong_use_is_one_line(words, said, conformance, tmp_path):
    status, _, err = conformance("explore", *words, "--out", tmp_path)
    assert status == 2
    (line,) = err[-1:]
    assert said in line
    assert "Traceback" not in line


def test_a_lost_interpreter_is_one_line(conformance, tmp_path):
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
def test_what_shares_the_cause_of_a_ledger_entry_is_counted_and_not_told(sweeps, tmp_path):
    book = tmp_path / "ledger.yaml"
    entry = (
        "{id: e, cases: [min_pool/of-the-catalogue], surfaces: [planted.dilated-extent], kinds: [shape],"
        " reason: its output is known to be small, beyond: {operator: min_pool, dilated: true}}"
    )
    book.write_text(f"entries:\n  - {entry}\n", "utf-8")
    names = ["planted.dilated-extent"]
    evaluator = LocalEvaluator(
        registry.get_backend("planted"), sys.executable, ledger.load_ledger(book), surfaces=names
    )
    explorer = explored(evaluator, sweeps, 40, "min_pool")
    assert explorer.findings.findings == []
    assert explorer.counts.statuses["known"] > 5


def test_another_way_to_do_it_says_nothing_of_the_own_call(sweeps):
    """A stand-in wrong wherever it is one call: that compositions agree must not hide what is common to all others."""

    class Half:
        def each(self, work, pieces):
            return [work(self, *piece) for piece in pieces]

        def tried(self, candidates, _surfaces=(), **_how):
            return [CandidateResult(one, (self.seen(one),)) for one in candidates]

        def seen(self, one):
            if one.levels["p"] % 2:
                return SurfaceResult("s", "pass", how="composed")
            wrong = "cells left over" in candidate_conditions(one)
            return SurfaceResult("s", "fail", "value", "native") if wrong else SurfaceResult("s", "pass", how="native")

    evaluator = Half()
    found = findings_module.FindingCollector(evaluator, {"lp_pool": OperatorSpace.from_sweeps("lp_pool", sweeps)})
    space = found.spaces["lp_pool"]
    (finding,) = found.add(evaluator.tried([space.draw(Rng("own call", number)) for number in range(60)]), 0)
    assert set(finding.conditions) == {"a call of its own", "cells left over"}
    assert set(finding.conditions) <= set(finding_record(finding)["true"])


def test_what_ended_a_process_once_and_never_again_is_counted_and_no_finding(sweeps):
    class Spoilt:
        times = 0

        def each(self, work, pieces):
            return [work(self, *piece) for piece in pieces]

        def tried(self, candidates, _surfaces=(), **_how):
            self.times += 1
            return [CandidateResult(one, (SurfaceResult("s", "pass"),)) for one in candidates]

    evaluator = Spoilt()
    found = findings_module.FindingCollector(evaluator, {"pad": OperatorSpace.from_sweeps("pad", sweeps)})
    candidate = found.spaces["pad"].draw(Rng("spoilt"))
    assert found.add([CandidateResult(candidate, (SurfaceResult("s", "flaky", "flaky"),))], 0) == []
    assert found.passing_candidates == 1
    assert evaluator.times > 1


@pytest.mark.usefixtures("planted")
def test_what_was_found_until_an_interruption_is_written(conformance, monkeypatch, tmp_path):
    whole = Explorer.explore

    def interrupted(self, _until, tell):
        whole(self, StopCondition(60), tell)
        raise KeyboardInterrupt

    monkeypatch.setattr(Explorer, "explore", interrupted)
    options = ("--backend", "planted", "--surface", "planted.dilated-extent", "--operator", "min_pool")
    status, out, err = conformance("explore", *options, "--jobs", 1, "--out", tmp_path)
    assert status == 130
    assert "planted: interrupted; what was found so far is written" in err
    assert "60 cases" in out
    assert (tmp_path / "planted.md").exists()
    assert (tmp_path / "results" / "planted.jsonl").exists()


@pytest.mark.usefixtures("planted")
def test_what_ends_a_process_is_not_tried_again_to_shrink_it(sweeps, monkeypatch):
    def again(*_):
        raise AssertionError("tried again")

    space = OperatorSpace.from_sweeps("conv", sweeps)
    some = [space.draw(Rng("crash", number)) for number in range(150)]
    with evaluator_of("crash-of-two-channels-for-one") as evaluator:
        first = next(
            one.candidate for one in evaluator.tried(some) if one.seen and one.seen[0].way.startswith("crashed")
        )
        monkeypatch.setattr(Worker, "_run_in_new_process", again)
        (once,) = evaluate(evaluator, "crashed: signal", [first])
        assert once.surface_results[0].status == "crashed"
        with pytest.raises(AssertionError, match="tried again"):
            evaluate(evaluator, "", [first])


class Here:
    """A bench that does the work itself, without a backend."""

    def each(self, work, pieces):
        return [work(self, *piece) for piece in pieces]


def test_what_keeps_one_law_says_nothing_of_another(sweeps, monkeypatch):
    def of_batch(one):
        broken = one.levels["batch"] > 1
        return SurfaceResult("s", "fail" if broken else "pass", "law: batch" if broken else "", kind="law: batch")

    def told(_lab, _way, candidates, *_surfaces):
        return [CandidateResult(one, (of_batch(one),)) for one in candidates]

    monkeypatch.setattr(diagnosis, "tried", told)
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    drawn = [space.draw(Rng("two laws", number)) for number in range(60)]
    both = [CandidateResult(one, (SurfaceResult("s", "pass", kind="law: channels"), of_batch(one))) for one in drawn]
    (finding,) = findings_module.FindingCollector(Here(), {"max_pool": space}).add(both, 0)
    assert (finding.symptom, finding.conditions) == ("law: batch", ("batch of 2 or more",))


def test_a_crash_in_another_call_of_a_law_is_told_of_the_law(sweeps, monkeypatch):
    monkeypatch.setitem(diagnosis.MAX_FATAL_EVALUATIONS, "crashed", 8)
    numpy = registry.get_backend("numpy")
    (loops,) = numpy.surfaces
    ends = replace(loops, lowerings={**loops.lowerings, "conv_grad": lambda _step: "__import__('os')._exit(7)"})
    space = OperatorSpace.from_sweeps("conv", sweeps)
    drawn = [space.draw(Rng("other call", number)) for number in range(200)]
    with LocalEvaluator(replace(numpy, surfaces=(ends,)), sys.executable, Ledger()) as evaluator:
        metamorphic = MetamorphicChecker(evaluator).evaluate(drawn, relation="adjoint")
        first = next(one for one in metamorphic if any(seen.is_new for seen in one.surface_results))
        findings = findings_module.FindingCollector(evaluator, {"conv": space})
        (finding,) = findings.add([first], 0)
    assert finding.symptom.startswith("law: adjoint: crashed: ")
    assert "in another call of the law of adjoint the process ends" in finding.sentence
    assert finding.candidate.shrink_key < first.candidate.shrink_key
    assert findings.passing_candidates == 0


def test_what_does_not_differ_again_is_counted_and_no_finding(sweeps, monkeypatch):
    asked = []

    def agrees(_lab, _way, candidates, *_surfaces):
        asked.extend(candidates)
        return [CandidateResult(one, (SurfaceResult("s", "pass"),)) for one in candidates]

    monkeypatch.setattr(diagnosis, "tried", agrees)
    space = OperatorSpace.from_sweeps("pad", sweeps)
    candidate = space.draw(Rng("once"))
    findings = findings_module.FindingCollector(Here(), {"pad": space})
    assert findings.add([CandidateResult(candidate, (SurfaceResult("s", "fail", "value"),))], 0) == []
    assert findings.passing_candidates == 1
    assert asked.count(candidate) >= diagnosis.MAX_CONFIRMATIONS
