"""Pool of workers: the same outcomes in the same order as from one worker."""

import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from conformance.execution import job_pace, pool as pool_module, worker_process
from conformance.execution.job import Job, Limits, WorkerFailed
from conformance.execution.pool import WorkerPool, mode_workers, worker_count
from conformance.execution.worker_process import Worker
from tests.support.fake_backends import CRASHES, HANGS, RAISES, backend, program

LIMIT = 3.0


def new_pool(count, fake=None):
    return WorkerPool([Worker(fake or backend(), sys.executable, Limits(case_seconds=LIMIT)) for _ in range(count)])


def outcomes(count, jobs):
    workers = new_pool(count)
    workers.start()
    try:
        return [(one.kind, [array.tolist() for array in one.arrays]) for one in workers.outcomes(iter(jobs))]
    finally:
        workers.stop()


def job(number, body="x = x * 2"):
    return Job(program(f"# {number % 7}\n{body}"), (np.array([[[float(number)]]]),))


def test_two_workers_give_what_one_gives_in_the_same_order():
    jobs = [job(number) for number in range(60)]
    assert outcomes(2, jobs) == outcomes(1, jobs) == [("returned", [[[[number * 2.0]]]]) for number in range(60)]


def test_both_workers_work():
    texts = [f"# {number}\nx = np.full((1, 1, 1), os.getpid())" for number in range(40)]
    jobs = [Job(program(text), (np.zeros((1, 1, 1)),)) for text in texts]
    assert len({str(arrays) for _, arrays in outcomes(2, jobs)}) == 2


def test_program_is_always_run_by_the_same_worker():
    text = "x = np.full((1, 1, 1), os.getpid())"
    jobs = [Job(program(f"# {number % 5}\n{text}"), (np.zeros((1, 1, 1)),)) for number in range(30)]
    found = [str(arrays) for _, arrays in outcomes(2, jobs)]
    assert all(found[number] == found[number % 5] for number in range(30))


@pytest.mark.parametrize(("body", "kind"), [(CRASHES, "crashed"), (HANGS, "timed_out"), (RAISES, "rejected")])
def test_failure_of_one_program_costs_one_case(body, kind):
    jobs = [job(number, body if number == 11 else "x = x * 2") for number in range(30)]
    kinds = [found for found, _ in outcomes(2, jobs)]
    assert kinds == ["returned"] * 11 + [kind] + ["returned"] * 18


def test_fewer_jobs_than_workers_and_no_jobs():
    assert outcomes(4, [job(1)]) == [("returned", [[[[2.0]]]])]
    assert outcomes(2, []) == []


def test_pool_that_cannot_start_leaves_no_process():
    workers = new_pool(2, backend(setup="import nothing_of_this_name"))
    with pytest.raises(WorkerFailed, match="nothing_of_this_name"):
        workers.start()


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_pool_that_cannot_start_does_not_wait_for_its_other_workers(order):
    setups = ["import nothing_of_this_name", "import time; time.sleep(30)"][order]
    workers = WorkerPool([Worker(backend(setup=setup), sys.executable) for setup in setups])
    start = time.monotonic()
    with pytest.raises(WorkerFailed, match="nothing_of_this_name"):
        workers.start()
    assert time.monotonic() - start < 15


MODE = "mode = 64\n"
WORKER_AND_MODE = "x = np.array([[[os.getpid(), globals().get('mode', 32), x[0, 0, 0]]]])"
WITH_MODES = replace(backend(), surfaces=(replace(backend().surfaces[0], select_mode=lambda _case: MODE),))


def job_in_mode(number, mode):
    # Few different texts: programs with the same text and different modes are different programs.
    return Job(replace(program(f"# {number % 3}\n{WORKER_AND_MODE}"), mode=mode), (np.array([[[float(number)]]]),))


def worker_and_mode(count, jobs):
    """Return the process, the mode and the input of each outcome."""
    workers = new_pool(count, WITH_MODES)
    workers.start()
    try:
        return [one.arrays[0].ravel().tolist() for one in workers.outcomes(iter(jobs))]
    finally:
        workers.stop()


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("period", [2, 7, 150])
def test_programs_with_different_modes_never_share_a_worker(count, period):
    modes = [MODE if number % period == period - 1 else "" for number in range(300)]
    found = worker_and_mode(count, map(job_in_mode, range(300), modes))
    assert [(mode, number) for _, mode, number in found] == [
        (64 if mode else 32, number) for number, mode in enumerate(modes)
    ]
    wide, narrow = ({pid for pid, found_mode, _ in found if found_mode == mode} for mode in (64, 32))
    assert len(wide) == 1
    assert len(narrow) <= count
    assert not wide & narrow


def test_only_programs_in_a_mode():
    assert [mode for _, mode, _ in worker_and_mode(1, [job_in_mode(number, MODE) for number in range(9)])] == [64] * 9


