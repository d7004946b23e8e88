import pytest

from conformance.cases.case import Rejected
from conformance.cases.invalid import PREDICATES, faults_of, has
from conformance.cases.invalid.disputed import OF_QUESTIONS
from conformance.judging.expected import expected
from docs.generate import faults
from tests import ROOT

LEAST = 30


@pytest.fixture(scope="module")
def rejected(catalogue):
    return [case for case in catalogue.cases if isinstance(case.expect, Rejected)]


def test_every_fault_that_is_not_asked_about_has_a_case(catalogue, rejected):
    demanded = {case.expect.predicate for case in rejected}
    questioned = {name for case in catalogue.cases for name in faults.asked(case)}
    assert demanded | (questioned & PREDICATES.keys()) == PREDICATES.keys()
    assert questioned - PREDICATES.keys() <= OF_QUESTIONS.keys()
    assert len(demanded) >= LEAST


@pytest.mark.parametrize("name", PREDICATES)
def test_case_has_its_fault_alone_and_the_valid_case_beside_it_has_none(rejected, name):
    for case in (case for case in rejected if case.expect.predicate == name):
        assert faults_of(case) == [name]
        assert faults_of(case.sound) == []
        assert expected(case).target.rejected == name


def test_valid_case_beside_a_faulty_one_means_something(rejected):
    beside = {(case.operator, str(case.sound.canonical())): case.sound for case in rejected}
    assert all(expected(case).target.exact is not None for case in beside.values())


def test_every_fault_is_looked_for_in_every_case_without_a_word(catalogue):
    assert all(isinstance(has(name, case), bool) for case in catalogue.cases for name in PREDICATES)


def test_case_that_lacks_what_a_fault_is_of_does_not_have_it(catalogue):
    case = catalogue.by_id["max_pool/book-loops"]
    assert faults_of(case) == []
    assert not has("KernelRankMismatch", case)


def test_page_of_faults_is_what_the_command_prints(catalogue):
    assert (ROOT / "docs" / "faults.md").read_text("utf-8") == faults.page(catalogue)


def test_every_fault_is_said_in_one_sentence():
    for test in PREDICATES.values():
        assert test.__doc__.endswith(".")
        assert "\n" not in test.__doc__
        assert "|" not in test.__doc__


def test_page_tells_faults_that_are_demanded_from_those_that_are_asked_about(catalogue):
    rows = {line.split("`")[1]: line.split(" | ") for line in faults.page(catalogue).splitlines() if "| `" in line}
    assert rows["WindowExceedsPaddedInput"][2] == "–"
    assert "`max_pool`" in rows["WindowExceedsPaddedInput"][3]
    assert rows["DivisorIsZero"][2:] == ["`avg_pool`", "– |"]
