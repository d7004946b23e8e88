"""Runs that are killed, interrupted or out of disk space: no process remains, and the file can be read and resumed."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.execution import results_file
from conformance.execution.results_file import ResultsFile
from reports.results import decode_line, reader
from tests import ROOT
from tests.support import example_results, interrupted_run, planted_bugs
from tests.support.fake_backends import family
from tests.support.nightly import only_nightly
from tests.support.started_workers import children, gone, listed, members, soon

HERE = Path(__file__).parent
TIMES = ("seconds", "started")
MANY = tuple(f"id: a{number}, x: {{values: arange, shape: [1, 1, {4 + number}]}}, window: 2" for number in range(900))


@contextmanager
def suite(*arguments, path=(), **keywords):
    """Start a Python process with the suite, and kill it at the end. path: further folders with modules."""
    path = os.pathsep.join(map(str, [*path, ROOT, *filter(None, sys.path)]))
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen([sys.executable, *map(str, arguments)], env=environment, text=True, **keywords) as process:
        try:
            yield process
        finally:
            process.kill()


def command(*arguments, **keywords):
    """Start the command line."""
    return suite("-m", "conformance.cli", *arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, **keywords)


def records(path):
    found = [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]
    return [{key: value for key, value in one.items() if key not in TIMES} for one in found]


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    interrupted_run.prepared(folder).execute(folder / "fake.jsonl")
    return records(folder / "fake.jsonl")


@only_nightly
def test_run_that_is_killed_repeatedly_is_resumed_to_the_same_results(tmp_path, uninterrupted):
    path, options, kills = tmp_path / "fake.jsonl", [], 0
    for step in range(40):
        with suite(ROOT / "tests" / "support" / "interrupted_run.py", tmp_path, *options) as process:
            before = lines(path)
            soon(lambda: lines(path) > before + 5 or process.poll() is not None, 60)  # noqa: B023 - called at once
            time.sleep(0.07 * (step % 7))
            if process.poll() is None:
                kills += 1
            process.send_signal(signal.SIGKILL)
        options = ["resume"] if path.exists() else []
        if process.returncode == 0:
            break
        assert not lines(path) or reader.load_report([path]).backends[0].name == "fake"
    assert kills > 2
    assert records(path) == uninterrupted
    assert all(gone(int(line)) for line in set((tmp_path / "pids").read_text().split()))


def test_workers_end_when_the_suite_is_killed_while_a_program_hangs(tmp_path):
    with suite(ROOT / "tests" / "support" / "interrupted_run.py", tmp_path) as process:
        assert soon(lambda: len(children(process.pid)) >= 2)
        workers = children(process.pid)
        time.sleep(1)
        process.send_signal(signal.SIGKILL)
    assert all(gone(worker) for worker in workers)


def interrupted(process, path, when, by=signal.SIGINT):
    """Send a signal when the file has `when` lines; return exit status, standard error and the workers."""
    assert soon(lambda: children(process.pid) and (lines(path) >= when), 120)
    workers = children(process.pid)
    process.send_signal(by)
    error_text = process.communicate(timeout=60)[1]
    return process.returncode, error_text, workers


@pytest.mark.parametrize(("when", "by"), [(0, signal.SIGINT), (40, signal.SIGINT), (40, signal.SIGTERM)])
def test_interrupt_leaves_no_worker_and_a_file_that_can_be_read(tmp_path, when, by):
    path, cases = tmp_path / "results" / "numpy.jsonl", family(tmp_path, *MANY)
    arguments = "--repeat", "50", "--jobs", "2", "--out", tmp_path
    with command("run", "--backend", "numpy", "--cases", cases, *arguments) as process:
        status, error_text, workers = interrupted(process, path, when, by)
    assert (status, error_text.strip()) == (130, "conformance: interrupted")
    assert workers
    assert all(gone(worker) for worker in workers)
    assert not when or not reader.load_report([path]).backends[0].complete


def test_interrupt_inside_exec_gives_the_same_status(tmp_path):
    # Dataclasses and named tuples are defined by exec; CPython ends a module by SIGINT after such an interrupt.
    (tmp_path / "interrupted_command.py").write_text(
        "from conformance import cli\ncli.cli.main = lambda **_: exec('raise KeyboardInterrupt')\ncli.main([])\n"
    )
    with suite("-m", "interrupted_command", stderr=subprocess.PIPE, cwd=tmp_path) as process:
        error_text = process.communicate(timeout=60)[1]
    assert (process.returncode, error_text.strip()) == (130, "conformance: interrupted")


def test_interrupt_while_a_backend_is_imported_leaves_no_worker(tmp_path):
    cases = str(family(tmp_path, *MANY[:3]))
    text = (
        "import sys; from tests.support.fake_backends import *\n"
        "from conformance import cli; from conformance.adapters import registry\n"
        "fake = backend(surface('numpy'), name='numpy', setup='import time; time.sleep(100)')\n"
        "registry.get_backend = lambda *_: fake\n"
        f"cli.main(['run', '--backend', 'numpy', '--jobs', '2', '--out', {str(tmp_path)!r}, '--cases', {cases!r}])"
    )
    start = time.monotonic()
    with suite("-c", text, stderr=subprocess.PIPE) as process:
        assert soon(lambda: len(children(process.pid)) == 2, 60)
        time.sleep(0.5)
        status, error_text, workers = interrupted(process, tmp_path / "none", 0)
    assert (status, error_text.strip()) == (130, "conformance: interrupted")
    assert all(gone(worker) for worker in workers)
    assert time.monotonic() - start < 90


@only_nightly
def test_terminated_exploration_writes_its_findings(tmp_path):
    path = tmp_path / "cases" / "planted" / "pooling" / "min_pool.yaml"
    arguments = ["explore", "--backend", "planted", "--surface", "planted.dilated-extent", "--operator", "min_pool"]
    # Small generations: the first findings are written at the end of one.
    text = (
        "from conformance import cli; from conformance.exploration import explorer\n"
        "explorer.CANDIDATES_PER_GENERATION = 40\n"
        f"cli.main({[*arguments, '--minutes', '60', '--jobs', '1', '--out', str(tmp_path)]})"
    )
    streams = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    with suite("-c", text, path=[planted_bugs.PACKAGE_FOLDER], **streams) as process:
        status, error_text, workers = interrupted(process, path, 1, signal.SIGTERM)
    assert (status, error_text.splitlines()[-1]) == (130, "conformance: interrupted")
    assert all(gone(worker) for worker in workers)
    (planted,) = reader.load_report([tmp_path / "results" / "planted.jsonl"], allow_mixed=True).explorations
    assert planted.header.explored.findings
    assert (tmp_path / "planted.md").exists()


def small_disk(size):
    """Let a process write no more than so many bytes into a file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_disk_that_is_full_in_the_middle_is_one_line_and_the_run_can_be_completed(tmp_path):
    arguments = "run", "--backend", "numpy", "--cases", family(tmp_path, *MANY[:100]), "--out", tmp_path
    path = tmp_path / "results" / "numpy.jsonl"
    with command(*arguments, preexec_fn=partial(small_disk, 60_000)) as process:
        error_text = process.communicate(timeout=120)[1]
    assert process.returncode == 3
    assert f"{path}: File too large; the run is incomplete" in error_text
    assert "Traceback" not in error_text
    assert path.stat().st_size == 60_000
    before = path.read_bytes().rpartition(b"\n")[0]
    with command(*arguments, "--resume") as process:
        assert process.communicate(timeout=120)[1] == ""
    assert process.returncode == 0
    assert path.read_bytes().startswith(before)
    assert reader.load_report([path]).backends[0].complete


