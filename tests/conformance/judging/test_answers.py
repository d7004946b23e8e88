"""Which answer an outcome gives, and whether it is the declared one."""

import numpy as np
import pytest

from conformance.adapters.api.surface import Declaration
from conformance.judging.expected import compute_expected
from conformance.judging.verdict import ObservedAnswers, ProgramOutcome, answer_name, judge_declaration
from tests.support.fake_backends import load

X = "x: {values: [[[-0.0, 0.0]]]}, window: 2"
SIGNS = "first: {values: [[[-0.0]]]}, positive: {values: [[[0.0]]]}"
DOCUMENTED = Declaration("one", 'https://example.org (2): "One."')
PINNED = Declaration("one", observed="2.0")


def returned(*numbers):
    return ProgramOutcome("returned", (np.array(numbers, np.float32).reshape(1, 1, -1),))


def asked(tmp_path, text):
    return compute_expected(load(tmp_path, text, section="questions").cases[0])


def test_zeros_of_different_signs_are_different_answers(tmp_path):
    wanted = asked(tmp_path, f"id: q, about: a, {X}, answers: {{{SIGNS}}}")
    assert answer_name(returned(-0.0), wanted) == "first"
    assert answer_name(returned(0.0), wanted) == "positive"
    assert answer_name(returned(1.0), wanted) == "other"


def test_an_answer_within_its_bound_is_one_where_none_is_equal(tmp_path):
    text = "id: q, about: a, x: {values: [[[1, 1, 2]]]}, window: 3, answers: {all: {}, two: {divisor: 2}}"
    wanted = compute_expected(load(tmp_path, text, section="questions", operator="avg_pool").cases[0])
    exact = wanted.answers["all"].exact.value.ravel()[0]
    assert answer_name(returned(np.nextafter(exact, 2, dtype=np.float32)), wanted) == "all"


def test_what_crashed_gives_no_answer(tmp_path):
    wanted = asked(tmp_path, f"id: q, about: a, {X}, answers: {{{SIGNS}}}")
    assert answer_name(ProgramOutcome("crashed"), wanted) is None


@pytest.mark.parametrize(
    ("declaration", "observed", "elsewhere", "kind", "words"),
    [
        (DOCUMENTED, "one", None, None, ""),
        (PINNED, "one", None, None, ""),
        (PINNED, "one", ("two", "max_pool/q"), None, ""),
        (DOCUMENTED, "two", None, "convention", "the surface declares 'one'"),
        (PINNED, "two", None, "changed", "it answered 'one' in version 2.0"),
        (PINNED, "other", None, "convention", "answered 'other'"),
        (None, "one", None, "convention", "declares no answer"),
        (PINNED, "two", ("one", "max_pool/q"), "convention", "contradicts itself: it answered 'one' in max_pool/q"),
    ],
)
def test_an_answer_is_held_against_document_or_version(declaration, observed, elsewhere, kind, words):
    verdict = judge_declaration(observed, declaration, elsewhere)
    assert verdict.kind == kind
    assert (verdict.verdict == "agree") is (kind is None)
    assert words in verdict.message


def test_contradiction_names_another_answer_to_the_same_question():
    answers = ObservedAnswers()
    assert answers.conflicting_answer("s", "q", "q", "one") is None
    assert answers.conflicting_answer("s", "q", "r", "one") is None
    assert answers.conflicting_answer("t", "q", "r", "two") is None
    assert answers.conflicting_answer("s", "q", "u", "two") == ("one", "q")
    assert answers.conflicting_answer("s", "q", "v", None) is None
