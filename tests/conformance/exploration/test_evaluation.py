"""The driver of all oracles: which outcome belongs to which check, and which failures are expected."""

import sys
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Surface, Unsupported
from conformance.execution.job import Limits
from conformance.execution.task import TaskJudge
from conformance.exploration import oracles
from conformance.exploration.candidate import Candidate
from conformance.exploration.cross_surface import SurfacesOracle
from conformance.exploration.draws.invalid_calls import Violation
from conformance.exploration.evaluation import Call, LocalEvaluator, SurfaceResult, make_requests
from conformance.exploration.oracles import ReferenceOracle, RelationOracle
from conformance.exploration.symptoms import Symptom
from conformance.judging.ledger import Ledger, LedgerEntry
from conformance.judging.verdict import ProgramOutcome
from reports.results.vocabulary import Outcome, Status
from tests.support.fake_backends import EXPORTED, backend, right_maximum, route

LEVELS = {
    "rank": 1, "batch": 1, "channels": 1, "extent": (2,), "window": (1,), "stride": (1,), "dilation": (1,),
    "padding": 0, "rounding": "floor", "values": "integers", "dtype": "float32",
}  # fmt: skip
SMALLEST = Candidate("max_pool", LEVELS, {"x": {"values": "integers"}})
CANDIDATES = [SMALLEST.with_levels(extent=(extent,)) for extent in range(1, 8)]
LISTED = frozenset({Outcome.CRASHED})


@dataclass
class FakePool:
    """Workers that return the input of each job, or a given outcome; jobs: those that they took.

    ahead: number of jobs that they take before they return an outcome.
    """

    outcome: ProgramOutcome = field(default_factory=lambda: ProgramOutcome(Outcome.RETURNED))
    ahead: int = 2
    jobs: list = field(default_factory=list)
    environment: dict = field(default_factory=lambda: {"packages": {}, "cpu": ()})

    def outcomes(self, jobs):
        taken = []
        for job in jobs:
            taken.append(job)
            self.jobs.append(job)
            if len(taken) > self.ahead:
                yield self._outcome(taken.pop(0))
        yield from map(self._outcome, taken)

    def _outcome(self, job):
        return replace(self.outcome, arrays=tuple(job.inputs) if self.outcome.kind == Outcome.RETURNED else ())


@dataclass
class CountingOracle:
    """Makes as many checks as a candidate has cells, without the first one, and check n has n calls."""

    needs_all_surfaces: bool = False
    made: int = 0
    made_before_judgement: list = field(default_factory=list)
    surfaces: list = field(default_factory=list)

    def checks(self, run, candidate, *, fatal):  # noqa: ARG002 - as in the protocol
        self.made += 1
        self.surfaces = [surface.name for surface in run.surfaces]
        return [CountingCheck(self, run, candidate, number) for number in range(candidate.case.shape[-1] - 1)]


@dataclass
class CountingCheck:
    oracle: CountingOracle
    run: object
    candidate: Candidate
    number: int

    @property
    def calls(self):
        task = self.run.make_task(self.candidate.case, self.run.surfaces[0])
        return [Call(task, {"x": np.array([*self.key, number])}) for number in range(self.number)]

    @property
    def key(self):
        return self.candidate.case.shape[-1], self.number

    def judge(self, outcomes):
        self.oracle.made_before_judgement.append(self.oracle.made)
        correct = [one.arrays[0].tolist() for one in outcomes] == [[*self.key, n] for n in range(self.number)]
        yield SurfaceResult("numpy.loops", Status.PASS if correct else Status.FAIL, message=str(self.key))


@pytest.fixture
def evaluator():
    made = LocalEvaluator(registry.get_backend("numpy"), sys.executable, Ledger(), limits=Limits(case_seconds=1))
    made.pool = FakePool()
    return made


def test_each_check_is_judged_with_the_outcomes_of_its_own_calls(evaluator):
    evaluated = evaluator.evaluate(make_requests(CountingOracle(), CANDIDATES))
    assert [one.candidate for one in evaluated] == CANDIDATES
    for number, result in enumerate(evaluated):
        assert [one.message for one in result.surface_results] == [str((number + 1, check)) for check in range(number)]
        assert {one.status for one in result.surface_results} <= {Status.PASS}


def test_checks_are_made_when_the_workers_need_jobs(evaluator):
    oracle = CountingOracle()
    evaluator.evaluate(make_requests(oracle, CANDIDATES))
    assert oracle.made_before_judgement[0] < oracle.made == len(CANDIDATES)


