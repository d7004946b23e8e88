"""Connection to a worker: batched reading of short replies, which spares the worker the wake-up of a reader."""

import os
import shutil

import numpy as np
import pytest

from conformance.execution import connection
from conformance.execution.connection import BatchedReader, Connection
from conformance.execution.job import Job
from conformance.execution.job_pace import READ_DELAY_SECONDS
from tests.support.fake_backends import program
from tests.support.started_workers import X, gone, started


@pytest.fixture
def delays(monkeypatch):
    """Replace time.sleep; return the list of requested delays in seconds."""
    delays = []
    monkeypatch.setattr(connection.time, "sleep", delays.append)
    return delays


@pytest.fixture
def pipe():
    """A reader with a delay of 0.25 s, and the write end of its pipe."""
    reader, write_end = os.pipe()
    yield BatchedReader(reader, lambda: 0.25), write_end
    os.close(reader)


def test_available_bytes_are_read_without_delay(pipe, delays):
    reader, write_end = pipe
    os.write(write_end, b"abc")
    os.close(write_end)
    assert reader.read(8) == b"abc"
    assert delays == []


def test_reader_sleeps_for_the_delay_before_it_waits(pipe, delays, monkeypatch):
    reader, write_end = pipe
    monkeypatch.setattr(
        connection.time, "sleep", lambda seconds: (delays.append(seconds), os.write(write_end, b"later"))
    )
    assert reader.read(8) == b"later"
    assert delays == [0.25]
    os.close(write_end)


def test_without_delay_the_reader_waits_at_once(delays):
    reader, write_end = os.pipe()
    os.close(write_end)
    assert BatchedReader(reader, lambda: 0.0).read(8) == b""
    assert delays == []
    os.close(reader)


def test_no_thread_removes_files_after_a_worker_was_stopped(monkeypatch):
    removals = []
    monkeypatch.setattr(connection, "remove_temporary_files", removals.append)
    for _ in range(5):
        with started() as worker:
            folder, monitor = worker.connection._temporary_folder, worker.connection._monitor_thread
            shutil.rmtree(folder)
        assert not monitor.is_alive()
        assert set(removals) == {folder}
        removals.clear()


def test_replies_to_many_short_programs_are_delayed_except_the_last_ones():
    with started() as worker:
        delays = []
        for outcome in worker.outcomes([Job(program("x = x + 1"), (X,)) for _ in range(4000)]):
            assert np.array_equal(outcome.arrays[0], X + 1)
            delays.append(worker.connection.read_delay)
    assert delays[0] == delays[-1] == 0
    assert set(delays) == {0, READ_DELAY_SECONDS}


def test_replies_to_longer_programs_are_not_delayed():
    with started() as worker:
        jobs = [Job(program("import time; time.sleep(0.004)"), (X,)) for _ in range(100)]
        assert not any(worker.connection.read_delay for _ in worker.outcomes(jobs))


@pytest.mark.parametrize(
    ("end_of_replies", "last_line"),
    [
        ("exec >&-", "; last output: still running"),
        ("printf %064d 0", "; last output: still running"),
        ("exec >&- 2>&-", ""),
    ],
    ids=["closed pipe", "invalid frame", "closed pipe and standard error"],
)
def test_exit_cause_of_a_process_that_ends_its_replies_and_does_not_exit(
    end_of_replies, last_line, tmp_path, monkeypatch
):
    # The shell is the process of the connection. A supervisor would leave the pipe open.
    interpreter = tmp_path / "python"
    output = "echo still running >&2" if last_line else ":"
    interpreter.write_text(f"#!/bin/sh\n{output}\n{end_of_replies}\nexec sleep 600\n")
    interpreter.chmod(0o755)
    monkeypatch.setattr(connection, "EXIT_TIMEOUT_SECONDS", 0.5)
    process = Connection(str(interpreter), 0)
    try:
        assert process.receive(20) is None
        assert process.process.poll() is None
        assert process.exit_cause() == f"no valid reply, and no exit within 0.5 s{last_line}"
        assert gone(process.process.pid)
    finally:
        process.kill()
