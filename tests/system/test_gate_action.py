"""The GitHub action `.github/actions/gate`: its script, and the workflow that the documentation shows."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests import ROOT

ACTION = ROOT / ".github" / "actions" / "gate"
PAGE = ROOT / "docs" / "how-to" / "gate-an-upgrade.md"
WORKFLOW = ROOT / "docs" / "how-to" / "gate-workflow.yml"


@pytest.fixture
def gate(tmp_path):
    """Return a function that runs the script of the action on the numpy backend: (exit status, output)."""
    # As in the action: the commands of the suite come first, the interpreter of the framework after them.
    framework = tmp_path / "framework"
    framework.mkdir()
    (framework / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (framework / "python").chmod(0o755)

    def run(**inputs):
        environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(framework), os.environ["PATH"]]),
            "PYTHONPATH": str(ROOT),
            **{"BACKEND": "numpy", "INTERPRETER": "python", "LEVEL": "smoke", "OUT": "after", "AGAINST": ""},
            **{"FAIL_ON": "value", "GITHUB_OUTPUT": "outputs.txt", "GITHUB_STEP_SUMMARY": "page.md"},
            **inputs,
        }
        command = [ACTION / "gate.sh"]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def move_a_value(path):
    """Change the digest of the first returned value in a results file."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    moved = next(one for one in records if one["record"] == "result" and one["status"] == "pass" and one["digest"])
    moved["digest"] = moved["digest"][::-1]
    path.write_text("".join(json.dumps(one) + "\n" for one in records))


def test_first_run_compares_nothing_and_later_runs_detect_a_moved_value(gate, tmp_path):
    status, out = gate(AGAINST="before")
    assert (status, "no earlier results in before: nothing is compared" in out) == (0, True), out
    names = dict(line.split("=") for line in (tmp_path / "outputs.txt").read_text().splitlines())
    assert names == {
        "results": "after/results/numpy.jsonl",
        "report": "after/report.html",
        "summary": "after/summary.md",
    }
    assert all((tmp_path / name).is_file() for name in names.values())
    assert (tmp_path / "page.md").read_text() == (tmp_path / "after/summary.md").read_text()

    shutil.move(tmp_path / "after", tmp_path / "before")
    assert gate(AGAINST="before")[0] == 0
    assert "Nothing changed" in (tmp_path / "after/summary.md").read_text()

    move_a_value(tmp_path / "before/results/numpy.jsonl")
    status, out = gate(AGAINST="before")
    assert (status, "different values, same status" in out) == (1, True), out
    assert gate(AGAINST="before", FAIL_ON="regression")[0] == 0


def test_wrong_backend_and_interpreter_fail_without_a_report(gate, tmp_path):
    assert gate(BACKEND="nope")[0] == 2
    assert gate(INTERPRETER="no-such-python")[0] == 2
    assert not (tmp_path / "outputs.txt").exists()


def test_script_reads_exactly_the_variables_that_the_action_sets():
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    step = next(one for one in action["runs"]["steps"] if one.get("id") == "gate")
    used = {*re.findall(r"\$\{?#?([A-Z_]+)", (ACTION / "gate.sh").read_text())}
    assert used - {"PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} == {*step["env"]}
    inputs = {name for value in step["env"].values() for name in re.findall(r"inputs\.([a-z-]+)", value)}
    assert inputs | {"comment"} == {*action["inputs"]}


def test_workflow_of_the_page_is_the_file_that_is_validated():
    assert f"```yaml\n{WORKFLOW.read_text()}```" in PAGE.read_text()


def test_workflow_saves_the_results_under_the_key_that_it_restores():
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["conformance"]["steps"]
    cached = [step for step in steps if step.get("uses", "").startswith("actions/cache")]
    cache = {step["uses"].split("@")[0]: step["with"] for step in cached}
    restored, saved = cache["actions/cache/restore"], cache["actions/cache/save"]
    gate = next(step["with"] for step in steps if "gate@" in step.get("uses", ""))
    assert restored["path"] == saved["path"] == re.search(r"'([^']+)' \|\|", gate["against"]).group(1)
    assert saved["key"].startswith(restored["restore-keys"].replace("base_ref", "ref_name"))
    assert {*gate} <= {*yaml.safe_load((ACTION / "action.yml").read_text())["inputs"]}
