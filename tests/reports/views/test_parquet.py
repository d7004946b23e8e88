"""Parquet: results can be read back, and docs/parquet.md documents the columns."""

import json
import math
import re
import sys
from datetime import datetime, timezone
from io import BytesIO

import pytest
from pyarrow import parquet

from reports.results import Report, load_report
from reports.views.parquet import PARQUET_COLUMNS, render_parquet
from tests import ROOT
from tests.support import example_results as example

PAGE = ROOT / "docs" / "parquet.md"


def read(content):
    return parquet.read_table(BytesIO(content))


@pytest.fixture
def table(tmp_path):
    return lambda *runs: read(render_parquet(load_report(example.write(tmp_path, *runs))))


def records(kind, *runs):
    return [one for run in runs for one in run if one["record"] == kind]


def test_every_result_can_be_read_back(table):
    runs = example.alpha(), example.beta(), example.gamma(), example.delta()[:2] + example.delta()[2:]
    runs = sorted(runs, key=lambda run: run[0]["backend"])
    rows = table(*runs).to_pylist()
    written = records("result", *runs)
    assert len(rows) == len(written)
    for row, one in zip(rows, written, strict=True):
        keys = ("case", "surface", "status", "outcome", "verdict", "kind", "how", "seconds", "digest")
        assert [row[key] for key in keys] == [one[key] for key in keys]
        assert [row[key] for key in ("message", "reason", "issue")] == [
            one.get(key) for key in ("message", "reason", "issue")
        ]
        assert row["budget_used"] == (math.inf if one["budget_used"] == "inf" else one["budget_used"])


def test_outcome_after_other_programs_has_a_column(table):
    lines = [{**one, "after_others": "returned 1"} if one["record"] == "result" else one for one in example.alpha()]
    assert set(table(lines)["after_others"].to_pylist()) == {"returned 1"}
    assert set(table(example.alpha())["after_others"].to_pylist()) == {None}


def test_row_contains_its_case(table):
    row = next(row for row in table(example.alpha()).to_pylist() if row["case"] == "conv/edge-detector")
    case = example.CASES["conv/edge-detector"]
    assert (row["operator"], row["dtype"], row["shape"], row["input_elements"]) == ("conv", "float32", [1, 1, 1, 8], 10)
    assert json.loads(row["parameters"]) == case["parameters"]
    assert (row["terms"], row["bound"], row["case_digest"]) == (9, 0.0, case["digest"])
    assert row["program"].startswith("def run(x):\n")
    assert row["started"] == datetime(2026, 11, 20, 9, 41, tzinfo=timezone.utc)
    assert (row["backend"], row["version"], row["complete"]) == ("alpha", "2.1.0", True)


def test_worst_element_and_answers_have_columns(table):
    rows = {(row["surface"], row["case"]): row for row in table(example.beta()).to_pylist()}
    worst = rows["beta.keras.layers", "max_pool/stride-2-padding-1"]
    keys = ("worst_index", "worst_expected", "worst_got", "worst_absolute", "worst_ulp")
    assert [worst[key] for key in keys] == [[0, 0, 1, 1], 15.0, 14.0, 1.0, 1048576.0]
    answer = rows["beta.keras.layers", "avg_pool/divisor-at-the-border"]
    assert [answer[key] for key in ("declared", "observed")] == ["real-cells", "whole-window"]
    assert rows["beta.book", "avg_pool/large"]["worst_index"] is None


def test_partial_run_is_marked_in_every_row(table):
    rows = table(example.alpha(), example.gamma()).to_pylist()
    assert {row["backend"]: row["complete"] for row in rows} == {"alpha": True, "gamma": False}


def test_columns_have_the_documented_types(table):
    schema = table(example.alpha()).schema
    assert {field.name: field.type for field in schema} == {name: kind for name, (kind, _) in PARQUET_COLUMNS.items()}
    documented = re.findall(r"^\| `(\w+)` \| ([\w<>\[\], =]+) \| ", PAGE.read_text("utf-8"), re.MULTILINE)
    assert documented == [(field.name, str(field.type).replace("element: ", "")) for field in schema]


def test_report_without_results_has_no_rows():
    assert read(render_parquet(Report(()))).num_rows == 0


def test_same_results_give_the_same_bytes(tmp_path):
    paths = example.write(tmp_path, example.alpha(), example.beta(), example.gamma())
    assert render_parquet(load_report(paths)) == render_parquet(load_report(paths[::-1]))


def test_values_out_of_range_become_null(tmp_path):
    worst = {"index": [2**70], "expected": 10**400, "got": "nan", "absolute": [1], "ulp": None}
    got = example.differing("conv/edge-detector", "n.a", None, worst, message="\ud800\x00")
    run = example.run("n", ["n.a"], [got], started="yesterday")
    wide = [{**one, "terms": 2**70, "inputs": {}} if one["record"] == "case" else one for one in run]
    path = tmp_path / "n.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in wide), "utf-8")
    (row,) = read(render_parquet(load_report([path]))).to_pylist()
    assert row["message"] == "\\ud800\x00"
    assert [row[key] for key in ("worst_index", "worst_expected", "worst_absolute", "worst_ulp")] == [
        [None],
        *[None] * 3,
    ]
    assert math.isnan(row["worst_got"])
    assert (row["terms"], row["started"], row["shape"]) == (None, None, [])


def test_command_writes_the_file(conformance, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = example.write(tmp_path / "results", example.alpha())
    outcome = conformance("report", *paths, "--format", "parquet")[:2]
    assert outcome == (0, "report: build/conformance/results.parquet\n")
    assert parquet.read_table(tmp_path / "build/conformance/results.parquet").num_rows == 18


def test_missing_library_is_one_line(conformance, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "reports.views.parquet")
    status, _, error = conformance("report", *example.write(tmp_path, example.alpha()), "--format", "parquet")
    assert (status, len(error)) == (2, 1)
    assert error[0].startswith("conformance: --format parquet needs pyarrow: ")
    assert error[0].endswith("(pip install pyarrow)")
