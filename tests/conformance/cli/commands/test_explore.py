"""`conformance explore`."""

import json

import pytest

from conformance.catalogue import loading
from conformance.exploration.explorer import Explorer, StopCondition
from tests.support.nightly import only_nightly


@pytest.fixture
def output(conformance, planted, tmp_path):
    """Output folder and console output of an exploration with a finding."""
    assert "dilated-extent" in planted.BUGS
    options = ("--backend", "planted", "--surface", "planted.dilated-extent", "--operator", "min_pool")
    status, out, err = conformance("explore", *options, "--cases", 60, "--jobs", 1, "--out", tmp_path / "explored")
    assert status == 1
    return tmp_path / "explored", out, err


def test_the_command_writes_results_cases_scripts_and_a_page(output, conformance):
    folder, out, err = output
    assert "60 cases" in out
    assert any("per second" in line for line in err)
    header = json.loads((folder / "results" / "planted.jsonl").read_text("utf-8").splitlines()[0])
    (first, *_) = header["explored"]["findings"]
    assert first["sentence"] in out
    assert (folder / "repro" / "planted" / f"{first['id']}.py").exists()
    assert f"## `{first['id']}`" in (folder / "planted.md").read_text("utf-8")
    path = folder / "cases" / "planted" / "pooling" / "min_pool.yaml"
    assert first["case"] in {case.id for case in loading.load_catalogue([path]).cases}
    surface = ("--backend", "planted", "--surface", "planted.dilated-extent")
    status, shown, _ = conformance("run", *surface, "--cases", path, "--out", folder / "again")
    assert status == 1
    assert "fail" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cases", "10", "--minutes", "1"), "cannot be combined"),
        (("--cases", "0"), "0 is not in the range"),
        (("--promote", "max_pool-0"), "contains no findings"),
        (("--as", "name"), "need --promote"),
        (("--conventions", "--cases", "5"), "cannot be combined"),
        (("--variants-per-change", "1"), "needs --conventions"),
        (("--backend", "nobody", "--cases", "1"), "backend 'nobody'"),
        (("--backend", "numpy", "--surface", "other", "--cases", "1"), "surface 'other'"),
    ],
)
def test_wrong_usage_is_reported_in_one_line(options, message, conformance, tmp_path):
    status, _, err = conformance("explore", *options, "--out", tmp_path)
    assert status == 2
    (line,) = err[-1:]
    assert message in line
    assert "Traceback" not in line


def test_variants_of_conventions_are_compared_with_the_declared_answers(conformance, tmp_path):
    options = ("--backend", "numpy", "--operator", "global_avg_pool", "--jobs", 1, "--out", tmp_path)
    status, out, _ = conformance("explore", "--conventions", *options)
    assert status == 0
    (line,) = out.splitlines()
    assert line.startswith("numpy: ")
    assert "0 contradicted" in line
    assert " 0 agreed" not in line


def test_a_sample_of_variants_compares_fewer(conformance, tmp_path):
    options = ("--conventions", "--backend", "numpy", "--operator", "global_avg_pool", "--jobs", 1, "--out", tmp_path)
    counts = []
    for sample in ((), ("--variants-per-change", 1)):
        status, out, _ = conformance("explore", *options, *sample)
        assert status == 0
        counts.append(int(out.split()[1].replace(",", "")))
    assert 0 < counts[1] < counts[0]


def test_a_missing_interpreter_is_reported_in_one_line(conformance, tmp_path):
    status, _, err = conformance(
        "explore", "--backend", f"numpy={tmp_path / 'python'}", "--cases", 5, "--out", tmp_path
    )
    assert status == 3
    assert "No such file" in err[-1]


@only_nightly
@pytest.mark.usefixtures("planted")
def test_findings_before_an_interruption_are_written(conformance, monkeypatch, tmp_path):
    explore_until = Explorer.explore

    def interrupted(self, _stop, on_generation):
        explore_until(self, StopCondition(60), on_generation)
        raise KeyboardInterrupt

    monkeypatch.setattr(Explorer, "explore", interrupted)
    options = ("--backend", "planted", "--surface", "planted.dilated-extent", "--operator", "min_pool")
    status, out, err = conformance("explore", *options, "--jobs", 1, "--out", tmp_path)
    assert status == 130
    assert "planted: interrupted; the findings so far are written" in err
    assert "60 cases" in out
    assert (tmp_path / "planted.md").exists()
    assert (tmp_path / "results" / "planted.jsonl").exists()
