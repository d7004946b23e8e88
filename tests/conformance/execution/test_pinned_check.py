"""Printed outputs of the user's own cases that the reference and the built-in backend contradict are refused."""

from conformance import CatalogueError
from conformance.adapters.api import Unsupported
from conformance.execution import pinned_check
from conformance.execution.pinned_check import check_printed_outputs
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate
from tests.support.fake_backends import family, load

X = "x: {values: arange, shape: [1, 1, 4, 4]}, window: 2"
LAST = "[0, 0, 1, 1]"
BOTH = "the reference and the loops of the backend numpy"


def errors(folder, *cases, **keywords):
    try:
        check_printed_outputs(load(folder, *cases, **keywords).cases, compute_expected)
    except CatalogueError as error:
        return str(error).replace(f"{folder}/", "").splitlines()
    return []


def test_every_wrong_number_is_a_line_with_its_place_and_the_right_number(tmp_path):
    assert errors(
        tmp_path,
        f"id: a, {X}, expect: [[[[5, 7], [13, 14]]]]",
        f"id: b, {X}, expect: [[[[5, 7], [13, 15]]]]",
        f"id: c, {X}, expect: [[[[5.5, 7], [13, 15]]]]",
    ) == [
        f"file.yaml:4: case max_pool/a: key 'expect': your expected 14 at [0, 0, 1, 1] is wrong: {BOTH} give 15",
        f"file.yaml:6: case max_pool/c: key 'expect': your expected 5.5 at [0, 0, 0, 0] is wrong: {BOTH} give 5",
    ]


def test_wrong_shape_names_both_shapes(tmp_path):
    (line,) = errors(tmp_path, f"id: a, {X}, expect: [5, 7, 13, 15]")
    assert "your expected output is wrong: the printed output has shape [4], the result [1, 1, 2, 2]" in line


def test_further_printed_output_is_checked(tmp_path):
    assert len(errors(tmp_path, f"id: a, {X}, expect: [[[[5, 7], [13, 15]]]], also: [[5, 7], [13, 14]]")) == 1


def test_number_that_the_loops_confirm_is_not_refused(tmp_path, monkeypatch):
    """The reference may be wrong then, so the case runs and fails."""
    least = load(tmp_path, f"id: a, {X}", operator="min_pool", name="other.yaml").cases[0]
    monkeypatch.setattr(pinned_check, "translate", lambda _case, surface: translate(least, surface))
    assert errors(tmp_path, f"id: a, {X}, expect: [[[[0, 2], [8, 10]]]]") == []
    assert len(errors(tmp_path, f"id: a, {X}, expect: [[[[0, 2], [8, 11]]]]")) == 1


def test_loops_with_another_shape_confirm_nothing(tmp_path, monkeypatch):
    other = load(tmp_path, f"id: a, {X}, stride: 1", name="other.yaml").cases[0]
    monkeypatch.setattr(pinned_check, "translate", lambda _case, surface: translate(other, surface))
    assert errors(tmp_path, f"id: a, {X}, expect: [[[[5, 7], [13, 14]]]]") == []


def test_case_that_the_loops_cannot_run_is_not_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(pinned_check, "translate", lambda *_: Unsupported("not here"))
    assert errors(tmp_path, f"id: a, {X}, expect: [[[[5, 7], [13, 14]]]]") == []


def test_nothing_is_computed_for_cases_without_a_printed_output(tmp_path):
    def fail(_case):
        raise AssertionError

    check_printed_outputs(load(tmp_path, f"id: a, {X}").cases, fail)


def test_run_refuses_the_case_file(conformance, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = family(tmp_path, f"id: a, {X}, expect: [[[[5, 7], [13, 14]]]]")
    status, out, (error,) = conformance("run", "--backend", "numpy", "--cases", path)
    assert (status, out) == (2, "")
    wrong = f"file.yaml:4: case max_pool/a: key 'expect': your expected 14 at {LAST} is wrong: {BOTH} give 15"
    assert error.endswith(wrong)
