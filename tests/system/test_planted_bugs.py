"""The backend of planted faults: each surface has its fault and no other, and the one without agrees everywhere."""

import json
import runpy
from types import SimpleNamespace

import pytest
import yaml

from conformance.adapters import registry
from conformance.adapters.api.surface import Program
from conformance.execution.worker_process import Job, Limits, Worker
from conformance.judging.expected import compute_expected
from conformance.judging.verdict import judge_outcome
from conformance.translation.lowering import translate
from tests import ROOT
from tests.support.planted_bugs import HOME, smallest

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = pytest.importorskip("tomli")

NAMES = sorted(yaml.safe_load((HOME / "conformance_planted" / "planted.yaml").read_text("utf-8")))
FAULTY = [name.removeprefix("planted.") for name in NAMES if name != "planted.none"]
HANG = 5.0
"""Seconds after which a program hangs."""


@pytest.fixture(scope="module")
def verdicts(planted, tmp_path_factory):
    """What comes of each fault's two cases, by fault, surface and case: the kind of a difference, "agree" for none."""
    backend = registry.get_backend("planted")
    surfaces = {surface.name.removeprefix("planted."): surface for surface in backend.surfaces}
    pairs = smallest(tmp_path_factory.mktemp("cases"), planted.FAULTS)
    asked = [(fault, on, case) for fault in pairs for on in ("none", fault) for case in pairs[fault]]
    worker = Worker(backend, limits=Limits(case_seconds=HANG), retry=False)
    worker.start()
    jobs = (Job(translate(case, surfaces[on]), tuple(compute_expected(case).inputs.values())) for _, on, case in asked)
    found = {}
    for (fault, on, case), outcome in zip(asked, worker.outcomes(jobs), strict=True):
        verdict = judge_outcome(outcome, compute_expected(case).target)
        said = verdict.kind if verdict.verdict == "differ" else verdict.verdict or outcome.kind
        found[fault, on, case.id.rpartition(".")[2]] = said
    worker.stop()
    return found


def test_surfaces_are_those_that_are_declared(planted):
    assert registry.unusable_backends() == []
    assert {*NAMES} == {"planted.none"} | {fault.surface for fault in planted.FAULTS.values()}
    assert {surface.name for surface in registry.get_backend("planted").surfaces} == {*NAMES}


def test_what_pip_would_leave_is_what_the_package_says():
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf-8"))["project"]
    (left,) = HOME.glob("*.dist-info")
    assert left.name == f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    points = "".join(
        f"{name} = {module}\n" for name, module in project["entry-points"][registry.ENTRY_POINT_GROUP].items()
    )
    assert (left / "entry_points.txt").read_text("utf-8") == f"[{registry.ENTRY_POINT_GROUP}]\n{points}"


def test_faults_of_every_depth_and_of_every_kind_of_outcome_are_planted(planted, verdicts):
    depths = [fault.depth for fault in planted.FAULTS.values()]
    assert len(depths) >= 44
    assert min(depths.count(depth) for depth in (1, 2, 3)) >= 15
    shown = {said for (_, on, which), said in verdicts.items() if on != "none" and which == "shown"}
    assert shown == {"shape", "dtype", "value", "special", "rejected", "crashed", "timed_out"}


@pytest.mark.parametrize("fault", FAULTY)
def test_fault_shows_in_its_smallest_case_and_not_in_its_neighbour(fault, verdicts):
    assert verdicts[fault, fault, "shown"] != "agree"
    assert verdicts[fault, fault, "hidden"] == "agree"


@pytest.mark.parametrize("fault", FAULTY)
def test_surface_without_a_fault_agrees_on_both(fault, verdicts):
    assert verdicts[fault, "none", "shown"] == verdicts[fault, "none", "hidden"] == "agree"


@pytest.mark.usefixtures("planted")
def test_surface_without_a_fault_agrees_on_the_smoke_level(catalogue, conformance, tmp_path):
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
    """The names of the script that writes the page."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "benchmarks" / "planted_catalogue.py")))


def test_page_has_a_row_for_each_fault_and_takes_further_columns(planted, benchmark):
    kept = json.loads(benchmark.KEPT.read_text("utf-8"))
    assert kept["found"].keys() == planted.FAULTS.keys()
    page = benchmark.page(kept["cases"], kept["found"], {"guided": {"ties-last": "7 of 20,000"}})
    assert "| smoke | standard | guided |" in page
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    assert rows.keys() == planted.FAULTS.keys()
    assert rows["ties-last"].endswith("| 7 of 20,000 |")


def test_fault_that_no_case_shows_is_told_as_such(planted, benchmark):
    found = {name: {"smoke": (0, 0), "standard": (0, 0)} for name in planted.FAULTS}
    found["ties-last"]["standard"] = (1234, 5)
    assert "| – | 1,234 (5) |" in benchmark.table(found, {})
    assert f"| all | {len(found)} | 0 | 1 |" in benchmark.depths(found)
