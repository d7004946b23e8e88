"""Levels of factors, written per axis."""

import pytest

from conformance.catalogue.factors import level_pairs, level_per_axis


@pytest.mark.parametrize(
    ("level", "rank", "numbers"), [(3, 2, (3, 3)), ((7, 5, 4), 2, (7, 5)), ((7, 5), 3, (7, 5, 7)), ((2,), 1, (2,))]
)
def test_a_level_goes_round_the_axes(level, rank, numbers):
    assert level_per_axis(level, rank) == numbers


@pytest.mark.parametrize(
    ("level", "pairs"), [(1, ((1, 1), (1, 1))), (((1, 0), (0, 2)), ((1, 0), (0, 2))), (((1, 0),), ((1, 0), (1, 0)))]
)
def test_padding_has_two_ends_on_each_axis(level, pairs):
    assert level_pairs(level, 2) == pairs
