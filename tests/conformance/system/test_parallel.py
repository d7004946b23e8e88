"""Many things at once: the same answers, in order; and what goes wrong is one line."""

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

THINGS = list(range(200))


def square(number):
    return number * number


def where(_number):
    return os.getpid()


def die(number):
    if number == 150:
        os._exit(3)
    return number


def test_answers_are_in_order_whoever_gives_them():
    assert list(map_parallel(square, THINGS, 2)) == list(map_parallel(square, THINGS, 1)) == list(map(square, THINGS))


def test_other_processes_do_the_work():
    assert os.getpid() not in set(map_parallel(where, THINGS, 2))
    assert set(map_parallel(where, THINGS, 1)) == {os.getpid()}


def test_few_things_are_not_worth_a_process():
    assert set(map_parallel(where, THINGS[:20], 2)) == {os.getpid()}


def test_process_that_dies_is_one_line():
    with pytest.raises(ConformanceError, match="a process of the check died"):
        list(map_parallel(die, THINGS, 2))


def tell_and_sleep(number):
    if number % CHUNK_SIZE == 0:
        print(os.getpid(), flush=True)
    time.sleep(60)


def alive(process):
    try:
        # A zombie is dead; its first parent can no longer ask after it.
        return Path(f"/proc/{process}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_processes_go_when_the_one_that_started_them_is_killed():
    text = "if __name__ == '__main__':\n from tests.conformance.system import test_parallel as t\n list(t.each(t.tell_and_sleep, t.THINGS, 2))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(map(alive, workers))
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))
