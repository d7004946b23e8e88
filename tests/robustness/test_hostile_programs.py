"""Programs that damage their process, among others in random order: every other result is right."""

import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.support.nightly import NIGHTLY
from tests.support.started_workers import PYTHON, soon

PACKAGE_FOLDER = Path(__file__).parents[1] / "support" / "hostile_package"
sys.path.insert(0, str(PACKAGE_FOLDER))
from conformance_hostile import FIRST_STRIDE  # noqa: E402
from conformance_hostile.attacks import ATTACKS  # noqa: E402

sys.path.remove(str(PACKAGE_FOLDER))
ROOT = Path(__file__).parents[2]
INNOCENT_PER_ATTACK = 2
MAX_SECONDS = 900
SEED = secrets.randbelow(2**32) if NIGHTLY else 7
# Each attack takes about a second, and some take several. The nightly job runs all of them.
CHOSEN = tuple(ATTACKS) if NIGHTLY else tuple(ATTACKS)[::3]


def case_lines(seed):
    """Return the lines of all cases, in random order."""
    rng = np.random.default_rng(seed)
    lines = [
        f"  - {{id: {name}, x: {{values: [[[{n + 1}]]]}}, window: [1], stride: [{n + FIRST_STRIDE}]}}"
        for n, name in enumerate(ATTACKS)
        if name in CHOSEN
    ]
    values = 1000 + rng.choice(8000, INNOCENT_PER_ATTACK * len(CHOSEN), replace=False)
    # A program always runs in the same worker. The dilations make different programs, for all workers.
    lines += [
        f"  - {{id: innocent-{n}, x: {{values: [[[{n}, 3, 1.0e-44]]]}}, window: [1], stride: [1], dilation: [{n}]}}"
        for n in values
    ]
    rng.shuffle(lines)
    return lines


def descendants_with(mark):
    """Return the running processes whose environment or arguments contain the mark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
            if mark.encode() in text and (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module", params=["1", "2"] if NIGHTLY else ["2"], ids=lambda jobs: f"jobs-{jobs}")
def run(request, tmp_path_factory):
    """The results of one run of all cases by id, its seconds, its folder and its output."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "temporary").mkdir()
    lines = ["operator: max_pool", "source: a test", "cases:", *case_lines(SEED)]
    (folder / "max_pool.yaml").write_text("\n".join(lines) + "\n")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{PACKAGE_FOLDER}", "TMPDIR": str(folder / "temporary")}
    command = [sys.executable, "-m", "conformance.cli", "run", "--backend", f"hostile={PYTHON}", "--verbose"]
    command += ["--cases", "max_pool.yaml", "--timeout", "3", "--memory", "1", "--jobs", request.param, "--no-cache"]
    start = time.monotonic()
    # Files, because a process that remains would keep a pipe open.
    with (folder / "output").open("w") as output:
        subprocess.run(
            command, check=False, cwd=folder, env=environment, stdout=output, stderr=output, timeout=MAX_SECONDS
        )
    seconds = time.monotonic() - start
    records = map(json.loads, (folder / "build/conformance/results/hostile.jsonl").read_text().splitlines())
    results = {r["case"].partition("/")[2]: r for r in records if r["record"] == "result"}
    return results, seconds, folder, (folder / "output").read_text()


def test_every_innocent_result_is_right(run):
    results = run[0]
    innocent = {name: result for name, result in results.items() if name.startswith("innocent-")}
    assert len(innocent) == INNOCENT_PER_ATTACK * len(CHOSEN)
    wrong = {name: (r["status"], r.get("message")) for name, r in innocent.items() if r["status"] != "pass"}
    assert not wrong, f"seed {SEED}"
    assert {r.get("changed_state") for r in innocent.values()} == {None}


def test_each_attack_costs_at_most_its_own_case(run):
    found = {name: (run[0][name]["status"], tuple(run[0][name].get("changed_state") or ())) for name in CHOSEN}
    wrong = {
        name: (*found[name], run[0][name].get("message"))
        for name, attack in ((name, ATTACKS[name]) for name in CHOSEN)
        if found[name][0] not in attack.statuses or found[name][1] != attack.changed
    }
    assert wrong == {}, f"seed {SEED}"


def test_no_process_and_no_file_remains(run):
    folder = run[2]
    assert soon(lambda: not descendants_with(str(folder)))
    assert list((folder / "temporary").iterdir()) == []


def test_run_ends_in_bounded_time(run):
    # Three attacks reach the time limit twice; the other ones start at most two processes each.
    assert run[1] < MAX_SECONDS
