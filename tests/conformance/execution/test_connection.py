"""Short replies are not waited for one by one: to wake who waits costs a worker more than many a program does."""

import os

import numpy as np
import pytest

from conformance.execution import connection
from conformance.execution.connection import BatchedReader
from conformance.execution.worker_process import READ_DELAY_SECONDS, Job
from tests.support.fake_backends import program
from tests.support.started_workers import X, started


@pytest.fixture
def slept(monkeypatch):
    """The seconds that were slept through, without any sleep; after each, what is written comes in."""
    told = []
    monkeypatch.setattr(connection.time, "sleep", told.append)
    return told


@pytest.fixture
def pipe():
    """A pipe of which the near end is read after lulls of 0.25 s."""
    near, far = os.pipe()
    yield BatchedReader(near, lambda: 0.25), far
    os.close(near)


def test_what_is_there_is_read_at_once(pipe, slept):
    near, far = pipe
    os.write(far, b"abc")
    os.close(far)
    assert near.read(8) == b"abc"
    assert slept == []


def test_where_nothing_is_there_yet_nobody_waits_for_a_lull(pipe, slept, monkeypatch):
    near, far = pipe
    monkeypatch.setattr(connection.time, "sleep", lambda seconds: (slept.append(seconds), os.write(far, b"later")))
    assert near.read(8) == b"later"
    assert slept == [0.25]
    os.close(far)


def test_without_a_lull_what_comes_is_waited_for(slept):
    near, far = os.pipe()
    os.close(far)
    assert BatchedReader(near, lambda: 0.0).read(8) == b""
    assert slept == []
    os.close(near)


def test_lulls_come_with_many_short_programs_and_end_before_the_last_ones():
    with started() as worker:
        lulls = []
        for outcome in worker.outcomes([Job(program("x = x + 1"), (X,)) for _ in range(4000)]):
            assert np.array_equal(outcome.arrays[0], X + 1)
            lulls.append(worker.connection.read_delay)
    assert lulls[0] == lulls[-1] == 0
    assert set(lulls) == {0, READ_DELAY_SECONDS}


def test_programs_that_take_longer_are_waited_for():
    with started() as worker:
        jobs = [Job(program("import time; time.sleep(0.004)"), (X,)) for _ in range(100)]
        assert not any(worker.connection.read_delay for _ in worker.outcomes(jobs))
