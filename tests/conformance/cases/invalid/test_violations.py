from dataclasses import replace

import pytest

from conformance.cases.case import Rejected
from conformance.cases.invalid import VIOLATIONS, has_violation, violations_of
from conformance.cases.invalid.disputed import DISPUTED_VIOLATIONS
from conformance.judging.expected import compute_expected
from docs.generate import faults

LEAST = 30


@pytest.fixture(scope="module")
def rejected(catalogue):
    return [case for case in catalogue.cases if isinstance(case.expect, Rejected)]


def test_every_error_that_is_not_asked_about_has_a_case(catalogue, rejected):
    demanded = {case.expect.violation for case in rejected}
    questioned = {name for case in catalogue.cases for name in faults.disputed_violations(case)}
    assert demanded | (questioned & VIOLATIONS.keys()) == VIOLATIONS.keys()
    assert questioned - VIOLATIONS.keys() <= DISPUTED_VIOLATIONS.keys()
    assert len(demanded) >= LEAST


@pytest.mark.parametrize("name", VIOLATIONS)
def test_case_has_its_error_alone_and_the_valid_case_beside_it_has_none(rejected, name):
    for case in (case for case in rejected if case.expect.violation == name):
        assert violations_of(case) == [name]
        assert violations_of(case.valid_case) == []
        assert compute_expected(case).target.violation == name


def test_valid_case_beside_a_faulty_one_means_something(rejected):
    beside = {(case.operator, str(case.valid_case.canonical_text())): case.valid_case for case in rejected}
    assert all(compute_expected(case).target.exact is not None for case in beside.values())


def test_every_error_is_looked_for_in_every_case_without_a_word(catalogue):
    assert all(isinstance(has_violation(name, case), bool) for case in catalogue.cases for name in VIOLATIONS)


def test_case_that_lacks_what_a_error_is_of_does_not_have_it(catalogue):
    case = catalogue.by_id["max_pool/book-loops"]
    assert violations_of(case) == []
    assert not has_violation("KernelRankMismatch", case)


def test_every_error_is_said_in_one_sentence():
    for test in VIOLATIONS.values():
        assert test.__doc__.endswith(".")
        assert "\n" not in test.__doc__
        assert "|" not in test.__doc__


def test_page_tells_errors_that_are_demanded_from_those_that_are_asked_about(catalogue):
    rows = {
        line.split("`")[1]: line.split(" | ")
        for line in faults.violations_page(catalogue).splitlines()
        if "| `" in line
    }
    assert rows["WindowExceedsPaddedInput"][2] == "`fold`, `deform_conv`"
    assert "`max_pool`" in rows["WindowExceedsPaddedInput"][3]
    assert rows["DivisorIsZero"][2:] == ["`avg_pool`", "– |"]


@pytest.mark.parametrize(("before", "name"), [(-6, "WindowExceedsPaddedInput"), (-7, "CropExceedsInput")])
def test_padding_that_crops_more_than_the_input_is_no_window_that_exceeds_it(catalogue, before, name):
    case = catalogue.by_id["max_pool/1d-stride-of-2-to-the-31-minus-1"]
    spec = replace(case.inputs["x"], values="arange", shape=(1, 1, 12), options={})
    cropped = replace(
        case, inputs={"x": spec}, parameters={**case.parameters, "padding": ((before, -6),), "window": (1,)}
    )
    assert violations_of(cropped) == [name]


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ((1, 12, 5, 5), None),
        ((1, 11, 5, 5), "WindowDoesNotDivideChannels"),
        ((1, 12, 4, 5), "ColumnCountMismatch"),
        ((1, 12, 5, 6), "ColumnCountMismatch"),
    ],
)
def test_columns_fit_the_windows_of_the_output(catalogue, shape, name):
    case = catalogue.by_id["fold/rejects/channels-not-divisible"]
    spec = replace(case.inputs["x"], shape=shape)
    assert violations_of(replace(case, inputs={"x": spec})) == ([name] if name else [])
