"""pytest plugin: collection, the outcome of each status, and the same verdicts as `conformance run`."""

import ast
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from conformance import pytest_plugin
from conformance.adapters import registry
from conformance.adapters.api import DeviceSupport, Unsupported, backend_on_device, devices
from conformance.execution import worker_process
from conformance.judging import ledger
from conformance.judging.ledger import Ledger, LedgerEntry
from conformance.pytest_plugin import session as pytest_plugin_session
from reports.results.vocabulary import Level
from tests import ROOT
from tests.support.fake_backends import ALWAYS_WRONG, CRASHES, HANGS, RAISES, SETUP, backend, declares, family, surface

pytest_plugins = ["pytester"]
INSTALLED = any(point.value == pytest_plugin.__name__ for point in importlib.metadata.entry_points(group="pytest11"))
PLUGIN = [] if INSTALLED else ["-p", pytest_plugin.__name__]
X = "x: {values: arange, shape: [1, 1, 4, 4]}"
CASES = [f"id: {name}, about: It is {name}, {X}, window: 2" for name in ("a", "b", "c-1.5")]
WRONG_FIRST = "x = x[:, :, ::2, ::2]"
QUESTION = f"id: q, about: By how much, {X}, window: 3, answers: {{window: {{stride: 3}}, one: {{stride: 1}}}}"
ELSEWHERE = """\
from conformance.adapters.api.surface import Surface

PACKAGES = ("numpy",)
SETUP = "import os\\nimport time\\nimport numpy as np\\n"
RESET = ""
SURFACES = (Surface("slow.nn", {"max_pool": lambda _step: (
    "open(f'{os.getpid()}.pid', 'w').close()", "time.sleep(600)", "x = x")}),)
"""


@pytest.fixture
def cases(pytester):
    """Write a catalogue; return the options that select it."""

    def write(*texts, **keywords):
        return ["--conformance-cases", str(family(pytester.path, *(texts or CASES), **keywords))]

    return write


@pytest.fixture
def fake_backend(monkeypatch):
    """Replace the built-in backend by a fake one, and the ledger by given entries."""

    def replace(*surfaces, entries=(), **texts):
        fake = backend(*surfaces, name="numpy", **texts)
        monkeypatch.setattr(registry, "get_backend", lambda *_: fake)
        monkeypatch.setattr(ledger, "load_ledger", lambda **_: Ledger(tuple(entries)))

    return replace


@pytest.fixture
def one_case(cases, fake_backend):
    """Install a fake backend; return the options that select one case."""

    def choose(*surfaces, **texts):
        fake_backend(*surfaces, **texts)
        return cases(CASES[0])

    return choose


@pytest.fixture
def run(pytester):
    """Run pytest with the plugin in this process, on the backend named numpy."""

    def session(*arguments, name="numpy"):
        return pytester.runpytest_inprocess(*PLUGIN, "-W", "error", "--conformance-backend", name, *arguments)

    return session


