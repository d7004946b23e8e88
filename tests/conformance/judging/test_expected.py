from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, strategies as st

from conformance import CatalogueError
from conformance.judging.expected import compute_expected, find_print_mismatch
from tests.support.fake_backends import one

X = "x: {values: arange, shape: [1, 1, 4, 4]}"


def refusal(case):
    with pytest.raises(CatalogueError) as raised:
        compute_expected(case)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(f"{case.location}: case {case.id}: ")
    return message.removeprefix(f"{case.location}: case {case.id}: ")


def reads(printed, value, bound=0.0):
    return find_print_mismatch(((1,), (printed,)), np.array([value]), np.array([bound])) is None


@pytest.mark.parametrize(
    ("printed", "value", "holds"),
    [
        ("0.25", 0.2549, True),
        ("0.2", 0.25, True),
        ("0.25", 0.2551, False),
        ("0.25", 0.2449, False),
        ("2.50", 2.504, True),
        ("2.50", 2.51, False),
        ("2.5", 2.54, True),
        ("-0.2", -0.25, True),
        ("1.5", -1.5, False),
        ("1.0E+3", 1049.0, True),
        ("1.0E+3", 1051.0, False),
        ("Infinity", float("inf"), True),
        ("-Infinity", float("inf"), False),
        ("Infinity", 1e308, False),
        ("1.5", float("inf"), False),
        ("NaN", float("nan"), True),
        ("NaN", 0.0, False),
        ("1.5", float("nan"), False),
    ],
)
def test_printed_decimal_holds_to_half_a_unit_of_its_last_place(printed, value, holds):
    assert reads(Decimal(printed), value) is holds


def test_printed_whole_number_is_exact():
    assert reads(5, 5.0)
    assert not reads(5, 5.0000000001)


def test_error_bound_comes_on_top_of_half_a_unit():
    assert not reads(Decimal("0.5"), 0.551)
    assert reads(Decimal("0.5"), 0.551, bound=0.002)
    assert reads(5, 5.001, bound=0.002)


@given(st.floats(-1e6, 1e6), st.integers(0, 8))
def test_number_agrees_with_its_own_rounding_to_any_places(value, places):
    assert reads(Decimal(value).quantize(Decimal(1).scaleb(-places - 1)), value)


@given(st.integers(-(2**62), 2**62), st.integers(1, 5))
def test_integers_of_64_bits_are_compared_exactly(value, off):
    result = np.array([value])
    assert find_print_mismatch(((1,), (value,)), result, None) is None
    assert find_print_mismatch(((1,), (value + off,)), result, None) is not None


@pytest.mark.parametrize("shape", [(1, 1, 2, 2), (2, 2), (2, 1, 2)])
def test_extents_of_one_do_not_count_in_a_print(shape):
    assert find_print_mismatch((shape, (1, 2, 3, 4)), np.array([[[[1, 2], [3, 4]]]]), None) is None


@pytest.mark.parametrize("shape", [(4,), (1, 4), (4, 1)])
def test_print_of_another_shape_does_not_hold(shape):
    assert "shape" in find_print_mismatch((shape, (1, 2, 3, 4)), np.array([[[[1, 2], [3, 4]]]]), None)


