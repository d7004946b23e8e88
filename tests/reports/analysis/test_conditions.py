"""The shortest separating conjunction, compared with a search of all conjunctions."""

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from reports.analysis.conditions import (
    MAX_CONDITIONS,
    RECALL_WEIGHT,
    Preference,
    best_conjunction,
    certain_conjunction,
    competing_conjunctions,
    necessary_conditions,
    shortest_conjunction,
)

CONDITION_SETS = st.lists(st.frozensets(st.sampled_from("abcde")), min_size=1, max_size=8)


def sets(*texts):
    return [frozenset(text) for text in texts]


@pytest.mark.parametrize(
    ("covered", "others", "expected"),
    [
        (["ab", "abc"], ["b", "c"], ("a",)),
        (["ab", "abc"], ["a", "b"], ("a", "b")),
        (["ab", "ac"], ["a"], None),
        (["ab", "cd"], ["c"], None),
        (["ab"], [], ("a",)),
        ([], ["a"], None),
        (["abcd"], ["abc", "abd", "acd", "bcd"], None),
    ],
)
def test_conjunction_is_the_shortest_that_no_other_item_satisfies(covered, others, expected):
    assert shortest_conjunction(sets(*covered), sets(*others)) == expected


def test_exceptions_are_allowed_if_there_is_no_exact_conjunction():
    covered, others = sets("ab"), sets("ab", "a", "c", "c")
    assert shortest_conjunction(covered, others) is None
    assert shortest_conjunction(covered, others, exceptions=1) == ("b",)
    assert shortest_conjunction(covered, others, exceptions=2) == ("b",)


def test_exact_conjunction_is_preferred_to_a_shorter_one_with_exceptions():
    assert shortest_conjunction(sets("ab"), sets("a", "b"), exceptions=1) == ("a", "b")


def test_lowest_rank_decides_between_equal_conjunctions():
    assert shortest_conjunction(sets("ab"), sets("c"), lambda condition: (-ord(condition),)) == ("b",)


@given(CONDITION_SETS, CONDITION_SETS, st.integers(0, 2))
def test_no_shorter_conjunction_exists(covered, others, exceptions):
    shared = sorted(frozenset.intersection(*covered))

    def fit(some, allowed):
        return sum(one.issuperset(some) for one in others) <= allowed

    found = shortest_conjunction(covered, others, exceptions=exceptions)
    for allowed in sorted({0, exceptions}):
        for size in range(1, MAX_CONDITIONS + 1):
            fitting = [some for some in combinations(shared, size) if fit(some, allowed)]
            if fitting:
                assert found is not None
                assert len(found) == size
                assert set(found) <= set(shared)
                assert fit(found, allowed)
                return
    assert found is None


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [
        (["ab", "ac"], ["b", "c"], ("a",)),
        (["ab"] * 9 + ["c"], ["a", "b"] * 3, ("a", "b")),  # one positive item has another cause
        (["ab"] * 9, ["a", "b"], ("a",)),  # a single excluded item may be chance
        (["ab"] * 40, ["a"] + ["b"] * 9, ("a",)),  # one item shows no effect: "b" would not exclude enough
        (["abc"] * 9, ["ab", "ac", "bc"] * 9, ("a", "b", "c")),
        (["b"], ["a"], ("b",)),
        (["d"], ["e"], ()),  # no candidate
    ],
)
def test_best_conjunction_agrees_best_with_both_sets(positive, negative, expected):
    found = best_conjunction(frozenset("abc"), sets(*positive), sets(*negative))
    assert found == expected


@given(CONDITION_SETS, CONDITION_SETS)
def test_no_single_condition_agrees_better_than_the_best_conjunction(positive, negative):
    def agreement(conditions):
        both = sum(one.issuperset(conditions) for one in positive)
        others = sum(one.issuperset(conditions) for one in negative)
        errors = RECALL_WEIGHT * (len(positive) - both) + others
        return both / (both + errors / (1 + RECALL_WEIGHT)) if both else 0

    found = best_conjunction(positive[0], positive, negative)
    assert all(agreement(found) >= agreement((one,)) - 1e-12 for one in positive[0]) or not positive[0]


