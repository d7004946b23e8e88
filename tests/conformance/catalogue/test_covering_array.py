"""Covering arrays contain every possible combination and no impossible row."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conformance.catalogue.covering_array import CoveringArray

NOTHING = np.zeros((0, 4), np.int64)


def rows_of(*sizes):
    return np.array(list(itertools.product(*map(range, sizes))), np.int64)


def combinations(rows, strength):
    """Return every combination of levels, found by brute force."""
    subsets = list(itertools.combinations(range(rows.shape[1]), strength))
    return {(subset, tuple(row[list(subset)].tolist())) for row in rows for subset in subsets}


@st.composite
def valid_rows(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    every = rows_of(*sizes)
    kept = draw(st.lists(st.integers(0, len(every) - 1), min_size=1, max_size=60, unique=True))
    return every[sorted(kept)]


@settings(deadline=None)
@given(valid_rows(), st.integers(1, 3), st.data())
def test_completed_rows_cover_every_possible_combination_with_possible_rows(valid, strength, data):
    cover, strength = CoveringArray(valid, strength), min(strength, valid.shape[1])
    kept = valid[data.draw(st.lists(st.integers(0, len(valid) - 1), max_size=3))]
    added = cover.complete(kept)
    together = np.concatenate([kept, added])
    assert {tuple(row) for row in added.tolist()} <= {tuple(row) for row in valid.tolist()}
    assert combinations(together, strength) == combinations(valid, strength)
    assert list(cover.missing_combinations(together)) == []
    assert cover.combination_count() == len(combinations(valid, strength))
    assert set(cover.missing_combinations(kept)) == combinations(valid, strength) - combinations(kept, strength)


def test_pairs_take_far_fewer_rows_than_all_of_them():
    cover = CoveringArray(rows_of(4, 4, 4, 4), 2)
    assert len(cover.complete(NOTHING)) <= 24


def test_a_strength_beyond_the_factors_is_the_full_product():
    assert len(CoveringArray(rows_of(2, 3, 2, 2), 99).complete(NOTHING)) == 24


def test_completing_is_the_same_every_time():
    cover = CoveringArray(rows_of(3, 4, 2, 5), 2)
    assert cover.complete(NOTHING).tolist() == CoveringArray(rows_of(3, 4, 2, 5), 2).complete(NOTHING).tolist()


def test_what_is_covered_needs_no_row():
    valid = rows_of(2, 3, 2, 2)
    assert len(CoveringArray(valid, 3).complete(valid)) == 0


@pytest.mark.parametrize("kept", [1, 5])
def test_kept_rows_count(kept):
    cover = CoveringArray(rows_of(3, 3, 3, 3), 2)
    whole = cover.complete(NOTHING)
    assert len(cover.complete(whole[:kept])) <= len(whole)
    assert len(cover.complete(whole[:-kept])) >= 1


def test_a_row_that_is_no_longer_possible_covers_nothing():
    valid = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    for row in ([0, 2], [2, 0], [3, 3]):
        assert len(list(CoveringArray(valid, 2).missing_combinations(np.array([row])))) == 4
    cut = CoveringArray(valid[:3], 2)
    assert list(cut.missing_combinations(np.array([[1, 1], [0, 0]]))) == [((0, 1), (0, 1)), ((0, 1), (1, 0))]