def test_reference_itself_is_held_to_a_pinned_number(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: 2, expect: [[[[5, 7], [13, 14]]]]")
    assert compute_expected(case).target.print_mismatch == "printed 14 at [0, 0, 1, 1], the result is 15.0"


def test_reference_is_held_to_further_readings_too(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: 2, expect: [[[[5, 7], [13, 15]]]], also: [[5, 7, 13, 15]]")
    assert "printed output has shape [4]" in compute_expected(case).target.print_mismatch


def test_pinned_number_that_holds_is_kept_as_a_reading(tmp_path):
    target = compute_expected(one(tmp_path, f"id: a, {X}, window: 2, expect: [[5.0, 7], [13, 15]]")).target
    assert len(target.printed) == 1
    assert target.exact.value.tolist() == [[[[5, 7], [13, 15]]]]


def test_operator_in_then_reads_the_previous_result(tmp_path):
    case = one(tmp_path, f"id: a, {X}, window: 2, stride: 1, then: [{{operator: min_pool, window: 3}}]")
    assert compute_expected(case).target.exact.value.tolist() == [[[[5]]]]


def test_parameters_of_an_operator_in_then_are_used(tmp_path):
    follows = "then: [{operator: avg_pool, window: 3, stride: 1, padding: 1, count_include_pad: %s}]"
    counted, real = (
        compute_expected(one(tmp_path, f"id: a, {X}, window: 2, stride: 1, {follows % word}")).target.exact.value[
            0, 0, 0, 0
        ]
        for word in ("true", "false")
    )
    assert (counted, real) == (np.float32((5 + 6 + 9 + 10) / 9), (5 + 6 + 9 + 10) / 4)


def test_operator_in_then_reads_the_result_of_each_answer(tmp_path):
    x, answers = "x: {values: [[[1, 2, 3, 4]]]}", "answers: {two: {stride: 2}, one: {stride: 1}}"
    follows = "then: [{operator: min_pool, window: 2, stride: 1}]"
    case = one(tmp_path, f"id: a, about: b, {x}, window: 2, {follows}, {answers}", section="questions")
    results = {name: target.exact.value.tolist() for name, target in compute_expected(case).answers.items()}
    assert results == {"two": [[[2]]], "one": [[[2, 3]]]}


def test_rounded_result_must_not_be_read_by_then(tmp_path):
    x = "x: {values: [[[1, 2, 4, 8, 16]]]}"
    case = one(
        tmp_path,
        f"id: a, {x}, window: 3, stride: 1, then: [{{operator: max_pool, window: 2}}]",
        operator="avg_pool",
    )
    assert refusal(case) == "max_pool would read a rounded result; only exact results can be read by 'then'"


def test_exact_average_can_be_read_by_then(tmp_path):
    x = "x: {values: [[[3, 6, 9, 12]]]}"
    case = one(
        tmp_path,
        f"id: a, {x}, window: 3, stride: 1, then: [{{operator: max_pool, window: 2}}]",
        operator="avg_pool",
    )
    assert compute_expected(case).target.exact.value.tolist() == [[[9]]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("expect: {rejected: Anything}", "unknown violation 'Anything', see conformance/cases/invalid for the list"),
        ("expect: {rejected: StrideZero}", "unknown violation 'StrideZero', did you mean 'StrideIsZero'?"),
        ("expect: {rejected: StrideIsZero}", "the case does not have the violation StrideIsZero"),
        ("stride: 0, expect: {rejected: WindowExceedsPaddedInput}", "the case does not have the violation Window"),
    ],
)
def test_violation_must_be_known_and_present(tmp_path, text, says):
    case = one(tmp_path, f"id: a, {X}, window: 2, {text}")
    assert refusal(case).startswith(f"key 'expect.rejected': {says}")


@pytest.mark.parametrize(
    ("operator", "text", "fault"),
    [
        ("max_pool", "window: 2, stride: 0", "StrideIsZero"),
        ("max_pool", "window: 2, dilation: [1, 0]", "DilationIsZero"),
        ("max_pool", "window: 6, padding: [[0, 1], [1, 1]]", "WindowExceedsPaddedInput"),
        ("max_pool", "window: 3, dilation: 2", "WindowExceedsPaddedInput"),
        ("conv", "kernel: {values: arange, shape: [1, 1, 5, 1]}", "WindowExceedsPaddedInput"),
        ("conv", "kernel: {values: arange, shape: [2, 1, 1, 1]}, groups: 2", "GroupsDoNotDivideChannels"),
        ("conv", "kernel: {values: arange, shape: [1, 2, 1, 1]}", "KernelChannelsMismatch"),
    ],
)
def test_each_named_error_is_rejected_by_the_reference(tmp_path, operator, text, fault):
    case = one(tmp_path, f"id: a, {X}, {text}, expect: {{rejected: {fault}}}", operator=operator)
    target = compute_expected(case).target
    assert (target.exact, target.violation) == (None, fault)


def test_question_has_one_target_for_each_answer(tmp_path):
    fault = "{rejected: PaddingReachesWindow}"
    answers = f"{{window: {{stride: 3}}, one: {{stride: 1}}, none: {fault}, empty: {{values: [], shape: [1, 1, 0]}}}}"
    case = one(tmp_path, f"id: a, about: b, {X}, window: 3, padding: 3, answers: {answers}", section="questions")
    targets = compute_expected(case).answers
    assert targets["window"].exact.value[0, 0, 1].tolist() == [float("-inf"), 10, 11]
    assert targets["one"].exact.value.shape == (1, 1, 8, 8)
    assert targets["none"].exact is None
    assert targets["empty"].exact.value.shape == (1, 1, 0)


def test_answer_with_a_parameter_of_another_operator_is_one_line(tmp_path):
    text = f"id: a, about: b, {X}, window: 2, answers: {{one: {{divisor: 2}}, two: {{}}}}"
    assert "divisor" in refusal(one(tmp_path, text, section="questions"))


@pytest.mark.parametrize("changed", ["start: 1", "step: 2", "dtype: float64"])
def test_digest_tells_the_inputs(tmp_path, changed):
    texts = [
        f"id: a, x: {{values: arange, shape: [1, 1, 4, 4], {option}}}, window: 4" for option in ("start: 0", changed)
    ]
    assert len({compute_expected(one(tmp_path, text)).digest for text in texts}) == 2


def test_digest_depends_on_the_result(tmp_path):
    texts = [f"id: a, {X}, window: {window}" for window in (2, 3)]
    assert len({compute_expected(one(tmp_path, text)).digest for text in texts}) == 2


def test_every_printed_output_of_the_catalogue_matches(catalogue):
    pinned = [case for case in catalogue.cases if getattr(case.expect, "printed", ())]
    assert len(pinned) > 25
    for case in pinned:
        compute_expected(case)


def test_answers_with_equal_results_are_rejected(tmp_path):
    text = f"id: a, about: b, {X}, window: 2, answers: {{two: {{stride: 2}}, window: {{stride: [2, 2]}}}}"
    assert refusal(one(tmp_path, text, section="questions")).endswith(
        "two and window give the same result, so they are one answer"
    )


@pytest.mark.parametrize(
    ("fault", "words"), [("Nothing", "unknown violation"), ("StrideIsZero", "does not have the violation")]
)
def test_answer_with_a_violation_that_the_case_does_not_have_is_rejected(tmp_path, fault, words):
    text = f"id: a, about: b, {X}, window: 2, answers: {{no: {{rejected: {fault}}}, two: {{stride: 2}}}}"
    assert words in refusal(one(tmp_path, text, section="questions"))


@pytest.mark.parametrize(("shape", "fault"), [("[1, 1, 2, 2]", ""), ("[2, 2]", "the printed shape is [2, 2]")])
def test_printed_shape_must_be_equal(tmp_path, shape, fault):
    case = one(tmp_path, f"id: a, {X}, window: 2, expect: {{shape: {shape}}}")
    assert compute_expected(case).target.print_mismatch.startswith(fault)
    assert bool(compute_expected(case).target.print_mismatch) == bool(fault)
