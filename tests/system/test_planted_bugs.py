"""The backend of planted bugs: each surface shows its bug and no other, and the surface without a bug always agrees."""

import json
import runpy
from types import SimpleNamespace

import pytest
import yaml

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.case import Rejected
from conformance.execution.job import Job, Limits
from conformance.execution.worker_process import Worker
from conformance.judging.expected import compute_expected
from conformance.judging.verdict import judge_outcome
from conformance.translation.lowering import translate
from tests import ROOT
from tests.support.nightly import only_nightly
from tests.support.planted_bugs import PACKAGE_FOLDER, smallest_cases

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = pytest.importorskip("tomli")

DECLARATIONS = PACKAGE_FOLDER / "conformance_planted" / "planted.yaml"
SURFACE_NAMES = sorted(yaml.safe_load(DECLARATIONS.read_text("utf-8")))
BUG_NAMES = [name.removeprefix("planted.") for name in SURFACE_NAMES if name != "planted.none"]
HANG_SECONDS = 5.0
"""Time limit of one program in seconds; a program that exceeds it counts as a hang."""


@pytest.fixture(scope="module")
def verdicts(planted, tmp_path_factory):
    """Result of both cases of each bug by (bug, surface, case): the kind of a difference, or "agree"."""
    backend = registry.get_backend("planted")
    surfaces = {surface.name.removeprefix("planted."): surface for surface in backend.surfaces}
    pairs = smallest_cases(tmp_path_factory.mktemp("cases"), planted.BUGS)
    # The surface without a bug does not check its arguments, so it does not run calls that must be rejected.
    runs = [
        (bug, surface, case)
        for bug in pairs
        for surface in ("none", bug)
        for case in pairs[bug]
        if surface == bug or not isinstance(case.expect, Rejected)
    ]
    worker = Worker(backend, limits=Limits(case_seconds=HANG_SECONDS), retry=False)
    worker.start()
    jobs = (
        Job(translate(case, surfaces[surface]), tuple(compute_expected(case).inputs.values()))
        for _, surface, case in runs
    )
    results = {}
    for (bug, surface, case), outcome in zip(runs, worker.outcomes(jobs), strict=True):
        verdict = judge_outcome(outcome, compute_expected(case).target)
        result = verdict.kind if verdict.verdict == "differ" else verdict.verdict or outcome.kind
        results[bug, surface, case.id.rpartition(".")[2]] = result
    worker.stop()
    return results


def test_surfaces_are_the_declared_ones(planted):
    assert registry.unusable_backends() == []
    assert {*SURFACE_NAMES} == {"planted.none"} | {bug.surface for bug in planted.BUGS.values()}
    assert {surface.name for surface in registry.get_backend("planted").surfaces} == {*SURFACE_NAMES}


def test_metadata_matches_the_project_file():
    project = tomllib.loads((PACKAGE_FOLDER / "pyproject.toml").read_text("utf-8"))["project"]
    (metadata,) = PACKAGE_FOLDER.glob("*.dist-info")
    assert metadata.name == f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    points = "".join(
        f"{name} = {module}\n" for name, module in project["entry-points"][registry.ENTRY_POINT_GROUP].items()
    )
    assert (metadata / "entry_points.txt").read_text("utf-8") == f"[{registry.ENTRY_POINT_GROUP}]\n{points}"


@only_nightly
def test_bugs_cover_every_depth_and_every_kind_of_outcome(planted, verdicts):
    depths = [bug.depth for bug in planted.BUGS.values()]
    assert len(depths) >= 44
    assert min(depths.count(depth) for depth in (1, 2, 3)) >= 15
    shown = {result for (_, surface, which), result in verdicts.items() if surface != "none" and which == "shown"}
    assert shown == {"shape", "dtype", "value", "special", "rejected", "accepted", "crashed", "timed_out"}


@pytest.mark.parametrize("bug", BUG_NAMES)
def test_bug_shows_in_its_smallest_case_and_not_in_its_neighbour(bug, verdicts):
    assert verdicts[bug, bug, "shown"] != "agree"
    assert verdicts[bug, bug, "hidden"] == "agree"


@pytest.mark.parametrize("bug", BUG_NAMES)
def test_surface_without_a_bug_agrees_on_both(bug, verdicts):
    assert {verdict for (of, surface, _), verdict in verdicts.items() if (of, surface) == (bug, "none")} == {"agree"}


def test_bugs_of_calling_show_in_their_program_and_not_without_the_bug(planted):
    for name, bug in planted.CALLING_BUGS.items():
        assert bug.shows(bug.program()), name
        assert not bug.shows(planted.Correct()), name


def test_later_sets_have_enough_bugs(planted):
    assert sum(bug.planted_set == 2 for bug in planted.BUGS.values()) >= 60
    assert sum(bug.planted_set == 3 for bug in planted.BUGS.values()) >= 30
    assert sum(bug.planted_set == 4 for bug in planted.BUGS.values()) >= 12
    assert sum(bug.planted_set == 5 for bug in planted.BUGS.values()) >= 20


@pytest.mark.usefixtures("planted")
def test_surface_without_a_bug_agrees_on_the_smoke_level(catalogue, conformance, tmp_path):
    assert conformance("run", "--backend", "planted", "--surface", "planted.none", "--out", tmp_path)[0] == 0
    lines = (tmp_path / "results" / "planted.jsonl").read_text("utf-8").splitlines()
    results = [record for record in map(json.loads, lines) if record["record"] == "result"]
    passed = [record["case"] for record in results if record["status"] == "pass"]
    assert len(passed) > 150
    assert {name.partition("/")[0] for name in passed} == {case.operator for case in catalogue.select("smoke")}


@pytest.mark.usefixtures("planted")
def test_programs_are_one_call_of_the_package(catalogue):
    (surface,) = [one for one in registry.get_backend("planted").surfaces if one.name == "planted.ties-last"]
    program = translate(catalogue.by_id["max_pool/book-stride-2-padding-1"], surface)
    assert isinstance(program, Program)
    assert 'x = planted.call("ties-last", "max_pool", x, window=(3, 3), stride=(2, 2), ' in program.text


@pytest.fixture(scope="module")
def benchmark(planted):
    """The names of the script that writes the documentation page."""
    assert planted.BUGS  # the script imports the same package
    return SimpleNamespace(**runpy.run_path(str(ROOT / "benchmarks" / "planted_catalogue.py")))


def test_page_has_a_row_for_each_bug_and_accepts_more_columns(planted, benchmark):
    measured = json.loads(benchmark.MEASUREMENTS.read_text("utf-8"))
    earlier = {name for name, bug in planted.BUGS.items() if bug.planted_set < 5}
    assert earlier <= measured["found"].keys() <= planted.BUGS.keys()
    page = benchmark.page(measured["cases"], measured["found"], {"guided": {"ties-last": "7 of 20,000"}})
    assert "| smoke | standard | guided |" in page
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    assert rows.keys() == planted.BUGS.keys()
    assert rows["ties-last"].endswith("| 7 of 20,000 |")


def test_page_has_a_dash_for_a_bug_that_no_case_shows(planted, benchmark):
    found = {name: {"smoke": (0, 0), "standard": (0, 0)} for name in planted.BUGS}
    found["ties-last"]["standard"] = (1234, 5)
    assert "| – | 1,234 (5) |" in benchmark.table(found, {})
    assert f"| all | {len(found)} | 0 | 1 |" in benchmark.depths(found)
