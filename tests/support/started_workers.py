"""Workers for tests, and whether the processes that they leave behind are gone."""

import contextlib
import os
import sys
import time
from pathlib import Path

import numpy as np

from conformance.execution.worker_process import Job, Limits, Worker
from tests.support.fake_backends import backend, program

X = np.arange(4, dtype=np.float32).reshape(1, 1, 4)
PYTHON = os.environ.get("CONFORMANCE_WORKER_PYTHON", sys.executable)
"""The interpreter of the workers, which need not be this one."""


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
    """Run programs one after the other, and then an innocent one, which must give its input back."""
    with started(**keywords) as worker:
        jobs = [Job(program(body), inputs) for body in (*bodies, "pass")]
        *found, last = worker.outcomes(jobs)
        link = worker.connection  # none where it had grown and is gone already
    assert last.kind == "returned", last
    assert np.array_equal(last.arrays[0], inputs[0])
    assert link is None or gone(link.process.pid)
    return found


def gone(pid):
    """Whether nothing of the process and its group runs any more, after a moment in which it may end."""
    return soon(lambda: not running(pid) and not members(pid))


def soon(true, seconds=20.0):
    """Whether something comes true within some seconds."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def running(pid):
    """Whether a process of the number is there and has not ended.

    One that has ended stays in the list until its parent takes note, which here is whatever runs the machine.
    """
    try:
        os.kill(pid, 0)
        return stat(Path(f"/proc/{pid}"))[0] != "Z"
    except FileNotFoundError:  # no such list on this system, or it ended in between
        return Path("/proc").exists() is False
    except ProcessLookupError:
        return False


def stat(folder):
    """Return state, parent and group of a process, and what else follows its name."""
    return (folder / "stat").read_text().rpartition(")")[2].split()


def listed(field, value):
    """Return the processes of which a field of stat has this value, but those that have ended."""
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
    """Return the processes that a process has started itself."""
    return listed(1, pid)
