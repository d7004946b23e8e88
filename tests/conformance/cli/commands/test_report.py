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


def past_run(folder, day, **changes):
    records = example.run("alpha", ["alpha.nn"], example.all_pass("alpha.nn"), **changes)
    records[0]["started"] = f"2026-11-{day:02}T02:00:00+00:00"
    return example.write(folder, records)[0]


def test_history_is_in_the_html_report(conformance, tmp_path):
    current = past_run(tmp_path / "current", 3)
    past_run(tmp_path / "past", 1)
    past_run(tmp_path / "past/night/results", 2)
    assert conformance("report", current, "--history", "past", "--out", "r.html")[0] == 0
    assert "3 runs since 2026-11-01; no result changed." in (tmp_path / "r.html").read_text("utf-8")


UNUSABLE = {  # how the folder is made, and the end of the message
    "missing": (lambda _past: None, "--history {past}: is not a folder"),
    "file": (lambda past: past.write_text("", "utf-8"), "--history {past}: is not a folder"),
    "empty": (lambda past: past.mkdir(), "--history {past}: contains no results files"),
    "partial": (
        lambda past: past_run(past, 1, complete=False),
        "--history {past}: {past}/alpha.jsonl is a partial run (conformance run --resume completes it)",
    ),
    "shard": (
        lambda past: past_run(past, 1, shard={"number": 1, "of": 2}),
        "--history {past}: {past}/alpha.jsonl is a shard (combine shards with conformance merge)",
    ),
    "foreign": (
        lambda past: example.write(past, [{"backend": "foreign"}]),
        "{past}/foreign.jsonl:1: object missing required field `record`",
    ),
    "twice": (
        lambda past: [past_run(past / name, 1) for name in "ab"],
        "--history {past}: {past}/b/alpha.jsonl contains the same run as {past}/a/alpha.jsonl",
    ),
    "other": (lambda past: example.write(past, example.beta()), "--history {past}: contains no other run of alpha"),
}


@pytest.mark.parametrize(("make", "message"), UNUSABLE.values(), ids=UNUSABLE)
def test_folder_without_usable_past_runs_is_one_line(conformance, tmp_path, make, message):
    current, past = past_run(tmp_path / "current", 3), tmp_path / "past"
    make(past)
    status, out, errors = conformance("report", current, "--history", past, "--out", "r.html")
    assert (status, out, errors) == (2, "", [f"conformance: {message.format(past=past)}"])
    assert not (tmp_path / "r.html").exists()


def test_findings_of_explorations_are_no_past_runs(conformance, tmp_path):
    current = past_run(tmp_path / "current", 3)
    past_run(tmp_path / "past", 1)
    example.write(tmp_path / "past/explored", example.exploration())
    assert conformance("report", current, "--history", "past", "--out", "r.html")[0] == 0


def test_history_needs_the_html_format(conformance, tmp_path):
    current = past_run(tmp_path / "current", 3)
    for output_format in ("markdown", "terminal"):
        status, _, errors = conformance("report", current, "--history", "past", "--format", output_format)
        assert (status, len(errors)) == (2, 1)
        assert f"--history needs --format html, not {output_format}" in errors[0]
