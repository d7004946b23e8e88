"""Memory and descendants of processes, and killing them."""

import os
import subprocess
import sys

import pytest

from conformance.system import processes

pytestmark = pytest.mark.skipif(not processes.PROC_FOLDER.is_dir(), reason="no /proc")
# Starts a child and a grandchild that prints a line. Each waits for its child.
PARENT = """
import os, time
for _ in range(2):
    if child := os.fork():
        os.waitpid(child, 0)
        os._exit(0)
print('ready', flush=True)
time.sleep(600)
"""


@pytest.fixture
def parent():
    environment = {**os.environ, processes.WORKER_VARIABLE: "of-this-test"}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


def test_child_of_a_process_is_found_and_killed(parent):
    child, grandchild = processes.descendant_pids(parent.pid)
    assert processes.child_pids(parent.pid) == [child]
    assert processes.worker_pid(parent.pid) == grandchild
    assert processes.kill_below(parent.pid)
    assert parent.wait() == 0
    assert not processes.kill_below(parent.pid)


def test_processes_of_a_group_are_killed(parent):
    processes.kill_group(parent.pid, "of-this-test")
    assert parent.wait() != 0


def test_memory_of_a_process_is_positive_and_that_of_a_missing_one_is_0():
    assert 0 < processes.resident_bytes(os.getpid()) < processes.machine_memory_bytes()
    assert processes.resident_bytes(2**22 + 1) == 0
    assert processes.worker_pid(2**22 + 1) == 0
