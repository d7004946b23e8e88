"""Programs that change what processes share: sockets, locks, open files, priorities and the parents of processes."""

import contextlib
import json
import socket
import sys
import time
from pathlib import Path

import pytest

from conformance.adapters.api import Surface
from conformance.execution.job import Job, Limits
from conformance.execution.lone_worker import LoneWorker
from conformance.execution.options import RunOptions
from conformance.execution.run import Run
from conformance.judging.ledger import Ledger
from tests.support.fake_backends import SETUP, backend, load, program, right_maximum
from tests.support.hostile_package.conformance_hostile.resources import CHAIN, IMMUTABLE_FILE, SOCKETS_IN_QUEUES
from tests.support.started_workers import PYTHON, X, gone, outcomes, soon, started

CASES = tuple(
    f"id: {name}, x: {{values: arange, shape: [1, 1, 4, 4]}}, window: 2, stride: {stride}"
    for stride, name in enumerate("dabc", 1)
)
NEWLINE, INDENTED = "\n", "\n    "
KEEPS = "sys.modules['os'].kept_by_the_first = "
NONBLOCKING = "os.set_blocking(2, False)"
FLOOD = "assert os.write(2, b'e' * 3_000_000) == 3_000_000"
LEAVES = """\
import subprocess
open({note!r}, 'a').write(f"{{subprocess.Popen(['sleep', '100'], start_new_session=True, env={{}}).pid}}\\n")
"""
RESOURCES = {
    "port": "port = socket.socket()\nport.bind(('127.0.0.1', {port}))",
    "abstract socket": "port = socket.socket(socket.AF_UNIX)\nport.bind(chr(0) + {path!r})",
    "lock": "port = open({path!r}, 'w')\nfcntl.flock(port, fcntl.LOCK_EX | fcntl.LOCK_NB)",
    "lock of a process": "port = open({path!r}, 'w')\nfcntl.lockf(port, fcntl.LOCK_EX | fcntl.LOCK_NB)",
}


@pytest.fixture
def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def results(tmp_path, first, others, jobs=1, **texts):
    """Return the results of a run: the program of case a has the first lines, and those of b, c and d the others."""

    def lowering(step):
        return (*right_maximum(step), *(first if step.stride[0] == 2 else others).splitlines())

    path = tmp_path / "fake.jsonl"
    options = RunOptions(limits=Limits(case_seconds=3), jobs=jobs)
    backend_ = backend(Surface("s", {"max_pool": lowering}), **texts)
    Run(backend_, load(tmp_path, *CASES[1:], CASES[0]), Ledger(), options, python=sys.executable).execute(path)
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return {r["case"].partition("/")[2]: r for r in records if r["record"] == "result"}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("resource", RESOURCES.values(), ids=RESOURCES)
@pytest.mark.parametrize("owner", ["process", "child", "daemon"])
def test_resource_that_an_earlier_program_owns_changes_no_status(tmp_path, free_port, resource, jobs, owner):
    text = "import fcntl, socket\n" + resource.format(port=free_port, path=str(tmp_path / "lock"))
    # A child acquires the resource itself, because locks of a process are not inherited.
    owns = f"{text}\n{KEEPS}port"
    if owner != "process":
        keeps = f"{text}\ntime.sleep(60)\nos._exit(0)".replace(NEWLINE, INDENTED)
        start = "os.setsid()\n    if os.fork():\n        os._exit(0)\n    " if owner == "daemon" else ""
        owns = f"if os.fork() == 0:\n    {start}{keeps}\ntime.sleep(0.3)"
    # Two programs that need the same port at the same time would disturb each other.
    needs = f"if jobs == 1 or x.shape == (1, 1, 3, 3):\n    {text.replace(NEWLINE, INDENTED)}\n    port.close()"
    found = results(tmp_path, owns, needs, jobs, setup=f"{SETUP}jobs = {jobs}\n")
    assert {name: record["status"] for name, record in found.items()} == dict.fromkeys("abcd", "pass")


