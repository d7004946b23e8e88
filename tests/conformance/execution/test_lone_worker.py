"""Workers that run each job alone: forks, new processes, their temporary folders and what programs leave."""

import contextlib

import numpy as np
import pytest

from conformance.execution.job import Job, Limits, WorkerLost
from conformance.execution.lone_worker import LoneWorker
from conformance.execution.worker_process import UNEXPECTED_FRAME_MESSAGE
from conformance.judging.verdict import ProgramOutcome
from reports.results import Outcome
from tests.support.fake_backends import backend, program
from tests.support.started_workers import PYTHON, X, gone, soon

COUNT = "import builtins\ncount = builtins.count = getattr(builtins, 'count', 0) + 1\nx = x * 0 + count"


@contextlib.contextmanager
def lone_worker(*, forks=True, **texts):
    worker = LoneWorker(backend(**texts), PYTHON, Limits(case_seconds=5, memory_bytes=200 << 20))
    if not forks:
        worker.refuse_forks()
    try:
        yield worker
    finally:
        worker.kill()


def run(worker, body, times=1):
    return worker.run_alone(Job(program(body), (X,)), times)


@pytest.mark.parametrize("forks", [True, False])
def test_no_program_sees_what_another_one_has_left(forks):
    with lone_worker(forks=forks) as worker:
        found = [run(worker, COUNT)[0] for _ in range(3)]
    assert [outcome.arrays[0].max() for outcome in found] == [1, 1, 1]
    assert all(outcome.alone for outcome in found)


@pytest.mark.parametrize("forks", [True, False])
def test_repeated_runs_share_a_process(forks):
    with lone_worker(forks=forks) as worker:
        assert [outcome.arrays[0].max() for outcome in run(worker, COUNT, 3)] == [1, 2, 3]


def test_lock_of_the_standard_input_ends_with_its_fork():
    lock = "import fcntl\nfcntl.flock({}, fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with lone_worker() as worker:
        run(worker, lock.format("0"))
        (found,) = run(worker, lock.format("open(os.devnull)"))
        assert worker.has_forks
    assert found.kind == "returned"


def test_crash_of_a_fork_has_the_message_of_a_crash_of_a_worker():
    with lone_worker() as worker:
        (killed,) = run(worker, "sys.stderr.write('last words')\nsys.stderr.flush()\nos.abort()")
        (left,) = run(worker, "os._exit(0)")
        assert worker.has_forks
    assert (killed.kind, killed.message) == ("crashed", "signal 6 (Aborted); last output: last words")
    assert (left.kind, left.message) == ("crashed", "the process exited with status 0")


def test_each_run_after_a_crash_has_a_new_fork():
    body = f"{COUNT}\nif count == 2:\n    os.abort()"
    with lone_worker() as worker:
        assert [outcome.kind for outcome in run(worker, body, 4)] == ["returned", "crashed"] * 2


def test_fork_that_hangs_times_out_and_its_worker_is_replaced(tmp_path):
    with lone_worker() as worker:
        (hung,) = run(worker, f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")
        (returned,) = run(worker, "pass")
    assert (hung.kind, returned.kind) == ("timed_out", "returned")
    assert soon(lambda: gone(int((tmp_path / "pid").read_text())))


def test_memory_of_a_fork_is_limited():
    with lone_worker() as worker:
        (outcome,) = run(worker, "eaten = [np.ones(1 << 20) for _ in range(1000)]\ntime.sleep(9)")
    assert outcome.kind == "crashed"
    assert "of memory" in outcome.message


def test_fork_has_its_own_temporary_folder_that_is_removed(tmp_path):
    body = f"import tempfile\nfolder = tempfile.mkdtemp()\nopen({str(tmp_path / 'name')!r}, 'w').write(folder)"
    names = []
    with lone_worker() as worker:
        for _ in range(2):
            run(worker, body)
            names.append((tmp_path / "name").read_text())
            run(worker, "pass")  # the folder is removed after the reply
            assert not (tmp_path / names[-1]).parent.exists()
    assert names[0].rpartition("/")[0] != names[1].rpartition("/")[0]


def test_process_that_a_program_leaves_ends_with_its_fork(tmp_path):
    leaves = "import subprocess\nchild = subprocess.Popen(['sleep', '100'], start_new_session=True)\n"
    with lone_worker() as worker:
        run(worker, f"{leaves}open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))")
        assert soon(lambda: gone(int((tmp_path / "pid").read_text())))


def test_framework_with_threads_gets_a_new_process_for_each_program():
    thread = "\nimport threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    with lone_worker(setup=backend().setup + thread) as worker:
        (outcome,) = run(worker, COUNT)
        assert not worker.has_forks
        assert np.array_equal(outcome.arrays[0], run(worker, COUNT)[0].arrays[0])


DAMAGE_TO_THE_PARENT = {
    "no descriptors": "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))",
    "no memory": "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_AS, (1, 1))",
    "killed": "os.kill(os.getppid(), 9)",
    "stopped": "import signal\nos.kill(os.getppid(), signal.SIGSTOP)",
    "other memory": "memory = os.open(f'/proc/{os.getppid()}/mem', os.O_RDWR)\n"
    "for line in open(f'/proc/{os.getppid()}/maps'):\n    if '[heap]' in line:\n"
    "        first, last = (int(place, 16) for place in line.split()[0].split('-'))\n"
    "        os.pwrite(memory, bytes(last - first), first)",
}


@pytest.mark.parametrize("body", DAMAGE_TO_THE_PARENT.values(), ids=DAMAGE_TO_THE_PARENT)
def test_damage_to_the_parent_of_a_program_affects_no_later_program(body):
    with lone_worker() as worker:
        run(worker, "pass")
        process = worker.connection.process.pid
        run(worker, body)
        found = [run(worker, COUNT)[0] for _ in range(2)]
        # A program whose parent dies may have two replies, and then the process is replaced.
        ends_parent = body in (DAMAGE_TO_THE_PARENT["killed"], DAMAGE_TO_THE_PARENT["other memory"])
        assert worker.connection.process.pid == process or ends_parent
    assert [outcome.arrays[0].max() for outcome in found] == [1, 1]


def test_reply_of_an_earlier_program_costs_no_later_program(monkeypatch):
    with lone_worker() as worker:
        run(worker, "pass")
        receive = worker._receive_reply
        replies = [unexpected(worker), unexpected(worker)]
        monkeypatch.setattr(worker, "_receive_reply", lambda *given: replies.pop()() if replies else receive(*given))
        (first,) = run(worker, COUNT)  # in a new process, it is the first program and has an unexpected reply again
        (second,) = run(worker, COUNT)
    assert (first.kind, second.kind) == ("crashed", "returned")


def unexpected(worker):
    def reply():
        worker._kill_current()
        return WorkerLost(ProgramOutcome(Outcome.CRASHED, message=UNEXPECTED_FRAME_MESSAGE))

    return reply