def test_full_disk_is_one_error_line(monkeypatch):
    # A device is no results file, so its stream takes the place of the file.
    monkeypatch.setattr(results_file, "open_regular", lambda path, mode="rb": path.open(mode))
    with ResultsFile(Path("/dev/full")) as file, pytest.raises(IncompleteRun, match="/dev/full: No space left"):
        file.open(decode_line(json.dumps(example_results.header("numpy", [])).encode()))


def test_report_on_a_full_disk_does_not_change_the_previous_one(tmp_path):
    interrupted_run.prepared(tmp_path).execute(tmp_path / "fake.jsonl")
    page = tmp_path / "report.html"
    page.write_text("the last one", "utf-8")
    arguments = "report", tmp_path / "fake.jsonl", "--out", page
    with command(*arguments, preexec_fn=partial(small_disk, 1000)) as process:
        error_text = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert error_text.strip() == f"conformance: {page}: File too large"
    assert page.read_text("utf-8") == "the last one"
    assert sorted(one.name for one in tmp_path.glob("*report*")) == ["report.html"]


@only_nightly
def test_two_runs_do_not_write_the_same_file(tmp_path):
    path = tmp_path / "fake.jsonl"
    with suite(ROOT / "tests" / "support" / "interrupted_run.py", tmp_path) as process:
        assert soon(lambda: lines(path) > 3, 60)
        for resume in (False, True):
            with pytest.raises(ConformanceError, match="another run is writing it"):
                interrupted_run.prepared(tmp_path).execute(path, resume=resume)
        assert process.wait(120) == 0
    assert reader.load_report([path]).backends[0].complete
    assert not [child for child in children(os.getpid()) if members(child)]
    assert listed(1, process.pid) == []