def test_port_of_a_socket_in_the_queue_of_a_closed_socket_is_free_for_a_program_alone(tmp_path, free_port):
    needs = f"import socket\nwith socket.socket() as port:\n    port.bind(('127.0.0.1', {free_port}))"
    found = results(tmp_path, SOCKETS_IN_QUEUES.format(port=free_port), needs)
    assert {name: record["status"] for name, record in found.items()} == dict.fromkeys("abcd", "pass")


IMPORTS = "import ctypes, threading\n"


@pytest.mark.parametrize("microseconds", [0, 50, 1000, 20_000])
@pytest.mark.parametrize("alone", [False, True])
def test_chain_of_processes_that_fork_and_exit_ends_with_its_worker(microseconds, alone):
    name = f"chain{microseconds}{alone}"
    rename = f"ctypes.CDLL(None).prctl(15, {name!r}.encode(), 0, 0, 0)\n"  # PR_SET_NAME, which a child inherits
    text = IMPORTS + rename + CHAIN.format(seconds=60, microseconds=microseconds) + "\ntime.sleep(0.3)"
    start = time.monotonic()
    if alone:
        worker = LoneWorker(backend(), PYTHON, Limits(case_seconds=20))
        try:
            assert [one.kind for one in worker.run_alone(Job(program(text), (X,)), 2)] == ["returned"] * 2
            assert worker.has_forks
            assert soon(lambda: len(processes_named(name)) == 0, 1)
        finally:
            worker.kill()
    else:
        with started(20) as worker:
            (found,) = worker.outcomes([Job(program(text), (X,))])
        assert found.kind == "returned"
    for _ in range(20):
        assert not processes_named(name)
        time.sleep(0.002)
    assert time.monotonic() - start < 40


