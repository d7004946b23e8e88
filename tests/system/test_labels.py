"""Two versions of one framework in one run, with `--backend NAME@LABEL=PYTHON`, in all commands."""

import json
import sys

import pytest

from conformance import ConformanceError, cli
from conformance.adapters import registry
from conformance.execution.targets import run_targets
from conformance.judging import ledger
from conformance.translation.program_cache import ProgramCache
from reports.results import reader
from tests.support.fake_backends import family
from tests.system.test_pytest_plugin import PLUGIN

pytest_plugins = ["pytester"]
# Summed from the other end the result is larger by 4. Both results are within the error bound.
ROUNDED = "id: rounded, x: {values: [[[16777216, 1, 1, 1]]]}, window: [4]"
WHOLE = "id: whole, x: {values: [[[2, 4]]]}, window: [2]"
WRONG = "id: wrong, x: {values: [[[7, 9]]]}, window: [2]"
OLD = """\
import numpy

now = numpy.sum
numpy.sum = lambda cells, dtype: now(cells[::-1], dtype=dtype) + dtype.type(2 * (cells[0] == 7))
numpy.__version__ = "0.9"
"""


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """An interpreter whose NumPy reports version 0.9, sums from the other end, and is wrong if the first value is 7."""
    folder = tmp_path_factory.mktemp("older")
    (folder / "sitecustomize.py").write_text(OLD, "utf-8")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} "$@"\n', "utf-8")
    python.chmod(0o755)
    return python


@pytest.fixture(scope="module")
def once(tmp_path_factory, older):
    """The output folder of one run of both versions, with its cases."""
    folder = tmp_path_factory.mktemp("both")
    cases = family(folder, ROUNDED, WHOLE, WRONG, operator="avg_pool")
    arguments = ["--backend", "numpy", "--backend", f"numpy@0.9={older}", "--cases", str(cases), "--out", str(folder)]
    with pytest.raises(SystemExit) as left:
        cli.main(["run", *arguments])
    assert left.value.code == 1
    return folder


@pytest.fixture
def both(once, tmp_path):
    """The paths of a copy of the results of both versions, new and old, and of the cases."""
    for name in ("numpy.jsonl", "numpy@0.9.jsonl"):
        (tmp_path / name).write_bytes((once / "results" / name).read_bytes())
    return tmp_path / "numpy.jsonl", tmp_path / "numpy@0.9.jsonl", once / "file.yaml"


def header(path):
    return json.loads(path.read_text("utf-8").splitlines()[0])


def test_each_version_has_its_own_results_file(both):
    new, old, _ = map(header, (*both[:2], both[0]))
    assert (new["backend"], old["backend"]) == ("numpy", "numpy@0.9")
    assert new["surfaces"] == old["surfaces"] == ["numpy.loops"]
    assert old["environment"]["packages"]["numpy"] == "0.9" != new["environment"]["packages"]["numpy"]


def test_views_have_one_surface_for_each_version(both, conformance):
    loaded = reader.load_report(both[:2])
    assert [backend.name for backend in loaded.backends] == ["numpy", "numpy@0.9"]
    assert loaded.surfaces == ("numpy.loops", "numpy.loops@0.9")
    assert loaded.backends[1].version == "0.9"
    status, out, _ = conformance("report", "--format", "terminal", *both[:2])
    lines = [line.split() for line in out.splitlines()]
    assert status == 1
    assert ["numpy.loops", "3"] in lines
    assert ["numpy.loops@0.9", "1", "2"] in lines
    assert "avg_pool/wrong on numpy.loops@0.9: value" in out
    assert "surfaces disagree" not in out


@pytest.mark.parametrize("form", ["html", "markdown", "matrix"])
def test_pages_name_both_versions(both, conformance, form):
    status, out, _ = conformance("report", "--format", form, "--out", "-", *both[:2])
    assert status == 1
    assert "numpy.loops" in out.replace("<wbr>", "")
    assert any(name in out.replace("<wbr>", "") for name in ("numpy.loops@0.9", "numpy.loops&#64;0.9"))


def test_report_requires_a_version_by_its_full_name(both, conformance):
    assert conformance("report", "--require", "numpy,numpy@0.9", "--out", "-", *both[:2])[0] == 1
    status, _, error = conformance("report", "--require", "numpy", "--out", "-", both[1])
    assert (status, error) == (3, ["conformance: no results of numpy"])


def test_resume_continues_one_version_and_rejects_the_other(both, older, conformance, tmp_path):
    new, old, cases = both
    (tmp_path / "results").mkdir()
    resumed = tmp_path / "results" / "numpy@0.9.jsonl"
    resumed.write_text("".join(old.read_text("utf-8").splitlines(keepends=True)[:-2]), "utf-8")
    run = ("run", "--resume", "--cases", cases, "--out", tmp_path)
    assert conformance(*run, "--backend", f"numpy@0.9={older}")[0] == 1
    assert reader.load_report([resumed]).backends[0].complete
    resumed.write_bytes(new.read_bytes())
    status, _, error = conformance(*run, "--backend", f"numpy@0.9={sys.executable}")
    assert (status, error) == (2, [f"conformance: {resumed}:1: cannot resume, backend differs from this run"])


def test_rejudge_does_not_change_the_label(both, conformance):
    before = both[1].read_text("utf-8")
    assert conformance("rejudge", "--cases", both[2], both[1])[0] == 0
    assert both[1].read_text("utf-8") == before


