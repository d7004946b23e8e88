"""Tests of conformance.exploration.promote."""

import json

import pytest
import yaml

from conformance.catalogue import loading
from conformance.exploration.promote import promote_finding
from tests.support.nightly import only_nightly


@pytest.fixture
def output(conformance, planted, tmp_path):
    """Output folder and console output of an exploration with a finding."""
    assert "dilated-extent" in planted.BUGS
    options = ("--backend", "planted", "--surface", "planted.dilated-extent", "--operator", "min_pool")
    status, out, err = conformance("explore", *options, "--cases", 60, "--jobs", 1, "--out", tmp_path / "explored")
    assert status == 1
    return tmp_path / "explored", out, err


def test_a_finding_becomes_a_case(output, conformance, tmp_path):
    folder, _, _ = output
    header = json.loads((folder / "results" / "planted.jsonl").read_text("utf-8").splitlines()[0])
    name = header["explored"]["findings"][0]["id"]
    home = tmp_path / "home" / "pooling"
    home.mkdir(parents=True)
    (home / "min_pool.yaml").write_text(
        "operator: min_pool\nsource: here\n\ncases:\n  - id: one\n    x: {values: [[[1, 2]]]}\n    window: [1]\n",
        "utf-8",
    )
    where = ("--out", folder, "--into", home.parent)
    status, out, _ = conformance("explore", "--promote", name, "--as", "found/by-chance", *where)
    assert status == 0
    assert "min_pool/found/by-chance" in out
    assert [case.id for case in loading.load_catalogue([home.parent]).cases] == [
        "min_pool/one",
        "min_pool/found/by-chance",
    ]
    status, _, err = conformance("explore", "--promote", name, "--as", "one", *where)
    assert status == 2
    assert "duplicate case id min_pool/one" in err[-1]
    assert len(yaml.safe_load((home / "min_pool.yaml").read_text("utf-8"))["cases"]) == 2


@only_nightly
def test_a_promoted_case_needs_its_file(output, tmp_path):
    folder, _, _ = output
    header = json.loads((folder / "results" / "planted.jsonl").read_text("utf-8").splitlines()[0])
    with pytest.raises(Exception, match="no such file"):
        promote_finding(folder, header["explored"]["findings"][0]["id"], tmp_path / "empty")
