"""Progress of a run on a terminal, in a pipe, and with --quiet and --verbose."""

import io

import pytest
from msgspec.structs import replace
from rich.console import Console

from conformance.adapters import registry
from conformance.cli import progress
from conformance.cli.options import Verbosity
from conformance.cli.progress import (
    RunProgress,
    duration_text,
    phase_progress,
    progress_bar,
    progress_text,
    reading_progress,
)
from reports.results import DifferenceKind, Outcome, ResultRecord, Status
from tests.support.fake_backends import ALWAYS_WRONG, CRASHES, backend, family, surface

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
CASES = tuple(f"id: {name}, {X}, window: 2" for name in "abcdef")
PASS = ResultRecord(case="max_pool/a", surface="fake.s", status=Status.PASS, outcome=Outcome.RETURNED)
FAIL = replace(PASS, status=Status.FAIL, kind=DifferenceKind.VALUE, message="\x1b[2J[red]off")


def console(terminal=False):
    return Console(file=io.StringIO(), width=140, force_terminal=terminal, legacy_windows=False)


def clock(monkeypatch, step):
    """Replace the clock by one that advances by a number of seconds with every call."""
    times = iter(range(0, 10**9, step))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(times)))


def printed(live, *results):
    with live:
        for number, result in enumerate(results, 1):
            live.add_result(number, len(results), result)
    return live.console.file.getvalue()


@pytest.fixture
def ran(conformance, monkeypatch, tmp_path):
    """Return a function that runs a fake backend and returns the exit status and both outputs."""
    monkeypatch.chdir(tmp_path)
    path = family(tmp_path, *CASES)

    def run(*arguments, bodies=(None,)):
        surfaces = [surface(f"numpy.s{number}", body) for number, body in enumerate(bodies)]
        monkeypatch.setattr(registry, "get_backend", lambda *_: backend(*surfaces, name="numpy"))
        return conformance("run", "--cases", path, "--backend", "numpy", "--jobs", 1, "--no-cache", *arguments)

    return run


@pytest.mark.parametrize("verbosity", ["normal", "quiet"])
@pytest.mark.parametrize("step", [1, 6])
def test_number_of_cases_is_printed_in_a_pipe_after_the_interval(monkeypatch, step, verbosity):
    clock(monkeypatch, step)
    shown = console()
    monkeypatch.setattr(progress, "Console", lambda **_: shown)
    with reading_progress(Verbosity(verbosity)) as report:
        report(14_000)
    with progress_bar("check") as report:
        report(1_000, 14_000)
    lines = ["reading: 14,000 cases"] if verbosity == "normal" else []
    assert shown.file.getvalue().splitlines() == ([*lines, "check: 1,000 of 14,000 cases"] if step == 6 else [])


@pytest.mark.parametrize(("terminal", "verbosity"), [(True, "normal"), (True, "quiet"), (False, "normal")])
def test_number_of_cases_read_is_shown_on_a_terminal(monkeypatch, terminal, verbosity):
    shown = console(terminal)
    monkeypatch.setattr(progress, "Console", lambda **_: shown)
    with reading_progress(Verbosity(verbosity)) as report:
        report(14_000)
    assert ("14,000 cases" in shown.file.getvalue()) == (terminal and verbosity == "normal")


def test_progress_has_the_rate_statuses_and_remaining_time():
    counts = {"known": 10, "pass": 1190}
    assert progress_text(1200, 6064, 5, counts) == "1,200 of 6,064, 240/s, 1,190 pass, 10 known, 20 s left"
    assert progress_text(1, 3, 10, {"fail": 1}) == "1 of 3, 0.1/s, 1 fail, 20 s left"


