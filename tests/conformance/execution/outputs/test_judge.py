"""Judging of outputs: the same verdicts as a run, conventions, the ledger, and missing outputs."""

import json
import sys

import numpy as np
import pytest

from conformance import CatalogueError, ConformanceError
from conformance.adapters import registry
from conformance.catalogue import export, loading
from conformance.execution.outputs.judge import judge_outputs, make_runtime
from conformance.execution.outputs.reader import OUTPUTS_FILE, read_outputs
from conformance.execution.run import Run
from conformance.judging.expected import compute_expected
from conformance.judging.ledger import Ledger, load_ledger
from reports.results import Outcome, load_report
from tests.support import fake_backends as fakes

CASES = (
    "id: a, x: {shape: [1, 1, 4], values: integers}, window: 2",
    "id: b, x: {shape: [1, 1, 5], values: integers}, window: 3",
)
QUESTION = (
    "id: q, about: 'Is it?', x: {shape: [1, 1, 4], values: integers}, window: 2, answers: {yes: {}, no: {window: 1}}"
)


@pytest.fixture
def exported(tmp_path):
    """Return a function that exports cases and returns the catalogue of the export."""

    def make(*cases, **keywords):
        catalogue = fakes.load(tmp_path, *cases, **keywords)
        export.write_export(catalogue, catalogue.cases, tmp_path / "export")
        return loading.load_catalogue([tmp_path / "export"])

    return make


def write_outputs(folder, arrays):
    """Write the outputs: for each case an array, or an outcome without one."""
    folder.mkdir()
    with (folder / OUTPUTS_FILE).open("w", encoding="utf-8") as stream:
        for number, (case, output) in enumerate(arrays.items()):
            record = {"case": case, "outcome": output, "message": "why"}
            if isinstance(output, np.ndarray):
                np.save(folder / f"{number}.npy", output)
                record = {"case": case, "outcome": "returned", "file": f"{number}.npy"}
            stream.write(json.dumps(record) + "\n")
    return folder


def right_answers(catalogue):
    return {case.id: compute_expected(case).target.exact.value for case in catalogue.cases}


def judged(tmp_path, catalogue, arrays, ledger=None, **keywords):
    """Judge outputs; return the missing cases, and the only run of the results file."""
    outputs = read_outputs(write_outputs(tmp_path / "outputs", arrays), catalogue.by_id)
    path = tmp_path / "results.jsonl"
    missing = judge_outputs(
        make_runtime("mylib", "1.2", **keywords), catalogue, outputs, ledger or Ledger(), path,
        compute_expected=compute_expected,
    )  # fmt: skip
    (run,) = load_report([path]).backends
    return missing, run


def statuses(run):
    return {result.case: str(result.status) for result in run.results}


def test_right_outputs_pass_and_the_header_names_the_runtime(tmp_path, exported):
    catalogue = exported(*CASES)
    missing, run = judged(tmp_path, catalogue, right_answers(catalogue))
    assert (missing, statuses(run)) == ([], {"max_pool/a": "pass", "max_pool/b": "pass"})
    assert (run.name, run.version, run.complete, run.header.surfaces) == ("mylib", "1.2", True, ("mylib",))
    assert (run.header.catalogue.digest, run.header.environment.python) == (catalogue.digest, "")


def test_wrong_number_shape_and_dtype_fail(tmp_path, exported):
    catalogue = exported(*CASES, CASES[0].replace("id: a", "id: c"))
    right = right_answers(catalogue)
    changes = {"a": lambda array: array + 1, "b": lambda array: array[0], "c": lambda array: array.astype("f8")}
    arrays = {f"max_pool/{name}": change(right[f"max_pool/{name}"]) for name, change in changes.items()}
    _, run = judged(tmp_path, catalogue, arrays)
    assert {str(result.kind) for result in run.results} == {"value", "shape", "dtype"}
    assert {*statuses(run).values()} == {"fail"}


def test_outcomes_without_an_array_have_their_status(tmp_path, exported):
    kinds = [kind for kind in Outcome if kind is not Outcome.RETURNED]
    catalogue = exported(*(CASES[0].replace("id: a", f"id: c{number}") for number in range(len(kinds))))
    _, run = judged(tmp_path, catalogue, {f"max_pool/c{number}": kind for number, kind in enumerate(kinds)})
    assert [*statuses(run).values()] == ["fail", "unsupported", "crashed", "timed_out"]
    messages = [(result.message, result.reason) for result in run.results]
    assert messages == [("why", None), (None, "why"), ("why", None), ("why", None)]


