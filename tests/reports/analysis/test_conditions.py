"""The shortest statement that tells some things from others, held to a search of every conjunction there is."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.analysis.conditions import MAX_CONDITIONS, shortest_conjunction

THINGS = st.lists(st.frozensets(st.sampled_from("abcde")), min_size=1, max_size=8)


def sets(*texts):
    return [frozenset(text) for text in texts]


@pytest.mark.parametrize(
    ("covered", "others", "found"),
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
def test_statement_is_the_shortest_that_no_other_fulfils(covered, others, found):
    assert shortest_conjunction(sets(*covered), sets(*others)) == found


def test_exceptions_are_allowed_where_no_exact_statement_exists():
    covered, others = sets("ab"), sets("ab", "a", "c", "c")
    assert shortest_conjunction(covered, others) is None
    assert shortest_conjunction(covered, others, exceptions=1) == ("b",)
    assert shortest_conjunction(covered, others, exceptions=2) == ("b",)


def test_exact_statement_beats_a_shorter_one_with_exceptions():
    assert shortest_conjunction(sets("ab"), sets("a", "b"), exceptions=1) == ("a", "b")


def test_of_equals_the_one_that_ranks_lowest_is_taken():
    assert shortest_conjunction(sets("ab"), sets("c"), lambda condition: (-ord(condition),)) == ("b",)


@given(THINGS, THINGS, st.integers(0, 2))
def test_no_shorter_statement_exists_than_the_one_found(covered, others, exceptions):
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
