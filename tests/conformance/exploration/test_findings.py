"""Tests of conformance.exploration.findings."""

import sys
from dataclasses import replace

import pytest

from conformance.adapters import registry
from conformance.cases.features.case_features import case_features
from conformance.exploration import diagnosis, findings as findings_module
from conformance.exploration.conditions import testing
from conformance.exploration.evaluation import CandidateResult, LocalEvaluator, SurfaceResult, make_requests
from conformance.exploration.findings import ExplorationFinding
from conformance.exploration.oracles import ReferenceOracle, RelationOracle
from conformance.exploration.output import finding_record
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace
from conformance.exploration.symptoms import OracleName, Symptom
from conformance.judging import ledger
from conformance.judging.ledger import Ledger
from reports.results.exploration import OracleKind
from reports.results.vocabulary import DifferenceKind, Status
from tests.support.nightly import only_nightly
from tests.support.planted_evaluator import evaluator_of, explore

VALUE = Symptom(DifferenceKind.VALUE)
BATCH, CHANNELS, SHIFT = (OracleName(OracleKind.RELATION, name) for name in ("batch", "channels", "shift"))


def test_known_deviations_are_only_counted(sweeps):
    evaluator = LocalEvaluator(registry.get_backend("numpy"), sys.executable, Ledger())
    collector = findings_module.FindingCollector(evaluator, {})
    candidate = OperatorSpace.from_sweeps("pad", sweeps).draw(Rng(1))
    known = CandidateResult(
        candidate, [SurfaceResult("numpy.loops", "known", VALUE), SurfaceResult("numpy.loops", "stale")]
    )
    assert collector.add([known], 0) == []


@only_nightly
@pytest.mark.usefixtures("planted")
def test_differences_with_one_cause_are_grouped(sweeps):
    explorer = explore(evaluator_of("dilated-extent"), sweeps, 90, "min_pool")
    collector, failed = explorer.findings, explorer.counts.statuses["fail"]
    assert failed > 10
    assert len(collector.findings) <= 3
    assert sum(one.explained_count for one in collector.findings) + collector.uncounted >= failed


def finding_of(sweeps, **changed):
    candidate = OperatorSpace.from_sweeps("max_pool", sweeps).draw(Rng("finding"))
    finding = ExplorationFinding("max_pool", VALUE, candidate, ("torch.nn",), ("dilation", "ceil"), 1)
    return replace(finding, **changed)


def test_a_finding_is_a_sentence(sweeps):
    assert finding_of(sweeps).sentence == (
        "max_pool on torch.nn: numbers are wrong by more than rounding allows"
        " in all tested cases with dilation and ceil."
    )
    assert " in most tested cases with " in finding_of(sweeps, agreeing_count=1).sentence
    assert finding_of(sweeps, conditions=None).sentence.endswith("; no simple condition describes when.")
    assert (
        "the metamorphic relation shift is violated" in finding_of(sweeps, symptom=Symptom(None, oracle=SHIFT)).sentence
    )


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
        def evaluate(self, requests, _surfaces=(), **_options):
            return [CandidateResult(one.candidate, (self.surface_result(one.candidate),)) for one in requests]

        def surface_result(self, one):
            if one.levels["p"] % 2:
                return SurfaceResult("s", "pass", how="composed")
            wrong = "cells left over" in case_features(one.case)
            return SurfaceResult("s", "fail", VALUE, "native") if wrong else SurfaceResult("s", "pass", how="native")

    evaluator = WrongNativeCalls()
    space = OperatorSpace.from_sweeps("lp_pool", sweeps)
    collector = findings_module.FindingCollector(evaluator, {"lp_pool": space})
    drawn = [space.draw(Rng("own call", number)) for number in range(60)]
    (finding,) = collector.add(evaluator.evaluate(make_requests(ReferenceOracle(), drawn)), 0)
    assert set(finding.conditions) == {"a native call", "cells left over"}
    assert set(finding.conditions) <= set(finding_record(finding).features)


def test_a_crash_that_does_not_repeat_is_counted_but_no_finding(sweeps):
    class AlwaysPasses(InlineEvaluator):
        calls = 0

        def evaluate(self, requests, _surfaces=(), **_options):
            self.calls += 1
            return [CandidateResult(one.candidate, (SurfaceResult("s", "pass"),)) for one in requests]

    evaluator = AlwaysPasses()
    space = OperatorSpace.from_sweeps("pad", sweeps)
    collector = findings_module.FindingCollector(evaluator, {"pad": space})
    candidate = space.draw(Rng("spoilt"))
    assert collector.add([CandidateResult(candidate, (SurfaceResult("s", "flaky", Symptom(Status.FLAKY)),))], 0) == []
    assert collector.passing_candidates == 1
    assert evaluator.calls > 1


def test_candidates_that_satisfy_another_relation_do_not_count_as_agreeing(sweeps, monkeypatch):
    def batch_result(one):
        violated = one.levels["batch"] > 1
        symptom = Symptom(None, oracle=BATCH) if violated else None
        return SurfaceResult("s", "fail" if violated else "pass", symptom, oracle=BATCH)

    def fake_evaluate(_evaluator, _symptom, candidates, *_surfaces):
        return [CandidateResult(one, (batch_result(one),)) for one in candidates]

    monkeypatch.setattr(diagnosis, "evaluate", fake_evaluate)
    monkeypatch.setattr(testing, "evaluate", fake_evaluate)
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    drawn = [space.draw(Rng("two laws", number)) for number in range(60)]
    channels_result = SurfaceResult("s", "pass", oracle=CHANNELS)
    results = [CandidateResult(one, (channels_result, batch_result(one))) for one in drawn]
    (finding,) = findings_module.FindingCollector(InlineEvaluator(), {"max_pool": space}).add(results, 0)
    assert (str(finding.symptom), finding.conditions) == ("law: batch", ("several images",))


def test_a_crash_in_a_related_call_is_a_finding_of_the_relation(sweeps, monkeypatch):
    monkeypatch.setitem(diagnosis.MAX_FATAL_EVALUATIONS, "crashed", 8)
    numpy = registry.get_backend("numpy")
    (loops,) = numpy.surfaces
    crashing = replace(loops, lowerings={**loops.lowerings, "conv_grad": lambda _step: "__import__('os')._exit(7)"})
    space = OperatorSpace.from_sweeps("conv", sweeps)
    drawn = (space.draw(Rng("other call", number)) for number in range(200))
    with LocalEvaluator(replace(numpy, surfaces=(crashing,)), sys.executable, Ledger()) as evaluator:
        adjoint = RelationOracle("adjoint")
        results = (result for one in drawn for result in evaluator.evaluate(make_requests(adjoint, [one])))
        first = next(one for one in results if any(item.is_new for item in one.surface_results))
        collector = findings_module.FindingCollector(evaluator, {"conv": space})
        (finding,) = collector.add([first], 0)
    assert str(finding.symptom).startswith("law: adjoint: crashed: ")
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
    assert collector.add([CandidateResult(candidate, (SurfaceResult("s", "fail", VALUE),))], 0) == []
    assert collector.passing_candidates == 1
    assert evaluated.count(candidate) >= diagnosis.MAX_CONFIRMATIONS
