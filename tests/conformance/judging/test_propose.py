import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.cases.selectors import CaseFeatures
from conformance.judging.ledger import LedgerEntry
from conformance.judging.ledger_entry import smallest_selector
from tests.support.fake_backends import load

X = "x: {values: arange, shape: [1, 1, 5, 5]}"
WINDOWS = {
    "plain": f"{X}, window: 2",
    "padded": f"{X}, window: 2, padding: 1",
    "wide": f"{X}, window: 3",
    "wide-padded": f"{X}, window: 3, padding: 1",
    "wide-dilated": f"{X}, window: 3, dilation: 2",
    "double": "x: {values: arange, shape: [1, 1, 5, 5], dtype: float64}, window: 2",
    "nan": "x: {values: [[[[1, .nan], [3, 4]]]]}, window: 2",
}


@pytest.fixture
def named(tmp_path):
    return {
        case.id.split("/")[1]: case for case in load(tmp_path, *(f"id: {n}, {t}" for n, t in WINDOWS.items())).cases
    }


def proposed(named, *failing, passing=None, beyond=()):
    others = [name for name in named if name not in failing and name not in beyond] if passing is None else passing
    groups = ([named[name] for name in names] for names in (failing, others, beyond))
    return smallest_selector(*groups)


@pytest.mark.parametrize(
    ("failing", "where"),
    [
        (["padded", "wide-padded"], {"padded": (True,)}),
        (["double"], {"dtype": ("float64",)}),
        (["nan"], {"values": ("nan",)}),
        (["wide-dilated"], {"dilated": (True,)}),
        (["wide-padded"], {"window": (3,), "padded": (True,)}),
        (["wide", "wide-padded", "wide-dilated"], {"window": (3,)}),
        (["wide", "wide-padded"], {"window": (3,), "dilated": (False,)}),
    ],
)
def test_the_smallest_selector_is_what_the_failures_have_in_common_and_nothing_else_has(named, failing, where):
    assert proposed(named, *failing) == where


def test_one_condition_with_two_values_is_smaller_than_two_conditions(tmp_path):
    texts = [f"id: p{n}, {X}, pads: [[1, 0], [0, 0]], value: {n}" for n in (0, 3, 7)]
    cases = load(tmp_path, *texts, operator="pad").cases
    assert smallest_selector(cases[1:], cases[:1]) == {"value": (3, 7)}


def test_nothing_is_exact_where_a_failing_case_has_a_twin_that_agrees(tmp_path):
    ours, twin = load(tmp_path, f"id: a, {X}, window: 2", f"id: b, {X}, window: 2").cases
    assert smallest_selector([ours], [twin]) is None


def test_how_large_x_is_comes_last(tmp_path):
    small, large = load(tmp_path, f"id: a, {X}, window: 2", f"id: b, {X.replace('5]', '6]')}, window: 2").cases
    assert smallest_selector([small], [large]) == {"extent": (5,)}
    strange = load(tmp_path, "id: c, x: {values: arange, shape: [2, 1, 6, 6], dtype: float64}, window: 2").cases[0]
    assert smallest_selector([strange], [small, large]) == {"dtype": ("float64",)}


def test_the_level_of_a_case_is_no_reason_to_fail(tmp_path):
    ours, other = load(tmp_path, f"id: a, {X}, window: 2, level: standard", f"id: b, {X}, window: 2").cases
    assert smallest_selector([ours], [other]) is None


def test_where_all_fail_the_selector_says_the_least_of_cases_that_nobody_ran(named):
    assert proposed(named, "nan", passing=[], beyond=["plain", "padded", "wide"]) == {"values": ("nan",)}
    assert proposed(named, "plain", "padded", passing=[]) == {"operator": ("max_pool",)}


def test_yes_is_not_one(tmp_path):
    cases = load(tmp_path, *(f"id: by{n}, {X}, window: 2, divisor: {n}" for n in (1, 5)), operator="avg_pool").cases
    assert smallest_selector(cases[:1], cases[1:]) == {"divisor": (1,)}


def test_a_word_stands_once_in_a_selector_even_where_cases_share_none(tmp_path):
    marks = {"a": "[[[.nan, .inf]]]", "b": "[[[.nan, -.inf]]]", "c": "[[[1, .nan]]]", "d": "[[[1, .inf]]]"}
    a, b, c, d = load(tmp_path, *(f"id: {n}, x: {{values: {v}}}, window: 2" for n, v in marks.items())).cases
    assert smallest_selector([a, b], [d]) == {"values": ("nan",)}
    assert smallest_selector([a, d], [c]) == {"values": ("inf",)}
    assert smallest_selector([c, d], [a]) is None


@given(st.integers(0, 10**9), st.integers(1, 12), st.integers(1, 60), st.sampled_from(["any", "alike"]))
def test_a_proposal_covers_all_that_fails_and_nothing_that_agrees(catalogue, seed, failing, passing, how):
    """Failures at random, or all the cases of one operator that share a fact, as real ones do."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    cases = draw.sample(catalogue.cases, failing + passing)
    if how == "alike":
        first = cases[0]
        split = [
            case.operator == first.operator and CaseFeatures(case)["padded"] == CaseFeatures(first)["padded"]
            for case in cases
        ]
    else:
        split = [number < failing for number in range(len(cases))]
    ours, theirs = ([case for case, bad in zip(cases, split, strict=True) if bad is wanted] for wanted in (True, False))
    where = smallest_selector(ours, theirs)
    assert how == "any" or where is not None
    if where is not None:
        entry = LedgerEntry("e", (), ("*",), ("value",), "", selector=where)
        assert all(entry.matches_case(CaseFeatures(case)) for case in ours)
        assert not any(entry.matches_case(CaseFeatures(case)) for case in theirs)


@given(st.integers(0, 10**9))
def test_no_condition_of_a_proposal_can_be_left_out(catalogue, seed):
    cases = random.Random(seed).sample(catalogue.cases, 25)  # noqa: S311 - no secret
    where = smallest_selector(cases[:2], cases[2:])
    for key in where or () if len(where or ()) > 1 else ():
        fewer = LedgerEntry(
            "e", (), ("*",), ("value",), "", selector={name: where[name] for name in where if name != key}
        )
        assert any(fewer.matches_case(CaseFeatures(case)) for case in cases[2:])