def test_a_positive_item_counts_more_than_a_negative_one():
    """`b` would exclude ten of twenty negative items, and ten of a hundred positive ones."""
    positive = [frozenset("ab")] * 90 + [frozenset("a")] * 10
    negative = [frozenset("a")] * 10 + [frozenset("ab")] * 10 + [frozenset("b")] * 99
    assert best_conjunction(frozenset("ab"), positive, negative) == ("a",)


def test_a_condition_with_two_properties_must_agree_better():
    """`bb` states two properties, and excludes two negative items more."""
    positive, negative = [frozenset({"a", "bb"})] * 40, [frozenset("a")] * 2 + [frozenset()] * 40
    candidates = frozenset({"a", "bb"})
    assert best_conjunction(candidates, positive, negative, Preference(cost=len)) == ("a",)
    assert best_conjunction(candidates, positive, negative) == ("bb",)
    assert best_conjunction(candidates, positive, [frozenset("a")] * 20, Preference(cost=len)) == ("bb",)


def test_a_condition_that_most_items_satisfy_is_combined_with_others():
    """`z` alone agrees worse than each of forty conditions that half of the negative items satisfy."""
    noise = {f"n{number}" for number in range(40)}
    positive = [frozenset({"a", "z", *noise})] * 40
    negative = [frozenset({"a", *noise})] * 20 + [frozenset({"z"})] * 150
    found = best_conjunction(frozenset({"a", "z", *noise}), positive, negative)
    assert found == ("a", "z")


def test_competing_conjunctions_differ_in_one_condition_and_agree_about_as_well():
    positive, negative = [frozenset("abc")] * 20, [frozenset("d")] * 20 + [frozenset("ad")] * 9
    found = competing_conjunctions(("b",), frozenset("abcd"), positive, negative)
    assert frozenset("c") in found
    assert frozenset("bc") in found
    assert frozenset("a") not in found
    assert frozenset("d") not in found


def test_a_condition_that_all_positive_items_satisfy_is_added_if_chance_does_not_explain_it():
    positive, negative = [frozenset("ab")] * 20, [frozenset("a")] * 4 + [frozenset()] * 90
    assert certain_conjunction(("a",), frozenset("ab"), positive, negative) == ("a", "b")
    # Most of the other items satisfy `b` too, or there are few items.
    common = [frozenset("ab")] * 40 + [frozenset("a")] * 4
    assert certain_conjunction(("a",), frozenset("ab"), positive, common) == ("a",)
    assert certain_conjunction(("a",), frozenset("ab"), positive[:3], negative) == ("a",)


def test_a_condition_that_one_positive_item_lacks_is_not_added():
    positive, negative = [frozenset("ab")] * 20 + [frozenset("a")], [frozenset("a")] * 9
    assert certain_conjunction(("a",), frozenset("ab"), positive, negative) == ("a",)


def test_a_condition_that_most_negative_items_satisfy_is_not_added():
    positive, negative = [frozenset("ab")] * 60, [frozenset("ab")] * 12 + [frozenset("a")] * 8
    assert certain_conjunction(("a",), frozenset("ab"), positive, negative) == ("a",)
    rarer = [frozenset("ab")] * 8 + [frozenset("a")] * 12
    assert certain_conjunction(("a",), frozenset("ab"), positive, rarer) == ("a", "b")


def test_superfluous_conditions_are_removed():
    positive = [frozenset("ab")] * 20 + [frozenset("a")] * 5
    negative = [frozenset("b")] * 20 + [frozenset("c")] * 20
    assert necessary_conditions(("a", "b"), positive, negative) == ("a",)
    both = [frozenset("a")] * 20 + [frozenset("b")] * 20
    assert necessary_conditions(("a", "b"), positive[:20], both) == ("a", "b")
    assert necessary_conditions(("a",), positive, both) == ("a",)
