"""Parallel map: the order of the results, one line for a dead process, and exit with the parent process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance import ConformanceError
from conformance.system.parallel import CHUNK_SIZE, map_parallel
from tests import ROOT

ITEMS = list(range(200))


def square(number):
    return number * number


def process_id(_number):
    return os.getpid()


def die(number):
    if number == 150:
        os._exit(3)
    return number


def test_results_are_in_order():
    assert list(map_parallel(square, ITEMS, 2)) == list(map_parallel(square, ITEMS, 1)) == list(map(square, ITEMS))


def test_items_are_processed_in_other_processes():
    assert os.getpid() not in set(map_parallel(process_id, ITEMS, 2))
    assert set(map_parallel(process_id, ITEMS, 1)) == {os.getpid()}


def test_few_items_are_processed_in_this_process():
    assert set(map_parallel(process_id, ITEMS[:20], 2)) == {os.getpid()}


def test_dead_process_is_a_one_line_error():
    with pytest.raises(ConformanceError, match="a process of the check died"):
        list(map_parallel(die, ITEMS, 2))


def print_pid_and_sleep(number):
    if number % CHUNK_SIZE == 0:
        print(os.getpid(), flush=True)
    time.sleep(60)


def is_alive(process):
    try:
        # A zombie process has ended, but its parent did not wait for it.
        return Path(f"/proc/{process}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_processes_exit_if_the_parent_is_killed():
    text = (
        "if __name__ == '__main__':\n from tests.conformance.system import test_parallel as t\n"
        " list(t.map_parallel(t.print_pid_and_sleep, t.ITEMS, 2))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(map(is_alive, workers))
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, workers))