def cut_up(path, change):
    """Change the lines of a file; return its new content."""
    found = path.read_bytes().splitlines(keepends=True)
    change(found)
    path.write_bytes(b"".join(found))
    return path.read_bytes()


def replaced(old, new):
    def change(found):
        found[0] = found[0].replace(old, new)
        assert new in found[0]

    return change


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (lambda found: found.insert(3, found[2]), 4, "declared twice"),
        (lambda found: found.append(found[-1]), -1, "the record 'footer' follows the footer"),
        (lambda found: found.insert(4, found[0]), 5, "a second header"),
        (lambda found: found.pop(0), 1, "missing header: the first record is 'case'"),
        (lambda found: found.pop(1), 3, "the case 'max_pool/a0' was never declared"),
        (lambda found: found.insert(3, found[3][:40] + found[4]), 4, "not JSON: "),
        (lambda found: found.insert(2, b'{"record": "\xff"}\n'), 3, "not UTF-8 at byte 12"),
        (lambda found: found.insert(2, b"\n"), 3, "not JSON: "),
        (replaced(b'"format": 1', b'"format": 2'), 1, "format: unknown value 2, this version reads 1"),
        (replaced(b'"digest": "', b'"digest": "0'), 1, "catalogue differs from this run"),
        (replaced(b'"backend": "fake"', b'"backend": "lake"'), 1, "backend differs from this run"),
        (replaced(b'"level": "smoke"', b'"level": "standard"'), 1, "level differs from this run"),
    ],
)
def test_invalid_file_is_rejected_with_its_line_and_not_changed(finished, change, line, message):
    content = cut_up(finished, change)
    line = line if line > 0 else content.count(b"\n")
    with pytest.raises(ConformanceError) as error:
        interrupted_run.prepared(finished.parent).execute(finished, resume=True)
    assert str(error.value).startswith(f"{finished}:{line}: cannot resume, ")
    assert message in str(error.value)
    assert finished.read_bytes() == content


@pytest.fixture
def finished(tmp_path, uninterrupted_bytes):
    """A complete results file for the tests to damage."""
    path = tmp_path / "fake.jsonl"
    path.write_bytes(uninterrupted_bytes)
    return path


@pytest.fixture(scope="module")
def uninterrupted_bytes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    interrupted_run.prepared(folder).execute(folder / "fake.jsonl")
    return (folder / "fake.jsonl").read_bytes()


def test_complete_last_line_without_a_newline_is_read(finished):
    content = finished.read_bytes()
    finished.write_bytes(content[:-1])
    interrupted_run.prepared(finished.parent).execute(finished, resume=True)
    assert finished.read_bytes() == content
