"""Differences between surfaces: answers to conventions, known deviations, and kinds of programs."""

import pytest

from conformance.adapters.api import Declaration, Surface, Unsupported
from conformance.catalogue.surface_comparison import compare_surfaces
from conformance.judging.ledger import Ledger, LedgerEntry
from tests.support.fake_backends import declares, load, surface

QUESTION = (
    "id: q, about: By how much, x: {values: arange, shape: [1, 1, 4, 4]}, window: 3,"
    " answers: {window: {stride: 3}, one: {stride: 1}}"
)
ENTRY = {"cases": ("max_pool/*",), "kinds": ("value",), "reason": "A reason."}


@pytest.fixture
def cases(tmp_path):
    return load(tmp_path, QUESTION, section="questions").cases


@pytest.fixture
def compare(fake_registry):
    """Return a function that compares surfaces, which are the only ones in the registry."""

    def call(cases, *surfaces, entries=(), **keywords):
        fake_registry(*surfaces)
        return compare_surfaces(surfaces, cases, Ledger(tuple(entries)), **keywords)

    return call


def test_convention_differs_only_if_the_answers_differ(cases, compare):
    window, one = surface("a", declarations=declares("window")), surface("b", declarations=declares("one"))
    same, silent = surface("c", declarations=declares("window")), surface("d")
    different = compare(cases, window, one)
    assert ([convention.id for convention in different.differing], different.same_count) == (["max_pool/q"], 0)
    equal = compare(cases, window, same)
    assert (equal.differing, equal.same_count) == ((), 1)
    assert [convention.id for convention in compare(cases, window, same, one, silent).differing] == ["max_pool/q"]


def test_answer_that_depends_on_the_processor_differs_from_one_that_does_not(cases, compare):
    on_avx = {"max_pool/q": Declaration("window", "1.0", cpu={"avx512": "one"})}
    found = compare(cases, surface("a", declarations=declares("window")), surface("b", declarations=on_avx))
    assert [convention.id for convention in found.differing] == ["max_pool/q"]


def test_observed_answer_replaces_the_declared_one(cases, compare):
    surfaces = [surface(name, declarations=declares("window")) for name in "ab"]
    observed = {("max_pool/q", "b"): {"max_pool/q": "one"}}
    found = compare(cases, *surfaces, observations=observed)
    assert [one.answers_by_surface["b"].name for one in found.differing] == ["one"]


def test_convention_that_only_one_surface_answers_is_listed_apart(cases, compare):
    found = compare(cases, surface("a", declarations=declares("window")), surface("b"))
    assert (found.differing, found.same_count) == ((), 0)
    assert [convention.id for convention in found.unanswered] == ["max_pool/q"]


def test_deviations_of_some_surfaces_are_listed_and_common_ones_are_counted(cases, compare):
    only_a = LedgerEntry("only-a", surfaces=("a",), **ENTRY)
    both = LedgerEntry("both", surfaces=("*",), **ENTRY)
    other = LedgerEntry("other", surfaces=("c",), **ENTRY)
    elsewhere = LedgerEntry("elsewhere", surfaces=("a",), **{**ENTRY, "cases": ("conv/*",)})
    found = compare(cases, surface("a"), surface("b"), entries=(only_a, both, other, elsewhere))
    assert [(one.entry.id, one.surfaces) for one in found.deviations] == [("only-a", ("a",))]
    assert found.common_deviations == 1


def test_operator_is_listed_if_its_programs_differ_in_kind(tmp_path, compare):
    cases = load(tmp_path, "id: c, x: {values: arange, shape: [1, 1, 4]}, window: 2").cases
    native, same = surface("a"), surface("b")
    missing = Surface("c", {"max_pool": lambda _step: Unsupported("none")})
    assert compare(cases, native, same).support == {}
    found = compare(cases, native, missing)
    assert {name: dict(one.counts()) for name, one in found.support["max_pool"].items()} == {
        "a": {"native": 1},
        "c": {"–": 1},
    }