@pytest.fixture
def run_in_process(pytester, monkeypatch):
    """Run pytest with the plugin in a new process."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(pytester.path)]))

    def session(*arguments, name="numpy"):
        return pytester.runpytest_subprocess(*PLUGIN, "--conformance-backend", name, *arguments)

    return session


def known(*kinds, cases="*"):
    return LedgerEntry("e", (cases,), ("*",), kinds, "it is known", "https://example.org/2")


def test_each_case_on_each_surface_is_an_item(run, cases, fake_backend):
    fake_backend(surface("s.one"), surface("s.two"))
    found = run(*cases(), "-v")
    found.assert_outcomes(passed=6)
    lines = [f"{name}::max_pool/{case} PASSED*" for name in ("s.one", "s.two") for case in ("a", "b", "c-1.5")]
    found.stdout.fnmatch_lines(lines)


def test_collecting_lists_items_and_starts_nothing(run, cases, fake_backend, monkeypatch):
    monkeypatch.setattr(worker_process.Worker, "start", lambda _self: pytest.fail("a worker was started"))
    fake_backend(surface("s"))
    found = run(*cases(), "--collect-only", "-q")
    assert found.ret == 0
    found.stdout.fnmatch_lines(["s::max_pool/a", "s::max_pool/b", "s::max_pool/c-1.5"])


@pytest.mark.parametrize(
    ("body", "entries", "expected"),
    [
        (None, (), "passed"),
        (ALWAYS_WRONG, (), "shape: returned shape [[]1, 1, 1, 1], not [[]1, 1, 2, 2]"),
        (WRONG_FIRST, (), "value: at [[]0, 0, 0, 0] expected 5.0, got 0.0"),
        ("x = x[:, :, 1::2, 1::2] * np.nan", (), "special: at [[]0, 0, 0, 0] expected 5.0, got nan"),
        ("x = x[:, :, 1::2, 1::2].astype('f8')", (), "dtype: returned dtype float64, not float32; *"),
        (RAISES, (), "rejected: ValueError: not for me"),
        (CRASHES, (), "crashed: signal 6 *"),
        (HANGS, (), "timed_out: no answer within 1 s; the same again *"),
        (WRONG_FIRST, [known("value")], "xfailed"),
        (CRASHES, [known("crashed")], "xfailed"),
        (WRONG_FIRST, [known("shape")], "value: *"),
        (None, [known("value")], "stale: agrees, but the ledger lists a difference: it is known (https://*/2)"),
    ],
)
def test_item_result_follows_the_status(run, one_case, body, entries, expected):
    found = run(*one_case(surface("s", body), entries=entries), "--conformance-timeout", "1", "-ra")
    outcome = expected if expected in {"passed", "xfailed"} else "failed"
    found.assert_outcomes(**{outcome: 1})
    assert found.ret == (1 if outcome == "failed" else 0)
    if outcome == "failed":
        found.stdout.fnmatch_lines([expected])
    if outcome == "xfailed":
        found.stdout.fnmatch_lines(["XFAIL s::max_pool/a - *it is known (https://example.org/2)"])


def test_wrong_printed_output_is_a_usage_error(run, cases):
    found = run(*cases(f"id: a, {X}, window: 2, expect: [[[[5, 7], [13, 14]]]]"))
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["ERROR: conformance: *:4: case max_pool/a: key 'expect': your expected 14 at *give 15"])


def test_undeclared_answer_is_skipped(run, cases, fake_backend):
    fake_backend(surface("s", "x = x[:, :, 1::2, 1::2]"))
    question = f"id: q, about: q, {X}, window: 2, answers: {{two: {{stride: 2}}, one: {{stride: 1}}}}"
    found = run(*cases(question, section="questions"), "-rs")
    found.assert_outcomes(skipped=1)
    found.stdout.fnmatch_lines(["SKIPPED *undeclared: answered 'two'; the surface declares no answer"])


def test_slow_case_passes(run, one_case, pytester):
    flag = str(pytester.path / "flag")
    hangs = f"if not os.path.exists({flag!r}):\n    open({flag!r}, 'w').close()\n    time.sleep(60)\n"
    found = run(*one_case(surface("s", f"{hangs}x = x[:, :, 1::2, 1::2]")), "--conformance-timeout", "2")
    found.assert_outcomes(passed=1)
    assert found.ret == 0


def test_case_that_crashes_only_once_is_flaky(run, one_case, pytester):
    flag = str(pytester.path / "flag")
    once = f"if not os.path.exists({flag!r}):\n    open({flag!r}, 'w').close()\n    os.abort()\nx = x[:, :, 1::2, 1::2]"
    found = run(*one_case(surface("s", once)))
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["flaky: *crashed*, then, in a separate process, returned *"])


def test_known_deviation_fails_with_runxfail(run, cases, fake_backend):
    fake_backend(surface("s", WRONG_FIRST), entries=[known("value")])
    run(*cases(CASES[0]), "--runxfail").assert_outcomes(failed=1)


def test_unsupported_cases_are_skipped_with_one_reason(run, cases, fake_backend):
    lacking = surface("s.lacking")
    lacking.lowerings["max_pool"] = lambda _step: Unsupported("has no such thing", "https://example.org/3")
    fake_backend(surface("s"), lacking)
    found = run(*cases(), "-rs")
    found.assert_outcomes(passed=3, skipped=3)
    found.stdout.fnmatch_lines(["SKIPPED [[]3] s.lacking: has no such thing (https://example.org/3)"])


def test_surface_with_a_missing_requirement_is_skipped(run, cases, fake_backend):
    fake_backend(surface("s"), surface("t", CRASHES, missing_requirement=lambda: "there is no compiler here"))
    found = run(*cases(), "-rs")
    found.assert_outcomes(passed=3, skipped=3)
    found.stdout.fnmatch_lines(["SKIPPED [[]3] t: there is no compiler here"])


def test_convention_fails_if_the_answer_is_not_declared(run, cases, fake_backend):
    fake_backend(surface("s", "x = x[:, :, 2:, 2:]", declarations=declares("window")))
    found = run(*cases(QUESTION, section="questions"))
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["convention: answered 'one', but the surface declares 'window'"])


def test_failure_report_has_all_parts_and_no_traceback(run, cases, fake_backend):
    fake_backend(surface("s.nn", WRONG_FIRST))
    options = cases(CASES[0])
    found = run(*options)
    found.stdout.fnmatch_lines(
        [
            "*max_pool/a on s.nn*",
            "value: at [[]0, 0, 0, 0] expected 5.0, got 0.0",
            "It is a",
            "from *file.yaml:4",
            "expected  float32 [[]1, 1, 2, 2], exact",
            "*13., 15.*",
            "got       float32 [[]1, 1, 2, 2]",
            "*8., 10.*",
            "worst     [[]0, 0, 0, 0]: off by 5, *ulp; the result must be exact",
            "the program (native):",
            "    def run(x):",
            "        x = x[[]:, :, ::2, ::2]",
            f"to reproduce: conformance repro max_pool/a --surface s.nn --cases {options[1]}",
            "FAILED s.nn::max_pool/a - *value: at [[]0, 0, 0, 0] *",
        ]
    )
    text = found.stdout.str()
    assert "Traceback" not in text
    assert "items.py" not in text


def test_message_of_one_line_is_only_in_the_headline(run, one_case):
    found = run(*one_case(surface("s", "raise ValueError('once')")), "-rN")
    assert found.stdout.str().count("ValueError: once") == 1


def test_message_of_several_lines_is_below_the_headline(run, one_case):
    found = run(*one_case(surface("s", "raise ValueError('on two\\nlines')")))
    found.stdout.fnmatch_lines(["rejected: ValueError: on two lines", "ValueError: on two", "lines"])


@pytest.mark.parametrize("message", ["\\x1b[31mred", "\\u202e", "\\udc80", "a\\nb", "]]>&<", "é" * 3000, "[x]::y - z"])
def test_any_exception_message_can_be_reported(run, cases, fake_backend, message, pytester):
    fake_backend(surface("s", f"raise ValueError('{message}')"))
    found = run(*cases(CASES[0].replace("It is a", '"\\e[2J and ]]>"')), "--junitxml=j.xml", "--color=no")
    found.assert_outcomes(failed=1)
    assert "\x1b" not in found.stdout.str()
    (failed,) = ET.parse(pytester.path / "j.xml").iter("failure")  # noqa: S314 - of this test's own making
    assert failed.get("message").startswith("Failed: rejected: ValueError")


def test_invalid_id_is_an_error_not_an_item(run, cases):
    found = run(*cases(CASES[0].replace("id: a", "id: 'a::b[c] d'")))
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["ERROR: conformance: *file.yaml:4: *an id of lower-case words*"])


def test_junit_has_status_and_verdict_as_properties(run, cases, fake_backend, pytester):
    fake_backend(surface("s.nn", WRONG_FIRST), surface("t"))
    run(*cases(CASES[0]), "--junitxml=j.xml")
    first, second = ET.parse(pytester.path / "j.xml").iter("testcase")  # noqa: S314 - of this test's own making
    assert (first.get("classname"), first.get("name")) == ("s.nn", "max_pool/a")
    properties = {one.get("name"): one.get("value") for one in first.iter("property")}
    assert properties == {f"conformance-{key}": value for key, value in DIFFERING.items()}
    assert second.find("failure") is None


DIFFERING = {"status": "fail", "outcome": "returned", "verdict": "differ", "kind": "value", "how": "native"}


def test_option_x_ends_the_session_at_the_first_failure(run, cases, fake_backend):
    fake_backend(surface("s", WRONG_FIRST))
    run(*cases(), "-x").assert_outcomes(failed=1)


def test_session_that_ends_early_does_not_wait_for_queued_jobs(run, cases, fake_backend, monkeypatch):
    ended = []
    monkeypatch.setattr(worker_process.Worker, "stop", lambda worker: (ended.append("gently"), worker.kill()))
    fake_backend(surface("s", f"{WRONG_FIRST}\nif x.shape[2] == 3:\n    time.sleep(600)"))
    run(*cases(CASES[0], CASES[1].replace("4, 4", "6, 6")), "-x").assert_outcomes(failed=1)
    assert not ended


def test_option_lf_runs_only_the_last_failures(run, cases, fake_backend):
    fake_backend(surface("s", "x = x[:, :, 1::2, 1::2] + (x.shape[2] == 6)"))
    cases_ = cases(CASES[0], CASES[1].replace("4, 4", "6, 6"))
    run(*cases_).assert_outcomes(passed=1, failed=1)
    found = run(*cases_, "--lf", "-v")
    found.assert_outcomes(failed=1, deselected=1)
    found.stdout.fnmatch_lines(["s::max_pool/b FAILED*"])


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (["-k", "max_pool/a"], 2),
        (["-k", "s.one and c-1.5"], 1),
        (["-m", "conformance"], 6),
        (["--deselect", "s.two::"], 3),
        (["s.one"], 3),
        (["s.one::max_pool/a", "s.two"], 4),
        (["../s.one::max_pool/a"], 1),
        (["--conformance-surface", "s.two"], 3),
        (["--conformance-case", "*/a", "--conformance-case", "*/b"], 4),
        (["--conformance-operator", "max_pool"], 6),
    ],
)
def test_cases_are_selected_with_pytest_options(run, cases, fake_backend, arguments, passed):
    fake_backend(surface("s.one"), surface("s.two"))
    found = run(*cases(), *arguments)
    assert found.parseoutcomes().get("passed") == passed
    assert found.ret == 0


def test_tests_in_files_run_together_with_cases(run, cases, fake_backend, pytester):
    fake_backend(surface("s", WRONG_FIRST))
    options = cases(CASES[0])
    pytester.makepyfile("def test_of_another_kind(): pass")
    run(*options).assert_outcomes(passed=1, failed=1)
    run(*options, str(pytester.path)).assert_outcomes(passed=1, failed=1)
    run(*options, "-m", "not conformance").assert_outcomes(passed=1, deselected=1)
    run(*options, "s").assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--conformance-case", "nope"], "no case is selected"),
        (["--conformance-operator", "nope"], "operator 'nope': unknown, known are *"),
        (["--conformance-surface", "nope"], "surface 'nope': not a surface of numpy, which has s"),
        (["--conformance-timeout", "0"], "--conformance-timeout 0.0: not a number of seconds*"),
        (["--conformance-timeout", "nan"], "--conformance-timeout nan: *"),
        (["--conformance-memory", "-1"], "--conformance-memory -1.0: not a number of gigabytes*"),
        (["--conformance-memory", "inf"], "--conformance-memory inf: *"),
        (["--conformance-repeat", "0"], "--conformance-repeat 0: not a number from 1 to 1000"),
        (["--conformance-device", "mps"], "device 'mps': not one of cpu, cuda"),
        (["--conformance-precision", "tf32"], "precision tf32: the device cpu has none; --device cuda has"),
        (["--conformance-cases", "nowhere"], "nowhere: no such file or folder"),
        (["--conformance-backend", "numpy"], "backend 'numpy': named twice (numpy@LABEL=PYTHON *"),
    ],
)
def test_wrong_usage_is_one_error_line(run, cases, fake_backend, arguments, message):
    fake_backend(surface("s"))
    found = run(*cases(), *arguments)
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines([f"ERROR: conformance: {message}"])
    assert len(found.stderr.str().splitlines()) <= 2


def test_unknown_node_id_is_an_error(run, cases, fake_backend):
    fake_backend(surface("s"))
    found = run(*cases(), "s::max_pool/nope")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["ERROR: not found: s::max_pool/nope: no selected case has this name"])


def test_options_without_a_backend_are_an_error(pytester):
    found = pytester.runpytest_inprocess(*PLUGIN, "--conformance-level", "smoke")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["ERROR: --conformance-level has no effect without --conformance-backend"])


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]])
def test_failed_import_of_a_backend_is_one_error_line(run, cases, fake_backend, arguments):
    fake_backend(surface("s"), setup="import nope_nope")
    found = run(*cases(), *arguments)
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(
        ["ERROR: conformance: backend numpy: setup: ModuleNotFoundError: No module named 'nope_nope'"]
    )
    assert "FAILED" not in found.stdout.str()


def test_worker_that_cannot_be_replaced_ends_the_session(run, cases, fake_backend, pytester):
    flag = str(pytester.path / "flag")
    fake_backend(
        surface("s", CRASHES), setup=f"{SETUP}assert not os.path.exists({flag!r})\nopen({flag!r}, 'w').close()"
    )
    found = run(*cases())
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["backend numpy: cannot restart its worker: *"])
    assert "another exception" not in found.stdout.str()
    assert found.ret == pytest.ExitCode.TESTS_FAILED


def test_session_without_any_program_is_an_error(run, cases, fake_backend):
    fake_backend(surface("s", dtypes={"": frozenset()}))
    found = run(*cases())
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["ERROR: conformance: backend numpy: nothing to run, no selected case has a program"])


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]])
def test_session_in_which_nothing_ran_fails(run_in_process, cases, arguments):
    options = cases(CASES[0], f"id: refused, {X}, window: 2, stride: 0, expect: {{rejected: StrideIsZero}}")
    found = run_in_process(*options, *arguments, "-k", "refused")
    found.assert_outcomes(skipped=1, deselected=0 if arguments else 1)
    assert found.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    found.stdout.fnmatch_lines(["conformance: nothing ran, every selected case is unsupported"])
    assert run_in_process(*options, *arguments).ret == 0


def test_worker_is_started_once_and_stopped(run, cases, fake_backend, monkeypatch):
    started = []
    start = worker_process.Worker.start
    monkeypatch.setattr(
        worker_process.Worker, "start", lambda worker: (start(worker), started.append(worker.connection.process))
    )
    fake_backend(surface("s.one"), surface("s.two"))
    run(*cases())
    assert len(started) == 1
    assert started[0].poll() is not None


def test_cases_are_queued_while_one_is_judged(run, cases, fake_backend, monkeypatch):
    waiting = []
    monkeypatch.setattr(worker_process, "MIN_QUEUED_JOBS", 8)
    receive = worker_process.Worker._receive
    monkeypatch.setattr(
        worker_process.Worker,
        "_receive",
        lambda worker, *more, **how: (waiting.append(ahead(worker)), receive(worker, *more, **how))[1],
    )
    fake_backend(surface("s", "time.sleep(0.05)\nx = x[:, :, 1::2, 1::2]"))

    def ahead(_worker):
        (session,) = {id(prefetcher): prefetcher for prefetcher in prefetchers}.values()
        return len(session._queue.in_flight)

    prefetchers = []
    built = pytest_plugin_session.Prefetcher
    monkeypatch.setattr(
        pytest_plugin_session, "Prefetcher", lambda job: prefetchers.append(built(job)) or prefetchers[-1]
    )
    run(*cases(*(f"id: n{n}, {X}, window: 2" for n in range(20)))).assert_outcomes(passed=20)
    assert max(waiting) == 8


def test_verdicts_are_those_of_conformance_run(conformance, pytester):
    conformance("run", "--backend", "numpy", "--out", "out")
    lines = (pytester.path / "out/results/numpy.jsonl").read_text("utf-8").splitlines()
    keys = ("status", "outcome", "verdict", "kind", "how")
    results = [record for record in map(json.loads, lines) if record["record"] == "result"]
    expected = {f"{one['surface']}::{one['case']}": {key: one[key] for key in keys if one[key]} for one in results}
    reports = pytester.inline_run(*PLUGIN, "--conformance-backend", "numpy").getreports("pytest_runtest_logreport")
    found = {report.nodeid: report for report in reports if report.when == "call"}
    assert {name: suite_properties(report) for name, report in found.items()} == expected
    assert {one["status"] for one in results} == {"pass", "known", "unsupported"}
    for name, report in found.items():
        outcome = "passed" if expected[name]["status"] == "pass" else "skipped"
        assert (report.outcome, hasattr(report, "wasxfail")) == (outcome, expected[name]["status"] == "known")


LIMITED = """\
if x.shape[2] == 4:
    hold = np.ones(100_000_000)
    time.sleep(10)
