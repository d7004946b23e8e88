"""`conformance judge`: outputs written by Python, exit statuses, and the commands that read its results."""

import json

import numpy as np
import pytest

from conformance.catalogue import loading
from conformance.judging.expected import compute_expected
from tests.support import fake_backends as fakes

RESULTS = "build/conformance/results/mylib.jsonl"
CASES = (
    "id: a, x: {shape: [1, 1, 4], values: integers}, window: 2",
    "id: b, x: {shape: [1, 2, 5], values: integers}, window: 3",
)


@pytest.fixture
def outputs(folder, conformance):
    """Return a function that exports two cases to `cases`, and writes outputs with some changes to `outputs`."""
    assert conformance("export", "cases", "--cases", fakes.family(folder, *CASES))[0] == 0
    (folder / "outputs").mkdir()

    def write(**changes):
        lines = []
        for number, case in enumerate(loading.load_catalogue([folder / "cases"]).cases):
            value = compute_expected(case).target.exact.value
            line = {
                "case": case.id, "outcome": "returned", "file": f"{number}.bin",
                "shape": value.shape, "dtype": value.dtype.name,
            }  # fmt: skip
            (folder / "outputs" / f"{number}.bin").write_bytes(np.ascontiguousarray(value).tobytes())
            changed = changes.get(case.id.rpartition("/")[2], {})
            lines += [{**line, **changed}] if changed is not None else []
        (folder / "outputs" / "outputs.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")

    return write


def judge(conformance, *options):
    return conformance("judge", "cases", "outputs", "--name", "mylib", "--runtime-version", "1.2", *options)


def test_right_outputs_pass(outputs, conformance, folder):
    outputs()
    status, out, errors = judge(conformance)
    assert (status, errors) == (0, [])
    assert out.endswith(f"✓ 2 of 2 judged agree\nresults: {RESULTS}\n")
    assert (folder / RESULTS).exists()


def test_wrong_output_fails_and_is_shown_with_its_numbers(outputs, conformance, folder):
    outputs()
    content = (folder / "outputs/1.bin").read_bytes()
    (folder / "outputs/1.bin").write_bytes(np.float32(99).tobytes() + content[4:])
    status, out, _ = judge(conformance)
    assert status == 1
    assert "✗ fail max_pool/b on mylib: value: at [0, 0, 0] expected" in out
    assert "got 99.0" in out


def test_case_without_an_output_is_an_incomplete_run(outputs, conformance):
    outputs(b=None)
    status, out, errors = judge(conformance)
    assert status == 3
    assert "mylib: partial run, stopped after 1 result." in out
    assert errors == ["conformance: outputs: no output for 1 of 2 cases: max_pool/b"]


def test_only_unsupported_cases_are_not_a_success(outputs, conformance):
    unsupported = {"outcome": "unsupported", "message": "why", "file": None, "shape": None, "dtype": None}
    outputs(a=unsupported, b=unsupported)
    status, out, _ = judge(conformance)
    assert status == 3
    assert "mylib: nothing ran." in out


def test_damaged_output_is_an_error_before_anything_is_written(outputs, conformance, folder):
    outputs(b={"shape": [7]})
    status, out, errors = judge(conformance)
    assert (status, out) == (2, "")
    assert errors == [
        "conformance: outputs/outputs.jsonl:2: case max_pool/b: outputs/1.bin: 8 bytes, but float32 [7] has 28"
    ]
    assert not (folder / RESULTS).exists()


@pytest.mark.usefixtures("folder")
def test_folder_that_is_no_export_is_an_error(conformance):
    status, _, errors = judge(conformance)
    assert status == 2
    assert errors == ["conformance: cases: not an exported catalogue (`conformance export` writes one)"]


@pytest.mark.parametrize("option", ["--declarations", "--ledger"])
def test_missing_file_of_an_option_is_an_error(outputs, conformance, option):
    outputs()
    status, _, errors = judge(conformance, option, "gone.yaml")
    assert (status, len(errors)) == (2, 1)
    assert "'gone.yaml' does not exist" in errors[0]


def test_report_junit_badge_and_diff_read_the_results(outputs, conformance, folder):
    outputs(a={"shape": [2]})
    assert judge(conformance, "--out", "old")[0] == 1
    outputs()
    assert judge(conformance)[0] == 0
    status, out, _ = conformance("report", "--format", "junit", "--out", "-")
    assert status == 0
    assert '<testsuite name="mylib"' in out
    assert conformance("report", "--out", "report.html")[0] == 0
    assert conformance("report", "--format", "badge", "--out", "badges")[0] == 0
    assert (folder / "badges" / "mylib.svg").exists()
    status, out, _ = conformance("diff", "old", "build/conformance")
    assert status == 1
    assert "✗ fail → ✓ pass" in out
    assert "program changed" not in out


def test_ledger_add_proposes_an_entry(outputs, conformance):
    outputs(a={"shape": [2]})
    judge(conformance)
    status, out, _ = conformance(
        "ledger", "add", RESULTS, "--cases", "cases", "--case", "max_pool/*",
        "--reason", "mylib returns the result without the axes of batch and channels.",
    )  # fmt: skip
    assert status == 0
    assert "surfaces: [mylib]" in out


def test_rejudge_skips_the_results_and_names_the_command(outputs, conformance, folder):
    outputs()
    judge(conformance)
    before = (folder / RESULTS).read_bytes()
    status, out, _ = conformance("rejudge")
    assert status == 0
    assert (
        out
        == f"{RESULTS}: skipped, these outputs were computed outside of the suite; `conformance judge` judges them\n"
    )
    assert (folder / RESULTS).read_bytes() == before
