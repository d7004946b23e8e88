"""Workers for tests, and checks that their processes have ended."""

import contextlib
import os
import sys
import time
from pathlib import Path

import numpy as np

from conformance.execution.job import Job, Limits
from conformance.execution.worker_process import Worker
from tests.support.fake_backends import backend, program

X = np.arange(4, dtype=np.float32).reshape(1, 1, 4)
PYTHON = os.environ.get("CONFORMANCE_WORKER_PYTHON", sys.executable)
"""Interpreter of the workers, by default this one."""


@contextlib.contextmanager
def started(limit=10.0, *, memory=0, retry=True, **texts):
    """Start a worker of the fake backend, and end it."""
    worker = Worker(backend(**texts), PYTHON, Limits(case_seconds=limit, memory_bytes=memory), retry=retry)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def outcomes(*bodies, inputs=(X,), **keywords):
    """Run programs in order, then one that must return its input unchanged."""
    with started(**keywords) as worker:
        jobs = [Job(program(body), inputs) for body in (*bodies, "pass")]
        *found, last = worker.outcomes(jobs)
        connection = worker.connection  # None if the worker grew too large and was stopped
    assert last.kind == "returned", last
    assert np.array_equal(last.arrays[0], inputs[0])
    assert connection is None or gone(connection.process.pid)
    return found


def gone(pid):
    """Wait until the process and its group have ended; return whether they have."""
    return soon(lambda: not running(pid) and not members(pid))


def soon(condition, seconds=20.0):
    """Wait for a condition; return whether it became true within the seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def running(pid):
    """Whether a process exists and is not a zombie.

    An orphaned process remains a zombie until the init process of the machine reaps it.
    """
    try:
        os.kill(pid, 0)
        return stat(Path(f"/proc/{pid}"))[0] != "Z"
    except FileNotFoundError:  # a system without /proc, or the process has just ended
        return Path("/proc").exists() is False
    except ProcessLookupError:
        return False


def stat(folder):
    """Return the fields of /proc/PID/stat after the name: state, parent, group and so on."""
    return (folder / "stat").read_text().rpartition(")")[2].split()


def listed(field, value):
    """Return the running processes with this value in a field of stat."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = stat(folder)
            if fields[field] == str(value) and fields[0] != "Z":
                found.append(int(folder.name))
    return found


def members(group):
    """Return the processes of a group."""
    return listed(2, group)


def children(pid):
    """Return the children of a process."""
    return listed(1, pid)