elif x.shape[2] == 6:
    np.times = getattr(np, "times", 0) + 1
    x = x + (np.times % 2)
x = x[:, :, 1::2, 1::2]"""


def test_repeats_and_limits_of_memory_give_the_verdicts_of_conformance_run(cases, fake_backend, conformance, pytester):
    fake_backend(surface("s", LIMITED), trusted=True)
    options = cases(
        *(text.replace("4, 4", f"{extent}, {extent}") for text, extent in zip(CASES, (4, 6, 8), strict=True))
    )
    conformance("run", "--backend", "numpy", "--cases", options[1], "--repeat", "3", "--memory", "0.5", "--out", "out")
    lines = map(json.loads, (pytester.path / "out/results/numpy.jsonl").read_text("utf-8").splitlines())
    expected = {f"s::{one['case']}": one["status"] for one in lines if one["record"] == "result"}
    assert sorted(expected.values()) == ["crashed", "flaky", "pass"]
    limits = ("--conformance-repeat", "3", "--conformance-memory", "0.5")
    reports = pytester.inline_run(*PLUGIN, "--conformance-backend", "numpy", *options, *limits)
    calls = [one for one in reports.getreports("pytest_runtest_logreport") if one.when == "call"]
    assert {one.nodeid: suite_properties(one)["status"] for one in calls} == expected
    messages = "\n".join(str(one.longrepr) for one in calls)
    assert "of memory, the limit is 0.50 GB" in messages
    assert "flaky: " in messages


@pytest.fixture
def on_cuda(run, one_case, monkeypatch):
    """Run a failing case on a backend with a device that has this probe."""

    def session(probe):
        chose = one_case(surface("s", WRONG_FIRST))
        made = replace(
            registry.get_backend("numpy"), devices={"cuda": DeviceSupport(probe, {"tf32": "np.loose = True"})}
        )
        monkeypatch.setattr(
            registry, "get_backend", lambda _name, _held="", device=devices.ON_CPU: backend_on_device(made, device)
        )
        monkeypatch.setattr(devices, "device_problem", lambda _name: None)
        return run(*chose, "--conformance-device", "cuda", "--conformance-precision", "tf32")

    return session


def test_device_is_that_of_conformance_run(on_cuda):
    found = on_cuda("hardware = 'a GPU'")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["conformance: numpy (*); level smoke; tf32 on cuda"])
    found.stdout.fnmatch_lines(["*loose = True", "to reproduce: conformance repro * --device cuda --precision tf32"])


def test_missing_device_is_one_error_line(on_cuda):
    found = on_cuda("raise RuntimeError('none is built in')")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["ERROR: conformance: backend numpy: no cuda: RuntimeError: none is built in"])


def suite_properties(report):
    """Return the properties of the suite in a report."""
    return {name.removeprefix("conformance-"): value for name, value in report.user_properties}


def test_xdist_reports_the_same_results(run_in_process, cases, pytester):
    # The loops of the built-in backend give neither answer.
    answers = "answers: {one: {values: [1]}, two: {values: [2]}}"
    wrong = [f"id: w{n}, about: w, {X}, window: 2, {answers}" for n in range(4)]
    more = family(pytester.path, *wrong, section="questions", name="wrong.yaml")
    options = [*cases(*CASES), "--conformance-cases", str(more)]
    for arguments in ([], ["-n", "2"]):
        found = run_in_process(*options, *arguments, "--junitxml=j.xml")
        found.assert_outcomes(passed=3, failed=4)
        tests = [*ET.parse(pytester.path / "j.xml").iter("testcase")]  # noqa: S314 - of this test's own making
        failed = {test.get("name") for test in tests if test.find("failure") is not None}
        assert failed == {f"max_pool/w{n}" for n in range(4)}
        found.stdout.fnmatch_lines(["FAILED numpy.loops::max_pool/w0 - *convention: *"])
        assert run_in_process(*options, *arguments, "numpy.loops::max_pool/a").parseoutcomes() == {"passed": 1}


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]])
def test_interrupt_leaves_no_process(cases, pytester, arguments):
    (pytester.path / "slow_conformance.py").write_text(ELSEWHERE, "utf-8")
    distribution = pytester.path / "slow_conformance-1.0.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: slow_conformance\nVersion: 1.0\n", "utf-8")
    (distribution / "entry_points.txt").write_text(
        f"[{registry.ENTRY_POINT_GROUP}]\nslow = slow_conformance\n", "utf-8"
    )
    command = [sys.executable, "-m", "pytest", *PLUGIN, "--conformance-backend", "slow", *cases(), *arguments]
    path = os.pathsep.join([str(ROOT), str(pytester.path)])
    running = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, start_new_session=True)
    started = until(lambda: list(Path().glob("*.pid")), 120)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    try:
        assert running.wait(60) == pytest.ExitCode.INTERRUPTED
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    assert started
    assert until(lambda: not any(lives(int(path.stem)) for path in Path().glob("*.pid")), 20)


def until(condition, limit):
    """Poll a condition; return its value when it is true, or after `limit` seconds."""
    end = time.monotonic() + limit
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def lives(process):
    """Whether a process is running. A zombie is not."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    return False