@pytest.mark.parametrize(
    ("fatal", "listed", "expected"), [(False, (), False), (True, (), True), (False, LISTED, True)], ids=str
)
def test_a_failure_is_expected_if_the_symptom_is_fatal_or_the_ledger_lists_it(
    evaluator, monkeypatch, fatal, listed, expected
):
    monkeypatch.setattr(TaskJudge, "expected_failures", lambda *_: frozenset(listed))
    evaluator.evaluate(make_requests(CountingOracle(), CANDIDATES[2:3]), fatal=fatal)
    evaluator.evaluate(make_requests(ReferenceOracle(), CANDIDATES[2:3]), fatal=fatal)
    assert [job.expect_failure for job in evaluator.pool.jobs] == [expected] * 2


CRASH = ProgramOutcome(Outcome.CRASHED, message="SIGSEGV")
TIMEOUT = ProgramOutcome(Outcome.TIMED_OUT, message="no answer within 1 s")


@pytest.fixture
def two_surfaces(evaluator):
    """The evaluator with two equal surfaces."""
    (loops,) = evaluator.backend.surfaces
    evaluator.backend = replace(evaluator.backend, surfaces=(loops, replace(loops, name="numpy.other")))
    return evaluator


@pytest.mark.parametrize("oracle", [ReferenceOracle(), RelationOracle("negation"), SurfacesOracle()], ids=str)
@pytest.mark.parametrize(
    ("outcome", "extent", "symptom"),
    [
        (CRASH, 200, Symptom(Outcome.CRASHED, "SIGSEGV")),
        (CRASH, 201, Symptom(Outcome.CRASHED, "SIGSEGV")),
        (TIMEOUT, 200, Symptom(Outcome.TIMED_OUT)),
        (TIMEOUT, 201, None),
    ],
)
def test_crashes_and_hangs_are_recognised_and_slow_programs_are_neither(two_surfaces, oracle, outcome, extent, symptom):
    two_surfaces.pool = FakePool(outcome)
    (result,) = two_surfaces.evaluate(make_requests(oracle, [SMALLEST.with_levels(extent=(extent,))]))
    assert len(two_surfaces.pool.jobs) >= 2
    new = [(one.surface, one.symptom) for one in result.surface_results if one.is_new]
    assert new == ([("numpy.loops", symptom), ("numpy.other", symptom)] if symptom else [])


def test_the_reference_is_not_computed_for_candidates_without_a_program(evaluator, monkeypatch):
    monkeypatch.setattr(oracles, "make_checkable_task", without_program)
    monkeypatch.setattr(oracles, "compute_expected", pytest.fail)
    (result,) = evaluator.evaluate(make_requests(ReferenceOracle(), CANDIDATES[:1]))
    assert [(one.status, one.message) for one in result.surface_results] == [(Status.UNSUPPORTED, "no such call")]
    assert evaluator.pool.jobs == []


def without_program(run, candidate, surface):
    """Return the task of a candidate, for which the surface has no program."""
    return replace(run.make_task(candidate.case, surface), program=Unsupported("no such call"))


def test_parameters_that_the_reference_rejects_are_not_checked(evaluator, monkeypatch):
    def rejected(*_):
        raise ValueError("makes 1000000000 elements a plane: at most 268435456")

    monkeypatch.setattr(oracles, "make_checkable_task", rejected)
    (result,) = evaluator.evaluate(make_requests(ReferenceOracle(), CANDIDATES[:1]))
    assert result.surface_results == ()


def test_only_the_named_surfaces_are_checked_unless_an_oracle_needs_all(two_surfaces):
    alone, together = CountingOracle(needs_all_surfaces=False), CountingOracle(needs_all_surfaces=True)
    for oracle in (alone, together):
        two_surfaces.evaluate(make_requests(oracle, CANDIDATES[:1]), ["numpy.other"])
    assert alone.surfaces == ["numpy.other"]
    assert together.surfaces == ["numpy.loops", "numpy.other"]


def _maximum(step):
    """Return a correct maximum for windows of one cell. The program with stride 2 changes those with other strides."""
    (stride,) = step.stride
    effect = "builtins.mark = 1" if stride == 2 else "x = x + hasattr(builtins, 'mark')"
    return ("import builtins", f"x = x[..., ::{stride}]", effect, "x = x.astype(np.float32)")


