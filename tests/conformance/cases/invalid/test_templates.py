import pytest

from conformance import CatalogueError
from conformance.adapters import registry
from conformance.adapters.api import Surface
from conformance.cases.case import Rejected
from conformance.catalogue import loading
from tests.conformance.catalogue.test_check import problems
from tests.conformance.execution.test_run import results, run
from tests.support.fake_backends import CRASHES, HANGS, backend, family, surface

BASE = "x: {values: arange, shape: [1, 1, 4, 4]}, window: [2, 3], stride: [1, 1]"
ZERO = "{id: zero, rejected: StrideIsZero, stride: [0, 1]}"


def entry(*faults, base=BASE):
    return f"{base}, faults: [{', '.join(faults)}]"


def load(folder, text, operator="max_pool"):
    return loading.load_catalogue([family(folder, text, section="rejects", operator=operator)]).cases


def refusal(folder, text, **keywords):
    with pytest.raises(CatalogueError) as refused:
        load(folder, text, **keywords)
    return str(refused.value).removeprefix(f"{folder / 'file.yaml'}:4: ")


def test_each_error_makes_a_case_beside_the_valid_one(tmp_path):
    first, second = load(tmp_path, entry(ZERO, "{id: b, rejected: WindowIsZero, window: [0, 3], level: standard}"))
    assert (first.id, first.expect, first.level) == ("max_pool/zero", Rejected("StrideIsZero"), "smoke")
    assert (first.parameters["stride"], first.valid_case.parameters["stride"]) == ((0, 1), (1, 1))
    assert (second.id, second.parameters["window"], second.level) == ("max_pool/b", (0, 3), "standard")
    assert not isinstance(second.valid_case.expect, Rejected)


def test_shape_that_follows_from_the_valid_case_is_kept_in_the_faulty_one(tmp_path):
    base = f"{BASE}, grad: {{values: integers}}"
    (case,) = load(tmp_path, entry(ZERO, base=base), operator="max_pool_grad")
    assert case.inputs["grad"].shape == case.valid_case.inputs["grad"].shape == (1, 1, 3, 2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (entry(ZERO, base=BASE.replace("[2, 3]", "[9, 9]")), "valid case number 1: window 9 exceeds the padded input"),
        (entry("{id: a, rejected: StrideIsZero, divisor: 2}"), "valid case number 1: key 'faults.0.divisor': max_pool"),
        (entry(ZERO, "{id: a, stride: 0}"), "valid case number 1: key 'faults.1': needs the key 'rejected'"),
        (entry("{id: a, rejected: StrideIsZero, strid: 0}"), "valid case number 1: key 'faults.0.strid': unknown key"),
        (f"{BASE}, faults: []", "valid case number 1: key 'faults': [] is not a list of violations"),
    ],
)
def test_what_is_wrong_with_an_entry_is_one_line_with_its_key(tmp_path, text, says):
    said = refusal(tmp_path, text)
    assert said.startswith(says)
    assert "\n" not in said


def test_valid_entry_has_no_problems(tmp_path):
    assert problems(tmp_path, entry(ZERO), section="rejects") == []


def test_second_error_is_a_problem(tmp_path):
    both = "{id: a, rejected: StrideIsZero, stride: [0, 1], dilation: [0, 1]}"
    (found,) = problems(tmp_path, entry(both), section="rejects")
    assert found.endswith(
        "case max_pool/a: it has the violations StrideIsZero and DilationIsZero, but must have one only"
    )


def test_valid_case_with_a_error_is_a_problem(tmp_path):
    padded = f"{BASE}, padding: [[2, 2], [0, 0]]"
    found = problems(tmp_path, entry("{id: a, rejected: StrideIsZero, stride: [0, 1]}", base=padded), section="rejects")
    assert "it has the violations StrideIsZero and PaddingReachesWindow, but must have one only" in found[0]
    assert found[1].endswith("its valid case has the violation PaddingReachesWindow")


def test_valid_case_that_the_reference_refuses_is_a_problem(tmp_path):
    base = "x: {values: arange, shape: [1, 4, 4, 4]}, kernel: {values: arange, shape: [2, 3, 2, 2]}, stride: [1, 1]"
    found = problems(tmp_path, entry(ZERO, base=base), section="rejects", operator="conv")
    assert any("its valid case is not valid: kernel takes 3 channels" in line for line in found)


def test_case_without_a_valid_one_beside_it_is_a_problem(tmp_path):
    (found,) = problems(tmp_path, f"id: a, {BASE.replace('[1, 1]', '[0, 1]')}, expect: {{rejected: StrideIsZero}}")
    assert found.endswith("it has no valid case, write it under 'rejects'")


def test_adapter_that_loses_the_error_is_a_problem(tmp_path, monkeypatch):
    deaf = backend(Surface("deaf", {"max_pool": lambda _step: "pool(x)"}), surface("hears"))
    monkeypatch.setattr(registry, "backend_names", lambda: ["fake"])
    monkeypatch.setattr(registry, "get_backend", lambda *_: deaf)
    found = problems(tmp_path, entry(ZERO), section="rejects")
    assert [line.split(": ")[-1] for line in found] == ["the program for deaf does not contain the violation"]


def test_accepting_crashing_and_hanging_are_three_different_failures(tmp_path):
    surfaces = [
        surface("accepts", "pass"),
        surface("refuses", "raise ValueError('no stride')"),
        surface("crashes", CRASHES),
        surface("hangs", HANGS),
    ]
    _, records = run(tmp_path, *surfaces, cases=[entry(ZERO)], section="rejects", limit=1)
    found = {one["surface"]: (one["status"], one["kind"]) for one in results(records)}
    assert found == {
        "accepts": ("fail", "accepted"),
        "refuses": ("pass", None),
        "crashes": ("crashed", None),
        "hangs": ("timed_out", None),
    }