def test_verdicts_are_those_of_a_run_of_the_same_outputs(tmp_path, exported):
    catalogue = exported(*CASES, operator="avg_pool")
    path = tmp_path / "run.jsonl"
    Run(registry.get_backend("numpy"), catalogue, Ledger(), python=sys.executable).execute(path)
    (run,) = load_report([path]).backends
    # A run records the array only if it differs from the expected one; here all are equal.
    assert {result.got for result in run.results} == {None}
    _, found = judged(tmp_path, catalogue, right_answers(catalogue))
    compared = ("case", "status", "outcome", "verdict", "budget_used", "digest")
    assert [[getattr(one, key) for key in compared] for one in found.results] == [
        [getattr(one, key) for key in compared] for one in run.results
    ]
    assert found.cases == run.cases


def test_answers_are_compared_with_the_declarations(tmp_path, exported):
    catalogue = exported(QUESTION, section="questions")
    (case,) = catalogue.cases
    arrays = {case.id: compute_expected(case).answers["no"].exact.value}
    declared = tmp_path / "mylib.yaml"
    declared.write_text('mylib:\n  max_pool/q: {answer: "no", observed: "1.2"}\n', "utf-8")
    _, run = judged(tmp_path, catalogue, arrays, declarations=declared)
    assert statuses(run) == {case.id: "pass"}
    (answer,) = run.conventions
    assert (answer.surface, answer.declared, answer.observed) == ("mylib", "no", "no")


def test_answer_without_a_declaration_is_undeclared(tmp_path, exported):
    catalogue = exported(QUESTION, section="questions")
    (case,) = catalogue.cases
    _, run = judged(tmp_path, catalogue, {case.id: compute_expected(case).answers["no"].exact.value})
    (result,) = run.results
    assert (result.status, result.verdict) == ("undeclared", None)
    assert result.message == "answered 'no'; the surface declares no answer"


def test_ledger_entry_makes_a_failure_known(tmp_path, exported):
    catalogue = exported(*CASES)
    right = right_answers(catalogue)
    path = tmp_path / "own.ledger.yaml"
    path.write_text(
        "entries:\n  - id: mylib-adds-one\n    cases: [max_pool/a]\n    surfaces: [mylib]\n    kinds: [value]\n"
        "    reason: The maximum of mylib is one too large for these cases.\n    versions: {mylib: '==1.2'}\n"
        "    observed: one more than the maximum\n", "utf-8",
    )  # fmt: skip
    ledger = load_ledger(further=[path])
    _, run = judged(tmp_path, catalogue, {**right, "max_pool/a": right["max_pool/a"] + 1}, ledger)
    assert statuses(run) == {"max_pool/a": "known", "max_pool/b": "pass"}
    assert run.header.own_ledger == ledger.own_digest


def test_missing_output_leaves_the_results_incomplete(tmp_path, exported):
    catalogue = exported(*CASES)
    right = right_answers(catalogue)
    missing, run = judged(tmp_path, catalogue, {"max_pool/b": right["max_pool/b"]})
    assert (missing, statuses(run), run.complete) == (["max_pool/a"], {"max_pool/b": "pass"}, False)


def test_results_have_no_program_and_no_command_that_runs_one(tmp_path, exported):
    catalogue = exported(*CASES)
    _, run = judged(tmp_path, catalogue, right_answers(catalogue))
    assert run.programs == {}
    for result in run.results:
        assert (result.program, result.how) == (None, None)
        assert result.command == ("conformance", "show", result.case)


@pytest.mark.parametrize("name", ["", "a/b", "..", "-x", "a@", "a@b@c", "x" * 65, "a b"])
def test_name_that_is_no_file_name_is_rejected(name):
    with pytest.raises(ConformanceError, match="not at most 64 letters"):
        make_runtime(name)


@pytest.mark.parametrize("name", ["numpy", "numpy.loops", "numpy@mine"])
def test_name_of_a_backend_or_surface_is_rejected(name):
    with pytest.raises(ConformanceError, match="a backend or surface of the suite has this name"):
        make_runtime(name)


def test_declarations_of_another_surface_are_rejected(tmp_path):
    path = tmp_path / "declared.yaml"
    path.write_text('other:\n  max_pool/q: {answer: "no", observed: "1.2"}\n', "utf-8")
    with pytest.raises(CatalogueError, match=r"declared\.yaml:1: surface 'other': unknown, known are mylib"):
        make_runtime("mylib", declarations=path)
