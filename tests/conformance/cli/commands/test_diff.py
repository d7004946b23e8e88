"""`conformance diff`: the comparison of two sets of results, its three output formats, and the exit status."""

import pytest

from reports.analysis.comparison import Incomparable
from tests.support import example_results as example
from tests.support.compared_runs import (
    BORDER,
    CONV,
    NN,
    POOL,
    WORST,
    WRONG,
    alpha,
    kinds,
)
from tests.support.example_results import array, convention, differing, result


def test_same_results_have_no_difference(diff):
    status, out, _ = diff(example.alpha(), example.alpha())
    assert status == 0
    assert out.splitlines() == ["18 results compared (alpha): all are the same.", "✓ Nothing changed"]


@pytest.mark.parametrize("status", ["pass", "fail", "known", "stale"])
def test_other_bits_with_the_same_status_are_a_changed_value(diff, status):
    status_, out, _ = diff(
        alpha(result(POOL, NN, status=status)),
        alpha(result(POOL, NN, status=status, digest="00", got=array([5, 7, 13, 15.000001], [1, 1, 2, 2]))),
    )
    assert status_ == 1
    assert f"  {POOL} on {NN}: 1 of 4 elements, most at [0, 0, 1, 1]: 15 → 15.000001 (1.05 ulp)" in out.splitlines()
    assert "1 changed value." in out


REGRESSION, MOVED, IMPROVEMENT, GONE = (
    (alpha(result(POOL, NN)), alpha(differing(POOL, NN, WRONG, WORST))),
    (alpha(result(POOL, NN)), alpha(result(POOL, NN, digest="00"))),
    (alpha(differing(POOL, NN, WRONG, WORST)), alpha(result(POOL, NN))),
    (alpha(result(POOL, NN), result(CONV, NN)), alpha(result(POOL, NN))),
)


@pytest.mark.parametrize(
    ("runs", "regression", "value", "any_change"),
    [(REGRESSION, 1, 1, 1), (MOVED, 0, 1, 1), (IMPROVEMENT, 0, 0, 1), (GONE, 1, 1, 1)],
    ids=["pass to fail", "moved value", "fail to pass", "missing result"],
)
def test_exit_status_depends_on_the_changes_that_fail(diff, runs, regression, value, any_change):
    found = [diff(*runs, "--fail-on", name)[0] for name in ("regression", "value", "any")]
    assert found == [regression, value, any_change]
    assert diff(*runs)[0] == any_change


def test_negative_number_of_runs_is_an_error_in_one_line(diff):
    header, *others = example.alpha()
    status, _, errors = diff([{**header, "repeat": -1}, *others], example.alpha())
    assert status == 2
    (error,) = errors
    assert "repeat: expected `int` >= 1" in error


def test_changes_that_do_not_fail_are_still_listed(diff):
    status, out, _ = diff(*IMPROVEMENT, "--fail-on", "regression")
    assert status == 0
    assert "✗ fail → ✓ pass  max_pool, alpha: 1 result" in out.splitlines()
    assert out.splitlines()[-1] == "✓ Something changed; regressions: no"
    assert diff(*REGRESSION, "--fail-on", "regression")[1].splitlines()[-1] == "✗ Something changed; regressions: 1"


def test_moved_value_has_a_size_in_ulp_and_error_bounds(diff):
    moved = result(POOL, NN, digest="00", got=array([5, 7, 13, 15.00000095367431640625], [1, 1, 2, 2]))
    old, new = alpha(result(POOL, NN)), alpha(moved)
    for record in [*old, *new]:
        record.update({"bound": 2.0**-18} if record["record"] == "case" else {})
    assert "15 → 15.000000953674316 (1 ulp, 25 % of the largest error bound)" in diff(old, new)[1]


def test_changed_answer_is_listed_once_although_the_output_changed_too(diff):
    old = alpha(result(BORDER, NN), convention(NN, None, "real-cells", "undocumented"))
    new = alpha(result(BORDER, NN, digest="00"), convention(NN, None, "whole-window", "undocumented"))
    status, out, _ = diff(old, new)
    assert status == 1
    assert f"  {BORDER} on {NN}: avg_pool-divisor-at-the-border: real-cells → whole-window" in out.splitlines()
    assert "1 changed the answer to a convention." in out


def test_missing_results_are_significant_and_new_ones_are_not(compared, diff):
    more, less = alpha(result(POOL, NN), result(CONV, NN)), alpha(result(POOL, NN))
    assert kinds(compared(more, less)) == [("removed", CONV, NN, "pass", None)]
    assert diff(more, less)[0] == 1
    assert kinds(compared(less, more)) == [("added", CONV, NN, None, "pass")]
    status, out, _ = diff(less, more)
    assert status == 0
    assert out.splitlines()[-2:] == ["1 result compared (alpha): 1 new.", "✓ Nothing changed"]


def test_missing_surface_is_listed_by_case_and_at_the_top(diff):
    old = alpha(result(POOL, NN), result(POOL, "alpha.f"), surfaces=(NN, "alpha.f"))
    status, out, _ = diff(old, alpha(result(POOL, NN)))
    assert status == 1
    assert out.splitlines()[0] == "surfaces: alpha.nn, alpha.f → alpha.nn"
    assert f"  {POOL} on alpha.f: pass" in out


