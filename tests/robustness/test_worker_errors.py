"""Programs that damage their process: each costs one case, does not affect the next one, and leaves no process."""

import time

import numpy as np
import pytest

from conformance.execution.connection import Connection
from conformance.execution.job import Job, Limits, WorkerFailed
from conformance.execution.worker_process import Worker
from conformance.judging.repeats import SAME_IN_NEW_PROCESS
from tests.support.fake_backends import backend, program
from tests.support.started_workers import PYTHON, X, gone, outcomes, running, soon, started

MB = 1_000_000
HOLDS_THE_LOCK = "import ctypes\nctypes.PyDLL(None).sleep(60)"
EATS = "eaten = []\nwhile True:\n    eaten.append(np.ones(500_000))"
LEAKS = (
    "np.leak = getattr(np, 'leak', []) + [np.ones(1_250_000)]\ntime.sleep(0.02)\nx = np.full((1, 1, 1), os.getpid())"
)
FORKS = "child = os.fork()\nif child == 0:\n    time.sleep(100)\nopen({note!r}, 'a').write(f'{{child}}\\n')\n"
SPAWNS = "import subprocess\nopen({note!r}, 'a').write(f\"{{subprocess.Popen(['sleep', '100']{how}).pid}}\\n\")"
LEAVES = SPAWNS.replace("{how}", ", start_new_session=True, env={{}}")
ORPHANS = """\
if os.fork() == 0:
    child = os.fork()
    if child == 0:
        os.setsid()
        os.execve('/bin/sleep', ['sleep', '100'], {{}})
    open({note!r}, 'a').write(f'{{child}}\\n')
    os._exit(0)
os.wait()
"""
TWO = [
    ("os.chdir('/')", "os.getcwd()"),
    ("import tempfile\nos.chdir(tempfile.mkdtemp())\nos.rmdir(os.getcwd())", "os.getcwd()"),
    ("os.environ['LEFT'] = '1'", "os.environ.get('LEFT')"),
    ("os.environ.pop('PATH', None)", "os.environ.get('PATH')"),
    ("os.environ.clear()", "sorted(os.environ)"),
    ("np.seterr(all='raise')", "np.geterr()"),
    ("np.random.seed(7)", "np.random.random_sample(3).tolist()"),
    ("np.random.normal()", "np.random.random_sample(3).tolist()"),
    ("import random\nrandom.seed(7)", "__import__('random').random()"),
    ("import random\nrandom.gauss(0, 1)", "__import__('random').gauss(0, 1)"),
    ("import warnings\nwarnings.simplefilter('error')", "__import__('warnings').filters[0]"),
    ("sys.setrecursionlimit(400)", "sys.getrecursionlimit()"),
    ("x[:] = 9", "x.tolist()"),
    ("sys.path.append('/left')", "sys.path"),
    ("import resource\nresource.setrlimit(7, (50, resource.getrlimit(7)[1]))", "__import__('resource').getrlimit(7)"),
    ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "signal.getsignal(signal.SIGTERM)"),
    ("signal.pthread_sigmask(signal.SIG_BLOCK, [10])", "signal.pthread_sigmask(signal.SIG_BLOCK, [])"),
    ("import tempfile\ntempfile.tempdir = '/left'", "getattr(sys.modules.get('tempfile'), 'tempdir', None)"),
    ("os.umask(0o123)", "[old := os.umask(0), os.umask(old)][0]"),
    ("np.asarray = None", "np.asarray is None"),
    ("import builtins\nbuiltins.sorted = None", "sorted is None"),
    ("sys.setprofile(lambda *_: None)", "sys.getprofile() is None"),
]


@pytest.mark.parametrize(("change", "seen"), TWO, ids=[change.split("\n")[-1] for change, _ in TWO])
def test_process_state_is_restored_after_each_program(change, seen):
    show = f"raise ValueError(repr({seen}))"
    texts = (show, f"{change}\ntry:\n    what = repr({seen})\nexcept OSError:\n    what = None\nraise ValueError(what)")
    before, changed, after, last = (one.message for one in outcomes(*texts, show, show))
    assert changed != before
    assert before == after == last


