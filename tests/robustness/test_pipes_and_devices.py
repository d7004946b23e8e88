"""Pipes and devices in place of files: a command reports them in one line and never waits for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reports.results.reader import MAX_RECORD_BYTES
from tests.support.fake_backends import family

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 120
CASE = "id: a, x: {values: arange, shape: [1, 1, 4, 4]}, window: 2"
RESULTS = Path("build/conformance/results/numpy.jsonl")


def command(folder, *arguments):
    """Return the exit status and the lines on standard error of a command."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "conformance.cli", *arguments],
        check=False,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    return done.returncode, done.stderr.splitlines()


def pipe(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def full_device(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/dev/full")


SPECIAL_FILES = pytest.mark.parametrize("special", [pipe, full_device])


@pytest.fixture
def run(tmp_path):
    cases = family(tmp_path, CASE)
    return lambda *further: command(
        tmp_path, "run", "--backend", "numpy", "--cases", str(cases), "--quiet", "--jobs", "1", *further
    )


@SPECIAL_FILES
@pytest.mark.parametrize("further", [(), ("--resume",)], ids=["new", "resume"])
def test_results_file_is_reported(tmp_path, run, special, further):
    special(tmp_path / RESULTS)
    status, lines = run("--no-cache", *further)
    assert (status, len(lines)) == (2, 1)
    assert f"{RESULTS}: " in lines[0]
    assert lines[0].endswith("not a regular file")


@SPECIAL_FILES
@pytest.mark.parametrize(
    "arguments",
    [("report",), ("rejudge",), ("merge", "--out", "merged.jsonl"), ("diff", "{path}"), ("store", "--out", "store")],
)
def test_results_file_that_is_read_is_reported(tmp_path, special, arguments):
    special(tmp_path / "numpy.jsonl")
    name, *options = (one.format(path="numpy.jsonl") for one in arguments)
    status, lines = command(tmp_path, name, "numpy.jsonl", *options)
    assert (status, len(lines)) == (2, 1), lines
    assert "not a regular file" in lines[0]


@pytest.mark.parametrize("arguments", [("report",), ("rejudge",), ("merge", "--out", "merged.jsonl"), ("verified",)])
def test_results_file_with_an_endless_line_is_reported(tmp_path, arguments):
    with (tmp_path / "numpy.jsonl").open("wb") as file:
        file.truncate(1 << 40)
    name, *options = arguments
    status, lines = command(tmp_path, name, "numpy.jsonl", *options)
    assert (status, len(lines)) == (2, 1), lines
    assert lines[0].endswith(f"a line is longer than {MAX_RECORD_BYTES:,} bytes")


@SPECIAL_FILES
def test_case_file_is_reported(tmp_path, special):
    special(tmp_path / "cases.yaml")
    status, lines = command(tmp_path, "list", "--cases", "cases.yaml")
    assert (status, lines) == (2, ["conformance: cases.yaml: not a regular file"])


@SPECIAL_FILES
def test_key_file_is_reported_and_no_cache_is_used(tmp_path, run, special):
    key = tmp_path / "config/nn-conformance/cache.key"
    special(key)
    status, lines = run()
    assert (status, lines) == (0, [f"conformance: no cache is used: {key} is not a regular file"])


@SPECIAL_FILES
@pytest.mark.parametrize("end", ["", "-journal", "-wal"])
def test_cache_file_is_reported_and_not_used(tmp_path, special, end):
    special(tmp_path / f"version.sqlite{end}")
    if end:
        (tmp_path / "version.sqlite").touch()
    tmp_path.chmod(0o700)
    text = f"""
from pathlib import Path
from conformance.system.cache import Cache
with Cache(Path({str(tmp_path / "version.sqlite")!r}), 3) as files:
    files.put("key", b"value")
    files.save()
    print(files.get("key"))
"""
    done = subprocess.run(
        [sys.executable, "-c", text],
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(tmp_path / "config")},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.stdout == "None\n"
    assert done.stderr.endswith(f"is not used: version.sqlite{end} is not a regular file\n")


def test_pipe_that_no_process_reads_is_reported(tmp_path, run):
    assert run("--no-cache")[0] == 0
    pipe(tmp_path / "report.html")
    status, lines = command(tmp_path, "report", str(RESULTS), "--format", "html", "--out", "report.html")
    assert (status, len(lines)) == (2, 1)
    assert "report.html" in lines[0]


def test_partial_file_that_is_a_pipe_is_replaced(tmp_path, run):
    assert run("--no-cache")[0] == 0
    pipe(tmp_path / ".report.html.part")
    assert command(tmp_path, "report", str(RESULTS), "--format", "html", "--out", "report.html")[0] == 0
    assert (tmp_path / "report.html").is_file()


def test_pipe_in_place_of_verified_counts_is_one_line(tmp_path):
    pipe(tmp_path / "pipe.json")
    found = command(tmp_path, "translate", "avg_pool", "--window", "2", "--verified", "pipe.json")
    assert found == (2, ["conformance: pipe.json: not a regular file"])


def test_pipe_in_place_of_reported_differences_is_one_line(tmp_path, run):
    assert run()[0] == 0
    pipe(tmp_path / "seen.json")
    status, lines = command(tmp_path, "watch", "build/conformance", "--against", ".")
    assert (status, len(lines)) == (2, 1), lines


@pytest.mark.parametrize("name", ["a" * 300 + ".yaml", "a" * 300 + ".jsonl", "loop"])
@pytest.mark.parametrize("arguments", [("check",), ("report",)])
def test_path_that_the_system_refuses_is_one_line(tmp_path, arguments, name):
    (tmp_path / "loop").symlink_to("loop")
    status, lines = command(tmp_path, *arguments, name)
    assert (status, len(lines)) == (2, 1), lines


def test_folder_of_results_without_a_file_is_one_line(tmp_path):
    (tmp_path / "empty.parquet").mkdir()
    status, lines = command(tmp_path, "report", "empty.parquet", "--format", "terminal")
    assert status == 2
    assert lines == ["conformance: empty.parquet: a folder without .parquet files"]
