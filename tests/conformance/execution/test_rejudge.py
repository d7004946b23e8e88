"""`conformance rejudge`: outcomes are unchanged, statuses follow the current ledger, changed cases are dropped."""

import json
from dataclasses import replace

import pytest

from conformance.adapters import registry
from conformance.judging import ledger
from tests.support.fake_backends import backend, declares, family, surface

X = "x: {values: arange, shape: [1, 1, 5, 5]}"
CASES = [f"id: plain, {X}, window: 2", f"id: wide, {X}, window: 3", f"id: sized, {X}, window: 4"]
HALF = "id: half, x: {values: arange, shape: [1, 1, 4, 4], dtype: float16}, window: 2"
QUESTION = (
    "id: q, about: What, x: {values: arange, shape: [1, 1, 4]}, window: [2], stride: [2], "
    "answers: {greatest: {}, least: {values: [[[0, 2]]]}}"
)
WRONG = "x = x[:, :, :1, :1] - 1"
NOTHING = "entries: []\n"
KNOWN = """\
entries:
  - id: wide-ones
    cases: [{cases}]
    surfaces: [numpy.loops]
    kinds: [shape, value, convention]
    observed: something else
    reason: It is said to be so.
"""


@pytest.fixture(autouse=True)
def ledger_file(tmp_path, monkeypatch):
    """Run each command in a separate folder with an empty ledger; return the path of the ledger."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ledger.yaml"
    path.write_text(NOTHING, "utf-8")
    monkeypatch.setattr(ledger, "ledger_path", lambda: path)
    return path


@pytest.fixture
def command(tmp_path, monkeypatch, conformance):
    """Run a command on these cases with these surfaces in place of the built-in one; return status and output."""

    def call(name, *surfaces, cases=CASES, section="cases", options=(), **keywords):
        made = backend(*(surfaces or (surface("numpy.loops", WRONG),)), name="numpy", **keywords)
        monkeypatch.setattr(registry, "get_backend", lambda *_: made)
        path = family(tmp_path, *cases, section=section)
        words = ("run", "--backend", "numpy", "--out", tmp_path) if name == "run" else (name, results(tmp_path))
        return conformance(*words, "--cases", path, *options)

    return call


def results(folder):
    return folder / "results" / "numpy.jsonl"


def records(folder, kind="result"):
    return [one for one in map(json.loads, results(folder).read_text("utf-8").splitlines()) if one["record"] == kind]


def statuses(folder):
    return {one["case"].removeprefix("max_pool/"): one["status"] for one in records(folder)}


def without_times(folder):
    return [
        {key: value for key, value in one.items() if key not in {"seconds", "started"}}
        for one in map(json.loads, results(folder).read_text("utf-8").splitlines())
    ]


def test_rejudge_without_changes_keeps_the_file(tmp_path, command):
    assert command("run")[0] == 1
    before = results(tmp_path).read_bytes()
    status, out, _ = command("rejudge")
    assert (status, results(tmp_path).read_bytes()) == (0, before)
    assert "3 results are valid" in out


def test_new_entry_makes_failures_known_without_a_run(tmp_path, command, ledger_file):
    command("run")
    ledger_file.write_text(KNOWN.format(cases="max_pool/wide"), "utf-8")
    status, out, _ = command("rejudge")
    assert status == 0
    assert "1 went from fail to known" in out
    assert statuses(tmp_path) == {"plain": "fail", "wide": "known", "sized": "fail"}
    assert [one["reason"] for one in records(tmp_path) if "reason" in one] == ["It is said to be so."]
    assert records(tmp_path, "footer")[0]["by_status"] == {"fail": 2, "known": 1}
    judged = without_times(tmp_path)
    command("run")
    assert without_times(tmp_path) == judged


def test_removed_entry_removes_its_reason(tmp_path, command, ledger_file):
    ledger_file.write_text(KNOWN.format(cases="max_pool/*"), "utf-8")
    assert command("run")[0] == 0
    ledger_file.write_text(NOTHING, "utf-8")
    assert command("rejudge")[0] == 0
    assert set(statuses(tmp_path).values()) == {"fail"}
    assert not any("reason" in one for one in records(tmp_path))


def test_entry_for_an_agreeing_result_is_stale(tmp_path, command, ledger_file):
    right = surface("numpy.loops")
    assert command("run", right)[0] == 0
    ledger_file.write_text(KNOWN.format(cases="max_pool/*"), "utf-8")
    assert command("rejudge", right)[0] == 0
    assert set(statuses(tmp_path).values()) == {"stale"}


def test_only_a_changed_case_is_run_again(tmp_path, command):
    command("run")
    others = {one["case"]: one["seconds"] for one in records(tmp_path)}
    changed = [*CASES[:2], f"id: sized, {X}, window: 5"]
    status, out, error = command("rejudge", cases=changed)
    assert status == 3
    assert "1 are outdated and removed (max_pool/sized on numpy.loops)" in out
    assert "--resume" in error[0]
    assert not records(tmp_path, "footer")
    assert command("run", cases=changed, options=["--resume"])[0] == 1
    assert set(statuses(tmp_path)) == {"plain", "wide", "sized"}
    assert {one["case"]: one["seconds"] for one in records(tmp_path)[:2]} == dict(list(others.items())[:2])
    assert records(tmp_path, "footer")[0]["results"] == 3


def test_removed_case_leaves_a_complete_file(tmp_path, command):
    command("run")
    assert command("rejudge", cases=CASES[:2])[0] == 0
    assert set(statuses(tmp_path)) == {"plain", "wide"}
    assert {one["case"] for one in records(tmp_path, "case")} == {"max_pool/plain", "max_pool/wide"}


def test_a_changed_program_is_run_again(command):
    command("run")
    status, out, _ = command("rejudge", surface("numpy.loops", WRONG + " - 0"))
    assert status == 3
    assert "0 results are valid; 3 are outdated and removed" in out


def test_a_changed_setup_is_run_again(tmp_path, command):
    command("run")
    assert command("rejudge", setup="import numpy as np\n")[0] == 3
    assert records(tmp_path) == []


def test_change_between_supported_and_unsupported_is_run_again(command):
    refuses = replace(surface("numpy.loops"), lowerings={})
    status, _, _ = command("run", surface("numpy.loops"), cases=[*CASES[:1], HALF])
    assert status == 0
    assert command("rejudge", refuses, cases=[*CASES[:1], HALF])[0] == 3


def test_changed_declaration_is_run_again(tmp_path, command):
    honest = surface("numpy.loops", declarations=declares("greatest"))
    assert command("run", honest, cases=[QUESTION], section="questions")[0] == 0
    assert command("rejudge", honest, cases=[QUESTION], section="questions")[0] == 0
    assert len(records(tmp_path, "convention")) == 1
    assert (
        command(
            "rejudge", surface("numpy.loops", declarations=declares("least")), cases=[QUESTION], section="questions"
        )[0]
        == 3
    )


def test_undeclared_answer_can_become_known(tmp_path, command, ledger_file):
    liar = surface("numpy.loops", declarations=declares("least"))
    assert command("run", liar, cases=[QUESTION], section="questions")[0] == 1
    ledger_file.write_text(KNOWN.format(cases="max_pool/q"), "utf-8")
    assert command("rejudge", liar, cases=[QUESTION], section="questions")[0] == 0
    assert statuses(tmp_path) == {"q": "known"}


def test_partial_file_remains_partial(tmp_path, command):
    command("run")
    lines = results(tmp_path).read_text("utf-8").splitlines(keepends=True)
    results(tmp_path).write_text("".join(lines[:-1]) + '{"record": "res', "utf-8")
    assert command("rejudge")[0] == 3
    assert len(records(tmp_path)) == 3
    assert not records(tmp_path, "footer")


@pytest.mark.parametrize("text", ["", "nonsense\n", "[]\n", '{"record": "footer"}\n', '{"record": "header"}\n'])
def test_invalid_results_file_is_one_error_line(tmp_path, command, text):
    command("run")
    results(tmp_path).write_text(text, "utf-8")
    status, _, error = command("rejudge")
    assert status == 2
    assert len(error) == 1
    assert "numpy.jsonl:1: " in error[0]
    assert results(tmp_path).read_text("utf-8") == text


def test_record_with_a_missing_field_is_one_error_line(tmp_path, command):
    command("run")
    text = results(tmp_path).read_text("utf-8").replace('"outcome"', '"income"')
    results(tmp_path).write_text(text, "utf-8")
    status, _, error = command("rejudge")
    assert (status, len(error)) == (2, 1)
    assert results(tmp_path).read_text("utf-8") == text


@pytest.mark.parametrize(("kinds", "status"), [("flaky", "known"), ("shape", "flaky")])
def test_flaky_result_remains_flaky_or_known(command, tmp_path, ledger_file, kinds, status):
    counts = "np.runs = getattr(np, 'runs', 0) + 1\nx = x[:, :, :1, :1] - np.runs"
    command("run", surface("numpy.loops", counts), cases=CASES[:1], options=("--repeat", "2"))
    assert statuses(tmp_path) == {"plain": "flaky"}
    ledger_file.write_text(KNOWN.format(cases="max_pool/plain").replace("shape, value, convention", kinds), "utf-8")
    command("rejudge", surface("numpy.loops", counts), cases=CASES[:1])
    assert statuses(tmp_path) == {"plain": status}


def test_slow_result_remains_slow(command, tmp_path):
    flag = tmp_path / "flag"
    once = f"if not os.path.exists({str(flag)!r}):\n    open({str(flag)!r}, 'w').close()\n    time.sleep(60)\n"
    made = surface("numpy.loops", f"{once}x = x[:, :, 1::2, 1::2]")
    assert command("run", made, cases=CASES[:1], options=("--timeout", "2"))[0] == 0
    before = results(tmp_path).read_bytes()
    assert statuses(tmp_path) == {"plain": "slow"}
    command("rejudge", made, cases=CASES[:1])
    assert results(tmp_path).read_bytes() == before


def test_undeclared_result_is_dropped_once_an_answer_is_declared(command, tmp_path):
    greatest = "x = x[..., 1::2]"
    command("run", surface("numpy.loops", greatest), cases=[QUESTION], section="questions")
    assert statuses(tmp_path) == {"q": "undeclared"}
    before = results(tmp_path).read_bytes()
    command("rejudge", surface("numpy.loops", greatest), cases=[QUESTION], section="questions")
    assert results(tmp_path).read_bytes() == before
    declared = surface("numpy.loops", greatest, declarations=declares("greatest"))
    command("rejudge", declared, cases=[QUESTION], section="questions")
    assert statuses(tmp_path) == {}