@pytest.mark.parametrize("change", [{"parameters": {"window": [2, 2]}}, {"digest": "00"}, {"via": ["pad"]}])
def test_results_of_a_changed_case_are_not_compared(compared, change, diff):
    old, new = alpha(result(POOL, NN)), alpha(differing(POOL, NN, WRONG, WORST))
    new[1] = {**new[1], **change}
    assert kinds(compared(old, new)) == [("redefined", POOL, NN, "pass", "fail")]
    status, out, _ = diff(old, new)
    assert status == 1
    assert "different case with the same id, not compared  max_pool, alpha: 1 result" in out


def test_changed_program_alone_is_a_note_and_no_change(diff):
    old, new = alpha(result(POOL, NN), result(CONV, NN)), alpha(result(POOL, NN), result(CONV, NN, digest="00"))
    for record in new:
        if "program" in record:
            record["program"] += "-b"
    status, out, _ = diff(old, new)
    assert status == 1
    assert out.splitlines()[0] == "The program changed for 2 compared results."
    assert "(the program changed)" in out
    assert "1 changed value." in out


def test_folders_are_compared_by_backend(diff, compared):
    gone = example.run("gamma", ["gamma.nn"], [result(POOL, "gamma.nn")])
    come = example.run("delta", ["delta.nn"], [result(POOL, "delta.nn")])
    old, new = [alpha(result(POOL, NN)), gone], [alpha(result(POOL, NN, digest="00")), come]
    assert [(change.kind, change.backend) for change in compared(old, new).changes] == [
        ("value", "alpha"), ("added", "delta"), ("removed", "gamma"),
    ]  # fmt: skip
    status, out, _ = diff(old, new)
    assert status == 1
    assert "1 result compared (alpha, delta, gamma): 1 changed value, 1 removed, 1 new." in out


def test_output_folder_of_a_run_is_accepted(tmp_path, conformance):
    for name in ("old", "new"):
        example.write(tmp_path / name / "results", alpha(result(POOL, NN)))
    assert conformance("diff", tmp_path / "old", tmp_path / "new/results/alpha.jsonl")[0] == 0


def test_backends_without_a_common_result_are_an_error_of_one_line(diff, compared):
    with pytest.raises(Incomparable):
        compared(alpha(result(POOL, NN)), example.delta())
    status, out, error = diff(alpha(result(POOL, NN)), example.delta())
    assert (status, out) == (2, "")
    assert error == ["conformance: no backend is in both: OLD contains alpha, NEW contains delta"]


@pytest.mark.parametrize("partial", ["old", "new"])
def test_results_that_an_incomplete_run_lacks_are_neither_missing_nor_new(diff, partial):
    whole, cut = alpha(result(POOL, NN), result(CONV, NN)), alpha(result(POOL, NN), complete=False)
    status, out, _ = diff(*((cut, whole) if partial == "old" else (whole, cut)))
    assert status == 3
    assert out.splitlines() == [
        "1 result compared (alpha): 1 waiting for a run to finish.",
        f"✗ alpha, {partial} results: partial run, stopped after 1 result (conformance run --resume)",
        "✗ The comparison is incomplete",
    ]


def test_change_in_an_incomplete_run_is_shown(diff):
    status, out, _ = diff(alpha(result(POOL, NN)), alpha(result(POOL, NN, digest="00"), complete=False))
    assert status == 3
    assert out.splitlines()[-1] == "✗ Something changed, and the comparison is incomplete"


def test_run_without_results_is_incomplete(diff):
    status, out, _ = diff(example.delta(), example.delta())
    assert status == 3
    assert "✗ delta, new results: nothing ran" in out


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a valid file, an invalid file, and folders that cannot be compared."""
    monkeypatch.chdir(tmp_path)
    example.write(tmp_path, alpha(result(POOL, NN)))
    (tmp_path / "bad.jsonl").write_text("oops\n", "utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "twice").mkdir()
    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / "twice" / name).write_bytes((tmp_path / "alpha.jsonl").read_bytes())


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["diff"], 2, "Missing argument 'OLD'"),
        (["diff", "alpha.jsonl"], 2, "Missing argument 'NEW'"),
        (["diff", "alpha.jsonl", "nowhere.jsonl"], 2, "nowhere.jsonl: cannot be read"),
        (["diff", "alpha.jsonl", "bad.jsonl"], 2, "bad.jsonl:1: not JSON"),
        (["diff", "alpha.jsonl", "empty"], 3, "no results in empty"),
        (["diff", "alpha.jsonl", "twice"], 2, "the backend 'alpha' is also in"),
        (["diff", "alpha.jsonl", "alpha.jsonl", "--format", "html"], 2, "'html' is not one of"),
        (["diff", "alpha.jsonl", "alpha.jsonl", "--out", "bad.jsonl/x"], 2, "bad.jsonl"),
    ],
)
def test_wrong_usage_is_one_line(conformance, arguments, status, says):
    found, out, error = conformance(*arguments)
    assert (found, out, len(error)) == (status, "", 1)
    assert says in error[0]


@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_out_writes_the_printed_text_with_the_same_exit_status(diff, tmp_path, form):
    old, new = alpha(result(POOL, NN)), alpha(result(POOL, NN, digest="00"))
    path = tmp_path / "deep" / "diff.txt"
    assert diff(old, new, "--format", form, "--out", path)[:2] == (1, f"difference: {path}\n")
    assert path.read_text("utf-8") == diff(old, new, "--format", form, "--out", "-")[1]