@pytest.mark.parametrize("trusted", [True, False])
def test_a_difference_after_other_programs_is_not_a_finding_for_a_backend_of_another_package(trusted):
    candidates = [SMALLEST.with_levels(extent=(4,), stride=(stride,)) for stride in (2, 1, 3)]
    fake = backend(Surface("s", {"max_pool": _maximum}), trusted=trusted)
    with LocalEvaluator(fake, sys.executable, Ledger()) as evaluator:
        found = evaluator.evaluate(make_requests(ReferenceOracle(), candidates))
    statuses = [one.surface_results[0].status for one in found]
    assert statuses == ([Status.PASS, Status.FAIL, Status.FAIL] if trusted else [Status.PASS] * 3)


WRONG_FOR_FIVE = "x = x + (x.shape[-1] == 5)"
WRONG_IN_BATCHES = "results = [x + (x.shape[-1] == 5) for x in results]"


@pytest.mark.parametrize(
    ("export", "counts"),
    [
        ((EXPORTED, WRONG_IN_BATCHES), [6]),
        ((EXPORTED, WRONG_IN_BATCHES, "results[0] = results[0] + 1"), [6]),  # the first one is wrong in a batch only
        (("assert all(x.shape[-1] != 5 for one in inputs for x in one)", EXPORTED), [6, 3, 3, 2]),
    ],
)
def test_candidates_of_a_route_run_in_batches_and_one_that_differs_runs_alone(tmp_path, export, counts):
    log = tmp_path / "counts"
    records = f"open({str(log)!r}, 'a').write(f'{{len(models)}} ')"
    fake = backend(route((records, *export), alone=WRONG_FOR_FIVE), trusted=True)
    with LocalEvaluator(fake, sys.executable, Ledger()) as evaluator:
        found = evaluator.evaluate(make_requests(ReferenceOracle(), CANDIDATES))
    sizes = [one.candidate.case.shape[-1] for one in found if one.surface_results[0].status != Status.PASS]
    # The first of the seven runs alone.
    assert (sizes, [*map(int, log.read_text().split())]) == ([5], counts)


def test_only_the_first_candidate_of_an_exploration_runs_alone(tmp_path):
    log = tmp_path / "counts"
    fake = backend(route((f"open({str(log)!r}, 'a').write(f'{{len(models)}} ')", EXPORTED)), trusted=True)
    with LocalEvaluator(fake, sys.executable, Ledger()) as evaluator:
        for _ in range(2):
            evaluator.evaluate(make_requests(ReferenceOracle(), CANDIDATES))
    assert log.read_text() == "6 7 "


def test_calls_that_must_be_rejected_run_alone(tmp_path):
    log = tmp_path / "counts"
    fake = backend(route((f"open({str(log)!r}, 'a').write(f'{{len(models)}} ')", EXPORTED)), trusted=True)
    rejected = [replace(one, violation=Violation("StrideIsZero")) for one in CANDIDATES]
    with LocalEvaluator(fake, sys.executable, Ledger()) as evaluator:
        found = evaluator.evaluate(make_requests(ReferenceOracle(), [*CANDIDATES, *rejected]))
    assert {one.surface_results[0].status for one in found} == {Status.PASS}
    assert log.read_text() == "6 "


REFUSES_FIVE = "if x.shape[-1] == 5: raise ValueError('no kernel')"
KNOWN_FOR_THE_SOURCE = LedgerEntry("e", (), ("source",), ("value",), "it is known")


@pytest.mark.parametrize(
    ("alone", "source", "entries", "status"),
    [
        (REFUSES_FIVE, "", (), Status.REFUSED),
        (REFUSES_FIVE, REFUSES_FIVE, (), Status.FAIL),
        (WRONG_FOR_FIVE, WRONG_FOR_FIVE, (), Status.FAIL),
        (WRONG_FOR_FIVE, WRONG_FOR_FIVE, (KNOWN_FOR_THE_SOURCE,), Status.KNOWN),
        (WRONG_FOR_FIVE, "", (KNOWN_FOR_THE_SOURCE,), Status.FAIL),
    ],
)
def test_refusals_of_a_route_and_entries_of_its_source_are_no_findings(alone, source, entries, status):
    changed = route(("raise ValueError",), alone=alone)
    stages = replace(changed.route, source=Surface("source", {"max_pool": lambda step: (*right_maximum(step), source)}))
    fake = backend(replace(changed, route=stages), trusted=True)
    with LocalEvaluator(fake, sys.executable, Ledger(entries)) as evaluator:
        found = evaluator.evaluate(make_requests(ReferenceOracle(), CANDIDATES))
    by_size = {one.candidate.case.shape[-1]: one.surface_results[0].status for one in found}
    assert by_size.pop(5) == status
    assert {*by_size.values()} == {Status.PASS}