def test_timer_of_a_program_is_cancelled():
    sets, waits = "signal.setitimer(signal.ITIMER_REAL, 0.3)", "time.sleep(0.8)"
    assert [one.kind for one in outcomes(sets, waits)] == ["returned", "returned"]


def test_hang_in_native_code_with_the_interpreter_lock_costs_one_case():
    start = time.monotonic()
    found = outcomes("x = x + 1", HOLDS_THE_LOCK, "x = x + 2", limit=1)
    assert [one.kind for one in found] == ["returned", "timed_out", "returned"]
    assert time.monotonic() - start < 30


def test_program_that_exhausts_memory_is_killed_at_the_limit():
    found = outcomes("x = x + 1", EATS, "x = x + 2", memory=400 * MB, limit=60)
    assert [one.kind for one in found] == ["returned", "crashed", "returned"]
    assert "the limit is 0.40 GB" in found[1].message
    assert found[1].message.endswith(SAME_IN_NEW_PROCESS)


def test_memory_limit_of_zero_is_no_limit():
    (found,) = outcomes("eaten = np.ones(60_000_000)\ntime.sleep(0.5)", memory=0)
    assert found.kind == "returned"


def test_growing_worker_is_replaced_before_the_limit():
    found = outcomes(*[LEAKS] * 90, memory=500 * MB)
    assert {one.kind for one in found} == {"returned"}
    assert len({int(one.arrays[0].item()) for one in found}) > 1


def test_worker_of_constant_size_is_not_replaced():
    found = outcomes(*["time.sleep(0.02)\nx = np.full((1, 1, 1), os.getpid())"] * 30, memory=500 * MB)
    assert len({int(one.arrays[0].item()) for one in found}) == 1


@pytest.mark.parametrize("end", ["os.abort()", "time.sleep(60)", "pass"])
def test_child_with_open_pipes_neither_hides_a_death_nor_survives(tmp_path, end):
    note, start = tmp_path / "note", time.monotonic()
    (found,) = outcomes(FORKS.format(note=str(note)) + end, limit=8 if "sleep" not in end else 2)
    assert found.kind == {"os.abort()": "crashed", "time.sleep(60)": "timed_out", "pass": "returned"}[end]
    assert time.monotonic() - start < 30
    assert all(gone(int(line)) for line in note.read_text().split())


@pytest.mark.parametrize("how", ["", ", start_new_session=True", ", start_new_session=True, cwd='/', stdin=-3"])
@pytest.mark.parametrize("end", ["", "\nos.abort()", "\ntime.sleep(60)"])
def test_children_in_other_sessions_end_with_the_worker(tmp_path, how, end):
    note = tmp_path / "note"
    outcomes(SPAWNS.format(note=str(note), how=how) + end, limit=2)
    pids = [int(line) for line in note.read_text().split()]
    assert len(pids) == (2 if end else 1)
    assert all(gone(pid) for pid in pids)


@pytest.mark.parametrize("end", ["", "\ntime.sleep(60)", "\nos.abort()", "\nos._exit(0)", "\nos.kill(os.getpid(), 9)"])
@pytest.mark.parametrize("child", [LEAVES, ORPHANS])
def test_child_without_group_or_environment_ends_with_its_worker(tmp_path, child, end):
    note = tmp_path / "note"
    outcomes(child.format(note=str(note)) + end, limit=2)
    pids = [int(line) for line in note.read_text().split()]
    assert len(pids) == (2 if end else 1)
    assert all(gone(pid) for pid in pids)


@pytest.mark.parametrize("child", [LEAVES, ORPHANS])
def test_child_without_group_or_environment_ends_when_the_pipe_is_closed(tmp_path, child):
    note = tmp_path / "note"
    link = Connection(PYTHON, 0)
    link.send({"threads": "", "setup": backend().setup, "reset": "", "packages": [], "trusted": False})
    link.send({"program": "p", "text": program(child.format(note=str(note)) + "\ntime.sleep(60)").text}, [X])
    assert soon(lambda: note.exists() and note.read_text())
    link._outbox.put(None)
    assert gone(int(note.read_text()))
    assert link.process.wait(20) == -9


