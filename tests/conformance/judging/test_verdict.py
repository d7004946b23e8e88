"""The verdict on outcomes and on answers: agree, each kind of difference, and its size."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from conformance.adapters.api import Declaration
from conformance.judging.expected import Expected, Target, compute_expected
from conformance.judging.verdict import (
    ObservedAnswers,
    ProgramOutcome,
    answer_name,
    judge_declaration,
    judge_outcome,
)
from reference import OPERATORS
from tests.support.fake_backends import load

X = np.array([[[1.0, 2.0, 4.0, 8.0]]], np.float32)
AVERAGE = OPERATORS["avg_pool"](X, 3, stride=1)
LARGEST = OPERATORS["max_pool"](X, 3, stride=1)


def target(exact, readings=()):
    return Target(exact, exact.bound(), readings)


def returned(*arrays, message=""):
    return ProgramOutcome("returned", arrays, message)


def selection(values, dtype):
    return target(OPERATORS["max_pool"](np.array([[values]], dtype), 1))


@pytest.mark.parametrize("kind", ["unsupported", "crashed", "timed_out"])
def test_outcome_without_result_has_no_verdict(kind):
    assert judge_outcome(ProgramOutcome(kind), target(LARGEST)).verdict is None


def test_right_value_agrees_and_uses_no_budget():
    found = judge_outcome(returned(LARGEST.value.copy()), target(LARGEST))
    assert (found.verdict, found.kind, found.budget_used) == ("agree", None, 0)


def test_value_within_the_bound_agrees_and_reports_the_budget_used():
    near = np.nextafter(AVERAGE.value, np.float32(9))
    found = judge_outcome(returned(near), target(AVERAGE))
    assert found.verdict == "agree"
    assert 0 < found.budget_used < 1


def test_value_just_beyond_the_bound_differs():
    bound = AVERAGE.bound()
    far = (AVERAGE.high + 1.01 * bound).astype(np.float32)
    steps = far.copy()
    while (np.abs(steps - AVERAGE.high) <= bound).any():
        steps = np.nextafter(steps, np.float32(99))
    found = judge_outcome(returned(steps), target(AVERAGE))
    assert (found.verdict, found.kind) == ("differ", "value")
    assert 1 < found.budget_used < 2


def test_selection_has_no_budget():
    found = judge_outcome(returned(np.nextafter(LARGEST.value, np.float32(99))), target(LARGEST))
    assert (found.kind, found.budget_used) == ("value", math.inf)
    assert found.worst.ulp == 1


def test_worst_element_has_the_largest_error():
    got = LARGEST.value.copy()
    got[0, 0, 1] -= 3
    worst = judge_outcome(returned(got), target(LARGEST)).worst
    assert (worst.index, worst.expected, worst.got, worst.absolute) == ((0, 0, 1), 8, 5, 3)


def test_difference_of_shape_takes_precedence_over_values():
    found = judge_outcome(returned(LARGEST.value[:, :, :1]), target(LARGEST))
    assert found.kind == "shape"
    assert "[1, 1, 1], not [1, 1, 2]" in found.message


@pytest.mark.parametrize("arrays", [(), (X, X)])
def test_other_number_of_arrays_is_a_difference_of_shape(arrays):
    found = judge_outcome(returned(*arrays), target(LARGEST))
    assert found.kind == "shape"
    assert f"{len(arrays)} arrays" in found.message


def test_right_values_in_another_dtype_differ_in_dtype():
    found = judge_outcome(returned(LARGEST.value.astype(np.float64)), target(LARGEST))
    assert (found.kind, found.budget_used) == ("dtype", 0)
    assert "float64, not float32" in found.message


def test_wrong_values_in_another_dtype_differ_in_value_and_report_both():
    found = judge_outcome(returned(LARGEST.value.astype(np.int64) + 1), target(LARGEST))
    assert found.kind == "value"
    assert "int64" in found.message


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool"])
def test_number_out_of_range_of_the_dtype_differs_without_a_warning(value, dtype):
    found = judge_outcome(returned(np.full((1, 1, 1), value)), selection([0], dtype))
    assert found.verdict == "differ"


@pytest.mark.parametrize("expected", [math.nan, math.inf, -math.inf, 1.0])
@pytest.mark.parametrize("got", [math.nan, math.inf, -math.inf, 1.0])
def test_special_values_agree_with_themselves_only(expected, got):
    found = judge_outcome(returned(np.array([[[got]]], np.float32)), selection([expected], np.float32))
    same = got == expected or (math.isnan(got) and math.isnan(expected))
    assert (found.verdict, found.kind) == (("agree", None) if same else ("differ", "special"))


def test_payload_and_sign_of_nan_do_not_matter():
    got = np.array([[[0xFFC12345]]], np.uint32).view(np.float32)
    assert judge_outcome(returned(got), selection([math.nan], np.float32)).verdict == "agree"


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_integers_of_64_bits_are_judged_exactly(expected, got):
    found = judge_outcome(returned(np.array([[[got]]], np.int64)), selection([expected], np.int64))
    assert (found.verdict == "agree") is (expected == got)
    if expected != got:
        assert found.worst.absolute == float(abs(expected - got)) > 0


def test_neighbours_beyond_2_to_53_differ_by_one():
    found = judge_outcome(returned(np.array([[[2**60 + 1]]])), selection([2**60], np.int64))
    assert (found.kind, found.worst.absolute, found.worst.got) == ("value", 1, 2**60 + 1)


@pytest.mark.parametrize("dtype", ["float16", "float64", ml_dtypes.bfloat16])
def test_ulp_is_in_the_expected_dtype(dtype):
    expected = selection([1], dtype)
    got = np.nextafter(np.ones((1, 1, 1), dtype), np.full((1, 1, 1), 2, dtype))
    assert judge_outcome(returned(got), expected).worst.ulp == 1


def test_empty_result_agrees_with_an_empty_result():
    empty = np.zeros((1, 1, 0), np.float32)
    exact = OPERATORS["pad"](np.zeros((1, 1, 2), np.float32), [[-2, 0]])
    assert judge_outcome(returned(empty), target(exact)).verdict == "agree"


def test_contradicted_print_differs_as_pinned_although_the_reference_agrees():
    reading = ((1, 1, 2), (5, 8))
    found = judge_outcome(returned(LARGEST.value.copy()), target(LARGEST, (reading,)))
    assert (found.verdict, found.kind) == ("differ", "pinned")
    assert "printed 5 at [0, 0, 0]" in found.message


def test_rejection_of_a_valid_case_differs():
    assert judge_outcome(ProgramOutcome("rejected", message="no"), target(LARGEST)).kind == "rejected"


def test_rejection_of_an_invalid_case_agrees():
    assert judge_outcome(ProgramOutcome("rejected"), Target(violation="StrideIsZero")).verdict == "agree"


def test_acceptance_of_an_invalid_case_differs():
    found = judge_outcome(returned(X), Target(violation="StrideIsZero"))
    assert (found.kind, found.message) == ("accepted", "accepted in spite of StrideIsZero")


def test_crash_is_not_a_rejection():
    assert judge_outcome(ProgramOutcome("crashed"), Target(violation="StrideIsZero")).verdict is None


TWO_ANSWERS = Expected({}, None, {"yes": target(LARGEST), "no": Target(violation="Never")})


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        (returned(LARGEST.value), "yes"),
        (ProgramOutcome("rejected"), "no"),
        (returned(LARGEST.value + 1), "other"),
        (returned(LARGEST.value.astype(np.float64)), "other"),
        (returned(), "other"),
        (ProgramOutcome("crashed"), None),
        (ProgramOutcome("unsupported"), None),
    ],
)
def test_answer_is_named_after_the_outcome(outcome, answer):
    assert answer_name(outcome, TWO_ANSWERS) == answer


ZEROS = "x: {values: [[[-0.0, 0.0]]]}, window: 2"
SIGNS = "first: {values: [[[-0.0]]]}, positive: {values: [[[0.0]]]}"
DOCUMENTED = Declaration("one", 'https://example.org (2): "One."')
PINNED = Declaration("one", observed="2.0")


def returned_numbers(*numbers):
    return returned(np.array(numbers, np.float32).reshape(1, 1, -1))


def expected_answers(tmp_path, text, **keywords):
    return compute_expected(load(tmp_path, text, section="questions", **keywords).cases[0])


def test_zeros_of_different_signs_are_different_answers(tmp_path):
    expected = expected_answers(tmp_path, f"id: q, about: a, {ZEROS}, answers: {{{SIGNS}}}")
    assert answer_name(returned_numbers(-0.0), expected) == "first"
    assert answer_name(returned_numbers(0.0), expected) == "positive"
    assert answer_name(returned_numbers(1.0), expected) == "other"


def test_zeros_of_other_signs_than_those_of_every_answer_match_none(tmp_path):
    zeros = "x: {values: [[[-0.0, 0.0, 0.0, -0.0]]]}, window: 2, stride: 2"
    signs = "first: {values: [[[-0.0, 0.0]]]}, positive: {values: [[[0.0, 0.0]]]}"
    expected = expected_answers(tmp_path, f"id: q, about: a, {zeros}, answers: {{{signs}}}")
    assert answer_name(returned_numbers(-0.0, 0.0), expected) == "first"
    assert answer_name(returned_numbers(0.0, -0.0), expected) == "other"


def test_answer_within_its_bound_counts_if_no_answer_is_equal(tmp_path):
    text = "id: q, about: a, x: {values: [[[1, 1, 2]]]}, window: 3, answers: {all: {}, two: {divisor: 2}}"
    expected = expected_answers(tmp_path, text, operator="avg_pool")
    exact = expected.answers["all"].exact.value.ravel()[0]
    assert answer_name(returned_numbers(np.nextafter(exact, 2, dtype=np.float32)), expected) == "all"


def test_crash_gives_no_answer_for_a_convention(tmp_path):
    expected = expected_answers(tmp_path, f"id: q, about: a, {ZEROS}, answers: {{{SIGNS}}}")
    assert answer_name(ProgramOutcome("crashed"), expected) is None


@pytest.mark.parametrize(
    ("declaration", "observed", "conflicting", "kind", "text"),
    [
        (DOCUMENTED, "one", None, None, ""),
        (PINNED, "one", None, None, ""),
        (PINNED, "one", ("two", "max_pool/q"), None, ""),
        (DOCUMENTED, "two", None, "convention", "the surface declares 'one'"),
        (PINNED, "two", None, "changed", "it answered 'one' in version 2.0"),
        (PINNED, "other", None, "convention", "answered 'other'"),
        (None, "other", None, "convention", "declares no answer"),
        (None, "one", ("two", "max_pool/q"), "convention", "contradicts itself: it answered 'two' in max_pool/q"),
        (PINNED, "two", ("one", "max_pool/q"), "convention", "contradicts itself: it answered 'one' in max_pool/q"),
    ],
)
def test_answer_is_compared_with_the_declaration(declaration, observed, conflicting, kind, text):
    verdict = judge_declaration(observed, declaration, conflicting)
    assert verdict.kind == kind
    assert (verdict.verdict == "agree") is (kind is None)
    assert text in verdict.message


def test_answer_without_a_declaration_has_no_verdict():
    verdict = judge_declaration("one", None, None)
    assert (verdict.verdict, verdict.kind) == (None, None)
    assert verdict.message == "answered 'one'; the surface declares no answer"


def test_contradiction_names_another_answer_for_the_same_convention():
    answers = ObservedAnswers()
    assert answers.conflicting_answer("s", "q", "q", "one") is None
    assert answers.conflicting_answer("s", "q", "r", "one") is None
    assert answers.conflicting_answer("t", "q", "r", "two") is None
    assert answers.conflicting_answer("s", "q", "u", "two") == ("one", "q")
    assert answers.conflicting_answer("s", "q", "v", None) is None
