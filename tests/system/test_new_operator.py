"""A new operator is named in the reference, the table, an adapter and its case files; the commands know it then."""

import json
import re
import subprocess
import sys

import pytest

from tests import ROOT
from tests.support.nightly import only_nightly

NAME, GRADIENT = "window_sum", "window_sum_grad"
IDS = [f"{NAME}/1d-padding", f"{GRADIENT}/1d-stride"]
COMMANDS = {
    "check": ["check", "{folder}/pooling/window_sum.yaml", "{folder}/gradients/window_sum_grad.yaml"],
    "freeze": ["freeze"],
    "list": ["list", "--operator", NAME, "--operator", GRADIENT],
    "show": ["show", IDS[0]],
    "translate": ["translate", NAME, "--window", "2", "--surface", "numpy.loops"],
    "surfaces": ["surfaces", "--operator", NAME, "--surface", "numpy.*"],
    "run": ["run", "--backend", "numpy", "--surface", "numpy.loops", "--out", "{folder}/results"],
    **{
        surface: ["explore", "--backend", "numpy", "--surface", surface, "--operator", NAME, "--cases", "20", "--jobs",
                  "1", "--timeout", "600", "--out", "{folder}/explored"]
        for surface in ("numpy.sum", "numpy.maximum")
    },
    "explore without a sweep": ["explore", "--backend", "numpy", "--operator", GRADIENT],
}  # fmt: skip


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The exit status and the output of each command, run with the new operator."""
    folder = tmp_path_factory.mktemp("catalogue")
    commands = [[word.format(folder=folder) for word in command] for command in COMMANDS.values()]
    script = [sys.executable, "-m", "tests.support.invented_operator", str(folder), json.dumps(commands)]
    process = subprocess.run(script, cwd=ROOT, check=False, capture_output=True, text=True, timeout=1200)
    assert process.returncode == 0, process.stderr
    return dict(zip(COMMANDS, json.loads(process.stdout), strict=True))


@only_nightly
def test_its_cases_are_checked_frozen_and_listed(ended):
    status, checked = ended["check"]
    # A slow check prints its progress first.
    assert (status, checked.splitlines()[-1]) == (0, "7 cases are valid")
    status, frozen = ended["freeze"]
    assert (status, frozen.splitlines()[-1]) == (0, "7 cases frozen: 7 added, 0 removed, 0 changed")
    status, listed = ended["list"]
    assert status == 0
    assert {*IDS} < {*listed.split()}


def test_a_case_is_shown_with_its_cost_and_windows(ended):
    status, shown = ended["show"]
    assert status == 0
    assert "[[[1., 3., 6., 4.]]]" in shown
    assert "4 additions" in shown
    assert "[.][1] 2 (4)(.)" in shown


def test_it_is_translated_and_run(ended):
    assert ended["translate"][0] == 0
    assert "# numpy.loops: native" in ended["translate"][1]
    assert ended["surfaces"][0] == 0
    assert NAME in ended["surfaces"][1]
    status, ran = ended["run"]
    assert status == 0
    assert "7 results of 7 cases on 1 surface of 1 backend: 7 pass." in ran


def test_it_is_explored(ended):
    status, explored = ended["numpy.sum"]
    assert status == 0
    # Some drawn cases apply a pooling to the result, which the surface does not have.
    (passed,) = re.findall(r"numpy: 20 cases, (\d+) pass(?:, \d+ unsupported)?; 0 findings", explored)
    assert int(passed) > 10
    status, explored = ended["numpy.maximum"]
    assert status == 1
    assert f"{NAME} on numpy.maximum: numbers are wrong" in explored


def test_exploring_an_operator_without_a_sweep_is_one_line(ended):
    message = f"{GRADIENT}: the catalogue has no sweep of this operator, so it cannot be explored"
    assert ended["explore without a sweep"] == [2, f"conformance: {message}\n"]