@pytest.mark.parametrize(
    ("done", "seconds", "estimated"), [(49, 29, False), (50, 1, True), (1, 29, False), (1, 30, True)]
)
def test_remaining_time_is_estimated_after_a_share_of_the_results_or_half_a_minute(done, seconds, estimated):
    assert progress_text(done, 1000, seconds, {"pass": done}).endswith(" left") == estimated


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7500, "2 h 5 min")])
def test_duration_has_at_most_two_units(seconds, text):
    assert duration_text(seconds) == text


def test_pipe_has_a_line_every_few_seconds(monkeypatch):
    clock(monkeypatch, 2)
    lines = printed(RunProgress("numpy", console=console()), *[PASS] * 7).splitlines()
    assert lines == [
        "numpy: 3 of 7, 0.5/s, 3 pass, 8 s left",
        "numpy: 6 of 7, 0.5/s, 6 pass, 2 s left",
    ]


def test_short_run_prints_nothing_in_a_pipe():
    assert printed(RunProgress("numpy", console=console()), PASS, FAIL) == ""


def test_quiet_run_prints_no_progress(monkeypatch):
    clock(monkeypatch, 100)
    assert printed(RunProgress("numpy", Verbosity.QUIET, console()), PASS, FAIL) == ""
    assert printed(RunProgress("numpy", Verbosity.QUIET, console(terminal=True)), PASS, FAIL) == ""


def test_terminal_has_a_bar_with_rate_and_statuses():
    live = RunProgress("numpy", console=console(terminal=True))
    text = printed(live, PASS, PASS, FAIL)
    assert "3/3" in text
    assert "/s" in text
    assert "✓ 2" in text
    assert "✗ 1" in text
    assert "max_pool/a" not in text


def test_verbose_run_prints_unexpected_results_without_control_characters():
    (line,) = printed(RunProgress("numpy", Verbosity.VERBOSE, console()), PASS, FAIL).splitlines()
    assert line == "numpy: ✗ fail max_pool/a on fake.s: value: \\x1b[2J[red]off"


def test_verbose_run_prints_worker_starts_and_crashes(ran):
    status, _, lines = ran("--verbose", bodies=(CRASHES,))
    assert status == 1
    assert sum("worker" in line and "started in" in line and "numpy" in line for line in lines) > 6
    assert sum(line.startswith("numpy: ! crashed max_pool/") for line in lines) == 6


def test_verbose_run_prints_the_number_of_resumed_results(ran, tmp_path):
    ran()
    path = tmp_path / "build" / "conformance" / "results" / "numpy.jsonl"
    records = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(records[:-2]), "utf-8")
    status, _, lines = ran("--verbose", "--resume")
    assert status == 0
    assert "numpy: 5 of 6 results already present" in lines


def test_run_prints_nothing_on_standard_error_by_default(ran):
    assert ran(bodies=(None, ALWAYS_WRONG))[2] == []


def test_quiet_run_prints_one_line_if_all_results_are_expected(ran):
    status, out, lines = ran("--quiet")
    assert (status, out, lines) == (0, "✓ 6 of 6 judged agree\n", [])


def test_quiet_run_prints_unexpected_results_and_the_last_line(ran):
    status, out, lines = ran("--quiet", bodies=(None, ALWAYS_WRONG))
    assert (status, lines) == (1, [])
    assert "pass" not in out
    assert out.count("on numpy.s1") == 6
    assert out.splitlines()[-1] == "✗ 6 unexpected results"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "quiet", "is_shown"), [(Terminal, False, True), (Terminal, True, False), (io.StringIO, False, False)]
)
def test_phases_are_shown_on_a_terminal_only(monkeypatch, stream, quiet, is_shown):
    shown = stream()
    monkeypatch.setattr(progress.sys, "stderr", shown)
    monkeypatch.setenv("FORCE_COLOR", "1")  # which makes each console a terminal for rich
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=shown, width=80))
    with phase_progress(is_quiet=quiet) as report:
        report("reading [b]net.onnx")
    assert ("reading [b]net.onnx" in shown.getvalue()) is is_shown
    assert is_shown or not shown.getvalue().strip()