def test_plugin_imports_nothing_without_a_backend():
    tree = ast.parse(Path(pytest_plugin.__file__).read_text("utf-8"))
    at_once = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert at_once == {"__future__", "typing"}
    text = f"import sys, {pytest_plugin.__name__}; print(*(name for name in sys.modules if name.startswith(NAMES)))"
    names = "('conformance', 'reference', 'reports', 'numpy', 'click', 'yaml')"
    loaded = subprocess.run(
        [sys.executable, "-c", text.replace("NAMES", names)], cwd=ROOT, text=True, check=True, capture_output=True
    )
    assert set(loaded.stdout.split()) == {"conformance", pytest_plugin.__name__}


def test_plugin_prints_nothing_without_a_backend(pytester):
    pytester.makepyfile("def test_one(): pass")
    found = pytester.runpytest_inprocess(*PLUGIN, "--strict-markers", "-W", "error")
    found.assert_outcomes(passed=1)
    # pytest prints the list of installed plugins, which may contain this one.
    lines = [line for line in found.stdout.lines if not line.startswith(("rootdir:", "plugins:"))]
    assert "conformance" not in "\n".join(lines)


def test_levels_are_those_of_the_catalogue():
    assert tuple(Level) == pytest_plugin.LEVEL_CHOICES


def test_package_registers_the_plugin():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'[project.entry-points.pytest11]\nconformance = "{pytest_plugin.__name__}"\n' in text