def test_jobs_of_another_mode_are_not_all_taken_at_once(monkeypatch):
    # The only job in a mode is the first: its worker searches for more while the other one has not begun.
    monkeypatch.setattr(pool_module, "MAX_BUFFERED_OUTCOMES", 16)
    taken = []

    def jobs():
        for number in range(10 * pool_module.MAX_WAITING_JOBS):
            taken.append(number)
            yield job_in_mode(number, "" if number else MODE)

    workers = new_pool(1, WITH_MODES)
    try:
        next(workers.outcomes(jobs()))
        assert len(taken) < 5 * pool_module.MAX_WAITING_JOBS
    finally:
        workers.kill()


@pytest.mark.parametrize(
    ("programs", "jobs", "counts"),
    [
        ({"": 90, MODE: 10}, 2, (2, 1)),
        ({"": 75, MODE: 25}, 16, (12, 4)),
        ({"": 100}, 4, (4, 0)),
        ({MODE: 100}, 2, (1, 2)),
        ({}, 1, (1, 0)),
    ],
)
def test_each_mode_has_workers_for_its_share_of_the_programs(programs, jobs, counts):
    workers = mode_workers(Worker(WITH_MODES), Counter(programs), jobs)
    modes = [worker.mode for worker in workers]
    assert (modes.count(""), modes.count(MODE), modes[0]) == (*counts, "")


def test_worker_count_depends_on_programs_and_cores():
    assert [worker_count(programs, 0, 2) for programs in (1, 499, 500, 10_000)] == [1, 1, 2, 2]
    assert worker_count(2500, 0, 4) == 4
    assert worker_count(2500, 0, 64) == 6
    assert [worker_count(0, slow, 64) for slow in (24, 25, 50)] == [1, 2, 3]


def test_standby_process_replaces_one_that_is_known_to_crash(monkeypatch):
    started = []
    built = worker_process.Connection
    monkeypatch.setattr(worker_process, "Connection", lambda *given: started.append(built(*given)) or started[-1])
    fatal = [Job(program(f"# {number}\n{CRASHES}"), (np.zeros((1, 1, 1)),), expect_failure=True) for number in range(3)]
    assert [kind for kind, _ in outcomes(1, [job(0), *fatal, job(1)])] == ["returned", *["crashed"] * 3, "returned"]
    assert len(started) == 4
    assert all(link.process.poll() is not None for link in started)


def test_unused_standby_process_is_ended(monkeypatch):
    started = []
    built = worker_process.Connection
    monkeypatch.setattr(worker_process, "Connection", lambda *given: started.append(built(*given)) or started[-1])
    harmless = [Job(program(f"# {number}\nx = x"), (np.zeros((1, 1, 1)),), expect_failure=True) for number in range(3)]
    assert [kind for kind, _ in outcomes(1, harmless)] == ["returned"] * 3
    assert len(started) == 2
    assert all(link.process.poll() is not None for link in started)


def test_new_programs_go_to_the_idle_worker():
    body = "x = np.full((1, 1, 1), os.getpid())"
    texts = [f"time.sleep(2)\n{body}", *(f"# {number}\n{body}" for number in range(60))]
    jobs = [Job(program(text), (np.zeros((1, 1, 1)),)) for text in texts]
    slow, *others = [str(arrays) for _, arrays in outcomes(2, jobs)]
    assert others.count(slow) < 2 * job_pace.MIN_QUEUED_JOBS_IN_POOL


def test_number_of_buffered_outcomes_is_limited(monkeypatch):
    monkeypatch.setattr(pool_module, "MAX_BUFFERED_OUTCOMES", 3)
    texts = ["time.sleep(1)", *(f"x = x + {number}" for number in range(20))]
    found = outcomes(2, [Job(program(text), (np.zeros((1, 1, 1)),)) for text in texts])
    assert [arrays for _, arrays in found[1:]] == [[[[[number]]]] for number in range(20)]


@pytest.mark.parametrize(
    ("body", "most"),
    [("x = x + 1", job_pace.MAX_QUEUED_JOBS), ("time.sleep(0.05)", job_pace.MIN_QUEUED_JOBS)],
)
def test_more_jobs_are_queued_at_a_worker_with_short_programs(monkeypatch, body, most):
    sent, ahead = [], []
    submit = Worker._send_job
    monkeypatch.setattr(Worker, "_send_job", lambda worker, one: sent.append(one) or submit(worker, one))
    with single_worker() as worker:
        for number, _ in enumerate(
            worker.outcomes(job(0, body) for _ in range(60 if most == job_pace.MIN_QUEUED_JOBS else 1500))
        ):
            ahead.append(len(sent) - number)
    assert job_pace.MIN_QUEUED_JOBS // 2 < max(ahead) <= most
    assert (max(ahead) > job_pace.MIN_QUEUED_JOBS) is (most > job_pace.MIN_QUEUED_JOBS)


@contextmanager
def single_worker():
    worker = Worker(backend(), sys.executable, Limits(case_seconds=LIMIT))
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()