def test_new_ledger_entry_has_surface_and_version_without_label(both, conformance):
    add = (
        "ledger",
        "add",
        *both[:2],
        "--cases",
        both[2],
        "--reason",
        "It adds more than there is, where a 7 comes first.",
        "--case",
    )
    status, out, error = conformance(*add, "avg_pool/wrong")
    assert status == 0
    assert "surfaces: [numpy.loops]" in out
    assert "0.9" in "".join(error)
    assert "@" not in out
    assert "numpy: " in out
    status, _, error = conformance(*add, "avg_pool/wrong", "--surface", "numpy.loops")
    assert (status, len(error)) == (2, 1)
    assert conformance(*add, "avg_pool/wrong", "--surface", "numpy.loops@*")[0] == 0


def test_ledger_entry_is_matched_by_version_not_by_label(both, conformance, tmp_path, monkeypatch):
    path = tmp_path / "ledger.yaml"
    fields = "kinds: [value], observed: More., reason: 'It adds more than there is, where a 7 comes first.'"
    entry = f"id: one, cases: [avg_pool/wrong], surfaces: [numpy.loops], versions: {{numpy: '<1'}}, {fields}"
    path.write_text(f"entries:\n  - {{{entry}}}\n", "utf-8")
    monkeypatch.setattr(ledger, "ledger_path", lambda: path)
    status, out, _ = conformance("rejudge", "--cases", both[2], *both[:2])
    assert status == 0
    assert out.splitlines()[0].endswith("3 results are valid")
    assert out.splitlines()[1].endswith("1 went from fail to known")


def test_difference_between_two_versions_of_one_run(both, conformance):
    new, old, _ = both
    status, out, _ = conformance("diff", old, new)
    lines = out.splitlines()
    assert status == 1
    assert lines[0].startswith("numpy: 0.9 → ")
    assert "✗ fail → ✓ pass  avg_pool, numpy@0.9 → numpy: 1 result" in lines
    moved = "1 of 1 element, most at [0, 0, 0]: 4194305.0 → 4194304.0 (2 ulp, 50 % of the largest error bound)"
    assert f"  avg_pool/rounded on numpy.loops: {moved}" in lines
    assert "3 results compared (numpy@0.9 → numpy): 1 changed status, 1 changed value." in lines


def test_verified_summary_accepts_only_one_version(both, conformance):
    status, _, error = conformance("verified", *both[:2])
    assert (status, error) == (2, ["conformance: numpy: two runs of one backend; give only one of them"])
    summary = json.loads(conformance("verified", both[1])[1])
    assert {name: one["backend"] for name, one in summary["surfaces"].items()} == {"numpy.loops": "numpy"}


def test_answers_of_each_version_are_separate(conformance, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    question = "max_pool/nan-in-window"
    assert conformance("run", "--backend", "numpy@a.b_c-1", "--case", question)[0] == 0
    path = tmp_path / "build/conformance/results/numpy@a.b_c-1.jsonl"
    _, out, _ = conformance("conventions", path, "--question", question, "--format", "json")
    surfaces = json.loads(out)["questions"][0]["surfaces"]
    assert surfaces["numpy.loops@a.b_c-1"]["agrees"]
    assert surfaces["numpy.loops"]["observed"] is None


@pytest.mark.parametrize("name", ["numpy@", "numpy@a b", "numpy@../x", "numpy@a@b", f"numpy@{'x' * 65}", "numpy@a/b"])
def test_invalid_label_is_one_error_line(conformance, name):
    status, _, error = conformance("run", "--backend", f"{name}={sys.executable}")
    assert (status, len(error)) == (2, 1)
    assert "is not a label: in NAME@LABEL=PYTHON, it has at most 64 letters, digits, dots" in error[0]


@pytest.mark.parametrize("names", [("numpy", "numpy"), ("numpy@a", "numpy@a=python"), ("numpy@a", "numpy@A")])
def test_duplicate_name_is_rejected_with_a_hint(names):
    with pytest.raises(ConformanceError, match=r"named twice \(numpy@LABEL=PYTHON distinguishes two versions\)"):
        run_targets(names, [])


def test_unknown_backend_with_a_label_is_unknown():
    with pytest.raises(ConformanceError, match="backend 'nope': unknown"):
        registry.get_backend("nope@a")


def test_path_of_the_interpreter_may_contain_separators():
    (one,) = run_targets(["numpy@a=/x/y@z=1/python"], ["numpy.loops"])
    assert (one.name, one.python, one.backend.label) == ("numpy@a", "/x/y@z=1/python", "@a")


def test_versions_share_the_program_cache(catalogue):
    unlabelled, labelled = (
        ProgramCache(registry.get_backend(name), catalogue.digest).file.path for name in ("numpy", "numpy@a")
    )
    assert unlabelled == labelled is not None


def test_list_of_backends_explains_the_form(conformance, monkeypatch):
    assert "NAME@LABEL=PYTHON" in conformance("backends", "--help")[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "NAME@LABEL=PYTHON" in conformance("backends")[1]


def test_each_version_has_its_own_items_under_pytest(older, pytester):
    cases = family(pytester.path, ROUNDED, WHOLE, WRONG, operator="avg_pool")
    backends = ["--conformance-backend", "numpy", "--conformance-backend", f"numpy@0.9={older}"]
    options = [*PLUGIN, "-W", "error", *backends, "--conformance-cases", str(cases)]
    found = pytester.runpytest_inprocess(*options)
    found.assert_outcomes(passed=5, failed=1)
    found.stdout.fnmatch_lines(["*_ avg_pool/wrong on numpy.loops@0.9 _*", "FAILED numpy.loops@0.9::avg_pool/wrong*"])
    pytester.runpytest_inprocess(*options, "numpy.loops@0.9::avg_pool/wrong").assert_outcomes(failed=1)
    pytester.runpytest_inprocess(*options, "numpy.loops").assert_outcomes(passed=3)
