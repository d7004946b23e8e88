"""`conformance report`."""

import pytest

from tests.support import example_results as example

pytestmark = pytest.mark.usefixtures("own_folder")


def test_report_writes_results_in_each_format(conformance, tmp_path):
    conformance("run", "--backend", "numpy", "--operator", "min_pool")
    status, out, _ = conformance("report")
    page = tmp_path / "build/conformance/report.html"
    assert (status, page.as_uri() in out) == (0, True)
    assert "numpy.loops" in page.read_text("utf-8")
    assert conformance("report", "--format", "markdown", "--out", "-")[1].startswith("#")
    assert conformance("report", "--format", "terminal")[0] == 0
    assert conformance("report", "--format", "junit")[:2] == (0, "report: build/conformance/junit.xml\n")


def test_report_without_a_required_backend_is_incomplete(conformance):
    conformance("run", "--backend", "numpy", "--operator", "min_pool")
    status, _, error = conformance("report", "--require", "numpy", "--require", "torch")
    assert (status, error) == (3, ["conformance: no results of torch"])
    assert conformance("report", "--require", "numpy")[0] == 0
    both = conformance("report", "--require", "numpy, torch, mxnet")[2]
    assert both == ["conformance: no results of mxnet, torch"]


def test_report_of_a_partial_run_is_incomplete(conformance, tmp_path):
    conformance("run", "--backend", "numpy", "--operator", "min_pool")
    path = tmp_path / "build/conformance/results/numpy.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    status, _, errors = conformance("report")
    assert (status, errors[0]) == (3, "✗ The run is incomplete")
    assert any("partial run" in line for line in errors[1:])
    assert conformance("report", "--format", "terminal")[2] == []


def test_report_of_unexpected_results_prints_why_its_exit_status_is_not_0(conformance, tmp_path):
    path = example.write(tmp_path, example.beta())[0]
    status, out, errors = conformance("report", path, "--format", "markdown", "--out", "page.md")
    assert (status, out) == (1, "report: page.md\n")
    assert errors[0].startswith("✗ ")
    assert "unexpected result" in errors[0]
    assert len(errors) > 1


def test_report_on_garbage_is_one_line_with_file_and_line(conformance, tmp_path):
    (tmp_path / "bad.jsonl").write_text("garbage\n", "utf-8")
    status, _, error = conformance("report", "bad.jsonl")
    assert (status, len(error)) == (2, 1)
    assert "bad.jsonl:1: not JSON" in error[0]


def test_report_that_cannot_be_written_is_one_line(conformance, tmp_path):
    conformance("run", "--backend", "numpy", "--operator", "min_pool")
    (tmp_path / "file").write_text("", "utf-8")
    status, _, error = conformance("report", "--out", "file/report.html")
    assert (status, len(error)) == (2, 1)
    assert "file" in error[0]