def test_parent_of_the_worker_is_not_the_suite():
    (found,) = outcomes("os.kill(os.getppid(), 9)\ntime.sleep(60)")
    assert (found.kind, found.message.partition(";")[0]) == ("crashed", "signal 9 (Killed)")


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        ("os._exit(7)", "the process exited with status 7"),
        ("os.abort()", "signal 6 (Aborted)"),
        ("os.kill(os.getpid(), 11)", "signal 11 (Segmentation fault)"),
        ("os.kill(os.getpid(), 9)", "signal 9 (Killed)"),
    ],
)
def test_supervisor_exits_with_the_status_of_its_worker(end, cause):
    (found,) = outcomes(end)
    assert found.message.startswith(cause)


def test_running_thread_of_a_program_does_not_delay_the_exit():
    start = time.monotonic()
    (found,) = outcomes("import threading\nthreading.Thread(target=time.sleep, args=(100,)).start()")
    assert found.kind == "returned"
    assert time.monotonic() - start < 20


@pytest.mark.parametrize(
    "body",
    [
        "sys.stderr.write('e' * 10_000_000)",
        "sys.stdout.write('o' * 10_000_000)",
        "os.close(1)",
        "sys.stdout.close()",
        "sys.stderr.close()",
        "os.close(0)",
    ],
)
def test_closed_or_flooded_streams_are_restored(body):
    assert [one.kind for one in outcomes(body, "print('again')")] == ["returned", "returned"]


def test_result_above_the_size_limit_is_not_sent():
    (found,) = outcomes("x = np.broadcast_to(x[0, 0, 0], (1 << 20, 1 << 20))")
    assert (found.kind, found.arrays) == ("returned", ())
    assert "more than the limit of" in found.message


@pytest.mark.parametrize("setup", ["import time; time.sleep(60)", "while True: pass"])
def test_hanging_import_is_reported_with_its_limit(setup):
    worker = Worker(
        backend(setup=f"import sys\nprint('loading the kernels', file=sys.stderr)\n{setup}"),
        PYTHON,
        Limits(start_seconds=2),
    )
    with pytest.raises(WorkerFailed, match=r"no answer within 2 s; --start-timeout .*last output: loading the kernels"):
        worker.start()


def test_import_may_take_longer_than_the_case_limit():
    (found,) = outcomes("x = x + 1", setup="import os, time\nimport numpy as np\ntime.sleep(2)", limit=1.5)
    assert found.kind == "returned"


def test_interpreter_without_numpy_is_reported_with_the_requirements(tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {PYTHON} -I -S "$@"\n')
    python.chmod(0o755)
    with pytest.raises(WorkerFailed, match=r"No module named 'numpy'.*needs Python 3.8 or newer, and NumPy"):
        Worker(backend(), str(python)).start()


@pytest.mark.parametrize("busy", ["pass", "time.sleep(100)", HOLDS_THE_LOCK, SPAWNS.format(note="/dev/null", how="")])
def test_worker_exits_when_the_suite_closes_the_pipe(busy):
    """Close the pipe without any other action, as happens when the suite is killed."""
    link = Connection(PYTHON, 0)
    link.send({"threads": "", "setup": backend().setup, "reset": "", "packages": [], "trusted": False})
    assert link.receive(30)[0]["ready"]
    link.send({"program": "p", "text": program(busy).text}, [X])
    time.sleep(0.5)
    assert running(link.process.pid)
    link._outbox.put(None)
    assert gone(link.process.pid)
    assert link.process.wait(1) in {0, -9}


def test_worker_killed_from_outside_costs_one_case(tmp_path):
    note = tmp_path / "note"
    waits = f"open({str(note)!r}, 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(1)\nx = x + 5"
    with started() as worker:
        running_on = worker.outcomes([Job(program(body), [X]) for body in ("x = x + 1", waits, "x = x + 2")])
        first = next(running_on)
        assert soon(note.exists)
        worker.connection.process.kill()
        killed, last = running_on
    assert (first.kind, killed.kind, last.kind) == ("returned", "returned", "returned")
    assert "signal 9 (Killed)" in killed.after_others
    assert np.array_equal(last.arrays[0], X + 2)
    assert all(gone(int(line)) for line in note.read_text().split())