def processes_named(name):
    """Return the processes with this name."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "comm").read_text().strip() == name:
                found.append(int(folder.name))
    return found


def test_immutable_file_does_not_remain(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert [one.kind for one in outcomes(IMMUTABLE_FILE, IMMUTABLE_FILE + "\nos._exit(3)")] == ["returned", "crashed"]
    assert list(tmp_path.iterdir()) == []


def test_worker_is_replaced_after_a_program_with_another_result_alone(tmp_path):
    damage = "import builtins\nbuiltins.mark = 1"
    found = results(tmp_path, damage, "import builtins\nx = x + hasattr(builtins, 'mark')")
    assert {record["status"] for record in found.values()} == {"pass"}
    assert [name for name, record in found.items() if "after_others" in record] == ["b"]


SHARED = {
    "file": ("open({path!r}, 'rb', 0)", "shared.read(1)", "shared.tell() == 0"),
    "contents of a file": (
        "tempfile.TemporaryFile(buffering=0)",
        "shared.write(b'abc')",
        "os.fstat(shared.fileno()).st_size == 0",
    ),
    "pipe": ("os.pipe()", "os.write(shared[1], b'a')", "not select.select(shared[:1], [], [], 0)[0]"),
    "socket": ("socket.socketpair()", "shared[0].send(b'a')", "not select.select(shared[1:], [], [], 0)[0]"),
    "memory": ("mmap.mmap(-1, 4096)", "shared.write(b'a')", "shared.find(b'a') < 0"),
    "temporary file": (
        "(path := tempfile.mkstemp(), os.close(path[0]))[0][1]",
        "open(shared, 'w').write('a')",
        "os.path.getsize(shared) == 0",
    ),
}


@pytest.mark.parametrize(("opened", "change", "is_unchanged"), SHARED.values(), ids=SHARED)
@pytest.mark.parametrize("end", ["", "\nos._exit(1)"])
def test_what_the_setup_has_opened_is_the_same_for_each_program_alone(opened, change, is_unchanged, end):
    setup = f"{SETUP}import mmap, select, socket, tempfile\nshared = {opened.format(path=__file__)}\n"
    worker = LoneWorker(backend(setup=setup), PYTHON, Limits(case_seconds=5))
    check = f"assert {is_unchanged}"
    try:
        found = [worker.run_alone(Job(program(body), (X,)))[0] for body in (f"{check}\n{change}{end}", check, check)]
    finally:
        worker.kill()
    assert [one.kind for one in found] == ["crashed" if end else "returned", "returned", "returned"]


def test_process_that_shares_no_file_with_its_forks_has_forks():
    for further, forks in (("", True), ("null = open(os.devnull)", True), ("pipe = os.pipe()", False)):
        worker = LoneWorker(backend(setup=f"{SETUP}{further}\n"), PYTHON, Limits(case_seconds=5))
        try:
            assert worker.run_alone(Job(program("pass"), (X,)))[0].kind == "returned"
            assert worker.has_forks == forks, further
        finally:
            worker.kill()


CHANGES = pytest.mark.parametrize(
    ("change", "check"),
    [
        (NONBLOCKING, FLOOD),
        ("os.set_blocking(1, False)", FLOOD),
        ("os.set_blocking(200, False)", FLOOD),
        (NONBLOCKING, "assert os.get_blocking(2)"),
        ("os.setpriority(os.PRIO_PGRP, 0, 15)", "assert os.getpriority(os.PRIO_PROCESS, 0) == usual"),
    ],
)
USUAL = f"{SETUP}usual = os.getpriority(os.PRIO_PROCESS, 0)\n"


@CHANGES
def test_flags_of_errors_and_priority_of_a_group_are_restored(change, check):
    assert [one.kind for one in outcomes(change, check, setup=USUAL)] == ["returned", "returned"]


@CHANGES
@pytest.mark.parametrize("end", ["", "\nos._exit(1)"])
def test_flags_of_errors_and_priority_of_a_group_are_those_of_one_fork(change, check, end):
    worker = LoneWorker(backend(setup=USUAL), PYTHON, Limits(case_seconds=5))
    try:
        found = [worker.run_alone(Job(program(body), (X,)))[0] for body in (change + end, check)]
        assert worker.has_forks
    finally:
        worker.kill()
    assert [one.kind for one in found] == ["crashed" if end else "returned", "returned"]


@pytest.mark.parametrize(
    "end",
    [
        "os.kill(os.getppid(), 9)\ntime.sleep(60)",
        "os.killpg(0, 9)",
        "os.killpg(os.getsid(0), 9)",
        "os.kill(os.getppid(), signal.SIGSTOP)\nos._exit(3)",
        "os.killpg(os.getppid(), signal.SIGSTOP)",
    ],
)
def test_child_in_another_session_ends_although_its_program_kills_or_stops_its_parents(tmp_path, end):
    note, start = tmp_path / "note", time.monotonic()
    outcomes(LEAVES.format(note=str(note)) + end, limit=3)
    assert all(gone(int(line)) for line in note.read_text().split())
    assert time.monotonic() - start < 60


REMOVES_THE_FOLDER = "import shutil, tempfile\nshutil.rmtree(os.path.dirname(tempfile.gettempdir()))\nos.abort()"


def test_program_that_removes_the_folder_of_temporary_files_costs_one_case(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    found = results(tmp_path, REMOVES_THE_FOLDER, "")
    assert found["a"]["status"] == "crashed"
    assert {found[name]["status"] for name in "bcd"} == {"pass"}


DAMAGES_BYTECODE = """\
from importlib.machinery import SourceFileLoader
compile_source = SourceFileLoader.source_to_code
SourceFileLoader.source_to_code = lambda loader, data, path, **options: compile_source(
    loader, data.replace(b'41', b'42'), path, **options
)
import imported_late"""
NEEDS_MODULE = "import imported_late\nassert imported_late.NUMBER == 41"


def test_bytecode_that_a_program_writes_reaches_no_other_process(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "imported_late.py").write_text("NUMBER = 41\n", "utf-8")
    setup = f"{SETUP}sys.path.insert(0, {str(modules)!r})\n"
    found = results(tmp_path, DAMAGES_BYTECODE, NEEDS_MODULE, setup=setup)
    assert {found[name]["status"] for name in "bcd"} == {"pass"}
    assert not (modules / "__pycache__").exists()
