"""Programs of routes in batches. The fake models add one, and an export refuses negative inputs."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from conformance.adapters.api import Program, RouteBatch
from conformance.execution.job import Job, JobPart
from conformance.execution.options import RunOptions
from conformance.execution.routes import batches
from conformance.execution.routes.batches import batched_outcomes
from conformance.execution.run import Run
from conformance.judging.ledger import Ledger, LedgerEntry
from conformance.judging.verdict import ProgramOutcome
from reports.results import Outcome
from tests.support.fake_backends import EXPORTED, backend, load, program, route, surface

ALONE = program("assert (x >= 0).all(), 'refused'\nx = x + 1")
PART = Program("fake.surface", "native", "def run(x):\n    model = lambda x: x + 1\n    return model, (x,)\n")
EXPORT = (
    "assert all((x >= 0).all() for one in inputs for x in one), 'refused'",
    "results = [model(*one) for model, one in zip(models, inputs)]",
)
BATCH = RouteBatch(surface("fake.part"), EXPORT, max_programs=8)


class Runner:
    """Runs jobs in this process, and records them."""

    def __init__(self, change=lambda _job, outcome: outcome):
        self.jobs = []
        self._change = change

    def __call__(self, jobs):
        for job in jobs:
            self.jobs.append(job)
            yield self._change(job, outcome_of(job))

    @property
    def sizes(self):
        return [len(job.inputs) for job in self.jobs if job.is_batch]

    @property
    def alone(self):
        return [job.inputs[0].flat[0] for job in self.jobs if not job.is_batch]


def outcome_of(job):
    names = {"np": np}
    exec(job.program.text, names)  # noqa: S102 - a program of this test
    try:
        results = names["run"](*job.inputs)
    except AssertionError as error:
        return ProgramOutcome(Outcome.REJECTED, message=str(error))
    return ProgramOutcome(Outcome.RETURNED, results if isinstance(results, tuple) else (results,), seconds=4.0)


def job(value, *, passes=True, batch=BATCH, dtype="float32", mode="", part=PART):
    array = np.full((1, 1, 2), value, dtype)
    return Job(
        replace(ALONE, mode=mode),
        (array,),
        part=JobPart(batch, replace(part, mode=mode), lambda outcome: passes and outcome.kind == Outcome.RETURNED),
    )


def check_values(jobs, runner):
    outcomes = [*batched_outcomes(runner, jobs)]
    assert len(outcomes) == len(jobs)
    for one, outcome in zip(jobs, outcomes, strict=True):
        expected = outcome_of(one)
        assert (outcome.kind, outcome.message) == (expected.kind, expected.message)
        assert [array.tolist() for array in outcome.arrays] == [array.tolist() for array in expected.arrays]
    return outcomes


def test_results_are_those_of_the_programs_alone_in_their_order():
    runner = Runner()
    outcomes = check_values([job(value) for value in (3, 1, 2)], runner)
    assert (runner.sizes, runner.alone) == ([3], [])
    assert [outcome.seconds for outcome in outcomes] == [4 / 3] * 3


def test_no_jobs_have_no_outcomes():
    assert [*batched_outcomes(Runner(), [])] == []


@pytest.mark.parametrize("refused", [0, 3, 7])
def test_program_that_breaks_a_batch_runs_alone_and_the_others_do_not(refused):
    runner = Runner()
    check_values([job(-1 if n == refused else n) for n in range(8)], runner)
    assert runner.sizes == [8, 4, 4, 2, 2]
    # The other program of its half is not divided further, so it runs alone, too.
    assert len(runner.alone) == 2
    assert -1 in runner.alone


def test_batch_of_programs_that_are_all_refused_is_divided_until_each_runs_alone():
    runner = Runner()
    check_values([job(-1) for _ in range(8)], runner)
    assert runner.sizes == [8, 4, 4, 2, 2, 2, 2]
    assert runner.alone == [-1] * 8


def test_result_with_which_a_case_does_not_pass_counts_only_alone():
    runner = Runner()
    wrong_in_batch = Runner(lambda one, outcome: replace(outcome, message="batch") if one.is_batch else outcome)
    jobs = [job(1), job(2, passes=False), job(3)]
    check_values(jobs, runner)
    assert (runner.sizes, runner.alone) == ([3], [2])
    assert [one.message for one in batched_outcomes(wrong_in_batch, jobs)] == ["batch", "", "batch"]


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": Outcome.CRASHED, "arrays": ()},
        {"kind": Outcome.TIMED_OUT, "arrays": ()},
        {"arrays": (), "message": "returned a list"},
        {"arrays": (np.zeros(1),) * 3},
        {"changed_state": ("flush-to-zero",)},
    ],
)
def test_batch_without_one_result_for_each_program_is_divided(changes):
    runner = Runner(lambda one, outcome: replace(outcome, **changes) if one.is_batch else outcome)
    check_values([job(1), job(2)], runner)
    assert (runner.sizes, runner.alone) == ([2], [1, 2])


def test_job_without_part_runs_alone():
    runner = Runner()
    check_values([job(1), replace(job(2), part=None), job(3)], runner)
    assert (runner.sizes, runner.alone) == ([2], [2])


def test_single_program_is_no_batch():
    runner = Runner()
    check_values([job(1)], runner)
    assert (runner.sizes, runner.alone) == ([], [1])


@pytest.mark.parametrize("difference", [{"dtype": "int8"}, {"mode": "x64 = True"}])
def test_batch_has_one_dtype_and_one_mode(difference):
    runner = Runner()
    check_values([job(1), job(2, **difference), job(3), job(4, **difference)], runner)
    assert [[array.flat[0] for array in one.inputs] for one in runner.jobs] == [[1, 3], [2, 4]]
    assert [one.program.mode for one in runner.jobs] == ["", difference.get("mode", "")]


def test_batches_of_many_programs_have_nearly_equal_sizes_below_the_limit():
    runner = Runner()
    check_values([job(n) for n in range(18)], runner)
    assert runner.sizes == [6, 6, 6]


@pytest.mark.parametrize(("limit", "value"), [("MAX_WINDOW_JOBS", 2), ("MAX_WINDOW_BYTES", 16)])
def test_number_and_size_of_the_jobs_in_memory_are_limited(monkeypatch, limit, value):
    monkeypatch.setattr(batches, limit, value)
    taken = []
    jobs = (taken.append(n) or job(n) for n in range(6))
    outcomes = batched_outcomes(Runner(), jobs)
    next(outcomes)
    assert taken == [0, 1]
    assert len([*outcomes]) == 5


def test_programs_with_several_inputs_get_their_own():
    adds = Program("fake.surface", "native", "def run(x, y):\n    return lambda x, y: x - y, (x, y)\n")
    runner = Runner()
    two = replace(job(1, part=adds), inputs=(np.full(2, 9), np.full(2, 2)))
    outcomes = [*batched_outcomes(runner, [two, replace(job(5), inputs=(np.full(2, 5),)), two])]
    assert [outcome.arrays[0].tolist() for outcome in outcomes] == [[7, 7], [6, 6], [7, 7]]


def with_kind(one, kind):
    return replace(one, part=replace(one.part, kind=kind))


def test_first_case_of_each_kind_runs_alone_and_decides_for_the_others():
    refused = [with_kind(job(-1), "conv int8") for _ in range(3)]
    others = [with_kind(job(n), "conv float32") for n in range(4)]
    runner = Runner()
    check_values([*refused, *others], runner)
    assert [one.inputs[0].flat[0] for one in runner.jobs[:2]] == [-1, 0]
    assert (runner.sizes, runner.alone) == ([3], [-1, 0, -1, -1])


def test_kind_is_known_in_later_windows(monkeypatch):
    monkeypatch.setattr(batches, "MAX_WINDOW_JOBS", 4)
    refused = [with_kind(job(-1), "conv int8") for _ in range(2)]
    others = [with_kind(job(n), "conv float32") for n in range(2)]
    runner = Runner()
    check_values([*refused, *others] * 2, runner)
    # In the first window, only one job is left for a batch, which is none.
    assert (runner.sizes, runner.alone) == ([2], [-1, 0, -1, 1, -1, -1])


def test_kind_with_a_result_runs_in_later_batches(monkeypatch):
    monkeypatch.setattr(batches, "MAX_WINDOW_JOBS", 4)
    mixed = [with_kind(job(value), "conv int8") for value in (-1, 3, 4, 5)]
    runner = Runner()
    check_values([*mixed, *mixed], runner)
    # In the second window, only the first job is refused.
    assert (runner.sizes, runner.alone) == ([4, 2, 2], [-1, 3, 4, 5, -1, 3])


EVALUATED = replace(BATCH, evaluation=EXPORT[1:])
"""A batch whose evaluator refuses no inputs."""


def refused_job(value=-1, *, batch=EVALUATED, has_value=True, passes=True):
    one = job(value, batch=batch, passes=passes)
    return replace(one, part=replace(one.part, kind="conv int8", has_value=has_value))


def test_outcomes_are_yielded_before_the_next_program_runs_alone():
    runner = Runner()
    outcomes = batched_outcomes(runner, [job(1), job(2), job(3, passes=False), job(4), job(5, passes=False)])
    assert [next(outcomes).arrays[0].flat[0] for _ in range(3)] == [2, 3, 4]
    assert runner.alone == [3]
    assert [outcome.arrays[0].flat[0] for outcome in outcomes] == [5, 6]
    assert runner.alone == [3, 5]


@pytest.mark.parametrize(
    ("jobs", "evaluated"),
    [
        ([refused_job(), refused_job(-2), refused_job(3)], [True, True, False]),
        ([refused_job(), refused_job(-2, has_value=False), refused_job(-3)], [True, False, True]),
        ([refused_job(), refused_job(-2, passes=False)], [True, False]),
        ([refused_job(batch=BATCH), refused_job(batch=BATCH)], [False, False]),  # there is no evaluator
        ([refused_job(batch=replace(BATCH, evaluation=EXPORT))] * 2, [False, False]),  # the exporter refuses both
        ([refused_job()], [False]),
    ],
)
def test_refused_cases_run_together_with_the_evaluator(jobs, evaluated):
    runner = Runner()
    outcomes = check_values(jobs, runner)
    assert [outcome.evaluated for outcome in outcomes] == evaluated


def test_result_is_converted_to_channels_first():
    batch = replace(BATCH, to_numpy="np.moveaxis(x, -1, 1)")
    jobs = [replace(job(1, batch=batch), inputs=(np.zeros((1, 2, 3)),)) for _ in range(2)]
    assert [one.arrays[0].shape for one in batched_outcomes(Runner(), jobs)] == [(1, 3, 2)] * 2


REFUSES_FIVE = "assert all(x.shape[-1] != 5 for one in inputs for x in one), 'no model of 5 cells'"


def results(tmp_path, surface_of_route, *entries, **options):
    cases = [f"id: c{n}, x: {{values: arange, shape: [1, 1, {n}, {n}]}}, window: 2" for n in range(3, 8)]
    path = tmp_path / "fake.jsonl"
    run = Run(
        backend(surface_of_route, trusted=True),
        load(tmp_path, *cases),
        Ledger(entries),
        RunOptions(**options),
        python=sys.executable,
    )
    run.execute(path)
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    kept = ("case", "surface", "status", "program", "digest", "outcome", "changed_by")
    return [{key: one.get(key) for key in kept} for one in records if one["record"] == "result"]


@pytest.mark.parametrize(
    ("lines", "alone", "counts", "statuses"),
    [
        ((EXPORTED,), "", [4], ["pass"] * 5),
        # A model that breaks the export of the others.
        ((REFUSES_FIVE, EXPORTED), "", [4, 2, 2], ["pass"] * 5),
        ((REFUSES_FIVE, EXPORTED), REFUSES_FIVE.replace("for one in inputs for x in one", "for x in [x]"), None, None),
        # A result that is wrong only in a batch.
        ((EXPORTED, "results[1] = results[1] + 1"), "", [4], ["pass"] * 5),
        # Wrong results alone, too.
        ((EXPORTED, "results = [x + 1 for x in results]"), "x = x + 1", [4], ["fail"] * 5),
    ],
)
def test_run_with_batches_has_the_results_of_a_run_without(tmp_path, lines, alone, counts, statuses):
    log = tmp_path / "counts"
    surface_of_route = route((f"open({str(log)!r}, 'a').write(f'{{len(models)}} ')", *lines), alone=alone)
    batched = results(tmp_path, surface_of_route)
    written = log.read_text()
    assert batched == results(tmp_path, surface_of_route, batches=False)
    assert log.read_text() == written
    assert counts is None or [*map(int, written.split())] == counts
    assert statuses is None or [one["status"] for one in batched] == statuses


def test_refused_by_the_runtime_needs_no_further_programs_of_the_export(tmp_path):
    refuses, ends = "raise ValueError('no kernel')", surface("exporter→runtime", "os._exit(3)")
    # Each stage that runs alone would end its process.
    surface_of_route = route((refuses,), alone=refuses, evaluation=(EXPORTED,), evaluator=ends)
    stages = replace(surface_of_route.route, export=ends)
    found = results(tmp_path, replace(surface_of_route, route=stages))
    assert [(one["status"], one["changed_by"]) for one in found] == [("refused", "runtime")] * 5
    evaluates_alone = replace(surface_of_route, route=replace(stages, evaluator=surface("e"), export=surface("e")))
    assert found == results(tmp_path, evaluates_alone, batches=False)


def test_repeated_programs_run_alone(tmp_path):
    assert [one["status"] for one in results(tmp_path, route(("raise SystemExit",)), repeat=2)] == ["pass"] * 5


def test_batch_that_ends_its_process_is_not_run_again(tmp_path):
    log = tmp_path / "counts"
    ends = (f"open({str(log)!r}, 'a').write(f'{{len(models)}} ')", "os._exit(3)")
    assert [one["status"] for one in results(tmp_path, route(ends))] == ["pass"] * 5
    assert [*map(int, log.read_text().split())] == [4, 2, 2]


@pytest.mark.parametrize("part", ["exporter→runtime", "source", "runtime"])
def test_crash_that_the_ledger_lists_for_a_part_of_the_route_is_not_repeated_and_comes_last(tmp_path, part):
    log = tmp_path / "cells"
    crashes = f"open({str(log)!r}, 'a').write(f'{{x.shape[-1]}} '); x.shape[-1] == 1 and os._exit(3)"
    entry = LedgerEntry("e", ("max_pool/c3",), (part,), ("crashed",), "It ends the process.")
    found = results(tmp_path, route((EXPORTED,), alone=crashes), entry)
    assert found[-1]["outcome"] == "crashed"
    # The first of the other cases runs alone, too. Its output has two cells.
    assert [*map(int, log.read_text().split())] == [2, 1]
